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

std::string line_of(const GradCheckEntry& entry) {
  std::string text = "  input " + std::to_string(entry.input) + " at " + to_string(entry.element) + ": analytic " +
                     detail::number(entry.analytic) + ", numeric " + detail::number(entry.numeric);
  if (entry.left != entry.right)
    text += " (slopes " + detail::number(entry.left) + " and " + detail::number(entry.right) + ")";
  text += ", error " + detail::number(entry.error()) + ", tolerance " + detail::number(entry.tolerance) +
          ", estimated " + detail::number(entry.estimate);
  if (entry.output >= 0)
    text += "; largest at output " + std::to_string(entry.output) + " " + to_string(entry.output_element);
  text += entry.verdict == Verdict::wrong ? "\n    wrong" : "\n    inconclusive";
  if (entry.cause != Cause::unknown) text += std::string(": ") + name_of(entry.cause);
  if (entry.cause == Cause::factor) text += " " + detail::number(entry.factor);
  return text + "\n";
}

}  // namespace

double GradCheckEntry::error() const { return std::abs(analytic - numeric); }

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::sign:
      return "the sign is turned";
    case Cause::factor:
      return "off by the factor";
    case Cause::missing_sum:
      return "contributions of some outputs are missing; a sum over broadcast dims left out?";
    case Cause::wrong_place:
      return "the right numbers at the wrong elements";
    case Cause::tie_rule:
      return "the tied elements together get too much or too little";
    case Cause::round_off:
      return "right to float32's digits only; float32 inside backward?";
    case Cause::no_gradient:
      return "backward gives this input no gradient";
    case Cause::not_finite:
      return "not finite where the derivative is";
    case Cause::nondeterminism:
      return "nondeterminism";
    case Cause::kink:
      return "a kink: the one-sided slopes differ; move the input away from it";
    case Cause::noise:
      return "the values are too coarse or too rough here to tell";
    case Cause::unknown:
      break;
  }
  return "unknown";
}

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

std::string detail::number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

Verdict GradCheck::verdict() const {
  if (wrong > 0 || !failure.empty()) return Verdict::wrong;
  return right > 0 || entries == 0 ? Verdict::right : Verdict::inconclusive;
}

std::string GradCheck::explain() const {
  const char* verdicts[] = {"right", "wrong", "inconclusive"};
  std::string text = std::string("gradcheck: ") + verdicts[static_cast<int>(verdict())];
  if (!failure.empty()) text += ": " + failure;
  const std::int64_t checked = right + wrong + inconclusive;
  text += "\n  " + std::to_string(checked) + " of " + std::to_string(entries) +
          " entries checked: " + std::to_string(right) + " right, " + std::to_string(wrong) + " wrong, " +
          std::to_string(inconclusive) + " inconclusive\n";
  for (const GradCheckEntry& entry : worst) text += line_of(entry);
  for (const std::string& note : notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace tally
