#include <tally/ops/index.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/print.h>
#include <tally/ops/operators.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>

#include <functional>
#include <random>

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Positions = std::vector<std::int64_t>;

Tensor positions(const Positions& values, const Shape& shape, Device device) { return tensor(values, shape, device); }
Tensor positions(const Positions& values, Device device) {
  return positions(values, {static_cast<std::int64_t>(values.size())}, device);
}

// 0, 1, 2, ... in `shape`.
Tensor counting(const Shape& shape, Options options) {
  return reshape(arange(shape.numel()), shape).to(options.dtype).to(options.device);
}

class Indexing : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Indexing);

TEST_P(Indexing, SelectsSlicesInEveryLayout) {
  const Tensor at = positions({2, 0, 2, 1}, device());
  for (const auto& [name, x] : test::layouts(counting({3, 5}, on()))) {
    SCOPED_TRACE(name);
    const Tensor rows = index_select(x, 0, at), columns = index_select(x, -1, at);
    ASSERT_EQ(rows.shape(), (Shape{4, 5}));
    ASSERT_EQ(columns.shape(), (Shape{3, 4}));
    const auto r = rows.to_vector<int>(), c = columns.to_vector<int>();
    const int from[] = {2, 0, 2, 1};
    for (int p = 0; p < 4; ++p) {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(r[static_cast<std::size_t>(p * 5 + i)], from[p] * 5 + i);
      for (int o = 0; o < 3; ++o) EXPECT_EQ(c[static_cast<std::size_t>(o * 4 + p)], o * 5 + from[p]);
    }
  }
}

TEST_P(Indexing, TheDimsOfTheIndexReplaceTheDim) {
  const Tensor x = counting({2, 3, 4}, on(int32));
  EXPECT_EQ(index_select(x, 1, positions({0, 1, 2, 2, 1, 0}, {3, 2}, device())).shape(), (Shape{2, 3, 2, 4}));
  const Tensor one = index_select(x, 1, positions({2}, {}, device()));
  EXPECT_THAT(one, BitEqual(select(x, 1, 2)));
  const Tensor strided = select(positions({0, 9, 2, 9}, {2, 2}, device()), 1, 0);
  EXPECT_THAT(index_select(x, 1, strided), BitEqual(slice(x, 1, 0, to_end, 2)));
  EXPECT_EQ(index_select(x, 1, positions({}, device())).shape(), (Shape{2, 0, 4}));
}

TEST_P(Indexing, GathersInEveryLayout) {
  const Positions at = {1, 0, 2, 2, 1, 0};
  for (const auto& [name, x] : test::layouts(counting({3, 4}, on(float64))))
    for (const auto& [index_name, index] : test::layouts(positions(at, {2, 3}, device()))) {
      SCOPED_TRACE(name + ", index " + index_name);
      EXPECT_THAT(gather(x, 0, index).to_vector<int>(), ElementsAre(4, 1, 10, 8, 5, 2));
      EXPECT_THAT(gather(x, 1, index).to_vector<int>(), ElementsAre(1, 0, 2, 6, 5, 4));
    }
}

TEST_P(Indexing, KeepsBitsOfEveryDtype) {
  const Tensor at = positions({1, 0}, device());
  for (DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
    const Tensor x = tensor({0, 1}, on(dtype));
    EXPECT_THAT(index_select(x, 0, at), BitEqual(tensor({1, 0}, on(dtype)))) << dtype;
  }
  const auto zeros_back = index_select(tensor({-0.0, 1}, on()), 0, at).to_vector<float>();
  EXPECT_TRUE(std::signbit(zeros_back[1]));
}

