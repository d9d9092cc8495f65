// Peers of the UCX transport: how they begin and end.
#include "collective/transport/ucx/ucx_peer.h"

#include <algorithm>

#include "base/random_bytes.h"
#include "collective/error.h"
#include "collective/transport/ucx/ucx_loop.h"

namespace updraft::collective {
namespace {

using namespace std::chrono_literals;
enum ControlTag : uint64_t { kGreeting, kAddress, kNever };
constexpr uint64_t kLongestAddress = 64 << 10;

}  // namespace

std::shared_ptr<UcxPeer> UcxLoop::adopt(const std::string& address, const std::string& key) {
  if (stopping_) throw Error(result::kUnavail, "the transport is being closed");
  if (!address.starts_with("ucx "))
    throw Error(result::kPara, "\"{}\" is not the address of a UCX transport", address.substr(0, 128));
  std::shared_ptr<Peer> control = control_->peer(address.substr(4), key);
  auto& peer = peers_[PeerName(address, key)];
  if (!peer) {
    peer = std::make_shared<UcxPeer>();
    peer->loop = this;
    peer->address = address;
    peer->key = key;
    peer->where = address.substr(8, address.rfind(' ') - 8);  // "ucx tcp IP PORT NUMBER"
    peer->where[peer->where.find(' ')] = ':';
    peer->control = std::move(control);
  }
  ++peer->handles;
  return peer;
}

void UcxLoop::release(const std::shared_ptr<UcxPeer>& peer) {
  if (--peer->handles > 0) return;
  const auto found = peers_.find(PeerName(peer->address, peer->key));
  if (found != peers_.end() && found->second == peer) peers_.erase(found);
  fail(peer, Error(result::kUnavail, "peer {}: the connection was released", peer->where), Tell::Leave);
}

/// A completion in the TCP transport's thread that goes on in ours; an error is the peer's end.
Completion UcxLoop::then(const std::shared_ptr<UcxPeer>& peer, void (UcxLoop::*next)(const std::shared_ptr<UcxPeer>&)) {
  return [this, peer, next](const Error* error) {
    if (error) post([this, peer, why = *error] { part(peer, why, 100ms); });
    else if (next)
      post([this, peer, next] {
        if (!peer->error) (this->*next)(peer);
      });
  };
}

void UcxLoop::start(const std::shared_ptr<UcxPeer>& peer) {
  if (std::exchange(peer->started, true)) return;
  try {
    fill_random(peer->mine.nonce.data(), peer->mine.nonce.size(), result::kSyscall);
  } catch (const Error& error) { return fail(peer, error, Tell::Why); }
  peer->mine.address_bytes = worker_address_.size();
  control_->send(*peer->control, kGreeting, &peer->mine, sizeof peer->mine, then(peer, nullptr));
  control_->send(*peer->control, kAddress, worker_address_.data(), worker_address_.size(), then(peer, nullptr));
  control_->receive(*peer->control, kGreeting, &peer->theirs, sizeof peer->theirs, then(peer, &UcxLoop::on_greeting));
  control_->receive(*peer->control, kNever, nullptr, 0, then(peer, nullptr));  // ends with the peer
}

void UcxLoop::on_greeting(const std::shared_ptr<UcxPeer>& peer) {
  if (peer->theirs.magic != UcxGreeting().magic || peer->theirs.address_bytes > kLongestAddress)
    return fail(peer, Error(result::kRemote, "peer {}: its greeting is not understood", peer->where), Tell::Why);
  peer->worker.resize(peer->theirs.address_bytes);
  control_->receive(*peer->control, kAddress, peer->worker.data(), peer->worker.size(), then(peer, &UcxLoop::open));
}

void UcxLoop::open(const std::shared_ptr<UcxPeer>& peer) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer->worker.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {&UcxLoop::on_endpoint_error, peer.get()};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &peer->endpoint);
  if (status != UCS_OK) {
    peer->endpoint = nullptr;
    return fail(peer,
                Error(result::kTcpConnect, "peer {}: no UCX connection: {}", peer->where, ucs_status_string(status)),
                Tell::Why);
  }
  peer->wiring = true;
  peer->give_up = Clock::now() + connect_timeout_;
  restless_.insert(peer);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &UcxLoop::on_wired;
  param.user_data = peer.get();
  void* const request = ucp_ep_flush_nbx(peer->endpoint, &param);
  if (!UCS_PTR_IS_PTR(request)) wired(peer, UCS_PTR_STATUS(request));
}

void UcxLoop::on_wired(void* request, ucs_status_t status, void* argument) {
  const std::shared_ptr<UcxPeer> peer = static_cast<UcxPeer*>(argument)->shared_from_this();
  peer->loop->wired(peer, status);
  ucp_request_free(request);
}

