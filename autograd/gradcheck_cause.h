// How gradcheck names what is wrong with a gradient.
#pragma once

#include <string>
#include <vector>

#include <tally/autograd/gradcheck.h>

namespace tally::detail {

/// Wrong before undecided, then by error in units of what would pass.
bool is_worse(const GradCheckEntry& a, const GradCheckEntry& b);

struct Suspect {
  Cause cause;
  double factor;  // of Cause::factor
};
/// What the wrong entries of one input have in common, beside all that were checked. `missing`: the worst of them lacks
/// some outputs' contributions and has the others right.
Suspect suspect(const std::vector<GradCheckEntry>& checked, bool missing);

/// Seven digits, as results are shown.
std::string number(double value);

}  // namespace tally::detail
