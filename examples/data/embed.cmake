# Compiles a file into a target: tally_embed(<target> <file> <symbol>) defines, in namespace tally::examples,
#   extern const unsigned char <symbol>[];
#   extern const std::size_t <symbol>_size;
# The same file is the script that writes the C++ source at build time, whenever the embedded file is newer.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")  # 16 bytes a line
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(WRITE "${OUTPUT}" "// Generated; do not edit.
#include <cstddef>
namespace tally::examples {
extern const unsigned char ${SYMBOL}[] = {
${bytes}};
extern const std::size_t ${SYMBOL}_size = sizeof(${SYMBOL});
}  // namespace tally::examples
")
  return()
endif()

set(tally_embed_script "${CMAKE_CURRENT_LIST_FILE}")

function(tally_embed target file symbol)
  get_filename_component(input "${file}" ABSOLUTE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${input}" "-DOUTPUT=${output}" "-DSYMBOL=${symbol}" -P "${tally_embed_script}"
    DEPENDS "${input}" "${tally_embed_script}"
    COMMENT "Embedding ${file}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
