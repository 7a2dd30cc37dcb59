// The tensor's methods that belong to the graph.
#include <unordered_set>
#include <vector>

#include <tally/autograd/backward.h>
#include <tally/autograd/in_place.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/node.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

// Whether dropping everything else would leave `body` alive through `from`: as that itself, as a gradient, or in the
// graph behind one of them.
bool owns(const Tensor& from, const TensorBody* body) {
  std::unordered_set<const void*> seen;
  std::vector<const Node*> nodes;
  std::vector<const TensorBody*> bodies;  // that have a gradient, as few have
  const auto visit_node = [&](const Node* node) {
    if (node && seen.insert(node).second) nodes.push_back(node);
  };
  const auto finds = [&](const Tensor& tensor) {
    if (!tensor.defined()) return false;
    const TensorBody& one = tensor.body();
    if (one.grad.defined() && seen.insert(&one).second) bodies.push_back(&one);
    visit_node(one.node.get());
    return &one == body;
  };
  if (finds(from)) return true;
  while (!bodies.empty() || !nodes.empty()) {
    if (!bodies.empty()) {
      const TensorBody* one = bodies.back();
      bodies.pop_back();
      if (finds(one->grad)) return true;
      continue;
    }
    const Node* node = nodes.back();
    nodes.pop_back();
    for (const Edge& edge : node->inputs) {
      if (finds(edge.leaf)) return true;
      visit_node(edge.node.get());
    }
    for (const SavedTensor& saved : node->saved())
      if (finds(saved.tensor)) return true;
  }
  return false;
}

}  // namespace

void detail::require_in_place(const char* op, const Tensor& tensor, Where where) {
  if (!tensor.is_leaf())
    throw AutogradError(
        op, describe(tensor) + " has a history; an in-place change would break it (detach or clone it first)", where);
  if (tensor.requires_grad() && grad_enabled())
    throw AutogradError(op, describe(tensor) + " is a leaf that requires grad; change it inside no_grad", where);
}

void detail::require_no_gradient(const char* op, const Tensor& source, Where where) {
  if (source.requires_grad() && grad_enabled())
    throw AutogradError(op,
                        describe(source) +
                            " requires grad, and a change in place records nothing; detach it, or make a " +
                            "new tensor instead",
                        where);
}

void detail::require_own_elements(const char* op, const Tensor& tensor, Where where) {
  for (int d = 0; d < tensor.dim(); ++d)
    if (tensor.shape()[d] > 1 && tensor.strides()[d] == 0)
      throw ShapeError(op, describe(tensor) + " is expanded: several elements share one place; clone it first", where);
}

bool detail::reads_what_is_written(const Tensor& target, const Tensor& other) {
  if (target.storage() != other.storage()) return false;
  return target.offset() != other.offset() || target.shape() != other.shape() || target.strides() != other.strides();
}

const Tensor& Tensor::requires_grad_(bool requires_grad, Where where) const {
  if (!is_leaf())
    throw AutogradError("requires_grad_",
                        describe(*this) + " was made by an op; only a leaf can be asked, as detach() gives one", where);
  if (requires_grad && !is_floating(dtype()))
    throw DTypeError("requires_grad_", describe(*this) + " is not floating and carries no gradient; use .to(float32)",
                     where);
  body_->requires_grad = requires_grad;
  return *this;
}

void Tensor::set_grad(Tensor grad, Where where) const {
  if (grad.defined() && (grad.shape() != shape() || grad.dtype() != dtype() || grad.device() != device()))
    throw AutogradError("set_grad", describe(grad) + " does not fit " + describe(*this), where);
  if (grad.defined() && owns(grad, body_.get()))
    throw AutogradError("set_grad",
                        describe(grad) + (grad.is_leaf() ? "" : ", whose history holds this tensor,") +
                            " would own itself as its gradient; detach it first",
                        where);
  body_->grad = std::move(grad);
}

Tensor Tensor::detach() const { return Tensor(storage(), offset(), shape(), strides(), dtype()); }

void Tensor::backward(const Tensor& cotangent, Where where) const { tally::backward({*this}, {cotangent}, {}, where); }
void Tensor::backward(BackwardOptions options, Where where) const { tally::backward({*this}, {}, options, where); }

const Tensor& Tensor::fill_(Number value, Where where) const {
  detail::require_in_place("fill_", *this, where);
  raw::fill(*this, value);
  storage()->bump_version();
  return *this;
}

const Tensor& Tensor::copy_(const Tensor& source, Where where) const {
  detail::require_in_place("copy_", *this, where);
  detail::require_no_gradient("copy_", source, where);
  if (source.shape() != shape())
    throw ShapeError("copy_", describe(source) + " does not fit " + describe(*this), where);
  detail::require_own_elements("copy_", *this, where);
  raw::copy(*this, detail::reads_what_is_written(*this, source) ? source.detach().clone(where) : source);
  storage()->bump_version();
  return *this;
}

}  // namespace tally
