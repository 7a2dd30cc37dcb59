// Misuse, call by call: each throws the documented class, names its op and its operands, and points at the caller's own
// line. The text is the same on the CPU and on CUDA.
#include <functional>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/hook.h>
#include <tally/autograd/jacobian.h>
#include <tally/autograd/record.h>
#include <tally/core/error.h>
#include <tally/ops/binary.h>
#include <tally/ops/index.h>
#include <tally/ops/join.h>
#include <tally/ops/matmul.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/scan.h>
#include <tally/ops/select.h>
#include <tally/ops/softmax.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using ::testing::HasSubstr;

// What the calls are made on.
struct Operands {
  explicit Operands(Device device)
      : at{.device = device},
        a(ones({2, 3}, at)),
        b(ones({4, 5}, at)),
        v(ones({3}, at)),
        none(ones({0, 3}, at)),
        n(ones({2, 3}, {.dtype = int64, .device = device})),
        flag(ones({2, 3}, {.dtype = boolean, .device = device})),
        far(tensor(std::vector<std::int64_t>{0, 9, 1}, Shape{3}, device)),  // one alone: a device names any of several
        leaf(ones({2, 3}, {.device = device, .requires_grad = true})),
        made(leaf * 2),
        loss(sum(exp(leaf))) {}
  Options at;
  Tensor a, b, v, none, n, flag, far, leaf, made, loss, undefined;

  /// made, by an op whose backward returns `gradients`.
  Tensor with(std::vector<Tensor> gradients, Where where = Where::here()) const {
    const auto backward = [gradients](const Tensor&) { return gradients; };
    return sum(record("custom", {leaf}, made.detach(), backward, where));
  }
};

struct Misuse {
  const char* type;
  std::string op, operands;  // that the text has; "HERE" stands for the device
  const char* call;
  int line;
  std::function<void(const Operands&)> run;
};

// One line a row, so that the line of the row is the line of the call.
#define TALLY_MISUSE(type, op, operands, ...)                                                            \
  Misuse {                                                                                               \
#type, op, operands, #__VA_ARGS__, __LINE__, [](const Operands& o) { (void)o, (void)(__VA_ARGS__); } \
  }

