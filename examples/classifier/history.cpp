#include <tally/examples/classifier/history.h>

#include <array>

#include <tally/core/error.h>

namespace tally::examples {
namespace {

using EpochRow = std::array<double, 9>;
using StepRow = std::array<double, 4>;

EpochRow row_of(const EpochMetrics& m) {
  return {static_cast<double>(m.epoch),
          m.learning_rate,
          m.train_loss,
          m.train_accuracy,
          m.test_loss,
          m.test_accuracy,
          m.gradient_norm,
          m.clipped_share,
          m.seconds};
}
EpochMetrics epoch_of(const double* r) {
  return {static_cast<std::int64_t>(r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]};
}
StepRow row_of(const StepMetrics& m) { return {m.epoch, m.loss, m.gradient_norm, m.clipped ? 1.0 : 0.0}; }
StepMetrics step_of(const double* r) { return {r[0], r[1], r[2], r[3] != 0}; }

template <class Metrics> Tensor table(const std::vector<Metrics>& all) {
  std::vector<double> values;
  for (const Metrics& one : all)
    for (double value : row_of(one)) values.push_back(value);
  const auto columns = static_cast<std::int64_t>(row_of(Metrics{}).size());
  return tensor(values, Shape{static_cast<std::int64_t>(all.size()), columns});
}

/// f of each row of the tensor called `name`.
template <class F> auto rows(const nn::NamedTensors& tensors, const std::string& name, std::size_t columns, F f) {
  for (const nn::NamedTensor& one : tensors) {
    if (one.name != name) continue;
    if (one.tensor.dim() != 2 || one.tensor.size(1) != static_cast<std::int64_t>(columns)) break;
    const std::vector<double> values = one.tensor.to_vector<double>();
    std::vector<decltype(f(values.data()))> found;
    for (std::size_t i = 0; i < values.size(); i += columns) found.push_back(f(values.data() + i));
    return found;
  }
  throw ValueError("--resume", "the checkpoint has no history of its " + name, {});
}

}  // namespace

nn::NamedTensors to_tensors(const History& history) {
  return {{"epochs", table(history.epochs)}, {"steps", table(history.steps)}};
}

History to_history(const nn::NamedTensors& tensors) {
  return {rows(tensors, "steps", std::tuple_size_v<StepRow>, step_of),
          rows(tensors, "epochs", std::tuple_size_v<EpochRow>, epoch_of)};
}

}  // namespace tally::examples
