// The TCP transport as its users see it; tcp_loop.h does the work.
#include <unistd.h>

#include <utility>

#include "collective/error.h"
#include "collective/transport/tcp_loop.h"

namespace updraft::collective {
namespace {

class Handle final : public Peer {
 public:
  Handle(std::shared_ptr<TcpLoop> loop, std::shared_ptr<TcpPeer> peer, pid_t pid)
      : loop(std::move(loop)), peer(std::move(peer)), pid_(pid) {}
  ~Handle() override {
    if (getpid() != pid_) return;
    loop->post([loop = loop.get(), peer = std::move(peer)] { loop->release(peer); });
  }
  const std::shared_ptr<TcpLoop> loop;
  std::shared_ptr<TcpPeer> peer;

 private:
  const pid_t pid_;
};

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TransportOptions& options) : loop_(std::make_shared<TcpLoop>(options)) {}
  ~TcpTransport() override {
    if (getpid() == pid_) loop_->stop();
    else new std::shared_ptr<TcpLoop>(loop_);  // a forked child has not the thread: there is nothing to end
  }

  const char* name() const override { return "tcp"; }
  std::string address() const override { return loop_->address(); }

  std::shared_ptr<Peer> peer(const std::string& address, const std::string& key) override {
    if (key.size() != kKeyBytes) throw Error(result::kPara, "a key has {} bytes, got {}", kKeyBytes, key.size());
    if (getpid() != pid_) throw forked();
    const Endpoint endpoint = parse_tcp_address(address);
    std::shared_ptr<TcpPeer> peer;
    loop_->run([&] { peer = loop_->adopt(address, endpoint, key); });
    if (!peer) throw closed();
    return std::make_shared<Handle>(loop_, std::move(peer), pid_);
  }

  void send(Peer& peer, uint64_t tag, const void* data, size_t bytes, Completion done) override {
    post(peer, std::move(done), [=](TcpLoop& loop, const std::shared_ptr<TcpPeer>& to, Completion over) {
      loop.send(to, tag, data, bytes, std::move(over));
    });
  }
  void receive(Peer& peer, uint64_t tag, void* data, size_t bytes, Completion done) override {
    post(peer, std::move(done), [=](TcpLoop& loop, const std::shared_ptr<TcpPeer>& from, Completion over) {
      loop.receive(from, tag, data, bytes, std::move(over));
    });
  }

  void cancel(Peer& peer, const Error& why) override {
    if (getpid() != pid_) return;
    const auto& handle = static_cast<Handle&>(peer);
    loop_->run([&] { loop_->fail(handle.peer, why, TcpLoop::Tell::Why); });
  }

 private:
  static Error forked() {
    return {result::kNotSupport, "connections do not go on in a forked process; start it by spawn"};
  }
  static Error closed() { return {result::kUnavail, "the transport was closed"}; }

  template <class Call>
  void post(Peer& peer, Completion done, Call call) {
    const auto& handle = static_cast<Handle&>(peer);
    std::optional<Error> error;
    if (getpid() != pid_) error.emplace(forked());
    else if (!loop_->post(
                 [loop = loop_.get(), to = handle.peer, call, done]() mutable { call(*loop, to, std::move(done)); }))
      error.emplace(closed());
    if (error && done) done(&*error);
  }

  const std::shared_ptr<TcpLoop> loop_;
  const pid_t pid_ = getpid();
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const TransportOptions& options) {
  return std::make_unique<TcpTransport>(options);
}

}  // namespace updraft::collective