// One row a line.
// clang-format off
const std::vector<Misuse>& misuses() {
  static const std::vector<Misuse> all = {
      // Shapes.
      TALLY_MISUSE(ShapeError, "add", "[2, 3]", o.a + o.b),
      TALLY_MISUSE(ShapeError, "sub", "[4, 5]", o.a - o.b),
      TALLY_MISUSE(ShapeError, "mul", "[2, 3]", mul(o.a, o.b)),
      TALLY_MISUSE(ShapeError, "div", "[4, 5]", o.a / o.b),
      TALLY_MISUSE(ShapeError, "maximum", "[2, 3]", maximum(o.a, o.b)),
      TALLY_MISUSE(ShapeError, "lt", "[2, 3]", o.a < o.b),
      TALLY_MISUSE(ShapeError, "where", "[4, 5]", where(o.flag, o.a, o.b)),
      TALLY_MISUSE(ShapeError, "matmul", "float32 [2, 3] on HERE", matmul(o.a, o.a)),
      TALLY_MISUSE(ShapeError, "linear", "float32 [4, 5] on HERE", linear(o.a, o.b)),
      TALLY_MISUSE(ShapeError, "reshape", "float32 [2, 3] on HERE", reshape(o.a, {4})),
      TALLY_MISUSE(ShapeError, "expand", "float32 [2, 3] on HERE", expand(o.a, {3, 3})),
      TALLY_MISUSE(ShapeError, "sum_to", "[2, 3]", sum_to(o.a, {5})),
      TALLY_MISUSE(ShapeError, "permute", "float32 [2, 3] on HERE", permute(o.a, {0})),
      TALLY_MISUSE(ShapeError, "split", "float32 [2, 3] on HERE", split(o.a, std::vector<std::int64_t>{1, 4})),
      TALLY_MISUSE(ShapeError, "cat", "float32 [4, 5] on HERE", cat({o.a, o.b})),
      TALLY_MISUSE(ShapeError, "stack", "float32 [4, 5] on HERE", stack({o.a, o.b})),
      TALLY_MISUSE(ShapeError, "cat", "", cat({})),
      TALLY_MISUSE(ShapeError, "max", "float32 [0, 3] on HERE has no elements along the reduced dims, and max of none has no value; test numel() first", max(o.none, 0)),
      TALLY_MISUSE(ShapeError, "argmin", "float32 [0, 3] on HERE", argmin(o.none, 0)),
      TALLY_MISUSE(ShapeError, "median", "float32 [0, 3] on HERE has no elements along the reduced dims, and median of none has no value; test numel() first", median(o.none, 0)),
      TALLY_MISUSE(ShapeError, "item", "float32 [2, 3] on HERE", o.a.item<float>()),
      TALLY_MISUSE(ShapeError, "tensor", "[2, 2]", tensor(std::vector<float>{1, 2, 3}, Shape{2, 2}, o.at.device)),
      TALLY_MISUSE(ShapeError, "copy_", "float32 [4, 5] on HERE", o.a.copy_(o.b)),
      // Dims and positions.
      TALLY_MISUSE(IndexError, "sum", "2", sum(o.a, 2)),
      TALLY_MISUSE(IndexError, "mean", "-3", mean(o.a, -3)),
      TALLY_MISUSE(ShapeError, "sum", "twice", sum(o.a, {0, -2})),
      TALLY_MISUSE(IndexError, "size", "5", o.a.size(5)),
      TALLY_MISUSE(IndexError, "transpose", "5", transpose(o.a, 0, 5)),
      TALLY_MISUSE(IndexError, "unsqueeze", "7", unsqueeze(o.a, 7)),
      TALLY_MISUSE(IndexError, "narrow", "float32 [2, 3] on HERE", narrow(o.a, 1, 2, 5)),
      TALLY_MISUSE(IndexError, "select", "float32 [2, 3] on HERE", select(o.a, 0, 9)),
      TALLY_MISUSE(IndexError, "cumsum", "4", cumsum(o.a, 4)),
      TALLY_MISUSE(IndexError, "softmax", "5", softmax(o.a, 5)),
      TALLY_MISUSE(IndexError, "index_select", "9", index_select(o.a, 0, o.far).to_vector<float>()),
      TALLY_MISUSE(IndexError, "one_hot", "9", one_hot(o.far, 4).to_vector<std::int64_t>()),
      // Values.
      TALLY_MISUSE(ValueError, "quantile", "2", quantile(o.a, 2.0)),
      TALLY_MISUSE(ValueError, "slice", "0", slice(o.a, 0, 0, to_end, 0)),
      TALLY_MISUSE(ValueError, "arange", "0", arange(0, 3, 0, o.at)),
      // Dtypes.
      TALLY_MISUSE(DTypeError, "mean", "int64 [2, 3] on HERE", mean(o.n)),
      TALLY_MISUSE(DTypeError, "var", "int64 [2, 3] on HERE", var(o.n)),
      TALLY_MISUSE(DTypeError, "std", "int64 [2, 3] on HERE", tally::std(o.n)),
      TALLY_MISUSE(DTypeError, "norm", "int64 [2, 3] on HERE", norm(o.n)),
      TALLY_MISUSE(DTypeError, "logsumexp", "int64 [2, 3] on HERE", logsumexp(o.n)),
      TALLY_MISUSE(DTypeError, "softmax", "int64 [2, 3] on HERE", softmax(o.n, 0)),
      TALLY_MISUSE(DTypeError, "matmul", "int64 [2, 3] on HERE", matmul(o.n, t(o.n))),
      TALLY_MISUSE(DTypeError, "sub", "bool [2, 3] on HERE", o.flag - o.flag),
      TALLY_MISUSE(DTypeError, "index_select", "float32 [3] on HERE", index_select(o.a, 0, o.v)),
      TALLY_MISUSE(DTypeError, "data", "float32", o.a.data<double>()),
      TALLY_MISUSE(DTypeError, "requires_grad_", "int64 [2, 3] on HERE", o.n.requires_grad_()),
      // Undefined tensors.
      TALLY_MISUSE(ShapeError, "sum", "an input is undefined: assign a tensor to it first", sum(o.undefined)),
      TALLY_MISUSE(ShapeError, "add", "undefined", o.undefined + o.a),
      TALLY_MISUSE(ShapeError, "mul", "undefined", o.a * o.undefined),
      TALLY_MISUSE(ShapeError, "exp", "undefined", exp(o.undefined)),
      TALLY_MISUSE(ShapeError, "matmul", "undefined", matmul(o.a, o.undefined)),
      TALLY_MISUSE(ShapeError, "reshape", "undefined", reshape(o.undefined, {1})),
      TALLY_MISUSE(ShapeError, "cat", "undefined", cat({o.a, o.undefined})),
      TALLY_MISUSE(ShapeError, "softmax", "undefined", softmax(o.undefined, 0)),
      TALLY_MISUSE(ShapeError, "cumsum", "undefined", cumsum(o.undefined, 0)),
      // In place.
      TALLY_MISUSE(AutogradError, "fill_", "float32 [2, 3] on HERE", o.leaf.fill_(0)),
      TALLY_MISUSE(AutogradError, "add_", "float32 [2, 3] on HERE", o.made.add_(o.a)),
      TALLY_MISUSE(AutogradError, "mul_", "float32 [2, 3] on HERE", o.made.mul_(2)),
      TALLY_MISUSE(AutogradError, "copy_", "float32 [2, 3] on HERE", o.leaf.copy_(o.a)),
      TALLY_MISUSE(AutogradError, "requires_grad_", "float32 [2, 3] on HERE", o.made.requires_grad_()),
      // The graph.
      TALLY_MISUSE(AutogradError, "backward", "float32 [2, 3] on HERE", o.made.backward()),
      TALLY_MISUSE(AutogradError, "backward", "float32 [2, 3] on HERE", o.a.backward()),
      TALLY_MISUSE(AutogradError, "backward", "float32 [3] on HERE", o.made.backward(o.v)),
      TALLY_MISUSE(AutogradError, "backward", "undefined", backward({o.undefined})),
      TALLY_MISUSE(AutogradError, "backward", "2 cotangents", backward({o.loss}, {o.v, o.v})),
      TALLY_MISUSE(AutogradError, "grad", "float32 [2, 3] on HERE", grad({o.loss}, {o.a})),
      TALLY_MISUSE(AutogradError, "grad", "undefined", grad({o.loss}, {o.undefined})),
      TALLY_MISUSE(AutogradError, "set_grad", "float32 [3] on HERE", o.leaf.set_grad(o.v)),
      TALLY_MISUSE(AutogradError, "custom", "float32 [3] on HERE", o.with({o.v}).backward()),
      TALLY_MISUSE(AutogradError, "custom", "float64 [2, 3] on HERE", o.with({o.a.to(float64)}).backward()),
      TALLY_MISUSE(AutogradError, "custom", "2 gradients", o.with({o.a, o.a}).backward()),
      TALLY_MISUSE(AutogradError, "exp", "version", [&] { const Tensor y = exp(o.leaf); y.detach().zero_(), y.backward(o.a); }()),
      TALLY_MISUSE(AutogradError, "exp", "retain_graph", [&] { const Tensor y = exp(o.leaf); y.backward(o.a); y.backward(o.a); }()),
      TALLY_MISUSE(AutogradError, "register_hook", "float32 [2, 3] on HERE", register_hook(o.a, [](const Tensor&) {})),
      TALLY_MISUSE(AutogradError, "jacobian", "int64 [2, 3] on HERE", jacobian([](const Tensor& x) { return x; }, o.n)),
      TALLY_MISUSE(ShapeError, "hessian", "float32 [2, 3] on HERE", hessian([](const Tensor& x) { return x; }, o.a)),
      TALLY_MISUSE(ShapeError, "hvp", "float32 [3] on HERE", hvp([](const Tensor& x) { return sum(x); }, o.a, o.v)),
  };
  return all;
}
// clang-format on

