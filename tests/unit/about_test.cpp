// Every operator says what it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <string>

#include "ops/format.h"
#include "ops/ir_op.h"
#include "ops/op.h"

namespace updraft {
namespace {

void check(const std::string& name, const OpAbout* about) {
  ASSERT_NE(about, nullptr) << name << " has no ABOUT (CONTRIBUTING.md)";
  EXPECT_NE(about->unit, Unit::Other) << name;
  EXPECT_GT(std::strlen(about->summary), 10u) << name;
  EXPECT_LE(std::strlen(about->summary), 100u) << name << ": want one line";
  for (const char* c = about->summary; *c; ++c) EXPECT_TRUE(*c >= ' ' && *c < 127) << name << ": want ASCII";
  EXPECT_GT(std::strlen(about->summary_zh), 5u) << name;
  for (const char* text : {about->summary, about->summary_zh}) {
    EXPECT_EQ(std::strstr(text, "*/"), nullptr) << name << ": it becomes a comment of C";
    EXPECT_EQ(std::strchr(text, '\n'), nullptr) << name;
  }
}

TEST(About, EveryAclnnOperator) {
  std::set<std::string> names;
  for (const OpInfo* op = first_op(); op; op = op->next) {
    check(op->name, op->about);
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " is registered twice";
  }
  EXPECT_GT(names.size(), 600u);
}

TEST(About, EveryGraphOperator) {
  std::set<std::string> types;
  for (const OpInfo* op = first_ir_op(); op; op = op->next) {
    check(op->name, op->about);
    EXPECT_TRUE(types.insert(op->name).second) << op->name << " is registered twice";
    EXPECT_EQ(find_op(op->name), nullptr) << op->name;
    std::set<std::string> names;
    for (const Parameter& p : op->parameters) {
      EXPECT_EQ(std::string(p.name).find("ir_"), std::string::npos) << op->name << ": " << p.name;
      const bool again = std::string(p.type) == "Ref";
      EXPECT_EQ(names.insert(p.name).second, !again) << op->name << ": " << p.name;
    }
  }
  EXPECT_GT(types.size(), 300u);
}

TEST(About, ParametersAreSpelledOut) {
  // A macro that stands for parameters must not reach the headers by its own name.
  for (const OpInfo* op = first_op(); op; op = op->next) {
    ASSERT_FALSE(op->parameters.empty()) << op->name;
    std::set<std::string> names;
    for (const Parameter& p : op->parameters) {
      EXPECT_EQ(std::string(p.name).find_first_of("(), "), std::string::npos) << op->name << ": " << p.name;
      EXPECT_TRUE(names.insert(p.name).second) << op->name << " has two parameters named " << p.name;
    }
  }
}

TEST(About, NamesThatEndInRefAreReadAndWritten) {
  for (const OpInfo* op = first_op(); op; op = op->next) {
    for (const Parameter& p : op->parameters) {
      if (!std::string(p.name).ends_with("Ref")) continue;
      EXPECT_EQ(p.direction, Direction::InOut) << op->name << ": " << p.name;
    }
  }
}

TEST(About, OperatorsOfImagesAreListed) {
  const auto listed = operators_of_images();
  for (const std::string_view name : listed) EXPECT_NE(find_op(name), nullptr) << name << " is in src/ops/format.cpp";
  // What is named so divides images; a new one is easily forgotten.
  for (const OpInfo* op = first_op(); op; op = op->next) {
    std::string name = op->name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name.find("causalconv") != std::string::npos) continue;  // of sequences
    for (const char* part : {"conv", "pool", "upsample", "gridsampler", "affinegrid", "im2col", "reflectionpad",
                             "replicationpad", "circularpad", "batchnorm", "groupnorm", "channelshuffle"})
      if (name.find(part) != std::string::npos) {
        EXPECT_TRUE(std::ranges::binary_search(listed, std::string_view(op->name))) << op->name;
      }
  }
}

TEST(About, OperatorsAreFoundByName) {
  for (const OpInfo* op = first_op(); op; op = op->next) EXPECT_EQ(find_op(op->name), op) << op->name;
  EXPECT_EQ(find_op("aclnnNoSuchOperator"), nullptr);
}

}  // namespace
}  // namespace updraft
