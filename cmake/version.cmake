# Writes version.cc with the version, the commit and the compiler; run at each build, so that the
# commit is that of the sources built. The file is rewritten only when something changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --exclude=*
  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(COMMIT "unknown")
endif()
configure_file(${SOURCE_DIR}/src/cli/version.cc.in ${OUTPUT} @ONLY)
