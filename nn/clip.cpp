#include <tally/nn/clip.h>

#include <mutex>

#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/nn/clip_backend.h>
#include <tally/nn/require_range.h>

namespace tally {
namespace {

using namespace detail;

ClipOp norm_of_order(double p) {
  if (p == 2) return Norm2{};
  if (p == 1) return Norm1{};
  if (p == math::infinity<double>()) return NormInf<true>{};
  return NormP{p};
}

/// The dense gradients, undefined where there is none.
std::vector<Tensor> gradients(const char* op, const nn::NamedTensors& parameters, Where where) {
  std::vector<Tensor> grads;
  const nn::NamedTensor* first = nullptr;
  for (const nn::NamedTensor& parameter : parameters) {
    Tensor grad = parameter.tensor.grad();
    if (grad.defined()) {
      if (!first) first = &parameter;
      const Tensor of_first = first->tensor.grad();
      const std::string both = parameter.name + ": " + describe(grad) + ", " + first->name + ": " + describe(of_first);
      if (grad.device() != of_first.device()) throw DeviceError(op, "gradients on two devices: " + both, where);
      if (grad.dtype() != of_first.dtype()) throw DTypeError(op, "gradients of two dtypes: " + both, where);
      if (!grad.is_contiguous()) parameter.tensor.set_grad(grad = grad.detach().clone(where));
    }
    grads.push_back(grad);
  }
  return grads;
}

Tensor first_defined(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) return tensor;
  return {};
}

/// One update for all gradients.
template <class Update> void run_on(const std::vector<Tensor>& grads, const Update& update) {
  std::vector<Part<Update>> parts;
  for (const Tensor& grad : grads)
    if (grad.defined()) parts.push_back(part_of(update, grad));
  on(first_defined(grads).device(), [&](auto backend) { run_parts(backend, parts); });
  for (const Tensor& grad : grads)
    if (grad.defined()) grad.storage()->bump_version();
}

struct NameLists {
  std::mutex mutex;
  std::vector<std::vector<std::string>> lists;
};
NameLists& name_lists() {
  static NameLists& lists = *new NameLists;
  return lists;
}

}  // namespace

std::int64_t detail::name_list(std::vector<std::string> names) {
  NameLists& known = name_lists();
  std::lock_guard lock(known.mutex);
  for (std::size_t i = 0; i < known.lists.size(); ++i)
    if (known.lists[i] == names) return static_cast<std::int64_t>(i);
  known.lists.push_back(std::move(names));
  return static_cast<std::int64_t>(known.lists.size()) - 1;
}

void detail::throw_not_finite(const char* op, std::int64_t names, std::int64_t place, Where where) {
  NameLists& known = name_lists();
  std::lock_guard lock(known.mutex);
  const std::vector<std::string>& list = known.lists[static_cast<std::size_t>(names)];
  const bool one = place < static_cast<std::int64_t>(list.size());
  throw ValueError(op,
                   (one ? "the gradient of " + list[static_cast<std::size_t>(place)] + " is"
                        : std::string("each gradient is finite, but their norm is")) +
                       " not finite; no gradient was changed",
                   where);
}

Tensor nn::clip_grad_norm_(const NamedTensors& parameters, double max_norm, double norm_type, NonFinite non_finite,
                           Where where) {
  constexpr auto kName = "clip_grad_norm_";
  require_range(max_norm >= 0, kName, "max_norm", max_norm, "0 or more", where);
  require_range(norm_type > 0, kName, "the order of the norm", norm_type, "above 0", where);
  NoGrad guard;
  const std::vector<Tensor> grads = gradients(kName, parameters, where);
  const Tensor some = first_defined(grads);
  if (!some.defined()) return zeros({}, {}, where);
  const DType computed = some.dtype() == float64 ? float64 : float32;

  ClipNorm call;
  call.op = norm_of_order(norm_type);
  call.grads = grads;
  for (const Tensor& grad : grads) call.elements += grad.defined() ? grad.numel() : 0;
  call.max_norm = max_norm;
  call.raises = non_finite == NonFinite::raise;
  call.where = where;
  const Device device = some.device();
  call.norm = empty({}, {.dtype = computed, .device = device}, where);
  call.decision = empty({sizeof(ClipDecision<double>)}, {.dtype = uint8, .device = device}, where);

  std::vector<std::string> names;
  if (call.raises)
    for (const NamedTensor& parameter : parameters) names.push_back(parameter.name);
  call.names = name_list(std::move(names));
  const std::int64_t offender = on(device, [&](auto backend) { return decide(backend, call); });
  if (offender >= 0 && call.raises) throw_not_finite(kName, call.names, offender, where);
  visit_floating(some.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_on(grads, ClipScale<T>{static_cast<const ClipDecision<Compute<T>>*>(call.decision.raw())});
  });
  return call.norm;
}

void nn::clip_grad_value_(const NamedTensors& parameters, double limit, Where where) {
  require_range(limit >= 0, "clip_grad_value_", "the limit", limit, "0 or more", where);
  NoGrad guard;
  const std::vector<Tensor> grads = gradients("clip_grad_value_", parameters, where);
  const Tensor some = first_defined(grads);
  if (!some.defined()) return;
  visit_floating(some.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_on(grads, ClipValue<T>{static_cast<Compute<T>>(limit)});
  });
}

}  // namespace tally
