# The gRPC side of the server.
find_package(Protobuf REQUIRED)
find_package(gRPC REQUIRED)
find_library(PROMETHEUS_CPP_CORE prometheus-cpp-core REQUIRED)  # its CMake package wants more than is used
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# The messages, as a library of its own: what protoc writes does not follow our warnings.
set(generated ${PROJECT_BINARY_DIR}/generated)
set(proto_sources)
file(MAKE_DIRECTORY ${generated}/server)
foreach(name urlfrontier admin)
  set(files)
  foreach(ending pb.h pb.cc grpc.pb.h grpc.pb.cc)
    list(APPEND files ${generated}/server/${name}.${ending})
  endforeach()
  add_custom_command(
    OUTPUT ${files}
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/src --cpp_out=${generated}
            --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} server/${name}.proto
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${name}.proto
    VERBATIM)
  list(APPEND proto_sources ${files})
endforeach()
add_library(escalona_proto STATIC ${proto_sources})
set_target_properties(escalona_proto PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
target_include_directories(escalona_proto SYSTEM PUBLIC ${generated})
target_link_libraries(escalona_proto PUBLIC gRPC::grpc++ protobuf::libprotobuf PRIVATE escalona_sanitizers)

target_sources(escalona_server PRIVATE
  admin_service.cc frontier_host.cc frontier_service.cc get_stream.cc grpc_server.cc list_stream.cc metrics.cc
  put_stream.cc put_writer.cc wakefulness.cc wire.cc)
target_link_libraries(escalona_server
  PUBLIC escalona_proto spdlog::spdlog absl::synchronization absl::time ${PROMETHEUS_CPP_CORE}
  PRIVATE gRPC::grpc++_reflection)
