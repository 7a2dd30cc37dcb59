// Dense views that end anywhere: what lies behind them stays as it was.
#include <gtest/gtest.h>

#include <tally/core/raw.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>

namespace tally {
namespace {

class Tails : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Tails);

TEST_P(Tails, NothingBehindADenseViewIsWritten) {
  for (const DType dtype : {uint8, bfloat16, float32, float64})
    for (std::int64_t n = 1; n < 40; ++n) {
      const Tensor ground = full({n + 20}, 7, on(dtype)), others = ones({n + 20}, on(dtype));
      const Tensor view = narrow(ground, 0, 0, n), source = narrow(others, 0, 0, n);
      const auto expect = [&](double value) {
        const auto values = ground.to_vector<double>();
        for (std::int64_t i = 0; i < n + 20; ++i)
          ASSERT_EQ(values[static_cast<std::size_t>(i)], i < n ? value : 7)
              << name_of(dtype) << " " << i << " of " << n;
      };
      raw::fill(view, 3);
      expect(3);
      raw::copy(view, source);
      expect(1);
      raw::add(view, view, source);
      expect(2);
    }
}

}  // namespace
}  // namespace tally
