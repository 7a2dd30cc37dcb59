// What a case runs, and how long that takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tally/core/tensor.h>
#include <tally/tests/bench/case.h>

namespace tally::bench {

/// The case's op on a tensor of its shape. std::invalid_argument for an op that this build does not have.
std::function<void(const Tensor&)> work_of(const Case& one, Device device);
/// The names that work_of knows in this build.
std::vector<std::string> op_names();

struct Timing {
  double microseconds = 0;  // the median of a call
  double best = 0;          // the least, for machines that are not quiet
  int calls = 0;            // all that were measured
};
/// Times the case for about `budget` seconds. On CUDA the device's time: replays of a graph of many calls over inputs
/// that together exceed the L2 cache (a backward case: eager calls, with the host). On the CPU: calls over one input.
Timing measure(const Case& one, Device device, double budget);

/// How fast `bytes` are read by a loop that does hardly more, GB/s: what a reduction is measured against.
double read_ceiling(std::int64_t bytes, Device device, double budget);

}  // namespace tally::bench
