#include "collective/communicator.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/config.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/parallel.h"
#include "collective/error.h"
#include "collective/network.h"
#include "collective/task.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {
constexpr auto kTick = std::chrono::milliseconds(500);
constexpr auto kDrowsy = std::chrono::seconds(5);
constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kSilence = std::chrono::seconds(5);  // while one waits for ranks that do not stop
}  // namespace

Communicator::Communicator(std::shared_ptr<Member> member, uint32_t rank, uint32_t ranks, Device& device,
                           const CommunicatorOptions& options)
    : pid_(getpid()),
      member_(std::move(member)),
      rank_(rank),
      ranks_(ranks),
      device_(device),
      options_(options),
      sends_(ranks),
      receives_(ranks) {
  UPDRAFT_EVENT("HCCL", "communicator {}: rank {} of {} on device {}", options_.name, rank, ranks, device.index());
}

Communicator::~Communicator() { close(); }

std::optional<Error> Communicator::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

uint64_t Communicator::occurrence(const std::string& text) {
  std::lock_guard lock(mutex_);
  return occurrences_[text]++;
}

void Communicator::ring() { group_->region().bell(group_->me()).ring(); }

void Communicator::close() {
  if (getpid() != pid_) {  // what belongs to the parent is left as it is
    new std::thread(std::move(thread_));
    [[maybe_unused]] auto* group = group_.release();
    [[maybe_unused]] auto* network = network_.release();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    hopeless_ = true;
  }
  if (thread_.joinable()) {
    ring();
    thread_.join();
    group_->region().left(group_->me()).store(1, std::memory_order_release);
    group_->ring_all();
  }
  network_.reset();
  if (member_) member_->leave();
}

// --- enqueueing
// --------------------------------------------------------------------------------------------------------

void Communicator::enqueue(Request request, Stream& stream) {
  if (detail::in_forked_child.load(std::memory_order_relaxed)) [[unlikely]]
    throw Error(result::kNotSupport,
                "EI0003: the communicator {} does not go on in a forked process; start it by spawn", options_.name);
  if (&stream.device() != &device_)
    throw Error(result::kPara, "EI0003: stream {} is of device {}, the communicator is of device {}", stream.id(),
                stream.device().index(), device_.index());
  if (hopeless_.load(std::memory_order_acquire)) [[unlikely]] {
    std::lock_guard lock(mutex_);
    if (closed_) throw Error(result::kUnavail, "EI0003: the communicator {} was destroyed", options_.name);
    if (failure_ && !stream.capturing())
      throw Error(async_error(), "the communicator {} has failed: {}", options_.name, failure_->text());
  }
  submit_collective(shared_from_this(), std::move(request), stream);
}

void Communicator::suspend() {
  std::lock_guard lock(mutex_);
  if (failure_) throw Error(async_error(), "the communicator {} has failed: {}", options_.name, failure_->text());
  suspended_ = true;
}

void Communicator::resume() {
  {
    std::lock_guard lock(mutex_);
    if (failure_)
      throw Error(async_error(),
                  "the communicator {} has failed, which resuming does not mend (destroy it and make another): {}",
                  options_.name, failure_->text());
    if (!std::exchange(suspended_, false)) return;
    const auto now = Clock::now();
    for (auto& [ticket, operation] : queue_)
      if (operation != executing_) operation->since = now;
    for (Pending& pending : messages_) pending.operation->since = now;
  }
  ring();
}

// The numbers belong to whoever holds enqueueing().
void Communicator::number(Operation& operation) {
  operation.numbers.clear();
  for (const Message& m : operation.request.messages)
    operation.numbers.push_back(++(m.send ? sends_ : receives_)[m.peer]);
  if (operation.request.messages.empty()) operation.ticket = ++tickets_;
}

