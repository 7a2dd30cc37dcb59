#include <tally/examples/classifier/options.h>

#include <filesystem>

#include <tally/core/error.h>
#include <tally/examples/support/options.h>

namespace tally::examples {

std::optional<ClassifierOptions> parse_options(int argc, const char* const* argv) {
  ClassifierOptions o;
  CLI::App app("Trains a classifier, an MLP with batch norm and ReLU, and reports how well it does.",
               "train_classifier");
  app.get_formatter()->column_width(34);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  std::string device = "cpu", widths = "256,128";
  app.add_option("--data", o.data, "Directory of MNIST-style IDX files (default: embedded digits)")->type_name("DIR");
  app.add_option("--out", o.out, "Directory for metrics, plots, model and checkpoint")->type_name("DIR");
  app.add_flag("--resume", o.resume, "Go on from the checkpoint in --out");
  add_device(app, device);
  app.add_option("--seed", o.seed, "Of split, weights and shuffles (default: 0)")->check(kSeed)->type_name("N");
  app.add_option("--epochs", o.epochs, "Passes over the data (default: 20, with --data 10)")
      ->check(kCount)
      ->type_name("N");
  app.add_option("--batch", o.batch, "Images a step (default: 128)")->check(kCount)->type_name("N");
  app.add_option("--lr", o.learning_rate, "Learning rate (default: adam 0.001, sgd 0.05)")
      ->check(kPositive)
      ->type_name("X");
  app.add_option("--optimizer", o.optimizer, "adam or sgd (default: adam)")
      ->check(one_of("adam", "sgd"))
      ->type_name("NAME");
  app.add_option("--momentum", o.momentum, "Of sgd (default: 0.9)")->check(kShare)->type_name("X");
  app.add_option("--weight-decay", o.weight_decay, "(default: 0)")->check(kNotNegative)->type_name("X");
  app.add_option("--schedule", o.schedule, "cosine or constant (default: cosine)")
      ->check(one_of("cosine", "constant"))
      ->type_name("NAME");
  app.add_option("--clip", o.clip, "Largest gradient norm, 0 for none (default: 1)")
      ->check(kNotNegative)
      ->type_name("X");
  app.add_option("--widths", widths, "Sizes of the hidden layers (default: 256,128)")->type_name("N,N");
  if (!parse(app, argc, argv)) return std::nullopt;
  o.widths = counts("--widths", widths);
  if (o.epochs == 0) o.epochs = o.data.empty() ? 20 : 10;
  if (o.learning_rate == 0) o.learning_rate = o.optimizer == "adam" ? 1e-3 : 0.05;
  if (o.batch < 2)
    throw ValueError("--batch " + std::to_string(o.batch), "batch norm needs at least two images a step", {});
  if (o.data == "fashion-mnist" && !std::filesystem::exists(o.data))
    throw ValueError("--data fashion-mnist", "no such directory; examples/train.sh installs that data and trains on it",
                     {});
  if (o.resume && o.out.empty()) throw ValueError("--resume", "needs --out, where the checkpoint is", {});
  o.device = device_of(device);
  return o;
}

}  // namespace tally::examples
