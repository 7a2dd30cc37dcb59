// What a gradient check says to its reader.
#include <cmath>
#include <cstdio>
#include <set>

#include <tally/autograd/gradcheck_cause.h>

namespace tally {
namespace {

constexpr std::int64_t kFew = 2;  // more entries than these that are alike are told by one

std::string line_of(const GradCheckEntry& entry) {
  std::string text = "  input " + std::to_string(entry.input) + " at " + to_string(entry.element) + ": analytic " +
                     detail::number(entry.analytic) + ", numeric " + detail::number(entry.numeric);
  if (entry.left < entry.right || entry.left > entry.right)
    text += " (slopes " + detail::number(entry.left) + " and " + detail::number(entry.right) + ")";
  if (entry.cause != Cause::domain)
    text += ", error " + detail::number(entry.error()) + ", tolerance " + detail::number(entry.tolerance) +
            ", estimated " + detail::number(entry.estimate);
  if (entry.output >= 0)
    text += "; largest at output " + std::to_string(entry.output) + " " + to_string(entry.output_element);
  text += entry.verdict == Verdict::wrong ? "\n    wrong" : "\n    inconclusive";
  if (entry.alike > kFew) text += ", as all " + std::to_string(entry.alike) + " that were checked of this input";
  if (entry.cause != Cause::unknown) text += std::string(": ") + name_of(entry.cause);
  if (entry.cause == Cause::factor) text += " " + detail::number(entry.factor);
  return text + "\n";
}

}  // namespace

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
    case Cause::jump:
      return "jumps beside the input: between them the gradient may be right, across them it is not";
    case Cause::noise:
      return "the values are too coarse or too rough here to tell";
    case Cause::domain:
      return "f is NaN or infinite here or right beside; choose inputs where it is finite";
    case Cause::unknown:
      break;
  }
  return "unknown";
}

std::string detail::number(double value) {
  if (std::isnan(value)) return "NaN";  // printf's may have a sign
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

Verdict GradCheck::verdict() const {
  if (wrong > 0 || !failure.empty()) return Verdict::wrong;
  return right > 0 ? Verdict::right : Verdict::inconclusive;
}

std::string GradCheck::explain() const {
  const char* verdicts[] = {"right", "wrong", "inconclusive"};
  std::string text = std::string("gradcheck: ") + verdicts[static_cast<int>(verdict())];
  if (!failure.empty()) text += ": " + failure;
  const std::int64_t checked = right + wrong + inconclusive;
  text += "\n";
  if (checked > 0)
    text += "  " + std::to_string(checked) + " of " + std::to_string(entries) +
            " entries checked: " + std::to_string(right) + " right, " + std::to_string(wrong) + " wrong, " +
            std::to_string(inconclusive) + " inconclusive\n";
  std::set<int> told;
  for (const GradCheckEntry& entry : worst)
    if (entry.alike <= kFew || told.insert(entry.input).second) text += line_of(entry);
  for (const std::string& note : notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace tally
