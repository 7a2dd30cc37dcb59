#include "check.h"

#include <tally/autograd/backward.h>

#include "compare.h"

namespace tally::conformance {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The inputs as leaves; those that the case has a gradient of require one.
Tensors read_inputs(const Json& record, Device device) {
  Tensors inputs;
  for (const Json& one : record.at("inputs")) inputs.push_back(read_tensor(one, device));
  if (record.contains("grads"))
    for (const auto& [number, expected] : record["grads"].items()) inputs.at(std::stoul(number)).requires_grad_();
  return inputs;
}

/// A call that must throw. On CUDA what the device found is thrown when the result is read.
Outcome check_error(const Call& call, const Json& record, Device device) {
  std::string unread;
  try {
    Arguments arguments(record, read_inputs(record, device));
    const Tensors outputs = call(arguments);
    unread = arguments.unread();
    for (const Tensor& output : outputs) output.to_vector<double>();
  } catch (const Skip& skip) {
    return {Outcome::skipped, skip.what()};
  } catch (const std::exception&) {
    return {Outcome::passed};
  }
  if (!unread.empty()) return {Outcome::skipped, "no such argument: " + unread};
  return {Outcome::failed, "no error: got a result, expected " + record["error"].get<std::string>()};
}

std::string compare_outputs(const Tensors& outputs, const Json& expected, Device device) {
  if (outputs.size() != expected.size())
    return "outputs: got " + std::to_string(outputs.size()) + ", expected " + std::to_string(expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (const std::string what = difference(outputs[i], read_tensor(expected[i], device)); !what.empty())
      return "output " + std::to_string(i) + " " + what;
  return "";
}

std::string compare_gradients(const Tensors& inputs, const Tensors& outputs, const Json& record, Device device) {
  Tensors leaves, differentiable, cotangents;
  std::vector<std::string> numbers;
  for (const auto& [number, expected] : record["grads"].items()) {
    numbers.push_back(number);
    leaves.push_back(inputs.at(std::stoul(number)));
  }
  if (leaves.empty()) return "";
  for (const Json& one : record.at("cotangents")) cotangents.push_back(read_tensor(one, device));
  for (const Tensor& output : outputs)
    if (is_floating(output.dtype())) differentiable.push_back(output);
  if (differentiable.size() != cotangents.size())
    return "differentiable outputs: got " + std::to_string(differentiable.size()) + ", expected " +
           std::to_string(cotangents.size());
  const Tensors grads = grad(differentiable, leaves, cotangents);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const Tensor expected = read_tensor(record["grads"][numbers[i]], device);
    const Tensor got = grads[i].defined() ? grads[i] : zeros(expected.shape(), {.dtype = expected.dtype()});
    if (const std::string what = difference(got, expected); !what.empty())
      return "gradient of input " + numbers[i] + " " + what;
  }
  return "";
}

}  // namespace

Outcome check(const Json& record, Device device) {
  const auto op = ops().find(record.at("op").get<std::string>());
  if (op == ops().end()) return {Outcome::missing};
  if (record.contains("error")) return check_error(op->second, record, device);
  try {
    const Tensors inputs = read_inputs(record, device);
    Arguments arguments(record, inputs);
    const Tensors outputs = op->second(arguments);
    if (const std::string unread = arguments.unread(); !unread.empty())
      return {Outcome::skipped, "no such argument: " + unread};
    std::string what = compare_outputs(outputs, record.at("outputs"), device);
    if (what.empty() && record.contains("grads")) what = compare_gradients(inputs, outputs, record, device);
    return {what.empty() ? Outcome::passed : Outcome::failed, what};
  } catch (const Skip& skip) {
    return {Outcome::skipped, skip.what()};
  } catch (const std::exception& error) {
    return {Outcome::failed, "threw: got \"" + first_line(error.what()) + "\", expected a result"};
  }
}

}  // namespace tally::conformance
