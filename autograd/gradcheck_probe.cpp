#include <tally/autograd/gradcheck_probe.h>

#include <algorithm>
#include <cmath>

#include <tally/autograd/backward.h>
#include <tally/autograd/bits.h>
#include <tally/autograd/gradcheck_cause.h>
#include <tally/autograd/random_weight.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally::detail {
namespace {

constexpr std::int64_t kMostParts = 256;

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return list_difference("tensor", a, b, bit_difference).empty();
}

bool has_shared_elements(const Tensor& tensor) {
  for (int d = 0; d < tensor.dim(); ++d)
    if (tensor.strides()[d] == 0 && tensor.shape()[d] > 1) return tensor.numel() > 0;
  return false;
}

Tensor like(const Tensor& tensor, const Values& values) {
  Tensor copy = empty(tensor.shape(), {.dtype = tensor.dtype(), .device = tensor.device()});
  raw::copy(copy, tally::tensor(values, tensor.shape()));
  return copy;
}

bool carries_gradient(const Tensor& output) { return output.defined() && output.requires_grad(); }

}  // namespace

Probe::Probe(const TensorFunction& f, const std::vector<Tensor>& inputs, std::uint64_t seed, Backward backward)
    : f_(f), seed_(seed), backward_(backward) {
  for (const Tensor& input : inputs) {
    const bool floating = is_floating(input.dtype());
    if (has_shared_elements(input))
      notes.push_back("input " + std::to_string(inputs_.size()) +
                      " has elements that share memory; a dense copy is checked");
    Tensor copy = empty(input.shape(), {.dtype = floating ? float64 : input.dtype(), .device = input.device()});
    raw::copy(copy, input);
    inputs_.push_back(copy);
    values_.push_back(floating ? input.to_vector<double>() : Values());
  }
}

bool Probe::run() {
  forward();
  const bool has_elements = std::any_of(values_.begin(), values_.end(), [](const Values& x) { return !x.empty(); });
  if (!has_elements)
    notes.push_back("the inputs have no elements, so there is nothing to check");
  else if (kept_ + left_out_ == 0)
    notes.push_back("there is no floating output, so there is nothing to check");
  if (failure.empty()) backward();
  return failure.empty() && has_elements && kept_ > 0;
}

void Probe::forward() {
  for (std::size_t i = 0; i < count(); ++i) {
    leaves_.push_back(inputs_[i].detach());
    if (is_checked(i)) leaves_.back().requires_grad_();
  }
  outputs_ = f_(leaves_);
  for (std::size_t o = 0; o < outputs_.size(); ++o) weights_.push_back(draw_weights(o));
  if (!std::isfinite(magnitude_)) magnitude_ = 0;
  if (!same_bits(outputs_, f_(leaves_)))
    fail(Cause::nondeterminism,
         "two forward runs on the same inputs differ (a random number inside f, an input that f changes, or "
         "uninitialised memory?)");
}

Values Probe::draw_weights(std::size_t place) {
  const Tensor& output = outputs_[place];
  if (!output.defined() || !is_floating(output.dtype())) return {};
  if (output.dtype() != float64) notes.push_back(std::string("f gives ") + name_of(output.dtype()));
  Values weights;
  for (const double value : output.to_vector<double>()) {
    weights.push_back(random_weight(seed_, ~drawn_++));
    if (std::isfinite(value)) {
      ++kept_;
      magnitude_ += std::abs(weights.back() * value);
      continue;
    }
    // Beside NaN every sum is NaN: the others would not be checked.
    if (left_out_++ == 0)
      notes.push_back("f gives " + number(value) + " at output " + std::to_string(place) + " " +
                      to_string(coordinates(output.shape(), static_cast<std::int64_t>(weights.size()) - 1)) +
                      ": choose inputs where f is finite");
    weights.back() = 0;
  }
  return weights;
}

