#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <tally/core/error.h>
#include <tally/examples/support/confusion.h>

#include "xml.h"

namespace tally::examples {
namespace {

using testing::HasSubstr;

Confusion three() {
  Confusion confusion(3);
  for (int i = 0; i < 9; ++i) confusion.add(0, 0);
  confusion.add(0, 2);
  for (int i = 0; i < 12; ++i) confusion.add(1, 1);
  return confusion;
}

TEST(Confusion, Counts) {
  const Confusion confusion = three();
  EXPECT_EQ(confusion.count(0, 2), 1);
  EXPECT_EQ(confusion.count(2, 0), 0);
  EXPECT_EQ(confusion.total(), 22);
  EXPECT_EQ(confusion.correct(), 21);
  EXPECT_EQ(confusion.total_of(0), 10);
  EXPECT_DOUBLE_EQ(confusion.accuracy(), 21.0 / 22);
  EXPECT_DOUBLE_EQ(confusion.recall(0), 0.9);
  EXPECT_TRUE(std::isnan(confusion.recall(2)));
}

TEST(Confusion, RefusesAClassThatIsNotThere) {
  Confusion confusion(3);
  EXPECT_THROW(confusion.add(3, 0), IndexError);
  EXPECT_THROW(confusion.add(0, -1), IndexError);
  EXPECT_EQ(confusion.total(), 0);
}

TEST(Confusion, Table) {
  EXPECT_EQ(three().str(),
            "true |  0  1  2 | recall\n"
            "-----+----------+--------\n"
            "0    |  9  .  1 |  90.0%\n"
            "1    |  . 12  . | 100.0%\n"
            "2    |  .  .  . |      -\n");
}

TEST(Confusion, TableWithLongNames) {
  Confusion confusion({"Ankle boot", "Bäg"});
  confusion.add(1, 0);
  EXPECT_EQ(confusion.str(),
            "  true       | 0 1 | recall\n"
            "-------------+-----+--------\n"
            "0 Ankle boot | . . |      -\n"
            "1 Bäg        | 1 . |   0.0%\n");
}

TEST(Confusion, PictureIsWellFormedAndHoldsTheCounts) {
  const std::string svg = three().svg("a < b & \"c\"");
  test::expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, HasSubstr("95.45 % of 22 right, 1 wrong"));
  EXPECT_THAT(svg, HasSubstr(">12</text>"));
  EXPECT_THAT(svg, HasSubstr(">90.0 %</text>"));
}

TEST(Confusion, PictureForAnyNumberOfClasses) {
  for (const int classes : {1, 2, 10, 47, 256}) {
    Confusion confusion(classes);
    test::expect_well_formed(confusion.svg("empty"));
    confusion.add(0, classes - 1);
    test::expect_well_formed(confusion.svg("one"));
  }
}

}  // namespace
}  // namespace tally::examples