bool Communicator::begin(Operation& operation, Stream& stream) {
  operation.stream = &stream;
  if (stream.has_failed()) [[unlikely]]
    if (auto before = stream.failure()) {
      fail(Error(result::kRuntime, "EI0002: rank {} cannot do {}: its stream failed before: {}", rank_,
                 describe(operation), before->text()),
           true);
      return true;
    }
  std::optional<Error> problem;
  if (operation.ticket != 0) problem = prepare(operation);
  std::unique_lock lock(mutex_);
  if (failure_ || closed_) {
    const Error why = failure_ ? *failure_ : Error(result::kUnavail, "the communicator was destroyed");
    lock.unlock();
    give_back(operation.staged_send);
    give_back(operation.staged_receive);
    stream.fail(Error(code::kRtCommunication, "{}", why.text()), name_of(operation.request.kind));
    return true;
  }
  if (operation.ticket == 0) {
    operation.open_messages = operation.request.messages.size();
    operation.since = Clock::now();
    if (operation.open_messages == 0) return true;
    for (size_t i = 0; i < operation.request.messages.size(); ++i) {
      Pending pending{};
      pending.operation = &operation;
      pending.message = operation.request.messages[i];
      pending.number = operation.numbers[i];
      messages_.push_back(std::move(pending));
    }
    lock.unlock();
    ring();
    return false;
  }
  if (problem) {
    enter(operation);
    lock.unlock();
    fail(*problem, true);
    return false;  // its turn to fail comes in the thread, with all others
  }
  if (network_ || suspended_ || operation.ticket != next_) {
    enter(operation);
    if (network_ || deep_sleep_) {
      lock.unlock();
      ring();
    }
    return false;
  }
  try {
    const bool watching = worth_watching(operation);
    const bool all_here = post(operation, watching) || (watching && watch(operation));
    if (all_here && operation.inlined) {
      check_agreement(operation);
      work_inline(*group_, operation.request, operation.ticket);
      ++next_;
      const bool more = !queue_.empty() && queue_.contains(next_);
      lock.unlock();
      if (more) ring();
      return true;
    }
    enter(operation);
    if (all_here || deep_sleep_) {
      lock.unlock();
      ring();
    }
    return false;
  } catch (const Error& e) {
    enter(operation);
    lock.unlock();
    fail(e, true);
  } catch (const std::exception& e) {
    enter(operation);
    lock.unlock();
    fail(Error(result::kInternal, "EI0007: {}: {}", describe(operation), e.what()), true);
  }
  return false;  // its turn to fail comes in the thread, with all others
}

// With the lock: from now on the operation is the thread's, which waits for the other ranks.
void Communicator::enter(Operation& operation) {
  operation.since = Clock::now();
  queue_[operation.ticket] = &operation;
}

void Communicator::drop(const Operation& operation) {
  fail(Error(result::kRuntime, "EI0002: rank {} dropped {}: its stream was aborted", rank_, describe(operation)), true);
}

void Communicator::abandon(const Operation& operation) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ =
        Error(result::kRuntime, "EI0002: rank {} dropped {}: its stream was aborted", rank_, describe(operation));
    async_error_ = result::kRuntime;
    hopeless_ = true;
    unreported_ = true;
  }
  ring();
}

// --- the thread
// --------------------------------------------------------------------------------------------------------

void Communicator::loop() {
  pthread_setname_np(pthread_self(), "hccl-comm");
  // All ranks of the host work at the same time: together they have its cores once.
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  set_parallel_threads(std::clamp(cores / group_->size(), 1, Config::get().threads));
  Doorbell& bell = group_->region().bell(group_->me());
  auto active = Clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    const uint32_t seen = bell.read();
    if (closed_ && !failure_) failure_ = Error(result::kUnavail, "the communicator was destroyed");
    if (std::exchange(unreported_, false)) {
      const Error why = *failure_;
      const bool closed = closed_;
      lock.unlock();
      announce(why, !closed);
      lock.lock();
    }
    if (failure_) {
      fail_all(lock);
      if (closed_) return;
    }
    bool progress = advance_messages(lock);
    if (auto it = queue_.find(next_); it != queue_.end() && !failure_ && (!suspended_ || it->second->posted)) {
      Operation* operation = it->second;
      executing_ = operation;
      lock.unlock();
      execute(*operation);
      lock.lock();
      executing_ = nullptr;
      progress = true;
    }
    if (progress || (failure_ && (!queue_.empty() || !messages_.empty()))) {
      active = Clock::now();
      continue;
    }
    // An operation is posted without waking this thread; while some may come it looks at the clock now and then.
    deep_sleep_ = queue_.empty() && messages_.empty() && Clock::now() - active > kDrowsy;
    const bool deep = deep_sleep_;
    lock.unlock();
    bell.wait(seen, deep ? std::chrono::nanoseconds(-1) : kTick);
    lock.lock();
    deep_sleep_ = false;
  }
}

