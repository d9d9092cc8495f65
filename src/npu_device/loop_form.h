// Loops that count: how many steps one will make is known before it begins, and how many batches it takes of which
// iterators.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "npu_device/body.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

/// What a While is known to do. Nothing is known of a loop that somebody may leave early.
class LoopForm {
 public:
  /// An iterator that the loop uses.
  struct Source {
    int argument = -1;                           ///< of the loop,
    const tensorflow::NodeDef* maker = nullptr;  ///< or the operator that gives it, of
    int maker_argument = -1;                     ///< this argument, -1: of none
    const tensorflow::NodeDef* batch = nullptr;  ///< the operator that takes one
    size_t tensors = 0;                          ///< of a batch
    int64_t each = 0;                            ///< batches that a step takes; 0: something else is done with it
    int64_t behind = 0;                          ///< that the function takes when the loop is over
  };

  /// `item` of `caller` is the loop.
  LoopForm(const Body& condition, const Body& body, const Body& caller, int item);

  /// How many steps it makes with these arguments; nothing: the condition has to be asked before each.
  std::optional<int64_t> steps(const std::vector<Value>& arguments) const;
  const std::vector<Source>& sources() const { return sources_; }

 private:
  struct Number {
    int argument = -1;  ///< -1: the value
    int64_t value = 0;
    std::optional<int64_t> of(const std::vector<Value>& arguments) const;
  };
  /// The steps go on while the counter, to which each adds, is below the limit (or above it).
  struct Term {
    Number counter, step, limit;
    bool below = true, equal = false;
    std::optional<int64_t> steps(const std::vector<Value>& arguments) const;
  };
  bool add_terms(const Body& condition, const Body& body, Ref ref);
  void find_sources(const Body& body, const Body& caller, int item);

  bool counts_ = false;
  std::vector<Term> terms_;
  std::vector<Source> sources_;
};

}  // namespace updraft::npu_device
