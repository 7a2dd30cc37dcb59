// A look at the shape of an SVG text, without an XML library.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tally::test {

/// Tags nest and close, and no number in it is infinite or missing; nothing points outside.
inline void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    const std::string name = tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.find("=\"nan"), std::string::npos);
  EXPECT_EQ(svg.find("=\"-nan"), std::string::npos);
  EXPECT_EQ(svg.find("nan,"), std::string::npos);
  EXPECT_EQ(svg.find(",nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(svg.find("href"), std::string::npos);
  EXPECT_EQ(svg.find("url("), std::string::npos);
}

}  // namespace tally::test
