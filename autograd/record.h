// How an op enters the graph:
//
//   Tensor cube(const Tensor& x) {
//     Tensor y = no_grad([&] { return x * x * x; });
//     return record("cube", {x}, y, saving(x), [](const Tensor& grad, const Tensor& x) {
//       return std::vector{3 * grad * x * x};
//     });
//   }
//
// The closure gets the upstream gradient and the saved tensors, and returns one gradient an input (undefined: none).
// It captures no tensor: what backward keeps stands in `saving`, where the engine checks versions and counts bytes.
#pragma once

#include <array>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include <tally/autograd/no_grad.h>
#include <tally/autograd/node.h>

namespace tally {

/// The tensors an op read, without copying handles: {x, y}, or a vector.
class InputList {
 public:
  /// One of them.
  struct Ref {
    Ref(const Tensor& input) : tensor(&input) {}  // NOLINT: a tensor is an input
    const Tensor* tensor;
  };
  InputList(std::initializer_list<Ref> inputs) : size_(inputs.size()) { refs_ = std::data(inputs); }  // for one call
  InputList(const std::vector<Tensor>& inputs) : tensors_(inputs.data()), size_(inputs.size()) {}     // NOLINT
  /// How many, and each.
  std::size_t size() const { return size_; }
  const Tensor& operator[](std::size_t i) const { return refs_ ? *refs_[i].tensor : tensors_[i]; }

 private:
  const Ref* refs_ = nullptr;
  const Tensor* tensors_ = nullptr;
  std::size_t size_;
};

/// Stands in `saving` for the recorded result: `output`, or `output[i]` of several. Backward gets it with its node.
struct OutputTag {
  int index = 0;
  /// Result i of several.
  constexpr OutputTag operator[](int i) const { return {i}; }
};
inline constexpr OutputTag output{};

/// One thing in `saving`: a tensor, or a result of the op.
struct SavedArgument {
  SavedArgument(const Tensor& kept) : tensor(&kept) {}  // NOLINT
  SavedArgument(OutputTag tag) : output(tag.index) {}   // NOLINT
  const Tensor* tensor = nullptr;
  int output = -1;
};

/// What saving() gives.
template <std::size_t N> struct Saving { std::array<SavedArgument, N> arguments; };

/// Lists what backward keeps; the closure receives these after the gradient, in this order.
template <class... Arguments> Saving<sizeof...(Arguments)> saving(const Arguments&... arguments) {
  return {{SavedArgument(arguments)...}};
}

namespace detail {

/// Whether this thread records and an input requires grad. What a NanHunt has to say is thrown here.
bool enters_graph(const char* name, const InputList& inputs, const Tensor* values, std::size_t count, Where where);
void attach(const std::shared_ptr<Node>& node, const InputList& inputs, Tensor* values, std::size_t count);
SavedTensor save(const SavedArgument& argument, const Tensor* values);
Tensor unpack(Node& node, const SavedTensor& saved, std::size_t position);

/// Whether F can be called with a gradient (Tensor) or the list of several (vector), and then N saved tensors; and
/// whether it returns a list then.
template <class F, class Grad, class Indices> struct ClosureTraits;
template <class F, class Grad, std::size_t... I> struct ClosureTraits<F, Grad, std::index_sequence<I...>> {
  static constexpr bool callable = std::is_invocable_v<F&, const Grad&, decltype((void)I, std::declval<Tensor>())...>;
  static constexpr bool gives_list =
      std::is_invocable_r_v<std::vector<Tensor>, F&, const Grad&, decltype((void)I, std::declval<Tensor>())...>;
};

/// Whether F is a closure for record; where not, the compiler has said why.
template <class F, class Grad, std::size_t N> constexpr bool check_closure() {
  using Traits = ClosureTraits<F, Grad, std::make_index_sequence<N>>;
  static_assert(Traits::callable,
                "the closure given to record has to take the gradient (const Tensor&; of several results const "
                "std::vector<Tensor>&) and then each tensor listed in saving (const Tensor&)");
  static_assert(!Traits::callable || Traits::gives_list,
                "the closure given to record has to return one gradient an input as a std::vector<Tensor>, such as "
                "return std::vector{gradient};");
  return Traits::gives_list;
}

/// Grad is Tensor where the closure takes the gradient of one result, else std::vector<Tensor>.
template <class F, class Grad, std::size_t N> struct OpNode final : Node {
  OpNode(const char* op, Where line, F f) : Node(op, line), closure(std::move(f)) {}

  std::vector<Tensor> backward(const std::vector<Tensor>& grads) override {
    return call(grads, std::make_index_sequence<N>{});
  }
  std::vector<SavedTensor> saved() const override { return {kept.begin(), kept.end()}; }
  void release() override {
    for (SavedTensor& one : kept) one.tensor = {};
    released = true;
  }

  template <std::size_t... I> std::vector<Tensor> call(const std::vector<Tensor>& grads, std::index_sequence<I...>) {
    if constexpr (std::is_same_v<Grad, Tensor>)
      return closure(grads[0], unpack(*this, kept[I], I)...);
    else
      return closure(grads, unpack(*this, kept[I], I)...);
  }

  F closure;
  std::array<SavedTensor, N> kept;
};

/// Gives `count` values a node that owns the closure and what it saves.
template <class Grad, std::size_t N, class F>
void attach_closure(const char* name, const InputList& inputs, Tensor* values, std::size_t count,
                    const Saving<N>& saving, F& backward, Where where) {
  if constexpr (check_closure<F, Grad, N>()) {
    if (!enters_graph(name, inputs, values, count, where)) return;
    auto node = std::make_shared<OpNode<F, Grad, N>>(name, where, std::move(backward));
    attach(node, inputs, values, count);
    for (std::size_t i = 0; i < N; ++i) node->kept[i] = save(saving.arguments[i], values);
  }
}

}  // namespace detail

/// Several results at once; the closure's first argument is the vector of their gradients (zeros where none came).
template <std::size_t N, class F>
std::vector<Tensor> record(const char* name, InputList inputs, std::vector<Tensor> values, Saving<N> saving, F backward,
                           Where where = Where::here()) {
  detail::attach_closure<std::vector<Tensor>>(name, inputs, values.data(), values.size(), saving, backward, where);
  return values;
}

/// One result. `value` comes back unchanged where nothing needs a gradient, else as a tensor that owns the node.
template <std::size_t N, class F>
Tensor record(const char* name, InputList inputs, Tensor value, Saving<N> saving, F backward,
              Where where = Where::here()) {
  detail::attach_closure<Tensor>(name, inputs, &value, 1, saving, backward, where);
  return value;
}

/// One result, nothing kept.
template <class F>
requires(!std::is_same_v<F, Where>) Tensor
    record(const char* name, InputList inputs, Tensor value, F backward, Where where = Where::here()) {
  return record(name, inputs, std::move(value), Saving<0>{}, std::move(backward), where);
}

}  // namespace tally
