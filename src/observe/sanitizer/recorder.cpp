#include "observe/sanitizer/recorder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "device/device.h"
#include "device/strict_guard.h"
#include "device/waits/value_wait.h"
#include "observe/dump/names.h"
#include "observe/sanitizer/install.h"

namespace updraft::sanitizer {
namespace {

using What = OrderEvent::What;

// Strided writes of up to so many pieces are kept exactly, others from the first byte to the last.
constexpr int64_t kExactRuns = 64;
// Reads are looked at in so many pieces at most.
constexpr int64_t kReadRuns = 1 << 20;
// Places of names, of which those of graphs may come and go.
constexpr size_t kMostNames = 1 << 14;

/// A finding whose sites are filled in when the call that the thread is in has returned.
struct Pending {
  Finding finding;
  std::shared_ptr<Site> first, second;
};
struct Call {
  std::shared_ptr<Site> site;
  std::vector<Pending> pending;
  std::shared_ptr<Site> next;  ///< of handles that were made since the last stack, and of the call that takes the next
};
thread_local Call t_call;

StreamKey key_of(const TaskEvent& task) { return {task.device, task.stream}; }

/// A copy carries what nobody has written; only what is made of it, or comes to the host, is told.
bool carries(std::string_view name) { return name.starts_with("MEMCPY") || name == "aclnnInplaceCopy"; }

/// On a stream, in an engine or in the thread that submits it.
bool copies(const TaskEvent& task) { return std::string_view(task.name) == "MEMCPY_ASYNC"; }

/// Only the sizes of an input are read, which torch_npu gives in the memory of the output.
bool reads_sizes_alone(std::string_view name) {
  return name == "ZerosLike" || name == "OnesLike" || name == "Shape" || name == "Size" || name == "Rank";
}

/// Moves what may be written or not into a larger array: HCCL's lists of outputs are padded before they are received.
bool gathers(std::string_view name) { return name == "aclnnConstantPadNd" || name == "aclnnCat"; }

/// A graph or a callback, in whose task other work is done.
bool lasts(std::string_view name) { return name == "MODEL_EXECUTE" || name == "CALLBACK"; }

/// Calls `f` with the pieces without holes, as for_each_run() does.
template <class F>
bool each_run(const Touched& touched, int64_t most, F&& f) {
  return touched.dense ? f(touched.reach) : for_each_run(touched.view, most, f);
}

thread_local bool t_fallback = false;

}  // namespace

void set_fallback(bool on) { t_fallback = on; }
bool in_fallback() { return t_fallback; }

const Named* Recorder::named(const char* name) {
  const Named*& at = names_at_[name];
  if (at && at->name == name) return at;  // other texts may have come to the same place
  auto found = names_.find(std::string_view(name));
  if (found == names_.end()) {
    found = names_.emplace(name, Named{}).first;
    found->second = {.name = name,
                     .carries = carries(name),
                     .gathers = gathers(name),
                     .sizes_alone = reads_sizes_alone(name),
                     .lasts = lasts(name)};
  }
  if (names_at_.size() > kMostNames) names_at_.clear();
  return names_at_[name] = &found->second;
}

std::shared_ptr<Site> Recorder::site() {
  if (current_correlation()) {
    if (!t_call.next) t_call.next = std::make_shared<Site>();
    if (!t_call.site) t_call.site = t_call.next;  // their stack is that of the call
    return t_call.site;
  }
  auto made = std::make_shared<Site>();
  made->thread = thread_number();
  made->stack = stacks_.here_at_once();
  return made;
}

void Recorder::call_ended(const ApiCall& call) {
  if (std::string_view(call.name).starts_with("aclmdlRICapture")) {
    const std::string_view what = call.name + std::strlen("aclmdlRICapture");
    std::lock_guard lock(mutex_);
    if (what == "Begin") captures_ += call.code == 0;
    else if (what == "End") captures_ = std::max(0, captures_ - 1);
  }
  if (call.depth > 0 || !t_call.site) return;
  Call done = std::move(t_call);
  t_call = {};
  Site& site = *done.site;
  site.call = call.name;
  site.thread = call.thread;
  // Under locks of the client that somebody with the interpreter may wait for: of memory alone where it is ours
  // already.
  const std::string_view name = call.name;
  const bool memory =
      name.starts_with("aclrt") &&
      (name.starts_with("aclrtMalloc") || name.starts_with("aclrtFree") || name.starts_with("aclrtCreate") ||
       name.starts_with("aclrtDestroy") || name.starts_with("aclrtMap") || name.starts_with("aclrtUnmap"));
  site.stack = memory ? stacks_.here_at_once() : stacks_.here();
  for (Pending& p : done.pending) {
    Finding& f = p.finding;
    const auto fill = [](std::optional<Side>& side, const std::shared_ptr<Site>& from) {
      if (!side || !from) return;
      side->call = from->call;
      side->stack = from->stack;
      side->thread = from->thread;
    };
    fill(f.first, p.first);
    fill(f.second, p.second);
    findings_.add(std::move(f));
  }
}

std::shared_ptr<Work> Recorder::work_of(const TaskEvent& task, Moment moment) {
  auto work = std::make_shared<Work>();
  work->name = named(task.name);
  work->stream = key_of(task);
  work->moment = std::move(moment);
  work->serial = ++serial_;
  work->model = task.model;
  work->site = site();
  return work;
}

void Recorder::submitted(const TaskEvent& task) {
  std::lock_guard lock(mutex_);
  auto work = work_of(task, clocks_.task(key_of(task)));
  if (task.kind == TaskKind::Host || (work->name->lasts && (task.kind == TaskKind::Control || task.index < 0)))
    waiting_[task.id] = work;
  if (task.arguments_known) look_at(task, work, true);
  if (!task.model && copies(task) && wants(Kind::HostRace)) {
    guard(work);
    if (!guards_.empty()) waiting_[task.id] = work;
  }
}

// Pinned memory that the copy uses is not the host's until the host has waited for it. Of what the stream's order says
// nothing (blind), nothing is told.
void Recorder::guard(const std::shared_ptr<Work>& work) {
  if (work->moment.known && work->moment.known->blind) return;
  for (const Touched& t : work->touched) {
    const Piece* piece = t.dense ? allocations_.allocation_at(t.reach.begin) : nullptr;
    if (!piece || piece->device >= 0 || !piece->live || t.reach.end > piece->bytes.end) continue;
    const Range pages = pages_of(t.reach, piece->bytes);
    if (pages.empty()) continue;
    static const bool hooked = [] {
      set_host_fault([](const void* at, bool writes) { return tell_host_touched(at, writes); });
      return true;
    }();
    if (hooked && faults_arrive()) guards_.add(work, pages, t.written);
  }
}

// The host has learned something.
void Recorder::know() {
  if (!guards_.empty()) guards_.release([&](const Work& work) { return clocks_.past(work.moment); });
}

bool Recorder::host_touched(const void* at, bool writes) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  std::unique_lock lock(mutex_);
  // Its last page may hold less than a page of it.
  const Piece* piece = allocations_.allocation_at(pages_of({address, address}, {0, UINTPTR_MAX}).end);
  if (!piece || piece->device >= 0 || !piece->live) return false;
  const WorkRef work = guards_.touched(address, writes);
  // What the library does itself has been looked at by its order.
  if (!work || executing_device() || current_correlation()) return true;
  const Touched* touched = nullptr;
  for (const Touched& t : work->touched)
    if (t.reach.begin <= address && address < t.reach.end) touched = &t;
  if (!touched) return true;  // in the page, behind the copy's last byte
  Finding f{.kind = Kind::HostRace, .first = side_of(*work, touched), .second = Side{}};
  f.place = place_of(*piece, address);
  lock.unlock();
  f.second->name = writes ? "code of the host that writes" : "code of the host that reads";
  f.second->address = address;
  f.second->thread = thread_number();
  f.second->stack = stacks_.here();  // torch has given the interpreter's lock away, and holds none of ours
  findings_.add(std::move(f));
  return true;
}

