// Compiled once per instruction set, with TALLY_ISA its name. Eigen gets a namespace for each, so that no inline
// function of one replaces that of another at link time; the standard library stays out for the same reason.
#define TALLY_PASTE_(a, b) a##b
#define TALLY_PASTE(a, b) TALLY_PASTE_(a, b)
#define Eigen TALLY_PASTE(Eigen_, TALLY_ISA)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG

#include <Eigen/Core>

#include <tally/ops/cpu/matmul_panel.h>

namespace tally::detail {
namespace {

using RowMajor = Eigen::Stride<Eigen::Dynamic, 1>;
template <class T, int Order> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>;
template <class T, int Order> using In = Eigen::Map<const Matrix<T, Order>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T> using Out = Eigen::Map<Matrix<T, Eigen::RowMajor>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T, int A, int B> void multiply(const Panel& p) {
  const In<T, A> a(static_cast<const T*>(p.a), p.m, p.k, Eigen::OuterStride<>(p.a_row));
  const In<T, B> b(static_cast<const T*>(p.b), p.k, p.n, Eigen::OuterStride<>(p.b_row));
  Out<T>(static_cast<T*>(p.c), p.m, p.n, Eigen::OuterStride<>(p.c_row)).noalias() = a * b;
}

template <class T> void multiply(const Panel& p) {
  if (p.a_transposed)
    p.b_transposed ? multiply<T, Eigen::ColMajor, Eigen::ColMajor>(p)
                   : multiply<T, Eigen::ColMajor, Eigen::RowMajor>(p);
  else
    p.b_transposed ? multiply<T, Eigen::RowMajor, Eigen::ColMajor>(p)
                   : multiply<T, Eigen::RowMajor, Eigen::RowMajor>(p);
}

}  // namespace

void TALLY_PASTE(multiply_, TALLY_ISA)(const Panel& panel) {
  panel.is_double ? multiply<double>(panel) : multiply<float>(panel);
}

}  // namespace tally::detail
