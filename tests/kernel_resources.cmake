# Fails if a kernel keeps values in local memory without a reason, or needs more registers than its launch bounds leave:
# cmake -DCUOBJDUMP=PROGRAM -DLIBRARY=FILE -P kernel_resources.cmake
# Spills are part of a kernel's stack, but frames of the functions that it calls are too, and are larger:
# -DCMAKE_CUDA_FLAGS="-Xptxas -warn-spills" makes the build name every kernel and function that spills.
execute_process(COMMAND ${CUOBJDUMP} --dump-resource-usage ${LIBRARY} OUTPUT_VARIABLE report ERROR_QUIET)
string(REGEX MATCHALL "Function [^\n]+\n[^\n]+" kernels "${report}")
list(LENGTH kernels count)
if(count LESS 1000)
  message(FATAL_ERROR "only ${count} kernels in ${LIBRARY}: is this the report that was asked for?")
endif()

set(complaints)
foreach(kernel IN LISTS kernels)
  string(REGEX MATCH "Function ([^:\n]+):[^\n]*\n[^\n]*REG:([0-9]+) STACK:([0-9]+) [^\n]*LOCAL:([0-9]+)" all "${kernel}")
  set(name ${CMAKE_MATCH_1})
  set(registers ${CMAKE_MATCH_2})
  set(stack ${CMAKE_MATCH_3})
  set(local ${CMAKE_MATCH_4})
  set(stack_limit 0)
  set(register_limit 255)
  if(name MATCHES "reduce_(columns|rows)")
    set(stack_limit 3072)  # as below
    set(register_limit 128)  # two blocks of 256 threads or three, as the op's unit asks for
  elseif(name MATCHES "reduce_(short_rows|small_slabs|slabs)")
    # What their hot loops leave to functions: exact units with the counters of a binary tree, and the last block's merge.
    set(stack_limit 3072)
    set(register_limit 80)  # three blocks of 256 threads
  elseif(name MATCHES "reduce_many")
    set(stack_limit 3072)
    set(register_limit 128)  # two blocks: the arrays of a clipping share the memory's bandwidth, not a warp's latency
  elseif(name MATCHES "map_(long|short)_rows")
    set(stack_limit 3072)  # the same
  elseif(name MATCHES "add_kernel")
    set(stack_limit 512)  # scatter-add: one slot's contributions on a counter
  endif()
  if(NOT name OR stack GREATER stack_limit OR local GREATER 0 OR registers GREATER register_limit)
    list(APPEND complaints "${name}: ${registers} registers, stack ${stack}, local ${local}")
  endif()
endforeach()
if(complaints)
  string(REPLACE ";" "\n  " complaints "${complaints}")
  message(FATAL_ERROR "Kernels that keep too much:\n  ${complaints}")
endif()
message(STATUS "${count} kernels")
