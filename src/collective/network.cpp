#include "collective/network.h"

#include "collective/error.h"

namespace updraft::collective {

Network::Network(Communicator& communicator, std::vector<std::vector<uint32_t>> hosts)
    : communicator_(communicator), hosts_(std::move(hosts)) {
  throw Error(result::kNotSupport, "HCCL between {} hosts is not there yet: ranks of {} share no memory", hosts_.size(),
              communicator_.name());
}
Network::~Network() = default;
std::string Network::address() const { return ""; }
void Network::connect(const std::vector<std::string>&) {}
void Network::execute(Communicator::Operation&) {}
std::shared_ptr<std::atomic<int>> Network::message(const Message&, uint64_t) { return nullptr; }
void Network::rank_gone(uint32_t) {}

}  // namespace updraft::collective
