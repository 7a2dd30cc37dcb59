#include <tally/examples/classifier/epoch.h>

#include <algorithm>

#include <tally/ops/join.h>

namespace tally::examples {

EpochMeasures::EpochMeasures(std::int64_t epoch, std::int64_t epochs, std::int64_t steps, double clip)
    : epoch_(epoch), epochs_(epochs), steps_(steps), clip_(clip) {}

void EpochMeasures::add(std::int64_t images, const Tensor& loss, const Tensor& accuracy, const Tensor& gradient_norm) {
  images_.push_back(static_cast<double>(images));
  loss_.unread.push_back(loss);
  accuracy_.unread.push_back(accuracy);
  norm_.unread.push_back(gradient_norm);
}

void EpochMeasures::Series::read() {
  if (unread.empty()) return;
  for (double value : stack(unread).to_vector<double>()) values.push_back(value);
  unread.clear();
}

void EpochMeasures::read() {
  for (Series* series : {&loss_, &accuracy_, &norm_}) series->read();
}

double EpochMeasures::mean(const Series& series, bool by_images) const {
  double total = 0, weight = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const double w = by_images ? images_[i] : 1;
    total += w * series.values[i];
    weight += w;
  }
  return weight > 0 ? total / weight : kNotMeasured;
}

EpochMetrics EpochMeasures::metrics() {
  read();
  EpochMetrics metrics{.epoch = epoch_};
  metrics.train_loss = mean(loss_, true);
  metrics.train_accuracy = mean(accuracy_, true);
  metrics.gradient_norm = mean(norm_, false);
  const auto clipped =
      std::count_if(norm_.values.begin(), norm_.values.end(), [&](double norm) { return norm > clip_; });
  if (!norm_.values.empty())
    metrics.clipped_share = static_cast<double>(clipped) / static_cast<double>(norm_.values.size());
  return metrics;
}

RunState EpochMeasures::state() {
  const EpochMetrics so_far = metrics();
  return {.epoch = epoch_,
          .epochs = epochs_,
          .step = static_cast<std::int64_t>(images_.size()),
          .steps = steps_,
          .loss = so_far.train_loss,
          .accuracy = so_far.train_accuracy,
          .gradient_norm = so_far.gradient_norm,
          .clipped_share = so_far.clipped_share};
}

std::vector<StepMetrics> EpochMeasures::steps() {
  read();
  std::vector<StepMetrics> steps;
  for (std::size_t i = 0; i < loss_.values.size(); ++i)
    steps.push_back(
        {.epoch = static_cast<double>(epoch_ - 1) + static_cast<double>(i + 1) / static_cast<double>(steps_),
         .loss = loss_.values[i],
         .gradient_norm = norm_.values[i],
         .clipped = norm_.values[i] > clip_});
  return steps;
}

}  // namespace tally::examples