void Recorder::task_begun(const TaskEvent& task) {
  if (task.stream == TaskEvent::kNoStream) {  // a copy or set by the host
    std::lock_guard lock(mutex_);
    const auto work = work_of(task, clocks_.host());
    if (task.arguments_known) look_at(task, work, true);
    return;
  }
  if (task.kind == TaskKind::Control && std::string_view(task.name) != "CALLBACK") return;
  if (copies(task)) {
    std::lock_guard lock(mutex_);
    if (const auto found = waiting_.find(task.id); found != waiting_.end())
      for (const Touched& t : found->second->touched) guards_.open(t.reach);
    return;
  }
  if (task.kind == TaskKind::Copy) return;
  if (task.kind == TaskKind::Compute && !*task.graph && std::string_view(task.name) != "MODEL_EXECUTE") return;
  std::lock_guard lock(mutex_);
  if (*task.graph) {  // a node of the graph engine, whose arguments are known only now
    const auto graph = graphs_.find(key_of(task));
    if (graph == graphs_.end() || !task.arguments_known) return;
    auto work = std::make_shared<Work>(*graph->second);
    work->name = named(task.name);
    work->touched.clear();
    look_at(task, work, false);
    return;
  }
  const auto found = waiting_.find(task.id);
  if (found == waiting_.end()) return;
  if (task.kind == TaskKind::Compute) {
    graphs_[key_of(task)] = found->second;
  } else {
    // What it tells other threads is not seen: they may know from now on what the stream has done before it.
    Moment before = found->second->moment;
    clocks_.reached(before);
    know();
  }
}

