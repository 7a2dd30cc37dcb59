// The library's sum beside the textbook's: one thread that adds up everything, and on the device also block sums
// gathered by atomicAdd. Prints times and ratios for 2^20 and 2^24 elements, with PyTorch's where it is installed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tally/core/cuda/device.h>
#include <tally/examples/support/program.h>
#include <tally/examples/support/textbook.h>
#include <tally/tally.h>

using namespace tally;

namespace {

using Call = std::function<Tensor(const Tensor&)>;

/// Microseconds of a call: the median of several batches. On the device the calls of a batch are queued together and
/// waited for once, so that its time is counted and the host's is not.
double time_of(const Call& call, const Tensor& x) {
  using Clock = std::chrono::steady_clock;
  const auto wait = [&] {
    if constexpr (kHasCuda)
      if (x.device() == cuda) gpu::synchronize();
  };
  const auto batch = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call(x);
    wait();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / calls;
  };
  batch(1);  // the first call loads kernels and fills caches
  const int calls = static_cast<int>(std::clamp(20'000 / batch(1), 1.0, 1000.0));
  std::vector<double> samples;
  for (int i = 0; i < 5; ++i) samples.push_back(batch(calls));
  std::sort(samples.begin(), samples.end());
  return samples[2];
}

/// PyTorch's time for the same sum, asked of Python; nothing where it is not installed or has no such device.
std::optional<double> pytorch_time(std::int64_t n, Device device, int threads) {
  const std::string script =
      "import time,statistics,torch; torch.set_num_threads(" + std::to_string(threads) + "); x=torch.randn(" +
      std::to_string(n) + ",device='" + name_of(device) +
      "'); w=torch.cuda.synchronize if x.is_cuda else (lambda:0)\n"
      "def t(c):\n w(); s=time.perf_counter(); [torch.sum(x) for _ in range(c)]; w(); return "
      "(time.perf_counter()-s)/c*1e6\n"
      "t(1); c=int(min(max(20000/t(1),1),1000)); print(statistics.median(t(c) for _ in range(5)))";
  std::FILE* python = popen(("python3 -c \"" + script + "\" 2>/dev/null").c_str(), "r");
  if (!python) return {};
  double microseconds = 0;
  const int read = std::fscanf(python, "%lf", &microseconds);
  const int status = pclose(python);
  return read == 1 && status == 0 ? std::optional(microseconds) : std::nullopt;
}

void compare(std::int64_t n, Device device) {
  const Tensor x = randn({n}, {.device = device});
  const double ours = time_of([](const Tensor& x) { return sum(x); }, x);
  std::printf("  %-34s %12.1f us\n", "Tally, hierarchical", ours);
  const auto line = [&](const char* name, double us) {
    std::printf("  %-34s %12.1f us, %.1f times as long\n", name, us, us / ours);
  };
  line("textbook, one thread", time_of(examples::naive_sum, x));
  if (device == cuda) line("textbook, block sums and atomicAdd", time_of(examples::block_sum, x));
  if (const auto theirs = pytorch_time(n, device, num_threads()))
    line("PyTorch", *theirs);
  else
    std::printf("  %-34s %12s\n", "PyTorch", "not here");
  // What the order is for: a running sum in float32 drifts with n, the tree does not.
  const double exact = sum(x.to(float64)).item<double>();
  std::printf("  off the float64 sum by %.1e (Tally), %.1e (one thread)\n", std::abs(sum(x).item<double>() - exact),
              std::abs(examples::naive_sum(x).item<double>() - exact));
}

void compare_all() {
  const Device device = is_available(cuda) ? cuda : cpu;
  std::printf("sum of float32 on %s\n",
              device == cuda ? gpu::describe().c_str() : (std::to_string(num_threads()) + " CPU threads").c_str());
#if defined(TALLY_SIMT)
  const int sizes[] = {12, 14};  // the emulation is slow
#else
  const int sizes[] = {20, 24};
#endif
  for (const int power : sizes) {
    std::printf("2^%d elements\n", power);
    compare(std::int64_t{1} << power, device);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool help = std::string(argv[1]) == "--help";
    std::fprintf(help ? stdout : stderr, "usage: reduction_benchmark, without arguments\n");
    return help ? 0 : 2;
  }
  return examples::run_program("reduction_benchmark", compare_all);
}
