#include "collective/local_group.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "collective/error.h"
#include "device/physical_memory.h"

namespace updraft::collective {

LocalGroup::LocalGroup(Device& device, std::vector<uint32_t> ranks, int me)
    : device_(device), ranks_(std::move(ranks)), me_(me) {}

LocalGroup::~LocalGroup() {
  if (shared_fd_ >= 0) close(shared_fd_);
}

void LocalGroup::open_hub(const std::string& name) {
  if (me_ != 0) return;
  shared_fd_ = memfd_create("updraft-hccl", MFD_CLOEXEC);
  if (shared_fd_ < 0 || ftruncate(shared_fd_, static_cast<off_t>(Region::bytes_for(size()))) != 0)
    throw Error(result::kMemory, "EI0007: no shared memory of {} bytes for {} ranks: {}", Region::bytes_for(size()),
                size(), std::strerror(errno));
  if (size() > 1) hub_ = std::make_unique<FdHub>(name);
}

void LocalGroup::connect(const std::string& name, const std::string& key,
                         std::chrono::steady_clock::time_point deadline, const std::function<void()>& check) {
  const OwnedFd life = own_life();
  const OwnFds own = {device_.memory().fd(), life.get()};
  std::vector<OwnedFd> fds;
  if (size() > 1)
    fds = hub_ ? hub_->serve(key, size(), shared_fd_, own, deadline, check)
               : exchange_fds(name, key, me_, size(), own, deadline, check);
  hub_.reset();
  // Ranks of one process share the mapping.
  shared_ = PeerMemory::import(size() > 1 ? fds[0].get() : shared_fd_);
  if (shared_->bytes() < Region::bytes_for(size()))
    throw Error(result::kInternal, "EI0015: the first rank of this host shares {} bytes, {} ranks need {}",
                shared_->bytes(), size(), Region::bytes_for(size()));
  region_ = std::make_unique<Region>(shared_->base(), size());
  region_->process(me_).store(getpid(), std::memory_order_relaxed);
  if (shared_fd_ >= 0) close(std::exchange(shared_fd_, -1));
  memory_.resize(ranks_.size());
  views_ = std::make_unique<ScatteredViews[]>(ranks_.size());
  message_views_ = std::make_unique<ScatteredViews[]>(ranks_.size());
  for (size_t i = 0; i < ranks_.size(); ++i)
    if (static_cast<int>(i) != me_) memory_[i] = PeerMemory::import(fds[1 + 2 * i].get());
  for (size_t i = 0; i < ranks_.size(); ++i)
    lives_.push_back(static_cast<int>(i) != me_ ? std::move(fds[2 + 2 * i]) : OwnedFd());
}

void LocalGroup::watch(const std::function<void(int index)>& ended) {
  watched_ = std::make_unique<PeerLives>(std::move(lives_), ended);
}

void LocalGroup::ring_all() const {
  for (int i = 0; i < size(); ++i)
    if (i != me_) region_->bell(i).ring();
  region_->bell(me_).ring();
}

bool LocalGroup::reachable(const void* p, size_t bytes, size_t stretches) const {
  const size_t parts = file_parts(p, bytes, device_.memory()).size();
  return parts > 0 && parts <= stretches;
}

namespace {

// Above the offset in the buffer, which has the lower bits.
constexpr int kSlotBit = 62, kWhichBit = 60;
constexpr uint64_t kOffset = (uint64_t{1} << kWhichBit) - 1;

template <size_t n>
void write(const std::vector<FilePart>& parts, Scattered<n>& to) {
  to.count = parts.size();
  for (size_t i = 0; i < parts.size(); ++i) to.stretches[i] = {parts[i].offset, parts[i].bytes};
}

}  // namespace

uint64_t LocalGroup::place_of(const void* p, size_t bytes, uint64_t ticket, ScatteredBuffer which) {
  if (bytes == 0) return 0;
  const std::vector<FilePart> parts = file_parts(p, bytes, device_.memory());
  if (parts.size() == 1) return parts[0].offset;
  write(parts, region_->scattered(me_, ticket, which));
  own_[ticket % 2][static_cast<size_t>(which)] = static_cast<const char*>(host_address(p));
  return kScattered | ticket % 2 << kSlotBit | static_cast<uint64_t>(which) << kWhichBit;
}

uint64_t LocalGroup::place_of_message(const void* p, size_t bytes, int peer) {
  if (bytes == 0) return 0;
  const std::vector<FilePart> parts = file_parts(p, bytes, device_.memory());
  if (parts.size() == 1) return parts[0].offset;
  write(parts, region_->scattered_message(me_, peer));
  return kScattered | static_cast<uint64_t>(ScatteredBuffer::Message) << kWhichBit;
}

char* LocalGroup::at(int index, uint64_t place) const {
  const auto i = static_cast<size_t>(index);
  if (!(place & kScattered)) {
    if (index == me_) return const_cast<char*>(device_.memory().base()) + device_.memory().alias() + place;
    return memory_[i]->base() + place;
  }
  const uint64_t slot = place >> kSlotBit & 1, offset = place & kOffset;
  const auto which = static_cast<ScatteredBuffer>(place >> kWhichBit & 3);
  const int fd = index == me_ ? device_.memory().fd() : memory_[i]->fd();
  if (which == ScatteredBuffer::Message) {
    const auto& message = region_->scattered_message(index, me_);
    return message_views_[i].of(fd, message.stretches, std::min<size_t>(message.count, kMessageStretches)) + offset;
  }
  if (index == me_) return const_cast<char*>(own_[slot][static_cast<size_t>(which)]) + offset;
  const auto& buffer = region_->scattered(index, slot, which);
  return views_[i].of(fd, buffer.stretches, std::min<size_t>(buffer.count, kStretches)) + offset;
}

}  // namespace updraft::collective
