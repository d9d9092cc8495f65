// The UCX transport as its users see it, and the function that makes it; ucx_loop.h does the work.
#include "collective/transport/loop_transport.h"
#include "collective/transport/ucx/ucx_loop.h"

namespace updraft::collective {
namespace {

class UcxTransport final : public LoopTransport<UcxLoop, UcxPeer> {
 public:
  UcxTransport(const TransportOptions& options, const UcxHost& host)
      : LoopTransport(std::make_shared<UcxLoop>(options, host)) {}

  const char* name() const override { return "ucx"; }

  std::shared_ptr<Peer> peer(const std::string& address, const std::string& key) override {
    return make_peer([&](UcxLoop& loop) { return loop.adopt(address, key); });
  }

 private:
  Error explain(const UcxPeer& peer, const Error& why) const override {
    return {why.code(), "peer {}: {}", peer.where, why.text()};
  }
};

}  // namespace
}  // namespace updraft::collective

extern "C" __attribute__((visibility("default"))) updraft::collective::Transport* updraft_net_ucx_make(
    const updraft::collective::TransportOptions* options, const updraft::collective::UcxHost* host, std::string* why) {
  try {
    return new updraft::collective::UcxTransport(*options, *host);
  } catch (const std::exception& error) {
    *why = error.what();
    return nullptr;
  }
}