void Recorder::task_ended(const TaskEvent& task) {
  if (*task.graph || task.stream == TaskEvent::kNoStream) return;
  const bool copy = copies(task);
  if (!copy && task.kind == TaskKind::Compute && std::string_view(task.name) != "MODEL_EXECUTE") return;
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(task.id);
  if (found == waiting_.end()) return;
  if (copy) {
    const std::shared_ptr<Work> work = found->second;
    if (task.outcome != Outcome::Done) guards_.release([&](const Work& one) { return &one == work.get(); });
    for (const Touched& t : work->touched) guards_.close(t.reach);
  }
  if (!copy && task.kind == TaskKind::Compute) graphs_.erase(key_of(task));
  waiting_.erase(found);
}

void Recorder::look_at(const TaskEvent& task, const std::shared_ptr<Work>& work, bool contents) {
  work->touched.reserve(
      static_cast<size_t>(std::ranges::count_if(task.arguments, [](const Argument& a) { return a.tensor(); })));
  for (const Argument& argument : task.arguments) {
    const TensorArgument* tensor = argument.tensor();
    if (!tensor || tensor->on_host || tensor->view.empty() || !tensor->view.data) continue;
    const bool read = dump::is_input(task, argument) && !work->name->sizes_alone;
    if (!read && !is_written(argument.direction)) continue;
    work->touched.emplace_back(tensor->view, argument.name, read, is_written(argument.direction),
                               reach_of(tensor->view), tensor->view.is_contiguous());
  }
  // Reads first: an operator that reads what it writes over is sound.
  for (size_t i = 0; i < work->touched.size(); ++i)
    if (work->touched[i].read) access(work, i, contents);
  for (size_t i = 0; i < work->touched.size(); ++i)
    if (!work->touched[i].read) access(work, i, contents);
  if (contents && work->name->carries) copied(work);
  if (shadow_.size() > prune_at_) prune();
}

void Recorder::access(const std::shared_ptr<Work>& work, size_t index, bool contents) {
  const Touched& touched = work->touched[index];
  const Range reach = touched.reach;
  const Piece* allocation = allocations_.allocation_at(reach.begin);
  if (!allocation) return;  // the library's, or memory of the host that nobody announced
  const Piece* block = allocations_.block_at(reach.begin);
  const Piece& piece = block ? *block : *allocation;
  if (contents) look_at_contents(work, touched, *allocation, piece);
  if (!wants(Kind::Race) && !wants(Kind::Reused) && !wants(Kind::Freed) && !wants(Kind::HostRace)) return;
  const auto conflicts = [&](const Work& earlier, bool wrote) { conflict(earlier, wrote, work, touched); };
  if (!touched.written) {
    shadow_.read(reach, work, conflicts);
    return;
  }
  if (touched.dense) {
    shadow_.write(reach, work, conflicts);
    return;
  }
  int64_t runs = 0;
  const bool few = for_each_run(touched.view, kExactRuns, [&](Range) { return ++runs <= kExactRuns; });
  if (!few) {
    shadow_.write(reach, work, conflicts);
    return;
  }
  for_each_run(touched.view, kExactRuns, [&](Range r) {
    shadow_.write(r, work, conflicts);
    return true;
  });
}

