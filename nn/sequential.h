// Modules one after another, each fed with the last one's result.
//
//   nn::Sequential model(nn::Linear(64, 256), nn::BatchNorm1d(256), nn::ReLU(), nn::Linear(256, 10));
//
// The parts are named by their place: "0.weight", "1.running_mean". They are held by value; as a copy of a tensor, a
// copy of a Sequential shares everything.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tally/nn/module.h>

namespace tally::nn {

/// A module made of modules.
class Sequential {
 public:
  /// Of nothing, which gives back its input, or of parts.
  Sequential() = default;
  template <Module... M>
  requires(sizeof...(M) > 0 &&
           (!std::is_same_v<std::remove_cvref_t<M>, Sequential> && ...)) explicit Sequential(M... modules) {
    (add(std::move(modules)), ...);
  }

  /// One more at the end.
  template <Module M> Sequential& add(M module) {
    parts_.push_back(std::make_shared<Holder<M>>(std::move(module)));
    return *this;
  }

  /// Through all parts. Errors name the caller's line.
  Tensor operator()(const Tensor& x, Where where = Where::here()) {
    Tensor y = x;
    for (const auto& part : parts_) y = part->call(y, where);
    return y;
  }

  /// The parts as "0", "1", …
  void visit(Visitor& visitor) {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->visit(std::to_string(i), visitor);
  }

  /// How many parts.
  std::size_t size() const { return parts_.size(); }

 private:
  struct Part {
    virtual ~Part() = default;
    virtual Tensor call(const Tensor& x, Where where) = 0;
    virtual void visit(const std::string& name, Visitor& visitor) = 0;
  };
  template <class M> struct Holder final : Part {
    explicit Holder(M m) : module(std::move(m)) {}
    Tensor call(const Tensor& x, Where where) override {
      if constexpr (requires { module(x, where); })
        return module(x, where);
      else
        return module(x);
    }
    void visit(const std::string& name, Visitor& visitor) override { visitor.module(name, module); }
    M module;
  };

  std::vector<std::shared_ptr<Part>> parts_;
};

}  // namespace tally::nn