void Probe::backward() {
  std::vector<Tensor> outputs, cotangents, leaves;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    if (!carries_gradient(outputs_[o])) continue;
    outputs.push_back(outputs_[o]);
    cotangents.push_back(like(outputs_[o], weights_[o]));
  }
  for (const Tensor& leaf : leaves_)
    if (leaf.requires_grad()) leaves.push_back(leaf);
  std::vector<Tensor> found(leaves.size()), again(leaves.size());
  try {
    if (!outputs.empty()) {
      found = walk(outputs, leaves, cotangents);
      again = walk(outputs, leaves, cotangents);
      if (left_out_ > 0) find_outside(outputs, leaves);
    }
  } catch (const std::exception& error) {
    return fail(Cause::unknown, error.what());
  }
  if (!same_bits(found, again)) return fail(Cause::nondeterminism, "two backward walks of one graph differ");
  std::size_t next = 0;
  for (std::size_t i = 0; i < count(); ++i) {
    const Tensor gradient = is_checked(i) ? found[next++] : Tensor();
    reached_.push_back(gradient.defined());
    gradients_.push_back(gradient.defined() ? gradient.to_vector<double>() : Values(values_[i].size()));
  }
}

void Probe::find_outside(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves) {
  std::vector<Tensor> cotangents;
  for (const Tensor& output : outputs) {
    Values left_out = output.to_vector<double>();
    for (double& value : left_out) value = std::isfinite(value) ? 0 : 1;
    cotangents.push_back(like(output, left_out));
  }
  const std::vector<Tensor> found = walk(outputs, leaves, cotangents);
  std::size_t next = 0;
  for (std::size_t i = 0; i < count(); ++i) {
    const Tensor gradient = is_checked(i) ? found[next++] : Tensor();
    outside_.push_back(gradient.defined() ? gradient.to_vector<double>() : Values(values_[i].size()));
  }
}

bool Probe::is_outside(std::size_t input, std::size_t place) const {
  return !outside_.empty() && outside_[input][place] != 0;  // NaN is not 0 either
}

std::vector<Tensor> Probe::walk(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves,
                                const std::vector<Tensor>& cotangents) const {
  return grad(outputs, leaves, cotangents, {.retain_graph = true, .create_graph = backward_ == Backward::recorded});
}

std::vector<Tensor> Probe::outputs_at(std::size_t input, const Values& values) const {
  std::vector<Tensor> inputs = inputs_;
  inputs[input] = like(inputs_[input], values);
  return f_(inputs);
}

double Probe::along(const std::vector<Values>& direction, double t) const {
  std::vector<Tensor> inputs = inputs_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (direction[i].empty()) continue;
    Values values = values_[i];
    for (std::size_t j = 0; j < values.size(); ++j) values[j] += t * direction[i][j];
    inputs[i] = like(inputs_[i], values);
  }
  return weighted(f_(inputs));
}

double Probe::weighted(const std::vector<Tensor>& outputs) const {
  long double sum = 0;
  for (std::size_t o = 0; o < weights_.size(); ++o) {
    if (weights_[o].empty()) continue;
    const Values values = outputs[o].to_vector<double>();
    for (std::size_t j = 0; j < values.size(); ++j)
      if (weights_[o][j] != 0) sum += static_cast<long double>(weights_[o][j]) * values[j];
  }
  return static_cast<double>(sum);
}

std::vector<Probe::Part> Probe::parts(std::size_t input, std::size_t place, double step) const {
  std::int64_t total = 0;
  for (const Tensor& output : outputs_) total += carries_gradient(output) ? output.numel() : 0;
  if (total > kMostParts) return {};
  Values values = values_[input];
  values[place] = values_[input][place] + step;
  const std::vector<Tensor> high = outputs_at(input, values);
  values[place] = values_[input][place] - step;
  const std::vector<Tensor> low = outputs_at(input, values);
  std::vector<Part> found;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    if (!carries_gradient(outputs_[o])) continue;
    const Values up = high[o].to_vector<double>(), down = low[o].to_vector<double>();
    for (std::size_t j = 0; j < up.size(); ++j) {
      if (weights_[o][j] == 0) continue;
      Values one_hot(up.size());
      one_hot[j] = 1;
      const Tensor row = walk({outputs_[o]}, {leaves_[input]}, {like(outputs_[o], one_hot)})[0];
      found.push_back({row.defined() ? row.to_vector<double>()[place] : 0, (up[j] - down[j]) / (2 * step),
                       static_cast<int>(o), coordinates(outputs_[o].shape(), static_cast<std::int64_t>(j))});
    }
  }
  return found;
}

void Probe::fail(Cause cause, std::string text) {
  failure = std::move(text);
  failure_cause = cause;
}

}  // namespace tally::detail
