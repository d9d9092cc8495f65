// The TCP transport as its users see it; tcp_loop.h does the work.
#include "collective/transport/loop_transport.h"
#include "collective/transport/tcp_loop.h"

namespace updraft::collective {
namespace {

class TcpTransport final : public LoopTransport<TcpLoop, TcpPeer> {
 public:
  explicit TcpTransport(const TransportOptions& options) : LoopTransport(std::make_shared<TcpLoop>(options)) {}

  const char* name() const override { return "tcp"; }

  std::shared_ptr<Peer> peer(const std::string& address, const std::string& key) override {
    if (key.size() != kKeyBytes) throw Error(result::kPara, "a key has {} bytes, got {}", kKeyBytes, key.size());
    const Endpoint endpoint = parse_tcp_address(address);
    return make_peer([&](TcpLoop& loop) { return loop.adopt(address, endpoint, key); });
  }
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const TransportOptions& options) {
  return std::make_unique<TcpTransport>(options);
}

}  // namespace updraft::collective