TEST_P(Indexing, NamesThePositionThatIsOutOfRange) {
  const Tensor x = zeros({3, 2}, on());
  const auto message = [&](const std::function<Tensor()>& f) -> std::string {
    try {
      f().to_vector<float>();  // on CUDA the error comes with the read
      ADD_FAILURE() << "nothing was thrown";
      return "";
    } catch (const IndexError& error) {
      return error.what();
    }
  };
  const int line = __LINE__ + 1;
  const std::string text = message([&] { return index_select(x, 0, positions({0, 2, 3, 1}, device())); });
  EXPECT_THAT(text, HasSubstr("index_select: index 3 at place 2 is out of range for a size of 3 (valid: 0 to 2)"));
  EXPECT_THAT(text, HasSubstr("index_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message([&] { return index_select(x, 1, positions({-1}, device())); }), HasSubstr("index -1 at place 0"));
  EXPECT_THAT(message([&] {
                return gather(x, 1, positions({0, 1, 1, 0, 0, 9}, {3, 2}, device()));
              }),
              HasSubstr("gather: index 9 at place 5"));
  EXPECT_THAT(message([&] {
                return one_hot(positions({0, 4}, device()), 4);
              }),
              HasSubstr("one_hot: index 4 at place 1 is out of range for a size of 4"));
  EXPECT_THAT(message([&] {
                return index_select(zeros({0, 2}, on()), 0, positions({0}, device()));
              }),
              HasSubstr("none is valid"));
  EXPECT_EQ(index_select(x, 0, positions({2}, device())).to_vector<float>().size(), 2u) << "the device stays usable";
}

TEST_P(Indexing, BackwardOfABadIndexIsSafe) {
  const Tensor x = zeros({3, 2}, on()).requires_grad_();
  if (device() == cpu) {
    EXPECT_THROW(index_select(x, 0, positions({7}, device())), IndexError);
  } else {
    index_select(x, 0, positions({7}, device())).backward(ones({1, 2}, on()));
    EXPECT_THROW(x.grad().to_vector<float>(), IndexError);
    EXPECT_THAT(x.grad().to_vector<float>(), ::testing::Each(0));
  }
}

TEST_P(Indexing, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({3, 2}, on());
  EXPECT_THROW(index_select(x, 0, zeros({1}, on())), DTypeError);
  EXPECT_THROW(index_select(x, 0, zeros({1}, on(int32))), DTypeError);
  EXPECT_THROW(index_select(x, 2, positions({0}, device())), IndexError);
  EXPECT_THROW(index_select(zeros({}, on()), 0, positions({0}, device())), ShapeError);
  EXPECT_THROW(gather(x, 0, positions({0}, device())), ShapeError);
  EXPECT_THROW(gather(x, 0, positions({0, 0, 0}, {1, 3}, device())), ShapeError);
  EXPECT_THROW(one_hot(positions({0}, device()), -1), ValueError);
  if (device() != cpu) {
    EXPECT_THROW(index_select(x, 0, positions({0}, cpu)), DeviceError);
  }
}

TEST_P(Indexing, OneHot) {
  const Tensor y = one_hot(positions({2, 0}, {2, 1}, device()), 3);
  EXPECT_EQ(y.shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(y.dtype(), int64);
  EXPECT_THAT(y.to_vector<int>(), ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_EQ(one_hot(positions({1}, device()), 2, bfloat16).dtype(), bfloat16);
  EXPECT_EQ(one_hot(positions({}, device()), 2).shape(), (Shape{0, 2}));
}

TEST_P(Indexing, RowsGiveGradients) {
  const Tensor x = rand({3, 4}, on(float64)), at = positions({2, 0, 2, 2}, device());
  const auto rows = [&](const Tensor& x) {
    const Tensor y = index_select(x, 0, at);
    return y * y;
  };
  EXPECT_THAT(rows, PassesGradCheck(x));
  EXPECT_THAT(rows, PassesGradGradCheck(x));
}

TEST_P(Indexing, SlicesOfTheMiddleGiveGradients) {
  const Tensor cube = rand({2, 3, 2}, on(float64)), at = positions({2, 0, 2, 2}, {2, 2}, device());
  const auto middle = [&](const Tensor& x) {
    const Tensor y = index_select(x, 1, at);
    return y * y;
  };
  EXPECT_THAT(middle, PassesGradCheck(cube));
  EXPECT_THAT(middle, PassesGradGradCheck(cube));
}

TEST_P(Indexing, GatheredElementsGiveGradients) {
  const Tensor x = rand({3, 4}, on(float64)), places = positions({1, 1, 0, 2, 1, 2}, {2, 3}, device());
  for (int dim : {0, 1}) {
    const auto gathered = [&](const Tensor& x) {
      const Tensor y = gather(x, dim, places);
      return y * y;
    };
    EXPECT_THAT(gathered, PassesGradCheck(x));
    EXPECT_THAT(gathered, PassesGradGradCheck(x));
  }
}

// The order of a slot's sum, written down once more and in another way: lanes, then levels of the tree, on a list.
template <class C> C textbook(std::vector<C> list) {
  while (list.size() > 1) {
    std::vector<C> next;
    for (std::size_t i = 0; i < list.size(); i += 2)
      next.push_back(i + 1 < list.size() ? list[i] + list[i + 1] : list[i]);
    list = next;
  }
  return list.empty() ? C(0) : list[0];
}
template <class C> C ordered_sum(const std::vector<C>& list) {
  std::vector<C> tiles;
  for (std::size_t tile = 0; tile < list.size(); tile += 1024) {
    const std::size_t size = std::min<std::size_t>(1024, list.size() - tile);
    std::vector<C> lanes(std::min<std::size_t>(size, 128));
    for (std::size_t i = 0; i < size; ++i) lanes[i % 128] = i < 128 ? list[tile + i] : lanes[i % 128] + list[tile + i];
    tiles.push_back(textbook(lanes));
  }
  return textbook(tiles);
}

// Gradients of `count` places that fall on few of `size` slots, so that lists of several tiles come up.
template <class T>
void expect_order(Options options, std::int64_t outer, std::int64_t size, std::int64_t count, std::int64_t inner,
                  bool shared) {
  using C = Compute<T>;
  SCOPED_TRACE(std::string(name_of(options.dtype)) + " " + to_string(Shape{outer, size, count, inner}) +
               (shared ? " index_select" : " gather"));
  std::mt19937_64 random(7);
  Positions at(static_cast<std::size_t>(shared ? count : outer * count * inner));
  // Half of all on slot 1, the others anywhere but on slot 0.
  for (auto& position : at) position = random() % 2 ? 1 : 1 + static_cast<std::int64_t>(random() % (size - 1));
  const Shape shape = {outer, count, inner};
  const Tensor grad = randn(shape, {.dtype = float64}).to(options.dtype).to(options.device);
  const Tensor x = zeros({outer, size, inner}, options).requires_grad_();
  const Tensor index = positions(at, shared ? Shape{count} : shape, options.device);
  (shared ? index_select(x, 1, index) : gather(x, 1, index)).backward(grad);

  const auto values = grad.to_vector<T>(), got = x.grad().template to_vector<T>();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      std::vector<std::vector<C>> lists(static_cast<std::size_t>(size));
      for (std::int64_t p = 0; p < count; ++p) {
        const std::size_t place = static_cast<std::size_t>((o * count + p) * inner + i);
        lists[static_cast<std::size_t>(at[shared ? static_cast<std::size_t>(p) : place])].push_back(
            static_cast<C>(values[place]));
      }
      for (std::int64_t j = 0; j < size; ++j)
        ASSERT_EQ(got[static_cast<std::size_t>((o * size + j) * inner + i)],
                  static_cast<T>(ordered_sum(lists[static_cast<std::size_t>(j)])))
            << "slot " << j << " of line " << o << ", " << i;
    }
}

TEST_P(Indexing, SumsEachSlotInTheDocumentedOrder) {
  for (bool shared : {true, false}) {
    expect_order<float>(on(), 1, 3, 300, 1, shared);
    expect_order<float>(on(), 2, 5, 129, 3, shared);
    expect_order<double>(on(float64), 1, 3, 1500, 1, shared);
    expect_order<Float16>(on(float16), 1, 3, 300, 2, shared);
    expect_order<BFloat16>(on(bfloat16), 1, 3, 40, 17, shared);
  }
  expect_order<float>(on(), 1, 2, 5200, 1, true);      // one list of six tiles
  expect_order<float>(on(), 1, 70000, 2500, 1, true);  // slots of more than two bytes
}

TEST_P(Indexing, GradientDoesNotDependOnThreads) {
  if (device() != cpu) GTEST_SKIP() << "threads are the CPU's";
  const int before = num_threads();
  const Tensor x = zeros({50, 33}).requires_grad_(), index = randint(0, 50, {4000}), grad = randn({4000, 33});
  std::vector<Tensor> results;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    x.zero_grad();
    index_select(x, 0, index).backward(grad);
    results.push_back(x.grad());
  }
  set_num_threads(before);
  EXPECT_THAT(results[1], BitEqual(results[0]));
  EXPECT_THAT(results[2], BitEqual(results[0]));
}

TEST_P(Indexing, OfNothing) {
  const Tensor x = zeros({3, 0}, on()).requires_grad_();
  const Tensor y = index_select(x, 0, positions({1, 1}, device()));
  EXPECT_EQ(y.shape(), (Shape{2, 0}));
  y.backward(zeros({2, 0}, on()));
  EXPECT_EQ(x.grad().shape(), (Shape{3, 0}));
  const Tensor z = ones({3}, on()).requires_grad_();
  gather(z, 0, positions({}, device())).backward(zeros({0}, on()));
  EXPECT_THAT(z.grad().to_vector<float>(), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace tally
