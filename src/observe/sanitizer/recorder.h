// The sanitizer: follows the client's calls in their order, and tells what a card may do with them. `updraft run
// --sanitize` prints it. docs/internals/sanitizer.md has the rules.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/observer.h"
#include "observe/sanitizer/allocations.h"
#include "observe/sanitizer/clock.h"
#include "observe/sanitizer/findings.h"
#include "observe/sanitizer/guards.h"
#include "observe/sanitizer/shadow.h"
#include "observe/sanitizer/stacks.h"

namespace updraft::sanitizer {

class Recorder final : public Observer {
 public:
  /// `kinds`: bits of Kind.
  explicit Recorder(uint32_t kinds) : kinds_(kinds), findings_(stacks_) {}

  void submitted(const TaskEvent& task) override;
  void task_begun(const TaskEvent& task) override;
  void task_ended(const TaskEvent& task) override;
  void ordered(const OrderEvent& event) override;
  void call_ended(const ApiCall& call) override;

  /// A caching allocator of the client gives out, or takes back, a block; in the thread that asked for it.
  void block(const void* at, bool taken);
  /// All blocks that are in use, seen after now() was `since`: those that were given out before and are none of them
  /// have been taken back without a word.
  void blocks_in_use(std::span<void* const> blocks, uint64_t since);
  uint64_t now();
  /// The host touched memory of the device, and the process is about to end.
  void host_access(const void* at, int32_t device);
  /// Code of the host has touched a protected page, in whose thread this runs. False: it is none of ours.
  bool host_touched(const void* at, bool writes);
  /// What a framework keeps to the end of the process on purpose: streams, memory and executors; and what those were
  /// made of.
  enum class Keeps { Nothing, Handles, Plans };
  /// What is left at the end, without what is kept on purpose.
  void finish(Keeps keeps);

  /// Around a fork, which other threads do not survive: the child begins with nothing that the parent did.
  /// `writing`: the lock of who writes the findings, which is taken between the recorder's and theirs.
  void before_fork(std::mutex& writing);
  void after_fork(std::mutex& writing, bool child);
  /// True in a fork that has used no device since.
  bool idle_fork() const { return forked_ && serial_ == 0; }

  Findings& findings() { return findings_; }

 private:
  struct Handle {
    const char* kind = "";
    std::shared_ptr<Site> site;
    const char* call = "";  ///< that made it; "": the site's
    std::string (*left)(const void*, uint64_t) = nullptr;
    uint64_t value = 0;  ///< for `left`
  };
  bool wants(Kind kind) const { return kinds_ >> static_cast<int>(kind) & 1; }
  std::shared_ptr<Work> work_of(const TaskEvent& task, Moment moment);
  void look_at(const TaskEvent& task, const std::shared_ptr<Work>& work, bool contents);
  void access(const std::shared_ptr<Work>& work, size_t touched, bool contents);
  void look_at_contents(const std::shared_ptr<Work>& work, const Touched& touched, const Piece& allocation,
                        const Piece& piece);
  void copied(const std::shared_ptr<Work>& work);
  void guard(const std::shared_ptr<Work>& work);
  void know();
  void freed(const OrderEvent& event);
  void made(const OrderEvent& event);
  /// `written`: whoever takes it is about to fill it.
  void take_block(const void* at, bool taken, std::shared_ptr<Site> site, bool written);
  void conflict(const Work& earlier, bool wrote, const WorkRef& later, const Touched& touched);
  void found(Finding finding, const std::shared_ptr<const Work>& first, const std::shared_ptr<const Work>& second);
  Side side_of(const Work& work, const Touched* touched) const;
  Place place_of(const Piece& piece, uintptr_t at) const;
  std::shared_ptr<Site> site();
  const Named* named(const char* name);
  void prune();

  const uint32_t kinds_;
  Stacks stacks_;
  Findings findings_;
  std::mutex mutex_;
  Clocks clocks_;
  Shadow shadow_;
  Allocations allocations_;
  Guards guards_;  ///< of pinned memory
  std::unordered_map<const void*, Handle> handles_;
  std::map<std::string, Named, std::less<>> names_;
  std::unordered_map<const char*, const Named*> names_at_;  ///< by where the text was that was compared last
  std::unordered_map<uint64_t, std::shared_ptr<Work>>
      waiting_;                                        ///< host functions, graphs, guarded copies, by the task's id
  std::map<StreamKey, std::shared_ptr<Work>> graphs_;  ///< that run now
  uint64_t serial_ = 0;
  bool forked_ = false;
  bool has_blocks_ = false;  ///< a caching allocator tells of its blocks
  int captures_ = 0;         ///< that have begun and not ended
  size_t prune_at_ = 1 << 14;
};

}  // namespace updraft::sanitizer
