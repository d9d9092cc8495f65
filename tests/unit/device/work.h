// A task that calls a function, for tests of streams.
#pragma once
#include <cstdint>
#include <functional>
#include <utility>

#include "device/argument.h"
#include "device/task.h"

namespace updraft {

class Work final : public Task {
 public:
  explicit Work(
      std::function<void()> f = [] {}, TaskKind k = TaskKind::Compute, int64_t amount = INT64_MAX)
      : f_(std::move(f)) {
    kind = k;
    work = amount;
    cost = {7, 11, Unit::Vector};
  }
  void run() override { f_(); }
  void release() override { delete this; }
  const char* name() const override { return "Work"; }
  void arguments(ArgumentList& list) const override { list.add("amount", Direction::In, int64_t{5}); }

 private:
  std::function<void()> f_;
};

}  // namespace updraft
