// Small helpers for text that people read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

namespace tally::examples {

/// One number through printf.
inline std::string print(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// Characters of UTF-8 text, each taken as one column wide.
inline std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return width;
}

}  // namespace tally::examples
