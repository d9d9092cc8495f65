// The thread of the UCX transport: the only one that calls UCX, asleep in epoll while there is nothing to do.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "collective/transport/ucx/ucx_peer.h"
#include "collective/transport/ucx_plugin.h"

namespace updraft::collective {

class UcxLoop {
 public:
  /// Throws Error when UCX cannot work here.
  UcxLoop(const TransportOptions& options, const UcxHost& host);
  ~UcxLoop();

  std::string address() const { return "ucx " + control_->address(); }
  bool post(std::function<void()> call);
  void stop();

  // In the thread only:
  std::shared_ptr<UcxPeer> adopt(const std::string& address, const std::string& key);
  void release(const std::shared_ptr<UcxPeer>& peer);
  void send(const std::shared_ptr<UcxPeer>& peer, uint64_t tag, const void* data, size_t bytes, Completion done);
  void receive(const std::shared_ptr<UcxPeer>& peer, uint64_t tag, void* data, size_t bytes, Completion done);
  /// What the other end sees: nothing (it has ended); or what is sent arrives before the end; or it is told.
  enum class Tell { No, Leave, Why };
  void fail(const std::shared_ptr<UcxPeer>& peer, const Error& error, Tell tell);

 private:
  void loop();
  void work();
  void start(const std::shared_ptr<UcxPeer>& peer);
  Completion then(const std::shared_ptr<UcxPeer>& peer, void (UcxLoop::*next)(const std::shared_ptr<UcxPeer>&));
  void on_greeting(const std::shared_ptr<UcxPeer>& peer);
  void open(const std::shared_ptr<UcxPeer>& peer);
  void wired(const std::shared_ptr<UcxPeer>& peer, ucs_status_t status);
  void submit(const std::shared_ptr<UcxPeer>& peer, UcxPeer::Waiting message);
  void over(UcxMessage& message, ucs_status_t status, size_t bytes);
  void part(const std::shared_ptr<UcxPeer>& peer, Error why, std::chrono::milliseconds after, bool tell = false);
  void close(const std::shared_ptr<UcxPeer>& peer, bool in_order);
  void close_context();
  void look_after_peers();
  bool take_arrived(const std::shared_ptr<UcxPeer>& peer, uint64_t tag, void* data, size_t bytes, Completion& done);
  static void on_wired(void* request, ucs_status_t status, void* peer);
  static void on_sent(void* request, ucs_status_t status, void* message);
  static void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* message);
  static void on_endpoint_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  const UcxHost host_;
  const std::chrono::milliseconds connect_timeout_;
  std::unique_ptr<Transport> control_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string worker_address_;
  int epoll_ = -1, wake_ = -1;

  std::mutex mutex_;
  std::vector<std::function<void()>> calls_;
  bool ended_ = false;

  bool stopping_ = false;
  bool abandoned_ = false;  ///< an endpoint could not be closed: nothing that it uses may be destroyed
  Clock::time_point stop_by_;
  using PeerName = std::pair<std::string, std::string>;  ///< address, key
  std::map<PeerName, std::shared_ptr<UcxPeer>> peers_;
  std::set<std::shared_ptr<UcxPeer>> restless_;  ///< connecting, parting or closing
  std::thread thread_;
};

}  // namespace updraft::collective
