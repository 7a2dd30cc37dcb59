# Fails if a kernel spills registers, needs more of them than its launch bounds leave, or has a frame in local memory
# without a reason, by ptxas's report that ptxas_report.sh keeps beside each object:
# cmake "-DOBJECTS=FILE;..." -DAT_LEAST=KERNELS -P kernel_resources.cmake
# Names are the compiler's; c++filt makes them readable. Spills are judged as compiled for sm_90, which the kernels are
# cut for, and listed for others.

# Kernels that still spill: bytes that a thread stores, or loads, at most.
function(spills_of name)
  set(bytes 0)
  if(NOT name MATCHES "cuda_loops[0-9]+(reduce|map_long)_")
  elseif(name MATCHES "reduce_columnsINS_9LogSumExpENS_[0-9]+B?Float16ELi8ELi1E")
    set(bytes 16)  # eight lists side by side, and the next step's loads on their way
  elseif(name MATCHES "reduce_short_rowsINS0_6SpreadENS_[0-9]+B?Float16ELi8E")
    set(bytes 4)  # once a list; seven blocks a multiprocessor count for more
  elseif(name MATCHES "map_long_rowsINS_4rows18LogSoftmaxBackwardEf")
    set(bytes 20)  # the compiler's choice: its launch bounds leave twice the registers
  endif()
  set(spill_limit ${bytes} PARENT_SCOPE)
endfunction()

# judge_kernel(NAME REGISTERS STACK SPILL): the last two in bytes; what is too much goes to `complaints`.
function(judge_kernel name registers stack spill)
  set(register_limit 255)  # all there are: blocks have 256 threads or less, with launch bounds or without
  set(stack_limit 0)
  spills_of(${name})  # sets spill_limit
  # The frames of reductions are what hot loops leave to functions: exact units with the counters of a binary tree, and
  # the last block's merge.
  if(name MATCHES "reduce_(columns|rows|short_rows|slabs|small_slabs|straight|upright)I.*E([dlih]|NS_8BFloat16ELi8ELb1|NS_7Float16ELi8ELb1)[EL]")
    set(stack_limit 3072)  # one block: the exact arithmetic of 8 bytes, extremes of eight neighbours off the alignment
  elseif(name MATCHES "reduce_(columns|rows|short_rows|slabs|small_slabs|straight|tiles|upright)")
    set(stack_limit 3072)
    set(register_limit 128)  # two blocks of 256 threads or more, as the op's unit asks for
  elseif(name MATCHES "reduce_manyI[^E]*E*dLi")
    set(stack_limit 1024)  # one block: exact arithmetic of 8 bytes
  elseif(name MATCHES "reduce_many")
    set(stack_limit 1024)
    set(register_limit 128)  # two blocks: the arrays of a clipping share the memory's bandwidth, not a warp's latency
  elseif(name MATCHES "map_long_rowsINS_4rows[0-9]+[A-Za-z]+Ed")
    set(stack_limit 256)  # 256 threads
  elseif(name MATCHES "map_long_rowsINS_4rows[0-9]+[A-Za-z]+BackwardE")
    set(stack_limit 256)
    set(register_limit 128)  # 512 threads: two inputs
  elseif(name MATCHES "map_long_rows")
    set(stack_limit 256)
    set(register_limit 64)  # 1024 threads
  elseif(name MATCHES "map_short_rows")
    set(stack_limit 256)
  elseif(name MATCHES "add_kernel")
    set(stack_limit 512)  # scatter-add: one slot's contributions on a counter
  endif()
  if(registers GREATER register_limit OR stack GREATER stack_limit OR spill GREATER spill_limit)
    set(complaint "${name}: ${registers} registers, stack ${stack}, spills ${spill}")
    set(complaints ${complaints} "${complaint}" PARENT_SCOPE)
  endif()
endfunction()

# Functions that kernels call are their rare ways. What these put by for their caller counts as spilled: 48 registers.
set(function_spill_limit 192)

set(complaints)
set(spilling)
set(kernels 0)
foreach(object IN LISTS OBJECTS)
  if(NOT EXISTS ${object} OR NOT EXISTS ${object}.ptxas)
    list(APPEND complaints "${object} has no report: delete it and build again")
    continue()
  endif()
  file(SHA256 ${object} checksum)
  file(STRINGS ${object}.ptxas lines)
  list(POP_FRONT lines reported)
  if(NOT reported MATCHES "^${checksum} ")
    list(APPEND complaints "${object} is not what its report is about: delete it and build again")
  endif()
  set(before ${kernels})
  foreach(line IN LISTS lines)
    if(line MATCHES "Compiling entry function '(.+)' for '(.+)'")
      set(kernel ${CMAKE_MATCH_1})
      set(architecture ${CMAKE_MATCH_2})
    elseif(line MATCHES "Function properties for (.+)")
      set(name ${CMAKE_MATCH_1})
    elseif(line MATCHES "([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads")
      set(stack ${CMAKE_MATCH_1})
      set(spill ${CMAKE_MATCH_2})
      if(CMAKE_MATCH_3 GREATER spill)
        set(spill ${CMAKE_MATCH_3})
      endif()
      if(spill GREATER 0)
        list(APPEND spilling "${name}, ${architecture}: ${spill}")
      endif()
      if(NOT architecture STREQUAL sm_90)
        set(spill 0)
      endif()
      if(name STREQUAL kernel)
        set(frame ${stack} ${spill})
      elseif(spill GREATER function_spill_limit)
        list(APPEND complaints "${name}, called by ${kernel}: spills ${spill}")
      endif()
    elseif(line MATCHES "Used ([0-9]+) registers")
      math(EXPR kernels "${kernels} + 1")
      judge_kernel(${kernel} ${CMAKE_MATCH_1} ${frame})
    endif()
  endforeach()
  if(kernels EQUAL before)
    list(APPEND complaints "${object} has no kernel in its report")
  endif()
endforeach()

list(REMOVE_DUPLICATES spilling)
string(REPLACE ";" "\n  " spilling "${spilling}")
message(STATUS "${kernels} kernels. Bytes spilled by kernels and the functions that they call:\n  ${spilling}")
if(kernels LESS AT_LEAST)
  list(APPEND complaints "only ${kernels} kernels")
endif()
if(complaints)
  string(REPLACE ";" "\n  " complaints "${complaints}")
  message(FATAL_ERROR "Kernels that keep too much, or reports that do not say so:\n  ${complaints}")
endif()
