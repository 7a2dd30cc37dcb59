# Each case of compile_errors.cpp must fail, in few words, with the name of what is missing; without a case it compiles.
set(cases "|" "REDUCTION_WITHOUT_NAME|ReductionHasName" "REDUCTION_WITHOUT_ACC|ReductionHasAcc"
    "REDUCTION_WITHOUT_LIFT|ReductionHasLiftOrLane" "REDUCTION_WITHOUT_COMBINE|ReductionHasCombine"
    "REDUCTION_WITHOUT_PROJECT|ReductionHasProject" "MAP_WITHOUT_NAME|OpHasName" "MAP_WITHOUT_F|MapHasF"
    "ZIP_WITHOUT_F|ZipHasF" "CLOSURE_WITH_WHERE|put it into a lambda, such as"
    "CLOSURE_WITHOUT_TENSOR|the function has to return a Tensor")
foreach(case IN LISTS cases)
  string(REGEX MATCH "^([A-Z_]*)\\|(.*)$" whole "${case}")
  set(name "${CMAKE_MATCH_1}")
  set(expected "${CMAKE_MATCH_2}")
  set(define)
  if(name)
    set(define -D${name})
  endif()
  execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only ${define} -I${INCLUDES} ${SOURCE}
                  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT name)
    if(failed)
      message(FATAL_ERROR "Does not compile:\n${said}")
    endif()
    continue()
  endif()
  string(REGEX MATCHALL "\n" lines "${said}")
  list(LENGTH lines lines)
  if(NOT failed OR NOT said MATCHES "${expected}" OR lines GREATER 60)
    message(SEND_ERROR "${name} gives ${lines} lines, expected few with \"${expected}\":\n${said}")
  endif()
endforeach()
