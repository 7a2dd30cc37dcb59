#include <tally/nn/optimizer.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/nn/optimizer_update.h>
#include <tally/nn/require_range.h>
#include <tally/nn/update.h>

namespace tally::nn {
namespace {

void require(const char* name, bool holds, const std::string& what, Where where) {
  if (!holds) throw ValueError(name, what, where);
}

using tally::detail::require_range;

void require_not_negative(const char* name, const char* what, double value, Where where) {
  require_range(value >= 0, name, what, value, "0 or more", where);
}

}  // namespace

Optimizer::Optimizer(const char* name, NamedTensors parameters, std::vector<std::string> moments, double learning_rate,
                     Where where)
    : name_(name), moments_(std::move(moments)) {
  set_learning_rate(learning_rate, where);
  require(name, !parameters.empty(), "there are no parameters; does the module's visit() name them?", where);
  for (NamedTensor& one : parameters) {
    require(name, one.tensor.is_leaf() && one.tensor.requires_grad() && one.tensor.is_contiguous(),
            one.name + " is no dense leaf that requires grad", where);
    for (const Slot& slot : slots_)
      require(name, !slot.parameter.is_same(one.tensor) && slot.name != one.name, one.name + " is listed twice", where);
    slots_.push_back({one.name, one.tensor, 0, {}});
  }
}

void Optimizer::set_learning_rate(double rate, Where where) {
  require_range(rate >= 0 && std::isfinite(rate), name_, "the learning rate", rate, "finite and not negative", where);
  learning_rate_ = rate;
}

void Optimizer::step(Where where) {
  NoGrad guard;
  std::map<std::pair<Device, DType>, std::vector<Update>> groups;  // one in nearly every case
  for (Slot& slot : slots_) {
    const Tensor grad = slot.parameter.grad();
    if (!grad.defined()) continue;
    if (slot.moments.empty()) {
      std::vector<Tensor> moments;  // all or, where memory runs out, none
      for (std::size_t i = 0; i < moments_.size(); ++i)
        moments.push_back(
            zeros(slot.parameter.shape(), {.dtype = slot.parameter.dtype(), .device = slot.parameter.device()}, where));
      slot.moments = std::move(moments);
    }
    groups[{slot.parameter.device(), slot.parameter.dtype()}].push_back({slot, grad.contiguous(where)});
  }
  for (auto& [group, updates] : groups) {
    for (Update& update : updates) ++update.slot.steps;
    apply(updates);
    for (Update& update : updates) update.slot.parameter.storage()->bump_version();
  }
}

void Optimizer::zero_grad() {
  for (const Slot& slot : slots_) slot.parameter.zero_grad();
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  for (const Slot& slot : slots_) {
    if (slot.steps == 0) continue;
    state.push_back({slot.name + ".step", tensor(std::vector{slot.steps}, Shape{})});
    for (std::size_t i = 0; i < moments_.size(); ++i) state.push_back({slot.name + "." + moments_[i], slot.moments[i]});
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state, Where where) {
  std::map<std::string, Tensor> given;
  for (const NamedTensor& entry : state)
    require(name_, given.emplace(entry.name, entry.tensor).second, entry.name + " is given twice", where);
  std::vector<Slot> loaded = slots_;
  for (Slot& slot : loaded) {
    slot.steps = 0;
    slot.moments.clear();
    std::vector<std::string> names{slot.name + ".step"};
    for (const std::string& moment : moments_) names.push_back(slot.name + "." + moment);
    const auto present = std::count_if(names.begin(), names.end(), [&](const auto& name) { return given.count(name); });
    if (present == 0) continue;
    for (const std::string& name : names) require(name_, given.count(name), "the state lacks " + name, where);
    const Tensor steps = given[names[0]];
    require(name_, steps.dtype() == int64 && steps.dim() == 0 && steps.item<std::int64_t>() > 0,
            names[0] + " is no count of steps: " + describe(steps), where);
    slot.steps = steps.item<std::int64_t>();
    for (std::size_t i = 1; i < names.size(); ++i) {
      const Tensor& moment = given[names[i]];
      require(name_, moment.shape() == slot.parameter.shape() && moment.dtype() == slot.parameter.dtype(),
              names[i] + " is " + describe(moment) + ", its parameter " + describe(slot.parameter), where);
      slot.moments.push_back(moment.detach().to(slot.parameter.device(), where).clone(where));
    }
    for (const std::string& name : names) given.erase(name);
  }
  require(name_, given.empty(), given.empty() ? "" : given.begin()->first + " belongs to no parameter", where);
  slots_ = std::move(loaded);
}

SGD::SGD(NamedTensors parameters, double learning_rate, SGDOptions options, Where where)
    : Optimizer("SGD", std::move(parameters),
                options.momentum != 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{},
                learning_rate, where),
      options_(options) {
  require_not_negative("SGD", "momentum", options.momentum, where);
  require_not_negative("SGD", "weight_decay", options.weight_decay, where);
  require("SGD", !options.nesterov || (options.momentum > 0 && options.dampening == 0),
          "nesterov needs a momentum above 0 and a dampening of 0", where);
}

void SGD::apply(const std::vector<Update>& updates) {
  const Tensor& first = updates.front().slot.parameter;
  detail::visit_floating(first.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const C decay = static_cast<C>(options_.weight_decay), rate = static_cast<C>(learning_rate());
    std::vector<detail::Part<detail::SGDUpdate<T>>> plain;
    std::vector<detail::Part<detail::MomentumUpdate<T>>> with_momentum;
    for (const Update& one : updates) {
      const Slot& slot = one.slot;
      if (options_.momentum == 0)
        plain.push_back(detail::part_of(detail::SGDUpdate<T>{decay, rate}, slot.parameter, one.grad));
      else
        with_momentum.push_back(detail::part_of(
            detail::MomentumUpdate<T>{decay, rate, static_cast<C>(options_.momentum),
                                      static_cast<C>(1 - options_.dampening), options_.nesterov, slot.steps == 1},
            slot.parameter, one.grad, slot.moments[0]));
    }
    on(first.device(), [&](auto backend) {
      if (!plain.empty()) run_parts(backend, plain);
      if (!with_momentum.empty()) run_parts(backend, with_momentum);
    });
  });
}

Adam::Adam(NamedTensors parameters, double learning_rate, AdamOptions options, Where where)
    : Optimizer(options.decoupled ? "AdamW" : "Adam", std::move(parameters), {"exp_avg", "exp_avg_sq"}, learning_rate,
                where),
      options_(options) {
  require_range(options.beta1 >= 0 && options.beta1 < 1, "Adam", "beta1", options.beta1, "in [0, 1)", where);
  require_range(options.beta2 >= 0 && options.beta2 < 1, "Adam", "beta2", options.beta2, "in [0, 1)", where);
  require_not_negative("Adam", "eps", options.eps, where);
  require_not_negative("Adam", "weight_decay", options.weight_decay, where);
}

void Adam::apply(const std::vector<Update>& updates) {
  const Tensor& first = updates.front().slot.parameter;
  detail::visit_floating(first.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const AdamOptions& o = options_;
    std::vector<detail::Part<detail::AdamUpdate<T>>> parts;
    for (const Update& one : updates) {
      const Slot& slot = one.slot;
      const double t = static_cast<double>(slot.steps), rate = learning_rate();
      const detail::AdamUpdate<T> update{.weight_decay = static_cast<C>(o.decoupled ? 0 : o.weight_decay),
                                         .shrink = static_cast<C>(o.decoupled ? 1 - rate * o.weight_decay : 1),
                                         .weight1 = static_cast<C>(1 - o.beta1),
                                         .beta2 = static_cast<C>(o.beta2),
                                         .weight2 = static_cast<C>(1 - o.beta2),
                                         .step_size = static_cast<C>(rate / (1 - std::pow(o.beta1, t))),
                                         .correction2 = static_cast<C>(std::sqrt(1 - std::pow(o.beta2, t))),
                                         .eps = static_cast<C>(o.eps)};
      parts.push_back(detail::part_of(update, slot.parameter, one.grad, slot.moments[0], slot.moments[1]));
    }
    on(first.device(), [&](auto backend) { run_parts(backend, parts); });
  });
}

}  // namespace tally::nn