template <class F>
void Communicator::wait_until(F&& reached, const Operation& operation) {
  if (reached()) return;
  if (cores_for_threads_) {
    const auto end = Clock::now() + kSpin;
    while (Clock::now() < end)
      if (reached()) return;
  }
  Doorbell& bell = group_->region().bell(group_->me());
  std::optional<Clock::time_point> patience;  // since a rank of this host has given up
  while (true) {
    const uint32_t seen = bell.read();
    if (reached()) return;
    if (hopeless_.load(std::memory_order_acquire)) {
      if (reached()) return;  // who has gone may have done its part before
      throw_if_hopeless(operation);
    }
    std::chrono::nanoseconds timeout(-1);
    if (const int index = given_up(); index >= 0) {
      if (!patience) patience = Clock::now() + kGrace;
      timeout = *patience - Clock::now();
      if (timeout.count() <= 0) throw_given_up(index, operation);
    }
    if (options_.exec_timeout > 0) {
      const std::chrono::nanoseconds left = operation.since + seconds(options_.exec_timeout) - Clock::now();
      timeout = timeout.count() < 0 ? left : std::min(timeout, left);
      if (left.count() <= 0)
        throw Error(result::kTimeout,
                    "EI0002: {} waited for {} s: {} (HCCL_EXEC_TIMEOUT sets the time; see what these ranks are doing)",
                    describe(operation), options_.exec_timeout, missing(operation));
    }
    {
      std::unique_lock lock(mutex_);
      if (advance_messages(lock)) continue;
      if (!messages_.empty())
        timeout = timeout.count() < 0 ? kTick : std::min<std::chrono::nanoseconds>(timeout, kTick);
    }
    bell.wait(seen, timeout);
  }
}

void Communicator::wait_for(const std::function<bool()>& reached, const Operation& operation) {
  wait_until(reached, operation);
}

std::string Communicator::missing(const Operation& operation) const {
  std::string names;
  for (int i = 0; i < group_->size(); ++i)
    if (!group_->region().has_posted(i, operation.ticket))
      names += fmt::format("{}{}", names.empty() ? "rank " : ", ", group_->rank(i));
  return names.empty() ? "all ranks have begun it, not all have finished" : names + " did not come to it";
}

// Called when the communicator has failed, is closed or has lost ranks. What a rank of another host sent before it left
// may still be on its way: its connection says when all has arrived.
void Communicator::throw_if_hopeless(const Operation& operation, bool all_arrived) const {
  std::lock_guard lock(mutex_);
  if (closed_)
    throw Error(result::kUnavail, "EI0002: {}: the communicator was destroyed meanwhile", describe(operation));
  if (failure_) throw *failure_;
  // A rank of this host has given up: it knows that nothing more arrives.
  for (int i = 0; i < group_->size(); ++i)
    all_arrived |= group_->region().broken(i).load(std::memory_order_acquire) != 0;
  for (auto [rank, left] : gone_) {
    // A process with the root that ends in good order may take the root along before its farewell is out.
    const bool may_have_left = left || (rank == 0 && root_lost_);
    if (may_have_left && local_index_[rank] < 0 && !all_arrived) continue;
    throw Error(result::kRemote, "EI0002: {} cannot complete: rank {} {}", describe(operation),
                left ? rank : culprit(rank), how_gone(left));
  }
}

