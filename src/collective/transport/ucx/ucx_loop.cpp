#include "collective/transport/ucx/ucx_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "collective/error.h"

namespace updraft::collective {

using namespace std::chrono_literals;

bool UcxLoop::post(std::function<void()> call) {
  std::lock_guard lock(mutex_);
  if (ended_) return false;
  calls_.push_back(std::move(call));
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_, &one, sizeof one);
  return true;
}

void UcxLoop::stop() {
  if (!thread_.joinable()) return;
  post([this] {
    stopping_ = true;
    stop_by_ = Clock::now() + 6s;
    const auto all = peers_;
    for (const auto& [name, peer] : all) {
      fail(peer, Error(result::kUnavail, "peer {}: the transport was closed", peer->where), Tell::Leave);
    }
    peers_.clear();
  });
  thread_.join();
}

void UcxLoop::work() {
  while (ucp_worker_progress(worker_) != 0) continue;
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (auto& call : calls) call();
  look_after_peers();
}

void UcxLoop::loop() {
  while (!stopping_ || (!restless_.empty() && Clock::now() < stop_by_)) {
    work();
    if (stopping_ && restless_.empty()) break;
    bool calls;
    {
      std::lock_guard lock(mutex_);
      calls = !calls_.empty();
    }
    // UCX wants to be asked again when something came between its last progress and now.
    if (calls || ucp_worker_arm(worker_) != UCS_OK) continue;
    epoll_event events[4];
    const int n = epoll_wait(epoll_, events, 4, restless_.empty() ? -1 : 2);
    for (int i = 0; i < n; ++i) {
      uint64_t count;
      if (events[i].data.fd == wake_) [[maybe_unused]]
        const ssize_t got = ::read(wake_, &count, sizeof count);
    }
  }
  std::vector<std::function<void()>> late;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    late.swap(calls_);
  }
  for (auto& call : late) call();
  for (const auto& peer : restless_) abandoned_ = abandoned_ || peer->wiring || peer->closing;
  restless_.clear();
}

void UcxLoop::send(const std::shared_ptr<UcxPeer>& peer, uint64_t tag, const void* data, size_t bytes,
                   Completion done) {
  if (peer->error) return done ? done(&*peer->error) : void();
  start(peer);
  if (peer->error) return done ? done(&*peer->error) : void();
  if (peer->ready) submit(peer, {tag, data, bytes, std::move(done)});
  else peer->waiting.push_back({tag, data, bytes, std::move(done)});
}

void UcxLoop::submit(const std::shared_ptr<UcxPeer>& peer, UcxPeer::Waiting message) {
  auto* const m = new UcxMessage{this, peer, std::move(message.done), message.bytes, false};
  peer->messages.insert(m);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &UcxLoop::on_sent;
  param.user_data = m;
  const ucp_tag_t tag = ucx_tag(peer->key, peer->theirs, message.tag);
  void* const request = ucp_tag_send_nbx(peer->endpoint, message.data, message.bytes, tag, &param);
  if (UCS_PTR_IS_PTR(request)) m->request = request;
  else over(*m, UCS_PTR_STATUS(request), message.bytes);
}

void UcxLoop::receive(const std::shared_ptr<UcxPeer>& peer, uint64_t tag, void* data, size_t bytes, Completion done) {
  if (!peer->error) start(peer);
  if (peer->error) {
    if (!take_arrived(peer, tag, data, bytes, done) && done) done(&*peer->error);
    return;
  }
  auto* const m = new UcxMessage{this, peer, std::move(done), bytes, true};
  peer->messages.insert(m);
  ucp_request_param_t param{};
  // Always by the callback, be it within the call: otherwise UCX 1.13 does not say how long the message was.
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &UcxLoop::on_received;
  param.user_data = m;
  bool ended = false;
  m->ended = &ended;
  void* const request =
      ucp_tag_recv_nbx(worker_, data, bytes, ucx_tag(peer->key, peer->mine, tag), ~ucp_tag_t{0}, &param);
  if (ended) return;
  m->ended = nullptr;
  if (UCS_PTR_IS_PTR(request)) m->request = request;
  else over(*m, UCS_PTR_STATUS(request), bytes);
}

/// What came before the peer left is still there; only small messages are there as a whole.
bool UcxLoop::take_arrived(const std::shared_ptr<UcxPeer>& peer, uint64_t tag, void* data, size_t bytes,
                           Completion& done) {
  ucp_tag_recv_info_t info{};
  if (!peer->started || bytes >= 64 << 10) return false;
  const ucp_tag_t wanted = ucx_tag(peer->key, peer->mine, tag);
  if (!ucp_tag_probe_nb(worker_, wanted, ~ucp_tag_t{0}, 0, &info) || info.length != bytes) return false;
  ucp_request_param_t param{};
  void* const request = ucp_tag_recv_nbx(worker_, data, bytes, wanted, ~ucp_tag_t{0}, &param);
  if (UCS_PTR_IS_PTR(request)) {
    for (int i = 0; i < 1000 && ucp_request_check_status(request) == UCS_INPROGRESS; ++i) ucp_worker_progress(worker_);
    const bool whole = ucp_request_check_status(request) == UCS_OK;
    if (!whole) ucp_request_cancel(worker_, request);
    ucp_request_free(request);
    if (!whole) return false;
  } else if (UCS_PTR_STATUS(request) != UCS_OK) {
    return false;
  }
  if (done) done(nullptr);
  return true;
}

void UcxLoop::on_sent(void* request, ucs_status_t status, void* message) {
  auto& m = *static_cast<UcxMessage*>(message);
  m.loop->over(m, status, m.bytes);
  ucp_request_free(request);
}

void UcxLoop::on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* message) {
  auto& m = *static_cast<UcxMessage*>(message);
  m.loop->over(m, status, info->length);
  ucp_request_free(request);
}

/// May run inside of UCX's calls, so that it only notes what is to be done.
void UcxLoop::over(UcxMessage& message, ucs_status_t status, size_t bytes) {
  const std::unique_ptr<UcxMessage> m(&message);
  const std::shared_ptr<UcxPeer> peer = m->peer;
  peer->messages.erase(&message);
  if (m->ended) *m->ended = true;
  if (m->given_up) return;
  const bool another_size =
      m->receive && (status == UCS_ERR_MESSAGE_TRUNCATED || (status == UCS_OK && bytes != m->bytes));
  if (status == UCS_OK && !another_size) return m->done ? m->done(nullptr) : void();
  if (peer->error) return m->done ? m->done(&*peer->error) : void();
  if (m->done) peer->broken.push_back(std::move(m->done));
  if (another_size)
    part(peer,
         Error(result::kPara,
               "peer {}: a message of {} bytes was sent where {} bytes are received: the ranks' arguments differ",
               peer->where, bytes == m->bytes ? "more" : std::to_string(bytes), m->bytes),
         0ms, true);
  else part(peer, Error(result::kRemote, "peer {}: UCX: {}", peer->where, ucs_status_string(status)), 300ms);
}

}  // namespace updraft::collective
