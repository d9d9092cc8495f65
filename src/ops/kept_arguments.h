// Copies of a call's arguments, so that it can be made again after the client destroyed its handles, on other memory
// too.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ops/owned_arguments.h"
#include "ops/parameter.h"

namespace updraft {

/// Points a tensor at other memory: `storage` is the base as a client passes it; the view keeps its offset from it.
void set_address(aclTensor& tensor, void* storage);

class KeptArguments {
 public:
  /// The handles must be alive: check_handles() (ops/op.h) has seen them.
  KeptArguments(const OpInfo& info, const Value* values);
  KeptArguments(const KeptArguments&) = delete;

  const Value* values() const { return values_.data(); }

  /// Calls f(aclTensor&) for the tensors of a parameter: one, those of a list, or none.
  template <class F>
  void each_tensor(size_t position, F&& f) const {
    const Value& v = values_[position];
    if (!v.pointer()) return;
    if (is_single(position)) return f(*const_cast<aclTensor*>(v.tensor()));
    for (aclTensor* t : v.tensors()->items)
      if (t) f(*t);
  }

  /// Which parameters an index counts; absent ones count, too.
  enum class Among : uint8_t { All, Read, Written };
  /// The parameter that the client means, as its position in the table. `handle` is the tensor or the list that it was
  /// planned with, if the client still has it: that decides, because clients count differently (MindSpore counts
  /// lengths of sequences where it has them as a tensor). Else it is the one with that index among those that are
  /// tensors or lists. Throws 161002.
  size_t position_of(size_t index, Among among, const void* handle) const;
  /// Another address for a tensor, or for tensor `item` of a list. Throws 161002 when there is none.
  void readdress(size_t position, void* storage);
  void readdress(size_t position, size_t item, void* storage);
  /// True when an address was set since the copy was made.
  bool readdressed() const { return readdressed_; }

 private:
  bool is_single(size_t position) const;
  bool is_handle_of(size_t position, const void* handle) const;
  size_t position_of(size_t index, Among among) const;

  const OpInfo& info_;
  std::vector<Value> values_;
  OwnedArguments own_;
  std::map<size_t, HandleRef<aclTensorList>> lists_;  ///< the client's, by position
  std::deque<std::string> texts_;
  std::deque<std::vector<std::string>> text_lists_;
  std::deque<std::vector<std::vector<int64_t>>> int_lists_;
  bool readdressed_ = false;
};

}  // namespace updraft
