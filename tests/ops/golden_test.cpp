// The bits of every promised op, on every device, against tests/ops/golden.txt.
#include <tally/core/error.h>
#include <tally/tests/ops/family.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/golden.h>
#include <tally/tests/support/numbers.h>

namespace tally {
namespace {

class GoldenBits : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(GoldenBits);

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

TEST_P(GoldenBits, OfEveryPromisedOp) {
  test::Golden golden(TALLY_SOURCE_DIR "/tests/ops/golden.txt");
  for (const auto& ops : {test::family(), test::functions()})
    for (const test::FamilyOp& op : ops)
      for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
        const std::string name = op.name + " " + name_of(dtype);
        try {
          golden.check(name, line(op, dtype, device()));
        } catch (const DTypeError&) {
          EXPECT_FALSE(is_floating(dtype)) << name;
        }
      }
  golden.finish();
}

}  // namespace
}  // namespace tally
