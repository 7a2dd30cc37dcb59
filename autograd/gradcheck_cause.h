// How gradcheck names what is wrong with a gradient.
#pragma once

#include <string>
#include <vector>

#include <tally/autograd/gradcheck_probe.h>

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

/// Writes into a wrong entry at which output element the difference is largest. True where all that is wrong with it is
/// that some outputs contribute nothing.
bool locate(GradCheckEntry& entry, const std::vector<Probe::Part>& parts);

/// Seven digits, as results are shown.
std::string number(double value);

}  // namespace tally::detail
