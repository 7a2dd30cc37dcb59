// Runs a function on a thread whose stack is small, so that recursion over a long chain cannot hide.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

namespace tally::test {

inline void on_small_stack(std::function<void()> f, std::size_t bytes = 256 * 1024) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto run = [](void* f) -> void* {
    (*static_cast<std::function<void()>*>(f))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace tally::test
