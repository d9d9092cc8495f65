// The UCX transport as its users see it, and the plugin's only symbol; ucx_loop.h does the work.
#include <unistd.h>

#include <utility>

#include "collective/error.h"
#include "collective/transport/ucx/ucx_loop.h"

namespace updraft::collective {
namespace {

class Handle final : public Peer {
 public:
  Handle(std::shared_ptr<UcxLoop> loop, std::shared_ptr<UcxPeer> peer, pid_t pid)
      : loop(std::move(loop)), peer(std::move(peer)), pid_(pid) {}
  ~Handle() override {
    if (getpid() != pid_) return;
    loop->post([loop = loop.get(), peer = std::move(peer)] { loop->release(peer); });
  }
  const std::shared_ptr<UcxLoop> loop;
  std::shared_ptr<UcxPeer> peer;

 private:
  const pid_t pid_;
};

class UcxTransport final : public Transport {
 public:
  UcxTransport(const TransportOptions& options, const UcxHost& host)
      : loop_(std::make_shared<UcxLoop>(options, host)) {}
  ~UcxTransport() override {
    if (getpid() == pid_) loop_->stop();
    else new std::shared_ptr<UcxLoop>(loop_);  // a forked child has not the thread: there is nothing to end
  }

  const char* name() const override { return "ucx"; }
  std::string address() const override { return loop_->address(); }

  std::shared_ptr<Peer> peer(const std::string& address, const std::string& key) override {
    if (getpid() != pid_) throw forked();
    std::shared_ptr<UcxPeer> peer;
    loop_->run([&] { peer = loop_->adopt(address, key); });
    if (!peer) throw closed();
    return std::make_shared<Handle>(loop_, std::move(peer), pid_);
  }

  void send(Peer& peer, uint64_t tag, const void* data, size_t bytes, Completion done) override {
    post(peer, std::move(done), [=](UcxLoop& loop, const std::shared_ptr<UcxPeer>& to, Completion over) {
      loop.send(to, tag, data, bytes, std::move(over));
    });
  }
  void receive(Peer& peer, uint64_t tag, void* data, size_t bytes, Completion done) override {
    post(peer, std::move(done), [=](UcxLoop& loop, const std::shared_ptr<UcxPeer>& from, Completion over) {
      loop.receive(from, tag, data, bytes, std::move(over));
    });
  }

  void cancel(Peer& peer, const Error& why) override {
    if (getpid() != pid_) return;
    const auto& handle = static_cast<Handle&>(peer);
    loop_->run([&] {
      const Error error(why.code(), "peer {}: {}", handle.peer->where, why.text());
      loop_->fail(handle.peer, error, UcxLoop::Tell::Why);
    });
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

  const std::shared_ptr<UcxLoop> loop_;
  const pid_t pid_ = getpid();
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
