#include <tally/ops/view.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/print.h>
#include <tally/ops/operators.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>

#include <functional>
#include <numeric>

namespace tally {
namespace {

using test::OnDevice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 0, 1, 2, ... in `shape`.
Tensor counting(const Shape& shape, Options options) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0);
  return tensor(values, shape).to(options.dtype).to(options.device);
}

template <class Error> std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing of this type was thrown";
  return "";
}

class View : public OnDevice {};
TALLY_TEST_ON_DEVICES(View);

// Every element of a view, by an index function of its own.
using Index = std::vector<std::int64_t>;
void expect_elements(const Tensor& view, const std::function<double(const Index&)>& expected) {
  const auto values = view.to_vector<double>();
  Index at(static_cast<std::size_t>(view.dim()), 0);
  for (double value : values) {
    EXPECT_EQ(value, expected(at)) << ::testing::PrintToString(at);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == view.shape()[static_cast<int>(d)];) at[d] = 0;
  }
}

TEST_P(View, PermutesInEveryLayout) {
  for (const auto& [name, x] : test::layouts(counting({2, 3, 4}, on()))) {
    SCOPED_TRACE(name);
    const Tensor y = permute(x, {2, 0, -2});
    EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
    EXPECT_EQ(y.storage(), x.storage());
    expect_elements(y, [](const Index& i) { return double(i[1] * 12 + i[2] * 4 + i[0]); });
    const Tensor z = transpose(x, 0, -1);
    EXPECT_EQ(z.shape(), (Shape{4, 3, 2}));
    expect_elements(z, [](const Index& i) { return double(i[2] * 12 + i[1] * 4 + i[0]); });
  }
}