void Recorder::look_at_contents(const std::shared_ptr<Work>& work, const Touched& touched, const Piece& allocation,
                                const Piece& piece) {
  const Range reach = touched.reach;
  const auto tell = [&](Kind kind, std::string detail, uintptr_t at) {
    if (!wants(kind)) return;
    Finding f{
        .kind = kind, .second = side_of(*work, &touched), .place = place_of(piece, at), .detail = std::move(detail)};
    found(std::move(f), nullptr, work);
  };
  if (!piece.live) tell(Kind::Freed, "", reach.begin);
  const uintptr_t end = reach.end > allocation.bytes.end ? allocations_.end_for(reach) : allocation.bytes.end;
  if (reach.end > end) {
    tell(Kind::OutOfBounds,
         fmt::format("{} reaches {} bytes beyond the allocation of {}", touched.parameter, reach.end - end,
                     end - allocation.bytes.begin),
         reach.begin);
  } else if (const uintptr_t next = piece.block && piece.live ? allocations_.next_block(reach) : 0) {
    tell(Kind::OutOfBounds,
         fmt::format("{} reaches {} bytes into the block of another tensor", touched.parameter, reach.end - next),
         reach.begin);
  }
  if (piece.device < 0) return;
  if (work->name->carries) return;
  if (touched.read && !work->name->gathers && wants(Kind::Unwritten) && !allocations_.all_written(reach)) {
    uintptr_t at = 0;
    each_run(touched, kReadRuns, [&](Range r) {
      if (allocations_.all_written(r)) return true;
      at = r.begin;
      return false;
    });
    if (at) {
      tell(Kind::Unwritten, "", at);
      allocations_.written(reach);  // once
    }
  }
  if (touched.written)
    each_run(touched, kReadRuns, [&](Range r) {
      allocations_.written(r);
      return true;
    });
}

// What a copy wrote is written where its source was; it comes to the host only where all of it is.
void Recorder::copied(const std::shared_ptr<Work>& work) {
  const Touched *from = nullptr, *to = nullptr;
  for (const Touched& t : work->touched) (t.written ? to : from) = &t;
  if (!from || !to) return;
  const Range source = from->reach, target = to->reach;
  const bool none = allocations_.none_written(source);
  const Piece* piece = allocations_.allocation_at(source.begin);
  const Piece* into = allocations_.allocation_at(target.begin);
  if (into && into->device >= 0) {
    if (piece && none) {
      allocations_.copy_none_written(target);
    } else {
      each_run(*to, kReadRuns, [&](Range r) {
        allocations_.written(r);
        return true;
      });
    }
    return;
  }
  if (!piece || piece->device < 0 || !wants(Kind::Unwritten) || allocations_.all_written(source)) return;
  if (in_fallback()) return;
  const Piece* block = allocations_.block_at(source.begin);
  found({.kind = Kind::Unwritten,
         .second = side_of(*work, from),
         .place = place_of(block ? *block : *piece, source.begin)},
        nullptr, work);
  allocations_.written(source);
}

