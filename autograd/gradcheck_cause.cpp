#include <tally/autograd/gradcheck_cause.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tally {
namespace {

bool all_of_ratio(const std::vector<GradCheckEntry>& wrong, double ratio, double slack) {
  return std::all_of(wrong.begin(), wrong.end(), [&](const GradCheckEntry& entry) {
    return std::abs(entry.analytic - ratio * entry.numeric) <= slack * std::abs(entry.numeric) + entry.tolerance;
  });
}

bool same_numbers(const std::vector<GradCheckEntry>& checked) {
  std::vector<double> analytic, numeric;
  double unit = 0;
  for (const GradCheckEntry& entry : checked) {
    analytic.push_back(entry.analytic);
    numeric.push_back(entry.numeric);
    unit = std::max(unit, std::abs(entry.numeric));
  }
  std::sort(analytic.begin(), analytic.end());
  std::sort(numeric.begin(), numeric.end());
  return std::equal(analytic.begin(), analytic.end(), numeric.begin(),
                    [&](double a, double b) { return std::abs(a - b) <= 1e-5 * unit; });
}

}  // namespace

double GradCheckEntry::error() const { return std::abs(analytic - numeric); }

bool detail::is_worse(const GradCheckEntry& a, const GradCheckEntry& b) {
  if (a.verdict != b.verdict) return a.verdict == Verdict::wrong || b.verdict == Verdict::right;
  const auto excess = [](const GradCheckEntry& entry) {
    const double error = entry.error();
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error / entry.tolerance;
  };
  return excess(a) > excess(b);
}

detail::Suspect detail::suspect(const std::vector<GradCheckEntry>& checked, bool missing) {
  std::vector<GradCheckEntry> wrong;
  std::copy_if(checked.begin(), checked.end(), std::back_inserter(wrong), [](const GradCheckEntry& entry) {
    return entry.verdict == Verdict::wrong && entry.cause == Cause::unknown;
  });
  // A factor speaks for itself from two entries on.
  const double ratio = wrong.front().analytic / wrong.front().numeric;
  if (all_of_ratio(wrong, 1, 0x1p-20)) return {Cause::round_off, 1};
  if (all_of_ratio(wrong, -1, 1e-6)) return {Cause::sign, 1};
  if (missing) return {Cause::missing_sum, 1};
  if ((wrong.size() > 1 || checked.size() == 1) && all_of_ratio(wrong, ratio, 1e-6)) return {Cause::factor, ratio};
  if (wrong.size() > 1 && same_numbers(checked)) return {Cause::wrong_place, 1};
  return {Cause::unknown, 1};
}

bool detail::locate(GradCheckEntry& entry, const std::vector<Probe::Part>& parts) {
  double unit = 0, largest = 0;
  for (const Probe::Part& part : parts) unit = std::max(unit, std::abs(part.numeric));
  bool some_right = false, only_missing = true;
  for (const Probe::Part& part : parts) {
    const double error = std::abs(part.analytic - part.numeric);
    if (error <= 1e-4 * unit) {
      some_right |= std::abs(part.analytic) > 1e-3 * unit;
      continue;
    }
    only_missing &= part.analytic == 0;
    if (error <= largest) continue;
    largest = error;
    entry.output = part.output;
    entry.output_element = part.element;
  }
  return largest > 0 && only_missing && some_right;
}

}  // namespace tally
