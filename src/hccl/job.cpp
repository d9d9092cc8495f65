#include "hccl/job.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "collective/topology/groups.h"
#include "collective/topology/world.h"
#include "hccl/client_state.h"
#include "hccl/join.h"

namespace updraft {

using namespace collective;

namespace {

/// A group's place: its lock is held while the communicator comes about, so that groups come about in any order.
struct Slot {
  std::mutex mutex;
  void* handle = nullptr;
  std::weak_ptr<Communicator> communicator;  ///< a destroyed handle may be another one's meanwhile

  bool live() const {
    const auto mine = communicator.lock();
    return mine && find_communicator(handle) == mine;
  }
};

std::shared_ptr<Slot> slot_of(const std::string& name) {
  static std::mutex mutex;
  static auto* slots = new std::map<std::string, std::shared_ptr<Slot>>;
  std::lock_guard lock(mutex);
  auto& slot = (*slots)[name];
  if (!slot) slot = std::make_shared<Slot>();
  return slot;
}

CommunicatorPointer join_world() {
  const World& world = collective::world();
  CommConfig config;
  config.name = kWorldGroup;
  if (world.ranks.size() == 1) return join(RootInfo::open(1), 0, 1, device_of(world.ranks[0]), config);
  if (world.key.empty() && world.digest.empty())
    throw Error(result::kNotSupport,
                "EI0001: {} do not say where rank 0 can be met, so that {} has no communicator: start the job with "
                "RANK_TABLE_FILE and RANK_ID or with the CM_* variables, or use torch.distributed's groups",
                world.source, kWorldGroup);
  return join_all(world.ranks, world.rank, {world.key, world.digest, world.ip, world.port}, config, world.source);
}

CommunicatorPointer make(const std::string& name) {
  if (name == kWorldGroup) return join_world();
  const Group group = find_group(name);
  const CommunicatorPointer parent = communicator_of(group_communicator(kWorldGroup));
  CommConfig config;
  config.name = name;
  return join_part(*parent, "group " + name, group.ranks, group.rank, config);
}

}  // namespace

void* group_communicator(const std::string& name) {
  check_group_name(name);
  if (name != kWorldGroup) find_group(name);  // an unknown name leaves nothing behind
  const std::shared_ptr<Slot> slot = slot_of(name);
  std::lock_guard lock(slot->mutex);
  if (!slot->live()) {
    CommunicatorPointer made = make(name);
    slot->communicator = made;
    slot->handle = keep_communicator(std::move(made));
  }
  return slot->handle;
}

void end_group_communicator(const std::string& name) {
  const std::shared_ptr<Slot> slot = slot_of(name);
  std::lock_guard lock(slot->mutex);
  if (!slot->live()) return;
  if (const CommunicatorPointer communicator = take_communicator(std::exchange(slot->handle, nullptr))) {
    communicator->close();
    ClientState::forget(*communicator);
  }
}

}  // namespace updraft
