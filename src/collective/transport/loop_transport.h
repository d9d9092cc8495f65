// What the transports have in common: a loop with a thread of its own that does the work, peers that are handles to
// what the loop knows, and forked children, which have not the thread.
#pragma once
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "collective/error.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

/// Loop has post(), stop(), send(), receive(), fail() and release() of shared_ptr<End>, and Tell::Why.
template <class Loop, class End>
class LoopTransport : public Transport {
 public:
  ~LoopTransport() override {
    if (getpid() == pid_) loop_->stop();
    else new std::shared_ptr<Loop>(loop_);  // there is nothing to end
  }

  std::string address() const override { return loop_->address(); }

  void send(Peer& peer, uint64_t tag, const void* data, size_t bytes, Completion done) override {
    post(peer, std::move(done), [=](Loop& loop, const std::shared_ptr<End>& to, Completion over) {
      loop.send(to, tag, data, bytes, std::move(over));
    });
  }
  void receive(Peer& peer, uint64_t tag, void* data, size_t bytes, Completion done) override {
    post(peer, std::move(done), [=](Loop& loop, const std::shared_ptr<End>& from, Completion over) {
      loop.receive(from, tag, data, bytes, std::move(over));
    });
  }

  void cancel(Peer& peer, const Error& why) override {
    if (getpid() != pid_) return;
    const std::shared_ptr<End>& end = static_cast<Handle&>(peer).end;
    run([&] { loop_->fail(end, explain(*end, why), Loop::Tell::Why); });
  }

 protected:
  explicit LoopTransport(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

  /// The error that a peer fails with when it is cancelled.
  virtual Error explain(const End&, const Error& why) const { return why; }

  /// A handle to what `adopt` finds, in the loop's thread.
  template <class Adopt>
  std::shared_ptr<Peer> make_peer(Adopt&& adopt) {
    if (getpid() != pid_) throw forked();
    std::shared_ptr<End> end;
    run([&] { end = adopt(*loop_); });
    if (!end) throw closed();
    return std::make_shared<Handle>(loop_, std::move(end), pid_);
  }

 private:
  /// `call` in the loop's thread; waits for it.
  void run(const std::function<void()>& call) {
    std::promise<void> over;
    const bool posted = loop_->post([&] {
      try {
        call();
        over.set_value();
      } catch (...) { over.set_exception(std::current_exception()); }
    });
    if (posted) over.get_future().get();
  }

  class Handle final : public Peer {
   public:
    Handle(std::shared_ptr<Loop> loop_of, std::shared_ptr<End> end_of, pid_t pid)
        : loop(std::move(loop_of)), end(std::move(end_of)), pid_(pid) {}
    ~Handle() override {
      if (getpid() != pid_) return;
      loop->post([loop = loop.get(), end = std::move(end)] { loop->release(end); });
    }
    const std::shared_ptr<Loop> loop;
    std::shared_ptr<End> end;

   private:
    const pid_t pid_;
  };

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
                 [loop = loop_.get(), end = handle.end, call, done]() mutable { call(*loop, end, std::move(done)); }))
      error.emplace(closed());
    if (error && done) done(&*error);
  }

  const std::shared_ptr<Loop> loop_;
  const pid_t pid_ = getpid();
};

}  // namespace updraft::collective