void Recorder::conflict(const Work& earlier, bool wrote, const WorkRef& later, const Touched& touched) {
  const Touched* other = nullptr;
  for (const Touched& t : earlier.touched)
    if ((wrote ? t.written : t.read) && share_a_byte(t.view, touched.view)) {
      other = &t;
      break;
    }
  if (!other) return;
  const Range reach = touched.reach, before = other->reach;
  const uintptr_t at = std::max(reach.begin, before.begin);
  const Piece* allocation = allocations_.allocation_at(at);
  const Piece* block = allocations_.block_at(at);
  const Piece* piece = block ? block : allocation;
  Kind kind = Kind::Race;
  if (piece && piece->born > earlier.serial) kind = Kind::Reused;
  else if (allocation && allocation->device < 0) kind = Kind::HostRace;
  if (!wants(kind)) return;
  Finding f{.kind = kind, .first = side_of(earlier, other), .second = side_of(*later, &touched)};
  if (piece) f.place = place_of(*piece, at);
  found(std::move(f), std::make_shared<Work>(earlier), later);
}

void Recorder::found(Finding finding, const std::shared_ptr<const Work>& first,
                     const std::shared_ptr<const Work>& second) {
  if (!current_correlation()) return findings_.add(std::move(finding));  // no call that would return
  t_call.pending.push_back({std::move(finding), first ? first->site : nullptr, second ? second->site : nullptr});
}

Side Recorder::side_of(const Work& work, const Touched* touched) const {
  Side side;
  side.name = work.name ? work.name->name : "";
  side.device = work.stream.first;
  side.stream = work.stream.second;
  side.model = work.model;
  if (work.site) {
    side.call = work.site->call;
    side.stack = work.site->stack;
    side.thread = work.site->thread;
  }
  if (!touched) return side;
  side.reads = touched->read;
  side.writes = touched->written;
  side.parameter = touched->parameter;
  side.tensor = describe(touched->view).text();
  const Range reach = touched->reach;
  side.bytes = reach.end - reach.begin;
  const Piece* piece = allocations_.allocation_at(reach.begin);
  side.address = piece ? piece->client + (reach.begin - piece->bytes.begin) : reach.begin;
  return side;
}

Place Recorder::place_of(const Piece& piece, uintptr_t at) const {
  Place place;
  place.address = piece.client;
  place.bytes = piece.bytes.end - piece.bytes.begin;
  place.offset = at - piece.bytes.begin;
  place.device = piece.device;
  place.block = piece.block;
  place.live = piece.live;
  place.made = piece.made;
  place.freed = piece.freed;
  return place;
}

void Recorder::ordered(const OrderEvent& event) {
  const StreamKey stream{event.device, event.stream};
  if (event.what == What::HostAccess) return host_access(event.object, event.device);
  std::lock_guard lock(mutex_);
  switch (event.what) {
    case What::EventRecorded: clocks_.record(event.object, stream); break;
    case What::EventAwaited: clocks_.wait(event.object, stream); break;
    case What::EventReached:
      clocks_.event_reached(event.object);
      know();
      break;
    case What::StreamReached:
      clocks_.stream_reached(stream);
      know();
      break;
    case What::SignalSet:
      if (event.test < 0) clocks_.set_notify(event.object, stream);
      else clocks_.write_value(event.object, stream, event.value);
      // The host may look at the value, and know by it what the stream has done.
      if (event.test >= 0) guards_.release([&](const Work& work) { return work.stream == stream; });
      break;
    case What::SignalTaken:
      if (event.test < 0) {
        clocks_.take_notify(event.object, stream);
      } else {
        clocks_.await_value(event.object, stream, [&](uint64_t written) {
          const std::atomic<uint64_t> at = written;
          return ValueCondition{&at, event.value, static_cast<ValueTest>(event.test)}.met();
        });
      }
      break;
    case What::OthersAwaited: clocks_.wait_for_others(stream); break;
    case What::Made: made(event); break;
    case What::Destroyed:
      handles_.erase(event.object);
      clocks_.forget(event.object);
      break;
    case What::Allocated: {
      const auto at = reinterpret_cast<uintptr_t>(event.object);
      if (std::string_view(event.name) == "library") {  // what the client had there before is over
        allocations_.forget({at, at + event.bytes});
        break;
      }
      Piece piece{{at, at + event.bytes}, reinterpret_cast<uintptr_t>(event.client), event.device};
      piece.born = ++serial_;
      piece.made = site();
      piece.mapped = std::string_view(event.name) == "mapped";
      allocations_.add(std::move(piece), std::string_view(event.name) != "device");
      break;
    }
    case What::Freed: freed(event); break;
    case What::HostAccess: break;
    case What::Shared: allocations_.shared(reinterpret_cast<uintptr_t>(event.object)); break;
    case What::Written: {
      const auto at = reinterpret_cast<uintptr_t>(event.object);
      allocations_.written({at, at + event.bytes});
      break;
    }
    case What::BlockTaken:
    case What::BlockFreed:
      // Only where the other blocks are known: else nobody tells when the memory is the client's own again.
      if (has_blocks_) take_block(event.object, event.what == What::BlockTaken, site(), true);
      break;
    case What::OutOfReach: {
      if (!wants(Kind::OutOfBounds)) break;
      Finding f{.kind = Kind::OutOfBounds, .second = Side{}, .detail = event.text};
      const auto at = reinterpret_cast<uintptr_t>(event.object);
      const Piece* block = allocations_.block_at(at);
      const Piece* piece = block ? block : allocations_.allocation_at(at);
      if (piece && !piece->live && wants(Kind::Freed)) f.kind = Kind::Freed;
      if (piece) f.place = place_of(*piece, at);
      auto work = std::make_shared<Work>();
      work->site = site();
      found(std::move(f), nullptr, work);
      break;
    }
  }
}