struct Thrown {
  std::string type = "nothing", op, text;
  Where where;
};

template <class E> bool take(const std::exception& error, const char* type, Thrown& thrown) {
  const auto* known = dynamic_cast<const E*>(&error);
  if (known) thrown = {type, known->op(), error.what(), known->where()};
  return known;
}

Thrown thrown_by(const Misuse& misuse, Device device) {
  Thrown thrown;
  const Operands operands(device);
  try {
    misuse.run(operands);
  } catch (const std::exception& error) {
    thrown.type = std::string("a stranger: ") + error.what();
    take<ShapeError>(error, "ShapeError", thrown) || take<DTypeError>(error, "DTypeError", thrown) ||
        take<DeviceError>(error, "DeviceError", thrown) || take<ValueError>(error, "ValueError", thrown) ||
        take<IndexError>(error, "IndexError", thrown) || take<AutogradError>(error, "AutogradError", thrown);
  }
  return thrown;
}

std::string with_device(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class MisuseOn : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(MisuseOn);

TEST_P(MisuseOn, NamesClassOpOperandsAndTheCallersLine) {
  ASSERT_GE(misuses().size(), 40u);
  for (const Misuse& misuse : misuses()) {
    SCOPED_TRACE(misuse.call);
    const Thrown thrown = thrown_by(misuse, device());
    EXPECT_EQ(thrown.type, misuse.type) << thrown.text;
    EXPECT_EQ(thrown.op, misuse.op) << thrown.text;
    EXPECT_THAT(thrown.text, HasSubstr(with_device(misuse.operands, "HERE", name_of(device()))));
    EXPECT_EQ(thrown.where.line, misuse.line) << thrown.text;
    EXPECT_THAT(thrown.text, HasSubstr(std::string(__FILE__) + ":" + std::to_string(misuse.line)));
  }
}

TEST_P(MisuseOn, TheTextIsThatOfTheCpu) {
  for (const Misuse& misuse : misuses())
    EXPECT_EQ(with_device(thrown_by(misuse, device()).text, name_of(device()), "cpu"), thrown_by(misuse, cpu).text)
        << misuse.call;
}

TEST_P(MisuseOn, NothingIsHalfDone) {
  const Operands operands(device());
  for (const Misuse& misuse : misuses()) {
    if (misuse.op == "exp") continue;  // these walk a graph that is whole before
    EXPECT_ANY_THROW(misuse.run(operands)) << misuse.call;
  }
  for (const Tensor& x : {operands.a, operands.b, operands.leaf.detach()})
    EXPECT_THAT(x, BitEqual(ones(x.shape(), on())));
  EXPECT_FALSE(operands.leaf.grad().defined());
  EXPECT_NO_THROW(operands.loss.backward());
}

TEST(Misuse, TensorsOfTwoDevices) {
  if (!is_available(Device::cuda)) {
    EXPECT_THROW(ones({2}, {.device = cuda}), DeviceError);
    GTEST_SKIP() << "no CUDA device";
  }
  const Tensor here = ones({2, 2}), there = ones({2, 2}, {.device = cuda});
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"add", [&] { here + there; }},
      {"mul", [&] { there* here; }},
      {"matmul", [&] { matmul(here, there); }},
      {"cat",
       [&] {
         cat({here, there});
       }},
      {"where", [&] { where(here > 0, there, there); }},
  };
  for (const auto& [op, call] : calls) try {
      call();
      ADD_FAILURE() << op;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.op(), op);
      EXPECT_THAT(error.what(),
                  ::testing::AllOf(HasSubstr("on cpu"), HasSubstr("on cuda"), HasSubstr("misuse_test.cpp")));
    }
}

}  // namespace
}  // namespace tally
