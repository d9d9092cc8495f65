// Operators of one kind by their names. Static initialisers add them; lookups come later, from any thread.
#pragma once
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "ops/op.h"

namespace updraft {

class OpTable {
 public:
  OpInfo* add(OpInfo* info) {
    info->next = first_;
    return first_ = info;
  }
  const OpInfo* first() const { return first_; }
  /// The operator of that name, else null.
  const OpInfo* find(std::string_view name) {
    std::call_once(indexed_, [this] {
      by_name_ = new std::unordered_map<std::string_view, const OpInfo*>;
      for (const OpInfo* op = first_; op; op = op->next) by_name_->emplace(op->name, op);
    });
    const auto it = by_name_->find(name);
    return it == by_name_->end() ? nullptr : it->second;
  }

 private:
  OpInfo* first_ = nullptr;
  std::once_flag indexed_;
  std::unordered_map<std::string_view, const OpInfo*>* by_name_ = nullptr;  ///< outlives static destruction
};

}  // namespace updraft
