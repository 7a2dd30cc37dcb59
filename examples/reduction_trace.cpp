// Prints the rounds of a reduction over any list:  reduction_trace sum 2 6 3 8 5
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <tally/examples/support/program.h>
#include <tally/examples/support/trace.h>

namespace {

using namespace tally;

// The shortest digits that read back as the same float.
void print(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::printf("%.*s", static_cast<int>(end - text), text);
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

// The list of ops is the library's own.
constexpr Reduction* kAll = nullptr;
template <class... Ops> std::set<std::string> names(std::variant<Ops...>*) { return {Ops::name...}; }
template <class... Ops>
void run_named(std::variant<Ops...>*, const std::string& name, const std::vector<float>& values) {
  // The first op of that name: some stand in the list twice, with two settings.
  static_cast<void>(((name == Ops::name && (run(Ops{}, values), true)) || ...));
}

void usage(std::FILE* out) {
  std::fprintf(out, "usage: reduction_trace OP VALUE...\nOP is one of");
  for (const std::string& name : names(kAll)) std::fprintf(out, " %s", name.c_str());
  std::fprintf(out, "\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string op = argc > 1 ? argv[1] : "";
  if (op == "-h" || op == "--help") {
    usage(stdout);
    return 0;
  }
  const bool known = names(kAll).count(op) == 1;
  if (argc < 3 || !known) {
    if (argc > 1) std::fprintf(stderr, "reduction_trace: %s\n", known ? "no numbers" : (op + " is no OP").c_str());
    usage(stderr);
    return 2;
  }
  std::vector<float> values;
  for (int i = 2; i < argc; ++i) {
    char* end = nullptr;
    values.push_back(std::strtof(argv[i], &end));
    if (end == argv[i] || *end) {
      std::fprintf(stderr, "reduction_trace: %s is not a number\n", argv[i]);
      return 2;
    }
  }
  return examples::run_program("reduction_trace", [&] { run_named(kAll, op, values); });
}
