# That ptxas_report.sh keeps reports and kernel_resources.cmake sees what is wrong with them, shown with a compiler that says
# what it is told to: cmake -DWORK=DIR -P kernel_resources_test.cmake
set(object ${WORK}/kernel.cu.o)
set(kernel "ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
ptxas info    : Function properties for rare
    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads")

# compile(SAID STATUS): `console` and `failed` are what the build would see.
function(compile said status)
  file(WRITE ${WORK}/said "${said}\n")
  execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/ptxas_report.sh
                          sh -c "cat '${WORK}/said' >&2; echo code >\"$2\"; exit ${status}" compiler -o ${object}
                  RESULT_VARIABLE failed ERROR_VARIABLE console)
  set(failed "${failed}" PARENT_SCOPE)
  set(console "${console}" PARENT_SCOPE)
endfunction()

# The check of what is there says `complaint`; without one it passes.
function(expect what complaint)
  execute_process(COMMAND ${CMAKE_COMMAND} -DOBJECTS=${object} -DAT_LEAST=1 -P ${CMAKE_CURRENT_LIST_DIR}/kernel_resources.cmake
                  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if((failed AND NOT complaint) OR (complaint AND NOT failed) OR NOT said MATCHES "${complaint}")
    message(SEND_ERROR "${what}: expected \"${complaint}\", not\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
compile("kernel.cu(1): warning: one\n${kernel}\nptxas warning : two" 0)
if(failed OR NOT console STREQUAL "kernel.cu(1): warning: one\nptxas warning : two\n")
  message(SEND_ERROR "The console got (status ${failed}):\n${console}")
endif()
expect("A kernel without spills" "")
file(APPEND ${object} "changed")
expect("An object built without a report" "kernel.cu.o is not what its report is about")
compile("kernel.cu(1): error" 3)
if(NOT failed EQUAL 3 OR NOT console STREQUAL "kernel.cu(1): error\n")
  message(SEND_ERROR "A compilation that fails: status ${failed}, it says\n${console}")
endif()
expect("An object whose compilation failed" "kernel.cu.o has no report")
compile("nothing of kernels" 0)
expect("A report of nothing" "kernel.cu.o has no kernel in its report.*only 0 kernels")
foreach(fault
    "0 bytes spill loads\nptxas info    : Used|4 bytes spill loads\nptxas info    : Used|k: 32 registers, stack 0, spills 4"
    "0 bytes stack|16 bytes stack|k: 32 registers, stack 16, spills 0"
    "Used 32|Used 256|k: 256 registers, stack 0, spills 0"
    "8 bytes spill stores|800 bytes spill stores|rare, called by k: spills 800")
  string(REPLACE "|" ";" fault "${fault}")
  list(GET fault 0 right)
  list(GET fault 1 wrong)
  list(GET fault 2 complaint)
  string(REPLACE "${right}" "${wrong}" changed "${kernel}")
  compile("${changed}" 0)
  expect("${wrong}" "${complaint}")
endforeach()
