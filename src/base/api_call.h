// A call of the C interface as observers see it. guard() (base/boundary.h) and the two phases of operators (ops/op.h)
// open one of these scopes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/watch.h"

namespace updraft {

struct Argument;  // device/argument.h

struct ApiCall {
  /// Operators are called twice: NAME##GetWorkspaceSize plans, NAME launches. Both carry NAME here.
  enum class Phase : uint8_t { Whole, Plan, Launch };

  const char* name;
  Phase phase;
  bool implemented;      ///< false: a name of the contract that refuses because nobody has implemented it
  int code;              ///< what it returned
  int32_t thread;        ///< the kernel's number of the calling thread
  uint32_t depth;        ///< 0: the client's own call; else made by the library inside a call or a task
  uint64_t correlation;  ///< unique in the process; tasks that the call put on streams have the same. Never 0
  Stamp begin, end;
  /// Plan, when it succeeded and arguments are observed: what it was called with.
  const Argument* arguments;
  size_t argument_count;
};

/// The correlation of the client's call that the thread is in, 0 when it is in none or nobody listens.
uint64_t current_correlation();

/// While one lives, calls of this thread count as the library's own (ApiCall::depth).
class InsideLibrary {
 public:
  InsideLibrary();
  ~InsideLibrary();
  InsideLibrary(const InsideLibrary&) = delete;
};

/// From the beginning of a call to its end. Costs a load and a branch when nobody listens.
class ApiScope {
 public:
  explicit ApiScope(const char* name, ApiCall::Phase phase = ApiCall::Phase::Whole) {
    if (watched()) [[unlikely]]
      open(name, phase);
  }
  ApiScope(const ApiScope&) = delete;
  ~ApiScope() {
    if (open_) [[unlikely]]
      close();
  }
  bool is_open() const { return open_; }

  // What the call turned out to be, before the scope ends.
  void code(int code) { call_.code = code; }
  void not_implemented() { call_.implemented = false; }
  void arguments(const Argument* arguments, size_t count) {
    call_.arguments = arguments;
    call_.argument_count = count;
  }

 private:
  void open(const char* name, ApiCall::Phase phase);
  void close();

  bool open_ = false;
  uint32_t bits_;
  uint64_t outer_;
  ApiCall call_;
};

/// Who is told of calls (device/observer.cpp; null: nobody yet).
void set_call_sink(void (*sink)(const ApiCall&));

}  // namespace updraft
