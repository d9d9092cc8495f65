// The operator that this thread is putting on a stream, which may run it at once: the client's handles are still there.
#pragma once
#include <utility>

struct aclOpExecutor;

namespace updraft {

inline thread_local const aclOpExecutor* t_submitting = nullptr;

class Submitting {
 public:
  explicit Submitting(const aclOpExecutor* executor) : before_(std::exchange(t_submitting, executor)) {}
  ~Submitting() { t_submitting = before_; }
  Submitting(const Submitting&) = delete;

 private:
  const aclOpExecutor* before_;
};

/// The name of the first of an executor's observed arguments where they are kept for the message of a failure alone.
inline constexpr char kForSummary[] = "(for the message of a failure)";

}  // namespace updraft
