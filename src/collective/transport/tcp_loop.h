// The thread of the TCP transport: everything about connections happens in it, so that nothing needs locks but the
// queue of calls into it.
#pragma once
#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "collective/transport/tcp_link.h"

namespace updraft::collective {

class TcpLoop {
 public:
  explicit TcpLoop(const TransportOptions& options);
  ~TcpLoop();

  const std::string& address() const { return address_; }
  /// Runs `call` in the thread, soon; false when the thread has ended.
  bool post(std::function<void()> call);
  /// Ends the thread: everything completes with an error, what is written is given 2 s to arrive.
  void stop();

  // In the thread only:
  std::shared_ptr<TcpPeer> adopt(const std::string& address, const Endpoint& endpoint, const std::string& key);
  void release(const std::shared_ptr<TcpPeer>& peer);
  void send(const std::shared_ptr<TcpPeer>& peer, uint64_t tag, const void* data, size_t bytes, Completion done);
  void receive(const std::shared_ptr<TcpPeer>& peer, uint64_t tag, void* data, size_t bytes, Completion done);
  /// What the other end sees: the connections close; or what is written arrives, and they end in order; or it is told.
  enum class Tell { Close, Leave, Why };
  void fail(const std::shared_ptr<TcpPeer>& peer, const Error& error, Tell tell, bool keep_arrived = false);
  void fail(const std::shared_ptr<TcpPeer>& peer, const PeerFailure& failure) {
    fail(peer, failure.error, failure.tell ? Tell::Why : Tell::Close, !failure.tell);
  }

 private:
  struct Key {
    std::string key;
    int handles = 0;
  };
  using PeerName = std::pair<KeyId, std::string>;

  void loop();
  void run_calls();
  void on_event(TcpLink& link, uint32_t events);
  void on_open(TcpLink& link, uint32_t events);
  void on_failure(TcpLink& link, const PeerFailure& failure);
  void on_broken(TcpLink& link, int error);
  void on_end(TcpLink& link, bool broken, int error);
  void part(const std::shared_ptr<TcpPeer>& peer, Error why);
  void flush(TcpLink& link);
  void flush_dirty();
  void mark_dirty(const std::shared_ptr<TcpPeer>& peer);
  void ensure_connected(const std::shared_ptr<TcpPeer>& peer);
  void watch(TcpLink& link, uint32_t interest);
  void leave(TcpLink& link);
  void close(TcpLink& link);
  void tick();
  void tick_link(TcpLink& link);
  void tick_peer(const std::shared_ptr<TcpPeer>& peer);
  void due(Clock::time_point when) { next_tick_ = std::min(next_tick_, when); }

  // tcp_handshake.cpp
  void connect(const std::shared_ptr<TcpPeer>& peer);
  void try_again(TcpLink& link, const std::string& reason);
  void accept_all();
  void admit(Descriptor socket, const Endpoint& from);
  void on_handshake(TcpLink& link, uint32_t events);
  void on_hello(TcpLink& link);
  void challenge(TcpLink& link, const Key& key);
  void on_challenge(TcpLink& link);
  void on_proof(TcpLink& link);
  void on_welcome(TcpLink& link);
  void open(TcpLink& link);
  void refuse(TcpLink& link, const std::string& why);
  void log_stranger(const std::string& where, const std::string& why);
  std::shared_ptr<TcpPeer> find_or_make(const std::string& address, const Endpoint& endpoint, const KeyId& key);
  TcpLink& add_link(Descriptor socket, TcpLink::Phase phase, std::string where, uint32_t interest);

  const TransportOptions options_;
  Endpoint here_;
  std::string address_;
  std::vector<std::string> allowed_;
  Descriptor listener_, epoll_, wake_;

  std::mutex mutex_;
  std::vector<std::function<void()>> calls_;
  bool ended_ = false;
  std::atomic<bool> asleep_{false};

  bool stopping_ = false;
  std::unordered_map<TcpLink*, std::unique_ptr<TcpLink>> links_;
  std::vector<std::unique_ptr<TcpLink>> closed_;  ///< kept until the round's events are over
  std::list<TcpLink*> strangers_;                 ///< not authenticated yet, the oldest first
  std::map<PeerName, std::shared_ptr<TcpPeer>> peers_;
  std::map<KeyId, Key> keys_;
  std::vector<std::shared_ptr<TcpPeer>> dirty_;
  Clock::time_point now_, next_tick_, last_round_, listen_again_, log_window_;
  bool listening_ = false;
  int logged_ = 0;
  std::unique_ptr<char[]> scratch_;

  std::thread thread_;
};

/// "tcp IP PORT NUMBER": what address() gives. Throws Error (HCCL_E_PARA).
Endpoint parse_tcp_address(const std::string& address);

}  // namespace updraft::collective