// Of the many small ones that operators are called with no stack is taken: it is that of the thread's next operator.
void Recorder::made(const OrderEvent& event) {
  if (!event.left) {
    handles_[event.object] = {event.name, site()};
    return;
  }
  if (!wants(Kind::Leak)) return;
  if (!t_call.next) t_call.next = std::make_shared<Site>();
  handles_[event.object] = {event.name, t_call.next, event.text, event.left, event.value};
}

void Recorder::freed(const OrderEvent& event) {
  const auto at = reinterpret_cast<uintptr_t>(event.object);
  const auto gone = allocations_.remove(at, site());
  if (!gone) return;
  guards_.forget({gone->bytes.begin, gone->bytes.end + 1});
  if (wants(Kind::Freed)) {
    auto here = std::make_shared<Work>();
    static const Named kFree{.name = "free"};
    here->name = &kFree;
    here->stream = {event.device, TaskEvent::kNoStream};
    here->site = site();
    shadow_.each(gone->bytes, [&](const Work& earlier, bool wrote) {
      if (clocks_.past(earlier.moment) || (earlier.moment.known && earlier.moment.known->blind)) return;
      const Touched* touched = nullptr;
      for (const Touched& t : earlier.touched)
        if ((wrote ? t.written : t.read) && t.reach.meets(gone->bytes)) touched = &t;
      if (!touched) return;
      Finding f{.kind = Kind::Freed,
                .first = side_of(earlier, touched),
                .second = side_of(*here, nullptr),
                .place = place_of(*gone, gone->bytes.begin)};
      found(std::move(f), std::make_shared<Work>(earlier), here);
    });
  }
  shadow_.forget(gone->bytes);
}

void Recorder::block(const void* at, bool taken) {
  auto where = std::make_shared<Site>();
  where->call = "torch_npu";
  where->thread = thread_number();
  where->stack = stacks_.here_at_once();
  std::lock_guard lock(mutex_);
  has_blocks_ = true;
  take_block(at, taken, std::move(where), false);
}

uint64_t Recorder::now() {
  std::lock_guard lock(mutex_);
  return serial_;
}

void Recorder::blocks_in_use(std::span<void* const> blocks, uint64_t since) {
  std::set<uintptr_t> used;
  for (const void* at : blocks) used.insert(reinterpret_cast<uintptr_t>(at));
  std::lock_guard lock(mutex_);
  allocations_.keep_blocks(used, since);
}

void Recorder::take_block(const void* at, bool taken, std::shared_ptr<Site> site, bool written) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  if (!taken) return allocations_.block_freed(address, std::move(site));
  allocations_.block_taken(address, ++serial_, captures_ > 0, std::move(site));
  const Piece* block = written ? allocations_.block_at(address) : nullptr;
  if (block) allocations_.written(block->bytes);
}

