// Optimizers: PyTorch's formulas and names. A parameter without a gradient is skipped and counts no step.
#pragma once

#include <string>
#include <vector>

#include <tally/nn/module.h>

namespace tally::nn {

/// What all optimizers share: the parameters, the rate and the state. It holds handles, so the module may move away.
/// ValueError without parameters: a module whose visit() names none would silently train nothing.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient.
  void step(Where where = Where::here());
  /// Drops the gradients.
  void zero_grad();

  /// Of the next step. ValueError unless it is finite and not negative.
  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate, Where where = Where::here());

  /// What the optimizer remembers, named "<parameter>.<what>": "0.weight.step" and, say, "0.weight.exp_avg". Shares
  /// memory with the optimizer.
  NamedTensors state() const;
  /// Copies it back, from any device. Throws ValueError, with everything as it was, for a name, shape or dtype that
  /// does not fit or a parameter whose state is there in part.
  void load_state(const NamedTensors& state, Where where = Where::here());

 protected:
  struct Slot {
    std::string name;
    Tensor parameter;
    std::int64_t steps = 0;
    std::vector<Tensor> moments;  // none before the first step
  };
  struct Update {
    Slot& slot;
    Tensor grad;  // dense, of the parameter's dtype
  };

  /// `moments` names the tensors remembered for each parameter, of its shape. Throws ValueError for a parameter listed
  /// twice or that is no dense leaf that requires grad.
  Optimizer(const char* name, NamedTensors parameters, std::vector<std::string> moments, double learning_rate,
            Where where);
  /// Applies the updates; the slots' steps count this one already, and their moments are there (0 at step 1). All of
  /// one dtype and device.
  virtual void apply(const std::vector<Update>& updates) = 0;

 private:
  const char* name_;
  std::vector<Slot> slots_;
  std::vector<std::string> moments_;
  double learning_rate_ = 0;
};

/// Of SGD; the formula stands at the class.
struct SGDOptions {
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};

/// p -= lr · d, with d = g + weight_decay · p or, with momentum, the buffer b = momentum · b + (1 - dampening) · d (the
/// first b is d), or under `nesterov` d + momentum · b. Sutskever, Martens, Dahl, Hinton: On the importance of
/// initialization and momentum in deep learning, ICML 2013.
class SGD final : public Optimizer {
 public:
  SGD(NamedTensors parameters, double learning_rate, SGDOptions options = {}, Where where = Where::here());

 private:
  void apply(const std::vector<Update>& updates) override;
  SGDOptions options_;
};

/// Of Adam. The decay, unless decoupled, is added to the gradient.
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW: the decay shrinks the parameter and stays out of the moments
};

/// p -= lr / (1 - beta1^t) · m / (sqrt(v) / sqrt(1 - beta2^t) + eps): eps after the correction.
/// Kingma, Ba: Adam, ICLR 2015; Loshchilov, Hutter: Decoupled Weight Decay Regularization, ICLR 2019.
class Adam final : public Optimizer {
 public:
  Adam(NamedTensors parameters, double learning_rate = 1e-3, AdamOptions options = {}, Where where = Where::here());

 private:
  void apply(const std::vector<Update>& updates) override;
  AdamOptions options_;
};

}  // namespace tally::nn
