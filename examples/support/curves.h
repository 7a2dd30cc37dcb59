// curves.svg: loss, accuracy, gradient norm and clipped share of a training run.
#pragma once

#include <string>

#include <tally/examples/support/metrics.h>

namespace tally::examples {

/// `title` heads the picture; `max_norm` is the clipping limit, drawn as a line, 0 for none.
/// Values that are not finite leave gaps, and their number is written beside the title.
std::string curves_svg(const History& history, const std::string& title, double max_norm);

}  // namespace tally::examples
