// Strong types for the arguments that are easy to mix up: sum(x, true), sum(x, 0, 1) and var(x, 0, 1) do not compile.
#pragma once

#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include <tally/core/shape.h>

namespace tally {

/// An integer that is no bool.
template <class T>
concept Integer = std::integral<T> && !std::is_same_v<T, bool>;

/// One dim; negative counts from the end.
struct Dim {
  template <Integer T>
  constexpr Dim(T value) : index(static_cast<std::int64_t>(value)) {}  // NOLINT: an integer is a dim
  std::int64_t index;
};

/// The dims an op works over; none or {} means all. Takes integers, never bool.
class Dims {
 public:
  /// None, one, or a list.
  Dims() = default;
  template <Integer T> Dims(T dim) : dims_{static_cast<std::int64_t>(dim)} {}  // NOLINT
  Dims(std::initializer_list<Dim> dims) {
    for (Dim dim : dims) dims_.push_back(dim.index);
  }
  Dims(const std::vector<std::int64_t>& dims) {  // NOLINT
    for (std::int64_t dim : dims) dims_.push_back(dim);
  }

  /// Whether none is listed, which means all.
  bool all() const { return dims_.empty(); }
  /// The list as it was given, not yet checked against a tensor.
  int size() const { return dims_.size(); }
  std::int64_t operator[](int i) const { return dims_[i]; }

 private:
  Shape dims_;
};

/// Whether reduced dims stay as size 1. Takes bool only.
struct KeepDim {
  /// Not kept, unless said otherwise.
  constexpr KeepDim() = default;
  template <class T>
  requires std::is_same_v<T, bool>
  constexpr KeepDim(T keep) : value(keep) {}  // NOLINT
  bool value = false;
};
/// sum(x, 0, keepdim).
inline constexpr KeepDim keepdim{true};

/// What var and std subtract from the count: any real; `population` = 0 divides by n, `sample` = 1 by n - 1.
struct Correction {
  /// n - value is computed in double and rounded once.
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) explicit constexpr Correction(T correction)
      : value(static_cast<double>(correction)) {}
  double value;
};
/// The two that have names.
inline constexpr Correction population{0};
inline constexpr Correction sample{1};

/// `dim` counted from the front. Throws IndexError with the valid range; a 0-d tensor takes 0 and -1.
int normalize_dim(const char* op, std::int64_t dim, int rank, Where where);

/// One bit a dim of a `rank`-d tensor. Throws IndexError for a dim out of range, ShapeError for one listed twice.
class DimSet {
 public:
  /// `op` and `where` are for the errors.
  DimSet(const char* op, const Dims& dims, int rank, Where where);
  /// Whether dim, counted from the front, is in it.
  bool contains(int dim) const { return (bits_ >> dim) & 1; }

 private:
  unsigned bits_ = 0;
};

}  // namespace tally