// Who has gone, by whatever channel hears of it first.
void Communicator::lose(uint32_t rank, bool left) {
  {
    std::lock_guard lock(mutex_);
    if (!gone_.add(rank, left)) return;
    hopeless_ = true;
  }
  ring();
}

// With the lock: who has left since nobody passes on farewells.
void Communicator::note_departures() {
  for (int i = 0; root_lost_ && i < group_->size(); ++i)
    if (i != group_->me() && group_->region().left(i).load(std::memory_order_acquire)) gone_.add(group_->rank(i), true);
}

void Communicator::throw_if_dead(const std::vector<uint32_t>& ranks, bool even_left) const {
  std::lock_guard lock(mutex_);
  for (const uint32_t rank : ranks)
    if (const auto* gone = gone_.find(rank); gone && (even_left || !gone->second))
      throw Error(result::kRemote, "EI0015: rank {} of {} {}: there will be no communicator with it", rank,
                  options_.name, how_gone(gone->second));
  if (even_left && root_lost_)
    throw Error(result::kRemote,
                "EI0015: rank 0 of {}, in whose process its ranks meet, has gone before they made another communicator",
                options_.name);
}

// The rank that the dead one died of, if it said so before it ended.
uint32_t Communicator::culprit(uint32_t dead) const {
  const Region& region = group_->region();
  for (int i = 0; i < group_->size(); ++i) {
    const int index = local_index_[dead];
    const uint32_t blames = index < 0 ? 0 : region.blames(index).load(std::memory_order_acquire);
    if (blames == 0 || blames > ranks_ || blames - 1 == rank_) break;
    dead = blames - 1;
  }
  region.blames(group_->me()).store(dead + 1, std::memory_order_release);
  return dead;
}

bool Communicator::gone(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  return gone_.find(rank) != nullptr;
}

