// The bits of every promised op, on every device, against tests/ops/golden.txt.
#include <tally/core/error.h>
#include <tally/tests/ops/family.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/golden.h>
#include <tally/tests/support/numbers.h>

namespace tally {
namespace {

class GoldenBits : public test::OnDeviceWith<test::FamilyOp> {};
TALLY_TEST_ON_DEVICES_WITH(GoldenBits, ::testing::ValuesIn(test::promised()));

bool multiplies(const std::string& name) { return name == "prod" || name == "cumprod" || name == "recurrence"; }

// Around the lane, the tile and several tiles.
std::string line(const test::FamilyOp& op, DType dtype, Device device) {
  std::string bits;
  for (const std::int64_t n : {5, 129, 1500, 5000}) {
    if (!op.takes(n)) continue;
    const auto range = multiplies(op.name) ? test::Range::around_one : test::Range::both_signs;
    const Tensor x = test::numbers({n}, dtype, range, static_cast<std::uint64_t>(n)).to(device);
    const char* between = bits.empty() ? "" : " ";
    for (const Tensor& y : test::results_and_gradient(op, x)) {
      bits += between + test::fingerprint(y);
      between = "/";
    }
  }
  return bits;
}

test::Golden& golden() {
  static test::Golden golden(TALLY_SOURCE_DIR "/tests/ops/golden.txt");
  return golden;
}

TEST_P(GoldenBits, OfEveryPromisedOp) {
  const std::string part = which().name + " ";
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
    const std::string name = part + name_of(dtype);
    try {
      golden().check(name, line(which(), dtype, device()));
    } catch (const DTypeError&) {
      EXPECT_FALSE(is_floating(dtype)) << name;
    }
  }
  golden().finish(part);
}

// A line of no op would be asked for by none of the above.
TEST(Golden, HasLinesOfPromisedOpsOnly) {
  for (const std::string& name : golden().names()) {
    const std::string op = name.substr(0, name.rfind(' '));
    bool promised = name == "order_version";
    for (const test::FamilyOp& one : test::promised()) promised |= one.name == op;
    EXPECT_TRUE(promised) << name;
  }
}

}  // namespace
}  // namespace tally