void Recorder::host_access(const void* at, int32_t device) {
  if (!wants(Kind::HostAccess)) return;
  Finding f{.kind = Kind::HostAccess, .second = Side{}};
  f.second->name = "host code";
  f.second->device = device;
  f.second->address = reinterpret_cast<uintptr_t>(at);
  f.second->thread = thread_number();
  f.second->stack = stacks_.here_at_once();
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    for (const auto& [begin, piece] : allocations_.live()) {
      const uintptr_t bytes = piece.bytes.end - piece.bytes.begin;
      if (f.second->address - piece.client >= bytes) continue;
      const uintptr_t inside = begin + (f.second->address - piece.client);
      const Piece* block = allocations_.block_at(inside);
      f.place = place_of(block ? *block : piece, inside);
    }
  }
  findings_.add(std::move(f));
}

void Recorder::prune() {
  shadow_.forget([&](const Work& work) { return clocks_.past(work.moment); });
  prune_at_ = std::max<size_t>(1 << 14, 2 * shadow_.size());
}

void Recorder::before_fork(std::mutex& writing) {
  mutex_.lock();
  writing.lock();
  findings_.before_fork();
  stacks_.before_fork();
}

void Recorder::after_fork(std::mutex& writing, bool child) {
  stacks_.after_fork();
  findings_.after_fork(child);
  writing.unlock();
  if (child) {
    guards_.release([](const Work&) { return true; });
    forked_ = true;
    serial_ = 0;
    clocks_ = {};
    shadow_ = {};
    allocations_ = {};
    handles_.clear();
    waiting_.clear();
    graphs_.clear();
    t_call = {};
  }
  mutex_.unlock();
}

void Recorder::finish(Keeps keeps) {
  const bool all = keeps == Keeps::Nothing;
  {
    std::lock_guard lock(mutex_);
    guards_.release([](const Work&) { return true; });
  }
  if (!wants(Kind::Leak)) return;
  constexpr size_t kNamed = 4;
  struct Group {
    Finding finding;
    std::set<std::string> named;
  };
  std::map<std::tuple<std::string, std::string, uint32_t>, Group> groups;
  std::lock_guard lock(mutex_);
  const auto add = [&](const std::string& what, const std::shared_ptr<Site>& site, std::string call, uintptr_t bytes,
                       const std::string& named) {
    if (call.empty() && site) call = site->call;
    Group& g = groups[{what, call, site ? site->stack : 0}];
    Finding& f = g.finding;
    f.kind = Kind::Leak;
    f.second = Side{};
    f.second->name = what;
    f.second->call = call;
    f.second->stack = site ? site->stack : 0;
    f.second->thread = site ? site->thread : 0;
    ++f.items;
    f.bytes += bytes;
    f.detail = what;
    if (!named.empty() && g.named.size() < kNamed) g.named.insert(named);
    for (const std::string& one : g.named) f.detail += (&one == &*g.named.begin() ? " " : ", ") + one;
  };
  // Those of tensors are found by their common site: the next operator of the thread.
  std::set<const Site*> plans;
  if (keeps == Keeps::Plans)
    for (const auto& [object, handle] : handles_)
      if (handle.left && std::string_view(handle.kind) == "executor" && !handle.left(object, handle.value).empty())
        plans.insert(handle.site.get());
  for (const auto& [object, handle] : handles_) {
    if (!handle.left) {
      if (all) add(handle.kind, handle.site, "", 0, "");
      continue;
    }
    // frameworks keep the plans of operators that come again
    if (!all && std::string_view(handle.kind) == "executor") continue;
    if (plans.contains(handle.site.get())) continue;
    if (const std::string left = handle.left(object, handle.value); !left.empty())
      add(handle.kind, handle.site, handle.call, 0, left);
  }
  if (all)
    for (const auto& [at, piece] : allocations_.live())
      add(piece.device < 0 ? "host memory" : "device memory", piece.made, "", piece.bytes.end - piece.bytes.begin, "");
  for (auto& [key, g] : groups) findings_.add(std::move(g.finding));
}

}  // namespace updraft::sanitizer
