# run(COMMAND...): stops with everything the command said, if it fails. What it printed is in `said`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}\n(status ${failed})")
  endif()
  set(said "${output}" PARENT_SCOPE)
endfunction()

set(package ${WORK}/moved)
set(flags)
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE} -fno-sanitize-recover=all)
endif()
string(JOIN " " flags_text ${flags})

# configure(NAME ARGUMENTS...): the project in ${WORK}/NAME or the consumer, into ${WORK}/NAME/build.
function(configure name source)
  file(REMOVE_RECURSE ${WORK}/${name}/build)
  run(${CMAKE_COMMAND} -S ${source} -B ${WORK}/${name}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
      -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${flags_text}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN})
endfunction()
