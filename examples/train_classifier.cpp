// Trains an MLP with batch norm on images, on the CPU or on CUDA, and reports how well it does; --help lists the
// options. Exit status 0, 2 for bad input, 1 for what goes wrong otherwise.
#include <cstdio>
#include <iostream>

#include <unistd.h>

#include <tally/core/cuda/device.h>
#include <tally/core/parallel.h>
#include <tally/examples/classifier/report.h>
#include <tally/examples/classifier/training.h>
#include <tally/examples/support/program.h>
#include <tally/examples/support/text.h>

namespace tally::examples {
namespace {

std::string description(const ClassifierOptions& options, const Dataset& data, Training& training) {
  const std::string device =
      options.device == Device::cuda ? gpu::describe() : "on the CPU, " + std::to_string(num_threads()) + " threads";
  return data.name + ": " + std::to_string(data.train.count()) + " training and " + std::to_string(data.test.count()) +
         " test images, " + std::to_string(data.classes) + " classes; " +
         std::to_string(nn::parameter_count(training.model())) + " parameters; " + device;
}

void run(const ClassifierOptions& options) {
  const Dataset data = load_dataset(options);
  const OutputDirectory out(options.out, options.resume);
  Training training(options, data);
  if (options.resume) training.load(out.checkpoint());
  std::cout << description(options, data, training) << std::endl;
  if (out.replaces()) std::cout << "replaces the run in " << options.out << " (--resume goes on with it)" << std::endl;
  if (options.resume) std::cout << "resumed after epoch " << training.epochs_done() << std::endl;
  {
    Progress progress(std::cout, Terminal::of(STDOUT_FILENO),
                      static_cast<double>(training.epochs_done()) / static_cast<double>(options.epochs));
    while (training.epochs_done() < options.epochs) {
      const EpochMetrics metrics = training.run_epoch(&progress);
      progress.end_epoch(metrics, options.epochs);
      out.write_epoch(training, options);
    }
  }
  const Training::TestResult result = training.test();
  std::cout << "\n" << result.confusion.str();
  const std::string accuracy = print("%.2f %%", 100 * result.confusion.accuracy());
  std::cout << "test accuracy " << accuracy << ", loss " << print("%.4f", result.loss) << std::endl;
  out.write_result(training, result.confusion, data.name + ", test accuracy " + accuracy);
}

}  // namespace
}  // namespace tally::examples

int main(int argc, char** argv) {
  using namespace tally::examples;
  return run_program("train_classifier", [&] {
    if (const auto options = parse_options(argc, argv)) run(*options);
  });
}
