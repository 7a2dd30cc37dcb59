#include <tally/ops/verify.h>

#include <algorithm>

#include <tally/core/error.h>
#include <tally/core/random.h>

namespace tally::detail {
namespace {

// The same over the lists that reducing `dims` makes.
TensorFunction over_dims(const ReductionUnderTest& op, const Dims& dims) {
  return [op, dims](const std::vector<Tensor>& inputs) {
    const Tensor& x = inputs[0];
    const DimSet reduced("reference", dims, x.dim(), Where{});
    Shape kept;
    for (int d = 0; d < x.dim(); ++d)
      if (!reduced.contains(d)) kept.push_back(x.shape()[d]);
    std::vector<std::vector<double>> lists(static_cast<std::size_t>(kept.numel()));
    const std::vector<double> values = x.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t rest = static_cast<std::int64_t>(i), place = 0, weight = 1;
      for (int d = x.dim() - 1; d >= 0; --d) {
        const std::int64_t size = x.shape()[d];
        if (!reduced.contains(d)) {
          place += rest % size * weight;
          weight *= size;
        }
        rest /= size;
      }
      lists[static_cast<std::size_t>(place)].push_back(values[i]);
    }
    std::vector<double> results;
    for (const std::vector<double>& list : lists) {
      if (list.empty() && !op.has_identity) throw ShapeError("reference", "nothing has no value", Where{});
      results.push_back(op.reference(list));
    }
    return std::vector{tensor(results, kept)};
  };
}

Tensor draw(const Shape& shape, Generator& generator) {
  const Tensor x = empty(shape, {.dtype = float64});
  fill_normal(x, generator);
  return x;
}

// Checks that failed for one choice of dims, put under one roof.
void merge(Verification& all, const Verification& one, const std::string& of) {
  for (const CheckResult& result : one.results) {
    auto same = std::find_if(all.results.begin(), all.results.end(),
                             [&](const CheckResult& known) { return known.check == result.check; });
    if (same == all.results.end())
      same = all.results.insert(same, {.check = result.check,
                                       .outcome = result.outcome,
                                       .text = result.outcome == CheckResult::left_out ? result.text : ""});
    if (result.outcome != CheckResult::failed) continue;
    same->outcome = CheckResult::failed;
    same->text += (same->text.empty() ? "" : "\n") + of + ": " + result.text;
  }
}

}  // namespace

Verification verify_reduction(const ReductionUnderTest& op, VerifyOptions options, FloatMode float_mode) {
  Verification all;
  all.results.push_back({.check = Check::laws,
                         .outcome = op.broken_law.empty() ? CheckResult::passed : CheckResult::failed,
                         .text = op.broken_law});
  options.gradient &= op.has_derivative;
  options.second_order &= op.has_second;
  Generator generator(0);
  struct Case {
    const char* name;
    Dims dims;
    Shape large;  // for several threads: one list, many short ones, long ones side by side
  };
  for (const Case& one : {Case{"over all dims", {}, {300, 700}}, Case{"over rows", {1}, {5000, 33}},
                          Case{"over columns", {0}, {2000, 70}}}) {
    VerifyOptions chosen = options;
    if (op.reference) chosen.reference = over_dims(op, one.dims);
    chosen.large = {draw(one.large, generator)};
    // Where the loops change: lanes of 128, tiles of 1024.
    for (const std::int64_t n : {2, 127, 128, 129, 1023, 1024, 1025, 3001})
      chosen.edges.push_back({draw(one.dims.all() || one.dims[0] == 1 ? Shape{2, n} : Shape{n, 2}, generator)});
    merge(all,
          verify_function([&](const std::vector<Tensor>& inputs) { return std::vector{op.call(inputs[0], one.dims)}; },
                          {draw({3, 5}, generator)}, chosen, float_mode),
          one.name);
  }
  return all;
}

}  // namespace tally::detail
