// Tasks that are carried out together a piece at a time give what they give one after the other, bit for bit.
#include "device/chain/flat_chain.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace updraft {
namespace {

/// to[i] = a[i] * factor + b[i] for each row.
class Work final : public FlatWork {
 public:
  struct Row {
    const float *a, *b;
    float* to;
    int64_t n;
  };
  Work(std::vector<Row> rows, float factor) : rows_(std::move(rows)), factor_(factor) {}
  size_t rows() const override { return rows_.size(); }
  int64_t elements(size_t row) const override { return rows_[row].n; }
  int arrays(size_t row, FlatArray* to) const override {
    const Row& r = rows_[row];
    const float* all[] = {r.a, r.b, r.to};
    for (int k = 0; k < 3; ++k) to[k] = {reinterpret_cast<const char*>(all[k]), static_cast<size_t>(r.n) * 4};
    return 3;
  }
  void run_piece(size_t row, int64_t begin, int64_t n) const override {
    const Row& r = rows_[row];
    for (int64_t i = begin; i < begin + n; ++i) r.to[i] = r.a[i] * factor_ + r.b[i];
  }
  void run_alone() const {
    for (size_t i = 0; i < rows_.size(); ++i) run_piece(i, 0, rows_[i].n);
  }

 private:
  std::vector<Row> rows_;
  float factor_;
};

TEST(FlatChain, IsWhatOneAfterTheOtherIs) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    // Some arrays of three sizes; each work takes any of a size, so most write what others read.
    const int64_t sizes[] = {1 + static_cast<int64_t>(random() % 50), 8192, 20000 + static_cast<int64_t>(random() % 9)};
    std::vector<std::vector<float>> arrays;
    for (int i = 0; i < 15; ++i) {
      auto& array = arrays.emplace_back(sizes[i % 3]);
      for (float& x : array) x = static_cast<float>(random() % 1000) / 500 - 1;
    }
    auto separately = arrays;
    auto works_on = [](std::vector<std::vector<float>>& data, uint32_t seed) {
      std::mt19937 pick(seed);
      std::vector<Work> works;
      for (int w = 0; w < 12; ++w) {
        std::vector<Work::Row> rows;
        for (size_t size = 0; size < 3; ++size) {
          auto one = [&] { return data[size + 3 * (pick() % 5)].data(); };
          float *a = one(), *b = one(), *to = one();
          rows.push_back({a, b, to, static_cast<int64_t>(data[size].size())});
        }
        works.emplace_back(std::move(rows), static_cast<float>(pick() % 7) / 8);
      }
      return works;
    };
    const auto seed = static_cast<uint32_t>(random());
    const std::vector<Work> together = works_on(arrays, seed), apart = works_on(separately, seed);
    FlatChain chain;
    for (const Work& work : together) ASSERT_TRUE(chain.add(work));
    EXPECT_EQ(chain.works(), together.size());
    chain.run();
    for (const Work& work : apart) work.run_alone();
    for (size_t i = 0; i < arrays.size(); ++i) ASSERT_EQ(arrays[i], separately[i]) << round << " " << i;
  }
}

TEST(FlatChain, RefusesWhatOverlapsOtherwise) {
  std::vector<float> a(100), b(100), c(100);
  const Work first({{a.data(), b.data(), a.data(), 100}}, 2);
  FlatChain chain;
  ASSERT_TRUE(chain.add(first));
  const Work shifted({{a.data() + 1, c.data(), c.data(), 99}}, 2), half({{a.data(), c.data(), c.data(), 50}}, 2),
      around({{c.data(), b.data() + 99, c.data(), 1}}, 2);
  EXPECT_FALSE(chain.add(shifted));
  EXPECT_FALSE(chain.add(half));
  EXPECT_FALSE(chain.add(around));
  // In a work itself, too; and nothing of what was refused is left.
  const Work itself({{c.data(), c.data(), c.data(), 100}, {c.data() + 5, c.data() + 5, c.data() + 5, 50}}, 2);
  EXPECT_FALSE(chain.add(itself));
  EXPECT_EQ(chain.works(), 1u);
  const Work fits({{a.data(), c.data(), c.data(), 100}}, 3);
  EXPECT_TRUE(chain.add(fits));
  std::fill(a.begin(), a.end(), 1.0f);
  std::fill(b.begin(), b.end(), 2.0f);
  chain.run();  // a = 1 * 2 + 2, c = a * 3 + 0
  EXPECT_EQ(a, std::vector<float>(100, 4));
  EXPECT_EQ(c, std::vector<float>(100, 12));
}

