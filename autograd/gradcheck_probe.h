// The function under gradcheck, seen from outside: its values anywhere, its gradients once.
#pragma once

#include <string>
#include <vector>

#include <tally/autograd/bits.h>
#include <tally/autograd/gradcheck.h>

namespace tally::detail {

using Values = std::vector<double>;

/// Which of its two gradients an op is asked for: its own, or the one made of recorded ops under create_graph.
enum class Backward { plain, recorded };

/// f with its inputs copied dense and in float64, and its outputs weighted with a random cotangent.
class Probe {
 public:
  Probe(const TensorFunction& f, const std::vector<Tensor>& inputs, std::uint64_t seed,
        Backward backward = Backward::plain);

  /// Runs f, twice, and backward, twice. False where a run failed or two of them differ, as `failure` says, and where f
  /// gives no finite value to check, as `notes` say.
  bool run();
  std::string failure;
  Cause failure_cause = Cause::unknown;
  std::vector<std::string> notes;

  std::size_t count() const { return inputs_.size(); }
  bool is_checked(std::size_t input) const { return is_floating(inputs_[input].dtype()); }
  const Shape& shape(std::size_t input) const { return inputs_[input].shape(); }
  const Values& values(std::size_t input) const { return values_[input]; }
  /// Of the weighted outputs, from backward; zeros where it gives none.
  const Values& gradient(std::size_t input) const { return gradients_[input]; }
  bool is_reached(std::size_t input) const { return reached_[input]; }
  /// Whether this entry goes into an output element that is NaN or infinite; such elements are left out.
  bool is_outside(std::size_t input, std::size_t place) const;
  /// The sum of the weighted outputs' magnitudes, by which their sum rounds.
  double magnitude() const { return magnitude_; }

  /// The weighted outputs with other values in one input.
  double at(std::size_t input, const Values& values) const { return weighted(outputs_at(input, values)); }
  /// The weighted outputs at inputs + t·direction, one list an input; an empty list is zero.
  double along(const std::vector<Values>& direction, double t) const;

  /// One entry of the Jacobian.
  struct Part {
    double analytic = 0, numeric = 0;
    int output = 0;
    Shape element;
  };
  /// d outputs / d one input element, for each output element; none where they are too many. `step` is of the plain
  /// central difference.
  std::vector<Part> parts(std::size_t input, std::size_t place, double step) const;

 private:
  void forward();
  void backward();
  std::vector<Tensor> walk(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves,
                           const std::vector<Tensor>& cotangents) const;
  void fail(Cause cause, std::string text);
  std::vector<Tensor> outputs_at(std::size_t input, const Values& values) const;
  double weighted(const std::vector<Tensor>& outputs) const;
  Values draw_weights(std::size_t output);
  void find_outside(const std::vector<Tensor>& outputs, const std::vector<Tensor>& leaves);

  const TensorFunction& f_;
  std::uint64_t seed_, drawn_ = 0;
  Backward backward_;
  std::vector<Tensor> inputs_, leaves_, outputs_;
  std::vector<Values> values_, weights_, gradients_;
  std::vector<Values> outside_;  // gradients of the elements left out; empty where none is
  std::vector<bool> reached_;
  double magnitude_ = 0;
  std::int64_t kept_ = 0, left_out_ = 0;  // output elements
};

}  // namespace tally::detail
