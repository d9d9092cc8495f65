#include "collective/local_group.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "collective/error.h"

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
  if (shared_fd_ >= 0) close(std::exchange(shared_fd_, -1));
  memory_.resize(ranks_.size());
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

bool LocalGroup::reachable(const void* p, size_t bytes) const {
  const DeviceMemory& memory = device_.memory();
  if (!memory.contains(p)) return false;
  return static_cast<size_t>(static_cast<const char*>(p) - memory.base()) + bytes <= memory.file_bytes();
}

uint64_t LocalGroup::place_of(const void* p) const {
  return p ? static_cast<uint64_t>(static_cast<const char*>(p) - device_.memory().base()) : 0;
}

char* LocalGroup::at(int index, uint64_t place) const {
  if (index == me_) return const_cast<char*>(device_.memory().base()) + device_.memory().alias() + place;
  return memory_[static_cast<size_t>(index)]->base() + place;
}

}  // namespace updraft::collective