void UcxLoop::wired(const std::shared_ptr<UcxPeer>& peer, ucs_status_t status) {
  peer->wiring = false;
  if (peer->error) return;  // look_after_peers() closes it
  if (status != UCS_OK)
    return part(peer, Error(result::kRemote, "peer {}: UCX: {}", peer->where, ucs_status_string(status)), 300ms);
  peer->ready = true;
  const auto waiting = std::exchange(peer->waiting, {});
  for (const UcxPeer::Waiting& message : waiting) submit(peer, message);
}

void UcxLoop::on_endpoint_error(void* argument, ucp_ep_h, ucs_status_t status) {
  const std::shared_ptr<UcxPeer> peer = static_cast<UcxPeer*>(argument)->shared_from_this();
  peer->loop->part(peer, Error(result::kRemote, "peer {}: UCX: {}", peer->where, ucs_status_string(status)), 300ms);
}

/// Fails the peer a little later: what has arrived is taken first, and the other connection may give the reason.
void UcxLoop::part(const std::shared_ptr<UcxPeer>& peer, Error why, std::chrono::milliseconds after, bool tell) {
  if (peer->error) return;
  const Clock::time_point when = Clock::now() + after;
  if (!peer->parting || when < peer->parting_over) {
    peer->parting_over = when;
    if (!peer->parting_tell) {
      peer->parting.emplace(std::move(why));
      peer->parting_tell = tell;
    }
  }
  restless_.insert(peer);
}

void UcxLoop::fail(const std::shared_ptr<UcxPeer>& peer, const Error& why, Tell tell) {
  if (!peer->error) {
    peer->error.emplace(why);
    const Error& error = *peer->error;
    host_.log(1, __FILE__, __LINE__, error.text().c_str());
    if (tell == Tell::Why) control_->cancel(*peer->control, error);
    for (const Completion& done : std::exchange(peer->broken, {})) done(&error);
    for (const UcxPeer::Waiting& message : std::exchange(peer->waiting, {}))
      if (message.done) message.done(&error);
    const auto messages = peer->messages;
    for (UcxMessage* m : messages)
      if (peer->messages.count(m) && m->receive) ucp_request_cancel(worker_, m->request);
    close(peer, tell == Tell::Leave && peer->messages.empty());
    // Their memory is still UCX's until it says so, which is soon now that the connection is closed.
    for (const auto until = Clock::now() + 500ms; !peer->messages.empty() && Clock::now() < until;)
      ucp_worker_progress(worker_);
    for (UcxMessage* m : std::exchange(peer->messages, {})) {
      m->given_up = true;
      if (const Completion done = std::exchange(m->done, {})) done(&error);
    }
  } else if (tell == Tell::Leave && !peer->closing) {
    peer->control.reset();
  }
}

void UcxLoop::close(const std::shared_ptr<UcxPeer>& peer, bool in_order) {
  if (!peer->endpoint) {
    if (peer->handles == 0 || stopping_) peer->control.reset();
    return;
  }
  if (peer->wiring) {
    peer->closing_over = Clock::now() + 5s;
    restless_.insert(peer);
    return;
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = in_order ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucp_ep_close_nbx(std::exchange(peer->endpoint, nullptr), &param);
  peer->closing = UCS_PTR_IS_PTR(request) ? request : nullptr;
  peer->closing_over = Clock::now() + 2s;
  restless_.insert(peer);
}

void UcxLoop::look_after_peers() {
  if (restless_.empty()) return;
  const Clock::time_point now = Clock::now();
  const auto all = restless_;
  for (const auto& peer : all) {
    if (peer->parting && !peer->error) {
      if (now < peer->parting_over) continue;
      const Error why = *peer->parting;
      fail(peer, why, peer->parting_tell ? Tell::Why : Tell::No);
    }
    if (peer->wiring) {
      if (!peer->error && now >= peer->give_up)
        fail(peer,
             Error(result::kTimeout,
                   "EI0006: peer {}: no UCX connection within {} s, though TCP has one: see that the network lets UCX "
                   "through "
                   "(UCX_NET_DEVICES, UCX_TLS), or raise HCCL_CONNECT_TIMEOUT",
                   peer->where, std::chrono::duration<double>(connect_timeout_).count()),
             Tell::Why);
      if (!peer->error || now < peer->closing_over) continue;
      abandoned_ = true;
      peer->endpoint = nullptr;
    } else if (peer->error && peer->endpoint) {
      close(peer, false);
    }
    if (peer->closing && ucp_request_check_status(peer->closing) == UCS_INPROGRESS && now < peer->closing_over)
      continue;
    if (peer->closing) ucp_request_free(std::exchange(peer->closing, nullptr));
    if (peer->handles == 0 || stopping_) peer->control.reset();  // the other end sees that we are gone
    restless_.erase(peer);
  }
}

}  // namespace updraft::collective
