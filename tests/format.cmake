# Fails if a source file is not as clang-format lays it out: cmake -DSOURCE=DIR -DCLANG_FORMAT=PROGRAM -P format.cmake
file(GLOB_RECURSE sources ${SOURCE}/core/*.h ${SOURCE}/core/*.cpp ${SOURCE}/core/*.cu ${SOURCE}/core/*.cuh
     ${SOURCE}/autograd/*.h ${SOURCE}/autograd/*.cpp ${SOURCE}/ops/*.h ${SOURCE}/ops/*.cpp ${SOURCE}/ops/*.cu ${SOURCE}/ops/*.cuh
     ${SOURCE}/nn/*.h ${SOURCE}/nn/*.cpp ${SOURCE}/nn/*.cu ${SOURCE}/examples/*.h ${SOURCE}/examples/*.cpp ${SOURCE}/examples/*.cu
     ${SOURCE}/tests/*.h ${SOURCE}/tests/*.cpp ${SOURCE}/tests/*.cu)
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${sources} RESULT_VARIABLE failed ERROR_VARIABLE complaints)
if(failed)
  string(REGEX MATCHALL "[^\n]+: error: code should be clang-formatted" lines "${complaints}")
  set(files)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ":[0-9]+:[0-9]+: error.*" "" file "${line}")
    list(APPEND files ${file})
  endforeach()
  list(REMOVE_DUPLICATES files)
  string(REPLACE ";" "\n  " files "${files}")
  message(FATAL_ERROR "Not formatted (clang-format -i puts them right):\n  ${files}")
endif()
