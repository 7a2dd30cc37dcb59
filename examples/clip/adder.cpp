#include <tally/examples/clip/adder.h>

#include <cmath>
#include <limits>

#include <tally/tally.h>

namespace tally::examples {

Tensor adder_loss(const Tensor& w, const Tensor& u, const Tensor& x) {
  Tensor h = u * select(x, 1, 0);
  for (std::int64_t i = 1; i < x.size(1); ++i) h = w * h + u * select(x, 1, i);
  return mean(square(h - sum(x, 1)));
}

Tensor adder_lists(const AdderOptions& options, std::int64_t step) {
  Generator generator(options.seed);
  generator.set_offset(static_cast<std::uint64_t>(step * ((options.batch * options.length + 3) / 4)));
  const Tensor lists = empty({options.batch, options.length}, {.device = options.device});
  fill_uniform(lists, generator);
  return 2 * lists - 1;
}

std::vector<AdderStep> train_adder(const AdderOptions& options, double max_norm) {
  const Options leaf{.device = options.device, .requires_grad = true};
  const Tensor w = full({}, options.w, leaf), u = full({}, options.u, leaf);
  const nn::NamedTensors parameters{{"w", w}, {"u", u}};
  nn::SGD optimizer(parameters, options.learning_rate);
  const double limit = max_norm > 0 ? max_norm : std::numeric_limits<double>::infinity();

  std::vector<AdderStep> steps;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = adder_loss(w, u, adder_lists(options, step));
    loss.backward();
    const Tensor norm = nn::clip_grad_norm_(parameters, limit, 2, nn::NonFinite::skip);
    steps.push_back({w.item<double>(), u.item<double>(), loss.item<double>(), norm.item<double>()});
    if (!std::isfinite(steps.back().loss) || !std::isfinite(steps.back().gradient_norm)) break;
    optimizer.step();
  }
  return steps;
}

}  // namespace tally::examples