// Before memory of other ranks is touched. Who gives up says so and then waits for those who are busy; so either it
// waits for us, or we see here that its memory is its client's again.
void Communicator::claim_peers(const Operation& operation) {
  const Region& region = group_->region();
  region.busy(group_->me()).store(1, std::memory_order_seq_cst);
  if (hopeless_.load(std::memory_order_acquire)) throw_if_hopeless(operation);
  const int index = given_up();
  if (index < 0) return;
  region.busy(group_->me()).store(0, std::memory_order_release);
  for (const auto end = Clock::now() + kGrace; Clock::now() < end;) {
    throw_if_hopeless(operation, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  throw_given_up(index, operation);
}

/// A rank of this host, by index, that has given up the communicator; -1: none.
int Communicator::given_up() const {
  for (int i = 0; i < group_->size(); ++i)
    if (i != group_->me() && group_->region().broken(i).load(std::memory_order_seq_cst)) return i;
  return -1;
}

void Communicator::throw_given_up(int index, const Operation& operation) const {
  const Region& region = group_->region();
  const uint32_t rank = group_->rank(index);
  if (region.broken(index).load(std::memory_order_acquire) != kGivenUp)
    throw Error(result::kRemote, "EI0002: {} cannot complete: rank {} has given up the communicator",
                describe(operation), rank);
  const Reason& reason = region.reason(index);
  const std::string text(reason.text, strnlen(reason.text, sizeof reason.text));
  if (!text.starts_with("EI"))
    throw Error(result::kRemote, "EI0002: {} cannot complete: rank {} has given up the communicator: {}",
                describe(operation), rank, text);
  const bool reported = text.find("(reported by rank ") != std::string::npos;
  throw Error(reason.code, "{}{}", text, reported ? "" : fmt::format(" (reported by rank {})", rank));
}

std::string Communicator::describe(const Operation& operation) const {
  const Request& r = operation.request;
  if (!r.messages.empty()) return fmt::format("{} of rank {} in {}", name_of(r.kind), rank_, options_.name);
  return fmt::format("{} number {} of {}", name_of(r.kind), operation.ticket, options_.name);
}

// An operation ended in the middle. Deaths, disagreements and reports of others reach all ranks without us.
void Communicator::give_up(const Error& error, bool tell_others) {
  if (network_) network_->abort(error);
  group_->region().busy(group_->me()) = 0;
  fail(error, tell_others);
}

void Communicator::execute(Operation& operation) {
  try {
    if (network_) {
      network_->execute(operation);
    } else {
      execute_locally(operation);
    }
    complete(operation);
  } catch (const Error& e) {
    give_up(e, e.code() == result::kTimeout || e.code() == result::kOutOfMemory || e.code() == result::kMemory ||
                   (network_ && e.code() == result::kPara));
  } catch (const std::exception& e) {
    give_up(Error(result::kInternal, "EI0007: {}: {}", describe(operation), e.what()), true);
  }
}

void Communicator::execute_locally(Operation& operation) {
  gather_locally(operation);
  if (operation.inlined) {
    work_inline(*group_, operation.request, operation.ticket);
    return;
  }
  claim_peers(operation);
  work_in_place(*group_, operation.request, operation.ticket);
  group_->region().busy(group_->me()).store(0, std::memory_order_release);
  meet(operation);
}

// All ranks of this host are through with what they read and wrote.
void Communicator::meet(const Operation& operation) {
  const Region& region = group_->region();
  const uint64_t target = ++meetings_ * static_cast<uint64_t>(group_->size());
  if (region.finished().fetch_add(1, std::memory_order_seq_cst) + 1 == target) {
    group_->ring_all();
  } else {
    wait_until([&] { return region.finished().load(std::memory_order_acquire) >= target; }, operation);
  }
}

// All ranks of this host have come to the operation, and mean the same.
void Communicator::gather_locally(Operation& operation) {
  if (!operation.posted) {
    std::lock_guard lock(mutex_);
    if (!operation.posted) post(operation, false);
  }
  wait_until([&] { return all_posted(operation); }, operation);
  check_agreement(operation);
}

// What takes long is done before the lock is taken: the thread that hears of deaths takes it, too.
std::optional<Error> Communicator::prepare(Operation& operation) {
  operation.inlined = !network_ && fits_inline(operation.request, group_->size());
  if (operation.inlined) return {};
  try {
    stage(operation);
  } catch (const Error& e) { return e; } catch (const std::exception& e) {
    return Error(result::kInternal, "EI0007: {}: {}", describe(operation), e.what());
  }
  return {};
}

// Peers reach what lies in the device's memory file. Other memory (imported, or in very many pieces), and buffers that
// overlap so that ranks would get in each other's way, are replaced by memory of our own while the operation runs.
void Communicator::stage(Operation& operation) {
  const Request& r = operation.request;
  const size_t in = r.send_bytes(static_cast<int>(rank_), static_cast<int>(ranks_));
  const size_t out = r.receive_bytes(static_cast<int>(rank_), static_cast<int>(ranks_));
  const char* send = static_cast<const char*>(r.send);
  const char* receive = static_cast<const char*>(r.receive);
  bool stage_send = in && !group_->reachable(send, in), stage_receive = out && !group_->reachable(receive, out);
  if (in && out && send < receive + out && receive < send + in) {
    const size_t block = r.count * r.element(), me = rank_;
    switch (r.kind) {
      case Kind::AllReduce:
      case Kind::Reduce:
      case Kind::Broadcast: stage_send |= send != receive; break;
      case Kind::AllGather: stage_send |= send != receive + me * block; break;
      case Kind::ReduceScatter:
      case Kind::Scatter: stage_send |= receive != send + me * block; break;
      default: stage_send = true; break;
    }
  }
  if (stage_send) {
    operation.staged_send = device_.memory().allocate(in, DeviceMemory::Owner::Library);
    std::memcpy(host_address(operation.staged_send), host_address(send), in);
  }
  if (stage_receive) {
    operation.staged_receive = device_.memory().allocate(out, DeviceMemory::Owner::Library);
    // What the operation does not write must come back as it was.
    std::memcpy(host_address(operation.staged_receive), host_address(receive), out);
  }
}

void Communicator::unstage(Operation& operation) {
  if (operation.staged_receive) {
    const size_t out = operation.request.receive_bytes(static_cast<int>(rank_), static_cast<int>(ranks_));
    std::memcpy(host_address(operation.request.receive), host_address(operation.staged_receive), out);
    give_back(operation.staged_receive);
  }
  give_back(operation.staged_send);
}

void Communicator::give_back(void*& staged) {
  if (staged) device_.memory().free(std::exchange(staged, nullptr), DeviceMemory::Owner::Library);
}

void Communicator::complete(Operation& operation) {
  unstage(operation);
  Stream* stream = operation.stream;
  {
    std::lock_guard lock(mutex_);
    queue_.erase(operation.ticket);
    ++next_;
  }
  stream->device().unpark(*stream);  // the operation is gone after this
}

// --- failure
// -----------------------------------------------------------------------------------------------------------

void Communicator::fail(const Error& error, bool tell_others) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = error;
    async_error_ = error.code() > result::kOutOfMemory ? result::kInternal : error.code();
    hopeless_ = true;
    if (closed_) tell_others = false;
  }
  announce(error, tell_others);
}

