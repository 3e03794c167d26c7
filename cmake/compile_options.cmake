# Sanitizers, also for code that others generate: what it shares with ours, such as the layout of a message, depends on
# them. Link escalona_sanitizers.
add_library(escalona_sanitizers INTERFACE)
if(ESCALONA_SANITIZE)
  set(flags -fsanitize=${ESCALONA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(escalona_sanitizers INTERFACE ${flags})
  target_link_options(escalona_sanitizers INTERFACE ${flags})
  target_compile_definitions(escalona_sanitizers INTERFACE ESCALONA_SANITIZED)
endif()

# Warnings and sanitizers for every target of ours: link escalona_options.
add_library(escalona_options INTERFACE)
target_link_libraries(escalona_options INTERFACE escalona_sanitizers)
target_compile_options(escalona_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wformat=2 -Wimplicit-fallthrough -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 about strings, such as "text" + std::string (its bug 105651).
  target_compile_options(escalona_options INTERFACE 
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(ESCALONA_WERROR)
  target_compile_options(escalona_options INTERFACE -Werror)
endif()
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The installed archive must also link without link-time optimisation.
  target_compile_options(escalona_options INTERFACE -ffat-lto-objects)
endif()
if(ESCALONA_FUZZ)
  target_compile_options(escalona_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
