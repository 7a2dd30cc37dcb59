// Which instruction set the hot loops (isa_*.cpp, compiled once for each) run in: the processor's best, asked once.
#pragma once

#include <vector>

namespace tally::detail {

enum class Isa : unsigned char { baseline, avx2, avx512 };

/// Those that this machine can run, the best last.
std::vector<Isa> available_isas();
/// The one in use. No promised bit depends on it.
Isa isa();
/// For tests: uses another one, for the whole process.
void set_isa(Isa isa);

}  // namespace tally::detail