TEST(FlatChain, EqualBytesOfOtherTypesAreNotOneArray) {
  // 100 floats and 50 of something else on the same bytes: element i of one is not element i of the other.
  class Wide final : public FlatWork {
   public:
    explicit Wide(const void* data) : data_(data) {}
    size_t rows() const override { return 1; }
    int64_t elements(size_t) const override { return 50; }
    int arrays(size_t, FlatArray* to) const override {
      to[0] = {static_cast<const char*>(data_), 400};
      return 1;
    }
    void run_piece(size_t, int64_t, int64_t) const override {}

   private:
    const void* data_;
  };
  std::vector<float> a(100);
  const Work first({{a.data(), a.data(), a.data(), 100}}, 2);
  const Wide wide(a.data());
  FlatChain chain;
  ASSERT_TRUE(chain.add(first));
  EXPECT_FALSE(chain.add(wide));
}

TEST(FlatChain, WhatIsReadAsAWholeIsNotWritten) {
  /// to[i] += number[0].
  class Plus final : public FlatWork {
   public:
    Plus(const float* number, size_t count, std::vector<float>& to) : number_(number), count_(count), to_(to) {}
    size_t rows() const override { return 1; }
    int64_t elements(size_t) const override { return static_cast<int64_t>(to_.size()); }
    int arrays(size_t, FlatArray* to) const override {
      to[0] = {reinterpret_cast<const char*>(number_), count_ * 4, true};
      to[1] = {reinterpret_cast<const char*>(to_.data()), to_.size() * 4};
      return 2;
    }
    void run_piece(size_t, int64_t begin, int64_t n) const override {
      for (int64_t i = begin; i < begin + n; ++i) to_[static_cast<size_t>(i)] += number_[0];
    }

   private:
    const float* number_;
    size_t count_;
    std::vector<float>& to_;
  };
  std::vector<float> a(20000), b(20000), numbers = {3, 4, 5};
  FlatChain chain;
  const Plus first(numbers.data(), 1, a), again(numbers.data(), 1, b);
  EXPECT_TRUE(chain.add(first));
  EXPECT_TRUE(chain.add(again));  // arrays of other sizes may share it
  // Of what the chain works on element by element nothing is read as a whole, and the other way round.
  const Plus reads(a.data() + 7, 1, b), writes(b.data(), 1, numbers), itself(a.data(), 1, a),
      more(numbers.data(), 3, a), part(numbers.data() + 2, 1, a);
  EXPECT_FALSE(chain.add(reads));
  EXPECT_FALSE(chain.add(writes));
  EXPECT_FALSE(chain.add(itself));
  EXPECT_FALSE(chain.add(more));
  EXPECT_TRUE(chain.add(part));
  // Nothing is left of what was refused.
  std::vector<float> c(20000);
  const Work on(std::vector<Work::Row>{{a.data(), b.data(), c.data(), 20000}}, 2);
  EXPECT_TRUE(chain.add(on));
  chain.run();
  EXPECT_EQ(a, std::vector<float>(20000, 8));
  EXPECT_EQ(b, std::vector<float>(20000, 3));
  EXPECT_EQ(c, std::vector<float>(20000, 19));
}

}  // namespace
}  // namespace updraft
