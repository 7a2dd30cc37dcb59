# tally_suites(TARGET [PREFIX]): one ctest entry a test suite. With one a test, thousands of programs would be started,
# each loading the CUDA libraries anew, half of them to say that there is no GPU.
function(tally_suites target)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake CONTENT
       "set(program \"$<TARGET_FILE:${target}>\")\nset(prefix \"${ARGN}\")\ninclude(\"${PROJECT_SOURCE_DIR}/tests/list_suites.cmake\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake)
endfunction()