void Communicator::announce(const Error& error, bool tell_others) const {
  UPDRAFT_LOG(kError, "HCCL", "communicator {}, rank {}: {}", options_.name, rank_, error.text());
  if (tell_others && member_) member_->report(error);
  break_up(error);
}

// The others on this host need not wait for us.
void Communicator::break_up(const Error& why) const {
  const Region& region = group_->region();
  uint32_t none = 0;
  if (!region.broken(group_->me()).compare_exchange_strong(none, kGivingUp, std::memory_order_seq_cst)) return;
  Reason& reason = region.reason(group_->me());
  reason.code = why.code();
  std::strncpy(reason.text, printable(why.text(), sizeof reason.text - 8).c_str(), sizeof reason.text - 1);
  region.broken(group_->me()).store(kGivenUp, std::memory_order_seq_cst);
  group_->ring_all();
}

// Others may still write into our buffers, or read them: the client gets them back when they have stopped, or died. A
// process that is stopped in between (by a debugger, by SIGSTOP) would write into what the client has used anew, so
// there is no end to the waiting; the log says for whom.
void Communicator::wait_for_peers_to_stop() const {
  const Region& region = group_->region();
  auto next_word = Clock::now() + kSilence;
  for (int i = 0; i < group_->size(); ++i)
    while (i != group_->me() && region.busy(i).load(std::memory_order_seq_cst) && !gone(group_->rank(i))) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (Clock::now() < next_word) continue;
      UPDRAFT_LOG(kError, "HCCL",
                  "communicator {}, rank {}: rank {} (process {} of this host) is in the middle of reading or writing "
                  "memory of this rank and does not go on: is it stopped, by a debugger or by SIGSTOP? This rank waits "
                  "until it goes on or ends, since it would overwrite memory that is used anew",
                  options_.name, rank_, group_->rank(i), region.process(i).load());
      next_word = Clock::now() + kSilence;
    }
}

// With the lock.
void Communicator::fail_all(std::unique_lock<std::mutex>& lock) {
  if (queue_.empty() && messages_.empty()) return;
  const Error why = *failure_;
  lock.unlock();
  if (network_) network_->abort(why);
  break_up(why);
  wait_for_peers_to_stop();
  lock.lock();
  std::map<Operation*, bool> failed;
  for (auto& [ticket, operation] : queue_) failed[operation] = true;
  for (Pending& pending : messages_) {
    give_back(pending.staged);
    failed[pending.operation] = true;
  }
  queue_.clear();
  messages_.clear();
  lock.unlock();
  for (auto& [operation, yes] : failed) {
    give_back(operation->staged_send);
    give_back(operation->staged_receive);
    Stream* stream = operation->stream;
    stream->fail(Error(code::kRtCommunication, "{}", why.text()), name_of(operation->request.kind));
    stream->device().unpark(*stream);
  }
  lock.lock();
}

}  // namespace updraft::collective
