// Both runs of clip_demo in one picture.
#pragma once

#include <string>
#include <vector>

#include <tally/examples/clip/adder.h>

namespace tally::examples {

/// Loss and gradient norm of the first steps, and of all: SVG. What is beyond the frame is drawn at its edge.
std::string clip_svg(const std::vector<AdderStep>& unclipped, const std::vector<AdderStep>& clipped, double max_norm);

}  // namespace tally::examples
