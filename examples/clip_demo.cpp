// Trains one model twice, without and with gradient clipping, and draws what happens: the loss explodes, or it falls.
// --help lists the options. Exit status as in run_program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include <tally/examples/clip/picture.h>
#include <tally/examples/support/options.h>
#include <tally/examples/support/program.h>
#include <tally/examples/support/text.h>
#include <tally/nn/file.h>

namespace tally::examples {
namespace {

// A NaN's sign says nothing.
std::string measure(double value) { return std::isnan(value) ? "nan" : print("%.3g", value); }

void cell(const std::vector<AdderStep>& steps, std::size_t i) {
  if (i < steps.size())
    std::printf("  %9s %9s %11.4g %9.4g", measure(steps[i].loss).c_str(), measure(steps[i].gradient_norm).c_str(),
                steps[i].w, steps[i].u);
  else
    std::printf("  %9s %9s %11s %9s", "-", "-", "-", "-");
}

std::string ending(const std::vector<AdderStep>& steps) {
  const AdderStep& last = steps.back();
  char text[120];
  if (std::isfinite(last.loss) && std::isfinite(last.gradient_norm))
    std::snprintf(text, sizeof text, "loss %.3g after %zu steps, at w %.4f, u %.4f", last.loss, steps.size(), last.w,
                  last.u);
  else
    std::snprintf(text, sizeof text, "not finite at step %zu: loss %s, gradient norm %s", steps.size() - 1,
                  measure(last.loss).c_str(), measure(last.gradient_norm).c_str());
  return text;
}

void run(const AdderOptions& options, double max_norm, const std::string& out) {
  std::optional<AtomicFile> picture;  // before the run, so that it does not end in a surprise
  if (!out.empty()) picture.emplace(FileSite{"--out", out, {}});
  const std::vector<AdderStep> unclipped = train_adder(options, 0), clipped = train_adder(options, max_norm);
  std::printf("h = w h + u x learns to add up lists of %lld numbers; right at w = u = 1\n\n",
              static_cast<long long>(options.length));
  std::printf("%5s  %-41s   clipped to %g\n", "", "without clipping", max_norm);
  std::printf("%5s  %9s %9s %11s %9s  %9s %9s %11s %9s\n", "step", "loss", "|g|", "w", "u", "loss", "|g|", "w", "u");
  const std::size_t longest = std::max(unclipped.size(), clipped.size()), apart = std::max<std::size_t>(1, longest / 8);
  const auto row = [&](std::size_t i) {
    std::printf("%5zu", i);
    cell(unclipped, i);
    cell(clipped, i);
    std::printf("\n");
  };
  for (std::size_t i = 0; i + 1 < longest; i += i < 7 ? 1 : apart) row(i);
  row(longest - 1);
  std::printf("\nwithout clipping: %s\nclipped to %g: %s\n", ending(unclipped).c_str(), max_norm,
              ending(clipped).c_str());
  if (!picture) return;
  picture->write(std::as_bytes(std::span<const char>(clip_svg(unclipped, clipped, max_norm))));
  picture->commit();
  std::printf("picture: %s\n", out.c_str());
}

}  // namespace
}  // namespace tally::examples

int main(int argc, char** argv) {
  using namespace tally::examples;
  return run_program("clip_demo", [&] {
    AdderOptions options;
    double max_norm = 1;
    std::string out = "clip_demo.svg", device = "cpu";
    CLI::App app("An exploding loss with and without gradient clipping.", "clip_demo");
    app.add_option("--clip", max_norm, "Largest gradient norm (default: 1)")->check(kPositive)->type_name("X");
    app.add_option("--lr", options.learning_rate, "Learning rate (default: 0.003)")->check(kPositive)->type_name("X");
    app.add_option("--steps", options.steps, "(default: 500)")->check(kCount)->type_name("N");
    app.add_option("--length", options.length, "Numbers in a list (default: 40)")->check(kCount)->type_name("N");
    app.add_option("--batch", options.batch, "Lists a step (default: 64)")->check(kCount)->type_name("N");
    app.add_option("--seed", options.seed, "Of the lists (default: 0)")->check(kSeed)->type_name("N");
    app.add_option("--out", out, "Picture (default: clip_demo.svg; \"\" for none)")->type_name("FILE");
    add_device(app, device);
    if (!parse(app, argc, argv)) return;
    options.device = device_of(device);
    run(options, max_norm, out);
  });
}