TEST_P(View, TransposesMatricesOnly) {
  EXPECT_THAT(t(counting({2, 3}, on())).to_vector<int>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(t(counting({3}, on())).shape(), (Shape{3}));
  EXPECT_THAT(message_of<ShapeError>([&] { t(zeros({2, 2, 2}, on())); }), HasSubstr("float32 [2, 2, 2]"));
}

TEST_P(View, ReshapesWithoutACopyWhereStridesAllow) {
  const Tensor x = counting({4, 6}, on());
  for (const Shape& shape : {Shape{24}, Shape{2, 2, 6}, Shape{4, 1, 3, 2}, Shape{4, -1, 2}, Shape{-1}}) {
    const Tensor y = reshape(x, shape);
    EXPECT_EQ(y.storage(), x.storage()) << to_string(shape);
    EXPECT_EQ(y.to_vector<int>(), x.to_vector<int>());
  }
  // Rows of 6 that lie 8 apart: a row can be split, rows cannot be joined.
  const Tensor part = narrow(counting({4, 8}, on()), 1, 1, 6);
  EXPECT_EQ(reshape(part, {2, 2, 3, 2}).storage(), part.storage());
  const Tensor joined = reshape(part, {24});
  EXPECT_NE(joined.storage(), part.storage());
  EXPECT_EQ(joined.to_vector<int>(), part.to_vector<int>());
  const Tensor turned = reshape(t(x), {3, 8});
  EXPECT_NE(turned.storage(), x.storage());
  expect_elements(turned, [](const Index& i) {
    const std::int64_t place = i[0] * 8 + i[1];
    return double(place % 4 * 6 + place / 4);
  });
  // A dim of stride 0 may be split.
  const Tensor repeated = expand(counting({1, 3}, on()), {4, 3});
  EXPECT_EQ(reshape(repeated, {2, 2, 3}).storage(), repeated.storage());
  EXPECT_EQ(reshape(repeated, {2, 2, 3}).strides(), (Shape{0, 0, 1}));
}

TEST_P(View, ReshapesWhatHasNoElements) {
  const Tensor x = zeros({0, 3}, on());
  EXPECT_EQ(reshape(x, {3, 0, 5}).shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(reshape(x, {3, -1}).shape(), (Shape{3, 0}));
  EXPECT_THAT(message_of<ShapeError>([&] { reshape(x, {0, -1}); }), HasSubstr("-1 could be any size"));
  EXPECT_EQ(reshape(full({}, 3, on()), {1, 1}).shape(), (Shape{1, 1}));
  EXPECT_EQ(reshape(full({1}, 3, on()), {}).item<int>(), 3);
}

TEST_P(View, FlattensSqueezesUnsqueezes) {
  const Tensor x = counting({2, 3, 4}, on());
  EXPECT_EQ(flatten(x).shape(), (Shape{24}));
  EXPECT_EQ(flatten(x, 1).shape(), (Shape{2, 12}));
  EXPECT_EQ(flatten(x, 0, 1).shape(), (Shape{6, 4}));
  EXPECT_EQ(flatten(x, -2, -2).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(flatten(zeros({}, on())).shape(), (Shape{1}));
  EXPECT_THROW(flatten(x, 2, 1), ShapeError);
  EXPECT_EQ(unsqueeze(x, 0).shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(unsqueeze(x, 1).shape(), (Shape{2, 1, 3, 4}));
  EXPECT_EQ(unsqueeze(x, -1).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(unsqueeze(zeros({}, on()), 0).shape(), (Shape{1}));
  EXPECT_THROW(unsqueeze(x, 4), IndexError);
  const Tensor thin = zeros({1, 3, 1, 1}, on());
  EXPECT_EQ(squeeze(thin).shape(), (Shape{3}));
  EXPECT_EQ(squeeze(thin, -1).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(squeeze(thin, {0, 1}).shape(), (Shape{3, 1, 1})) << "a dim that is not 1 stays";
  EXPECT_THROW(squeeze(thin, 4), IndexError);
  EXPECT_THROW(squeeze(thin, {0, -4}), ShapeError);
}

TEST_P(View, ExpandsWithoutACopy) {
  const Tensor x = counting({3, 1}, on());
  const Tensor y = expand(x, {2, -1, 4});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(y.strides(), (Shape{0, 1, 0}));
  EXPECT_EQ(y.storage(), x.storage());
  expect_elements(y, [](const Index& i) { return double(i[1]); });
  EXPECT_EQ(expand(x, {3, 0}).shape(), (Shape{3, 0}));
  EXPECT_EQ(expand_as(full({}, 1, on()), y).shape(), y.shape());
  EXPECT_EQ(broadcast_to(x, {3, 2}).shape(), (Shape{3, 2}));
  EXPECT_THAT(message_of<ShapeError>([&] { expand(x, {2, 4}); }), HasSubstr("float32 [3, 1]"));
  EXPECT_THROW(expand(x, {-1, 3, 1}), ShapeError) << "a new dim has no size to keep";
  EXPECT_THROW(expand(x, {3}), ShapeError);
  EXPECT_THROW(expand(x, {}), ShapeError);
  EXPECT_THROW(broadcast_to(x, {3, -1}), ShapeError);
}

TEST_P(View, NarrowsSlicesSelects) {
  for (const auto& [name, x] : test::layouts(counting({4, 7}, on()))) {
    SCOPED_TRACE(name);
    expect_elements(narrow(x, 1, 2, 3), [](const Index& i) { return double(i[0] * 7 + i[1] + 2); });
    expect_elements(narrow(x, -2, -2, 2), [](const Index& i) { return double((i[0] + 2) * 7 + i[1]); });
    expect_elements(select(x, 1, -1), [](const Index& i) { return double(i[0] * 7 + 6); });
    expect_elements(slice(x, 1, 1, 6, 2), [](const Index& i) { return double(i[0] * 7 + 1 + 2 * i[1]); });
    EXPECT_EQ(slice(x, 1, 1, 6, 2).shape(), (Shape{4, 3}));
    EXPECT_EQ(slice(x, 1, -3).shape(), (Shape{4, 3}));
    EXPECT_EQ(slice(x, 1, -3, -1).shape(), (Shape{4, 2}));
    EXPECT_EQ(slice(x, 1, -100, 100, 100).shape(), (Shape{4, 1}));
    EXPECT_EQ(slice(x, 1, 5, 2).shape(), (Shape{4, 0}));
    EXPECT_EQ(slice(x, 1, 0, to_end, std::numeric_limits<std::int64_t>::max()).shape(), (Shape{4, 1}));
    EXPECT_EQ(narrow(x, 0, 4, 0).shape(), (Shape{0, 7}));
  }
}

TEST_P(View, NamesThePositionThatIsOutOfRange) {
  const Tensor x = zeros({4, 7}, on());
  const int line = __LINE__ + 1;
  const std::string text = message_of<IndexError>([&] { select(x, 1, 7); });
  EXPECT_THAT(text, HasSubstr("select: index 7 is out of range for dim 1 of float32 [4, 7]"));
  EXPECT_THAT(text, HasSubstr("view_test.cpp:" + std::to_string(line)));
  EXPECT_THROW(select(x, 2, 0), IndexError);
  EXPECT_THROW(select(zeros({}, on()), 0, 0), ShapeError);
  EXPECT_THROW(narrow(x, 0, 3, 2), IndexError);
  EXPECT_THROW(narrow(x, 0, 1, -1), IndexError);
  EXPECT_THROW(narrow(x, 0, 1, std::numeric_limits<std::int64_t>::max()), IndexError);
  EXPECT_THROW(narrow(x, 0, -5, 1), IndexError);
  EXPECT_THAT(message_of<ValueError>([&] { slice(x, 0, 0, 4, -1); }), HasSubstr("does not run backwards"));
  EXPECT_THROW(slice(x, 0, 0, 4, 0), ValueError);
  EXPECT_THROW(permute(x, {0}), ShapeError);
  EXPECT_THROW(permute(x, {0, -2}), ShapeError);
  EXPECT_THROW(transpose(x, 0, 2), IndexError);
  EXPECT_THAT(message_of<ShapeError>([&] { reshape(x, {5, -1}); }), HasSubstr("[5, -1]"));
  EXPECT_THROW(reshape(x, {-1, -1}), ShapeError);
  EXPECT_THROW(reshape(x, {-2, 14}), ShapeError);
}

TEST_P(View, SplitsIntoParts) {
  const Tensor x = counting({7, 2}, on());
  const auto sizes_of = [](const std::vector<Tensor>& parts, int dim) {
    Index sizes;
    for (const Tensor& part : parts) sizes.push_back(part.shape()[dim]);
    return sizes;
  };
  EXPECT_THAT(sizes_of(split(x, 3), 0), ElementsAre(3, 3, 1));
  EXPECT_THAT(sizes_of(split(x, 9), 0), ElementsAre(7));
  EXPECT_THAT(sizes_of(split(x, {1, 0, 6}), 0), ElementsAre(1, 0, 6));
  EXPECT_THAT(sizes_of(chunk(x, 3), 0), ElementsAre(3, 3, 1));
  EXPECT_THAT(sizes_of(chunk(x, 5), 0), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(sizes_of(chunk(x, 2, -1), 1), ElementsAre(1, 1));
  EXPECT_THAT(sizes_of(split(zeros({0, 2}, on()), 3), 0), ElementsAre(0));
  expect_elements(split(x, 3)[1], [](const Index& i) { return double((i[0] + 3) * 2 + i[1]); });
  EXPECT_THROW(split(x, 0), ValueError);
  EXPECT_THROW(chunk(x, 0), ValueError);
  EXPECT_THROW(split(x, {3, 3}), ShapeError);
  EXPECT_THROW(split(x, {8, -1}), ShapeError);
}

TEST_P(View, TakesDiagonals) {
  const Tensor x = counting({3, 4}, on());
  EXPECT_THAT(diagonal(x).to_vector<int>(), ElementsAre(0, 5, 10));
  EXPECT_THAT(diagonal(x, 1).to_vector<int>(), ElementsAre(1, 6, 11));
  EXPECT_THAT(diagonal(x, -2).to_vector<int>(), ElementsAre(8));
  EXPECT_EQ(diagonal(x, 4).shape(), (Shape{0}));
  EXPECT_EQ(diagonal(x, std::numeric_limits<std::int64_t>::min()).shape(), (Shape{0}));
  EXPECT_EQ(diagonal(x, std::numeric_limits<std::int64_t>::max()).shape(), (Shape{0}));
  EXPECT_EQ(diagonal(x, -9).shape(), (Shape{0}));
  const Tensor y = counting({3, 2, 4}, on());
  const Tensor d = diagonal(y, 1, -1, 0);
  EXPECT_EQ(d.shape(), (Shape{2, 2}));
  expect_elements(d, [](const Index& i) { return double((i[1] + 1) * 8 + i[0] * 4 + i[1]); });
  EXPECT_THROW(diagonal(x, 0, 1, -1), ShapeError);
}

TEST_P(View, SharesMemoryAndVersion) {
  const Tensor x = zeros({3, 4}, on());
  const Tensor row = select(x, 0, 1);
  row.fill_(5);
  EXPECT_THAT(x.to_vector<int>(), ElementsAre(0, 0, 0, 0, 5, 5, 5, 5, 0, 0, 0, 0));
  EXPECT_EQ(x.storage()->version(), 1u);
}

struct ViewCase {
  const char* name;
  Shape shape;
  Tensor (*view)(const Tensor&);
};
std::ostream& operator<<(std::ostream& out, const ViewCase& c) { return out << c.name; }

const ViewCase kViews[] = {
    {"reshape",
     {3, 4},
     [](const Tensor& x) {
       return reshape(x, {2, -1});
     }},
    {"reshape with a copy",
     {3, 4},
     [](const Tensor& x) {
       return reshape(t(x), {6, 2});
     }},
    {"permute",
     {2, 3, 4},
     [](const Tensor& x) {
       return permute(x, {2, 0, 1});
     }},
    {"transpose", {2, 3, 4}, [](const Tensor& x) { return transpose(x, 0, 2); }},
    {"flatten", {2, 3, 4}, [](const Tensor& x) { return flatten(x, 1); }},
    {"squeeze", {3, 1}, [](const Tensor& x) { return unsqueeze(squeeze(x), 0); }},
    {"expand",
     {3, 1},
     [](const Tensor& x) {
       return expand(x, {2, 3, 4});
     }},
    {"expand to nothing more",
     {3, 1},
     [](const Tensor& x) {
       return expand(x, {1, 3, 1});
     }},
    {"narrow", {3, 4}, [](const Tensor& x) { return narrow(x, 1, 1, 2); }},
    {"slice", {3, 4}, [](const Tensor& x) { return slice(x, 1, 1, to_end, 2); }},
    {"select", {2, 3, 4}, [](const Tensor& x) { return select(x, 1, -1); }},
    {"diagonal", {2, 3, 4}, [](const Tensor& x) { return diagonal(x, 1, 2, 0); }},
    {"two parts", {3, 4}, [](const Tensor& x) { return narrow(x, 0, 0, 2) * narrow(x, 0, 1, 2); }},
};

class ViewOf : public test::OnDeviceWith<ViewCase> {};
TALLY_TEST_ON_DEVICES_WITH(ViewOf, ::testing::ValuesIn(kViews));

TEST_P(ViewOf, GivesGradients) {
  const Tensor x = rand(which().shape, on(float64));
  // Through a square, so that second derivatives are not all zero.
  const auto squared = [&](const Tensor& x) {
    const Tensor y = which().view(x);
    return y * y;
  };
  EXPECT_THAT(squared, PassesGradCheck(x));
  EXPECT_THAT(squared, PassesGradGradCheck(x));
}

TEST_P(View, ChunksGiveGradients) {
  EXPECT_THAT([](const Tensor& x) { return chunk(x, 2, 1); }, PassesGradCheck(rand({3, 4}, on(float64))));
}

TEST_P(View, OfALeafHasAHistory) {
  const Tensor x = zeros({3}, {.device = device(), .requires_grad = true});
  EXPECT_FALSE(narrow(x, 0, 0, 1).is_leaf());
  EXPECT_THROW(narrow(x, 0, 0, 1).fill_(1), AutogradError);
  EXPECT_FALSE(select(zeros({3}, on(int64)), 0, 0).requires_grad());
}

}  // namespace
}  // namespace tally
