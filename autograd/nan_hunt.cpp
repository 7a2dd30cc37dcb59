#include <tally/autograd/nan_hunt.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <tally/autograd/bits.h>
#include <tally/autograd/node.h>
#include <tally/core/error.h>

namespace tally::detail {
namespace {

// Where the first NaN is, in coordinates; nothing where there is none.
std::optional<Shape> first_nan(const Tensor& tensor) {
  if (!tensor.defined() || !is_floating(tensor.dtype())) return {};
  const std::vector<double> values = tensor.to_vector<double>();
  const auto found = std::find_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  if (found == values.end()) return {};
  return coordinates(tensor.shape(), found - values.begin());
}

bool has_nan(const Tensor& tensor) { return first_nan(tensor).has_value(); }

}  // namespace

void hunt_forward(const char* op, const std::vector<const Tensor*>& inputs, const std::vector<const Tensor*>& values,
                  Where where) {
  Switch reading(&GraphMode::hunt_nans, false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = first_nan(*values[i]);
    if (!at) continue;
    if (std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) { return has_nan(*input); })) return;
    std::string text = "made a NaN at " + to_string(*at) + " of ";
    text += (values.size() == 1 ? "its result, " : "result " + std::to_string(i) + ", ") + describe(*values[i]);
    text += "; no input has one";
    for (std::size_t k = 0; k < inputs.size(); ++k)
      text += "\n    input " + std::to_string(k) + ": " + describe(*inputs[k]);
    throw ValueError(op, text, where);
  }
}

void hunt_backward(const Node& node, const std::vector<Tensor>& upstream, const std::vector<Tensor>& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!node.inputs[i].wanted()) continue;
    const auto at = first_nan(gradients[i]);
    if (!at) continue;
    const std::vector<SavedTensor> saved = node.saved();
    if (std::any_of(upstream.begin(), upstream.end(), has_nan) ||
        std::any_of(saved.begin(), saved.end(), [](const SavedTensor& one) { return has_nan(one.tensor); }))
      return;
    throw ValueError(node.name,
                     "backward made a NaN at " + to_string(*at) + " of the gradient of input " + std::to_string(i) +
                         ", " + describe(gradients[i]) + "; neither the gradients above nor what was saved has one",
                     node.where);
  }
}

}  // namespace tally::detail
