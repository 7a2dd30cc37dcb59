#include <tally/examples/classifier/training.h>

#include <charconv>
#include <chrono>
#include <limits>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/examples/classifier/epoch.h>
#include <tally/examples/classifier/history.h>
#include <tally/nn/clip.h>
#include <tally/nn/layers.h>
#include <tally/nn/loss.h>
#include <tally/nn/metrics.h>
#include <tally/nn/schedule.h>
#include <tally/ops/index.h>
#include <tally/ops/view.h>

namespace tally::examples {
namespace {

nn::Sequential make_model(std::int64_t features, const std::vector<std::int64_t>& widths, std::int64_t classes,
                          Generator& generator, Device device) {
  nn::Sequential model;
  std::int64_t in = features;
  for (const std::int64_t width : widths) {
    model.add(nn::Linear(in, width, {.device = device, .generator = generator}));
    model.add(nn::BatchNorm1d(width, {.device = device}));
    model.add(nn::ReLU());
    in = width;
  }
  return model.add(nn::Linear(in, classes, {.device = device, .generator = generator}));
}

std::unique_ptr<nn::Optimizer> make_optimizer(const ClassifierOptions& o, const nn::NamedTensors& parameters) {
  if (o.optimizer == "sgd")
    return std::make_unique<nn::SGD>(parameters, o.learning_rate,
                                     nn::SGDOptions{.momentum = o.momentum, .weight_decay = o.weight_decay});
  return std::make_unique<nn::Adam>(parameters, o.learning_rate, nn::AdamOptions{.weight_decay = o.weight_decay});
}

struct Batch {
  Tensor images, labels;
};

Batch pick(const Samples& samples, const Tensor& rows, Device device) {
  return {index_select(samples.images, 0, rows).to(device), index_select(samples.labels, 0, rows).to(device)};
}

std::string in_text(double value) {
  char text[32];  // the fewest digits that say which double it is
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// What `read` gives, or the way out where the checkpoint is damaged.
template <class F> auto resumed(F read) {
  try {
    return read();
  } catch (const IoError& error) {
    const std::string text = error.what();
    throw IoError("--resume", text.substr(0, text.find('\n')) + "; start without it", {});
  }
}

}  // namespace

Training::Training(const ClassifierOptions& options, Dataset data)
    : options_(options), data_(std::move(data)), generator_(options.seed) {
  model_ = make_model(data_.features, options_.widths, data_.classes, generator_, options_.device);
  optimizer_ = make_optimizer(options_, nn::parameters(model_));
  const std::int64_t images = data_.train.count(), rest = images % options_.batch;
  steps_per_epoch_ = images / options_.batch + (rest >= 2 ? 1 : 0);
  if (steps_per_epoch_ == 0) throw ValueError("train", "too few training images: " + std::to_string(images), {});
}

double Training::learning_rate() const {
  if (options_.schedule == "constant") return options_.learning_rate;
  return nn::CosineSchedule{options_.learning_rate, options_.epochs * steps_per_epoch_}(steps_done_);
}

double Training::largest_norm() const {
  return options_.clip > 0 ? options_.clip : std::numeric_limits<double>::infinity();
}

Training::Step Training::step(const Tensor& rows) {
  const Batch batch = pick(data_.train, rows, options_.device);
  const Tensor logits = model_(batch.images);
  const Tensor loss = cross_entropy(logits, batch.labels);
  loss.backward();
  const Tensor norm = clip_grad_norm_(nn::parameters(model_), largest_norm());
  optimizer_->set_learning_rate(learning_rate());
  optimizer_->step();
  optimizer_->zero_grad();
  ++steps_done_;
  return {loss.detach(), accuracy(logits.detach(), batch.labels), norm};
}

EpochMetrics Training::run_epoch(Progress* progress) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t images = data_.train.count(), epoch = epochs_done() + 1;
  EpochMeasures measures(epoch, options_.epochs, steps_per_epoch_, largest_norm());
  const double rate = learning_rate();
  nn::train(model_);
  const Tensor order = tensor(permutation(images, generator_)).to(data_.train.labels.device());
  for (std::int64_t i = 0; i < steps_per_epoch_; ++i) {
    const std::int64_t first = i * options_.batch, size = std::min(options_.batch, images - first);
    const Step done = step(narrow(order, 0, first, size));
    measures.add(size, done.loss, done.accuracy, done.gradient_norm);
    if (progress && progress->due()) progress->draw(measures.state());
  }
  EpochMetrics metrics = measures.metrics();
  const TestResult result = test();
  metrics.learning_rate = rate;
  metrics.test_loss = result.loss;
  metrics.test_accuracy = result.confusion.accuracy();
  metrics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const StepMetrics& one : measures.steps()) history_.steps.push_back(one);
  history_.epochs.push_back(metrics);
  return metrics;
}

Training::TestResult Training::test() {
  NoGrad guard;
  nn::eval(model_);
  TestResult result{Confusion(data_.classes)};
  const std::int64_t images = data_.test.count(), size = 1024;
  for (std::int64_t first = 0; first < images; first += size) {
    const std::int64_t count = std::min(size, images - first);
    const Tensor x = narrow(data_.test.images, 0, first, count).to(options_.device),
                 y = narrow(data_.test.labels, 0, first, count).to(options_.device);
    const Tensor logits = model_(x);
    result.loss += cross_entropy(logits, y, {.reduction = LossReduction::sum}).item<double>();
    const auto truth = y.to_vector<std::int64_t>(), guess = predicted_classes(logits).to_vector<std::int64_t>();
    for (std::size_t i = 0; i < truth.size(); ++i) result.confusion.add(truth[i], guess[i]);
  }
  result.loss /= static_cast<double>(images);
  return result;
}

/// What must be the same for a run to go on as if it had never stopped.
nn::Metadata Training::recipe() const {
  std::string widths;
  for (const std::int64_t width : options_.widths) widths += (widths.empty() ? "" : ",") + std::to_string(width);
  return {{"data", std::to_string(data_.train.count()) + " images of " + std::to_string(data_.features) + " pixels"},
          {"widths", widths},
          {"seed", std::to_string(options_.seed)},
          {"batch", std::to_string(options_.batch)},
          {"optimizer", options_.optimizer},
          {"lr", in_text(options_.learning_rate)},
          {"momentum", in_text(options_.momentum)},
          {"weight-decay", in_text(options_.weight_decay)},
          {"schedule", options_.schedule},
          {"clip", in_text(options_.clip)},
          {"epochs", options_.schedule == "cosine" ? std::to_string(options_.epochs) : "any"}};
}

void Training::save(const std::string& path) {
  nn::TrainingState state{.epoch = epochs_done(), .step = steps_done_, .generator = generator_};
  state.notes = recipe();
  state.extra = to_tensors(history_);
  nn::save_checkpoint(path, model_, *optimizer_, state);
}

void Training::load(const std::string& path) {
  const nn::Metadata mine = recipe(), theirs = resumed([&] { return nn::peek_checkpoint(path).notes; });
  std::string differences;
  for (const auto& [name, value] : mine) {
    const auto found = theirs.find(name);
    const std::string other = found == theirs.end() ? "nothing" : found->second;
    if (other != value) differences += "; --" + name + " was " + other + ", is " + value;
  }
  if (!differences.empty())
    throw ValueError(
        "--resume",
        path + " is of another run" + differences + "; give it that run's options, or start anew without --resume", {});
  const nn::TrainingState state = resumed([&] { return nn::load_checkpoint(path, model_, *optimizer_); });
  steps_done_ = state.step;
  generator_ = state.generator;
  history_ = to_history(state.extra);
}

}  // namespace tally::examples
