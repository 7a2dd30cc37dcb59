// Times Tally's reductions, and on the device CUB and the textbook's kernels: one line of JSON a case. --help lists the
// options; README.md has the grids and the comparison with PyTorch and NumPy. Exit status 2 for bad input.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include <tally/core/cuda/device.h>
#include <tally/core/parallel.h>
#include <tally/tests/bench/work.h>

namespace tally::bench {
namespace {

struct Plan {
  Device device = cpu;
  double budget = 0.1;
  bool ceiling = true, only_list = false;
};

nlohmann::json report(const Case& one, const Plan& plan) {
  nlohmann::json line{{"case", to_line(one)}, {"op", one.op}, {"device", name_of(plan.device)}};
  const Timing timing = measure(one, plan.device, plan.budget);
  line["us"] = timing.microseconds;
  line["best_us"] = timing.best;
  line["calls"] = timing.calls;
  line["bytes"] = one.bytes();
  if (!one.backward) {
    const double rate = static_cast<double>(one.bytes()) / timing.microseconds / 1e3;
    line["gb_s"] = rate;
    if (plan.ceiling) {
      const double ceiling = read_ceiling(one.bytes(), plan.device, plan.budget);
      line["ceiling_gb_s"] = ceiling;
      line["share"] = rate / ceiling;
    }
  }
  return line;
}

/// A case that cannot run is a line that says why; the others go on.
void run(const Case& one, const Plan& plan) {
  if (plan.only_list) {
    std::cout << to_line(one) << std::endl;
    return;
  }
  nlohmann::json line;
  try {
    line = report(one, plan);
  } catch (const std::exception& error) {
    line = {{"case", to_line(one)}, {"op", one.op}, {"error", error.what()}};
  }
  std::cout << line.dump() << std::endl;
}

int main(int count, char** words) {
  CLI::App app("Times reductions: one line of JSON a case");
  std::string device = "cpu", op, shape, dims = "all", dtype = "float32", grid;
  int random = 0, threads = 0;
  std::uint64_t seed = 1;
  std::int64_t largest = 0, offset = 0;
  bool backward = false, no_ceiling = false;
  Plan plan;
  app.add_option("--device", device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--op", op, "one op, or several as sum,amax");
  app.add_option("--shape", shape, "as 8192x8192");
  app.add_option("--dim", dims, "as 1 or 0,2,3; all dims by default");
  app.add_option("--dtype", dtype, "float32, float64, bfloat16, ...");
  app.add_flag("--backward", backward, "forward and backward through autograd");
  app.add_option("--offset", offset, "elements by which the input is shifted, so that it is not aligned");
  app.add_option("--grid", grid, "a file of cases, one a line (see grid.txt); - reads them from standard input");
  app.add_option("--random", random, "so many cases at random");
  app.add_option("--seed", seed, "of the random cases");
  app.add_option("--largest", largest, "elements of the largest random case");
  app.add_option("--budget", plan.budget, "seconds a measurement")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "of the CPU")->check(CLI::PositiveNumber);
  app.add_flag("--no-ceiling", no_ceiling, "do not measure how fast a plain read of as many bytes is");
  app.add_flag("--list", plan.only_list, "print the cases, run none");
  CLI11_PARSE(app, count, words);
  plan.device = device == "cuda" ? cuda : cpu;
  plan.ceiling = !no_ceiling;
  if (threads > 0) set_num_threads(threads);
  if (largest == 0) largest = plan.device == cuda ? 1 << 27 : 1 << 22;
  try {
    if (!is_available(plan.device) && !plan.only_list) throw std::invalid_argument(gpu::describe());
    if (!op.empty() || !shape.empty())
      for (Case one : parse_line(shape + " " + dims + " " + dtype + " " + op)) {
        one.backward = backward;
        one.offset = offset;
        run(one, plan);
      }
    for (const Case& one : random_cases(random, seed, largest)) run(one, plan);
    if (grid == "-") {
      // Line by line, so that a program can ask for one after another.
      for (std::string line; std::getline(std::cin, line);)
        for (const Case& one : parse_line(line)) run(one, plan);
    } else if (!grid.empty()) {
      std::ifstream file(grid);
      if (!file) throw std::invalid_argument("cannot read " + grid);
      for (const Case& one : parse_grid(file)) run(one, plan);
    }
  } catch (const std::invalid_argument& error) {
    std::cerr << "bench_reductions: " << error.what() << std::endl;
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tally::bench

int main(int count, char** words) { return tally::bench::main(count, words); }
