#include <tally/nn/schedule.h>

#include <cmath>

namespace tally::nn {

double CosineSchedule::operator()(std::int64_t step) const {
  if (step >= total_steps) return min;
  if (step <= 0) return base;
  const double share = static_cast<double>(step) / static_cast<double>(total_steps);
  return min + 0.5 * (base - min) * (1 + std::cos(3.14159265358979323846 * share));
}

}  // namespace tally::nn
