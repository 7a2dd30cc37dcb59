// Prints the rounds of a reduction over any list:  reduction_trace sum 2 6 3 8 5
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tally/examples/support/trace.h>

namespace {

using namespace tally;

// The shortest digits that read back as the same float.
void print(float value) {
  char text[32];
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  std::printf("%s", text);
}
void print(std::int64_t value) { std::printf("%lld", static_cast<long long>(value)); }
template <class A, class B> void print(const Pair<A, B>& pair) {
  print(pair.first);
  std::printf(" (");
  print(pair.second);
  std::printf(")");
}

// An accumulator as a person reads it: itself where it is a number, else what it projects to.
template <class Op, class Acc> void show(const Op& op, const Acc& acc, std::int64_t n, float pivot) {
  if constexpr (std::is_arithmetic_v<Acc>)
    print(acc);
  else
    print(op.project(acc, n, pivot));
}

template <class Op> void run(const Op& op, const std::vector<float>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  const auto rounds = examples::trace(op, values);
  for (const auto& round : rounds) {
    std::printf("%-16s[", round.rule.c_str());
    for (std::size_t k = 0; k < round.left.size(); ++k) {
      if (k) std::printf(", ");
      show(op, round.left[k], n, values[0]);
    }
    std::printf("]\n");
  }
  std::printf("%-16s", Op::name);
  print(op.project(rounds.back().left[0], n, values[0]));
  std::printf("\n");
}

int usage() {
  std::fprintf(
      stderr,
      "usage: reduction_trace OP VALUE...   (OP: sum mean prod max min amax amin norm var std logsumexp ...)\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  std::vector<float> values;
  for (int i = 2; i < argc; ++i) {
    char* end = nullptr;
    values.push_back(std::strtof(argv[i], &end));
    if (end == argv[i] || *end) {
      std::fprintf(stderr, "reduction_trace: %s is not a number\n", argv[i]);
      return 2;
    }
  }
  // The list of ops is the library's own.
  const bool known = []<class... Ops>(std::variant<Ops...>*, const char* name, const std::vector<float>& list) {
    bool found = false;
    ((!found && std::strcmp(Ops::name, name) == 0 ? (run(Ops{}, list), found = true) : false), ...);
    return found;
  }(static_cast<Reduction*>(nullptr), argv[1], values);
  return known ? 0 : usage();
}
