// A list whose length is known when it is made, and is mostly tiny: no allocation up to N elements.
#pragma once

#include <cstddef>
#include <memory>

namespace tally::detail {

template <class T, std::size_t N> class Few {
 public:
  /// `size` elements in their default state. Once.
  void set_size(std::size_t size) {
    size_ = size;
    if (size > N) many_ = std::make_unique<T[]>(size);
  }
  std::size_t size() const { return size_; }
  T* begin() { return many_ ? many_.get() : few_; }
  T* end() { return begin() + size_; }
  const T* begin() const { return many_ ? many_.get() : few_; }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }

 private:
  T few_[N];
  std::unique_ptr<T[]> many_;
  std::size_t size_ = 0;
};

}  // namespace tally::detail
