// Starting and ending UCX.
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/signals_blocked.h"
#include "collective/error.h"
#include "collective/transport/ucx/ucx_loop.h"

namespace updraft::collective {
namespace {

/// UCX has threads of its own, which a forked child lacks: it would wait for ever.
std::atomic<int> live{0};
std::atomic<pid_t> live_in{0};

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw Error(result::kRuntime, "{}: {}", what, ucs_status_string(status));
}

/// Ours, unless the user has said otherwise.
void prefer(ucp_config_t* config, const char* name, const char* value) {
  if (!std::getenv((std::string("UCX_") + name).c_str())) ucp_config_modify(config, name, value);
}

}  // namespace

UcxLoop::UcxLoop(const TransportOptions& options, const UcxHost& host)
    : host_(host), connect_timeout_(options.connect_timeout), control_(host.make_tcp(options)) {
  if (live > 0 && live_in != getpid())
    throw Error(result::kNotSupport, "UCX was started before this process was forked; start it by spawn");
  live_in = getpid();
  ++live;
  try {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "UCX's configuration");
    // Shared memory leads to peers whose death nobody notices; processes on a host do not talk through us anyway.
    prefer(config, "TLS", "^posix,sysv,cma,knem,xpmem");
    prefer(config, "RNDV_THRESH", "64k");
    // What the processor copies is better sent than fetched.
    if (!options.interface.empty()) prefer(config, "RNDV_SCHEME", "am");
    if (!options.interface.empty()) prefer(config, "NET_DEVICES", options.interface.c_str());
    else if (options.bind_ip == "::1" || options.bind_ip.starts_with("127.")) prefer(config, "NET_DEVICES", "lo");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    const ucs_status_t made = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    if (made != UCS_OK)
      throw Error(
          result::kRuntime,
          "UCX does not start{}: {}. It takes interfaces that are up, have an address and stand in /sys/class/net "
          "of this process (UCX_NET_DEVICES and UCX_TLS choose)",
          options.interface.empty() ? "" : " on " + options.interface, ucs_status_string(made));

    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // made here, used in our thread only
    worker.events = UCP_WAKEUP_TAG_SEND | UCP_WAKEUP_TAG_RECV | UCP_WAKEUP_TX | UCP_WAKEUP_RX;
    check(ucp_worker_create(context_, &worker, &worker_), "no UCX worker");
    ucp_address_t* address = nullptr;
    size_t bytes = 0;
    check(ucp_worker_get_address(worker_, &address, &bytes), "no address of the UCX worker");
    worker_address_.assign(reinterpret_cast<const char*>(address), bytes);
    ucp_worker_release_address(worker_, address);

    int events = -1;
    check(ucp_worker_get_efd(worker_, &events), "no descriptor of the UCX worker");
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    bool good = epoll_ >= 0 && wake_ >= 0;
    for (const int fd : {events, wake_}) {
      event.data.fd = fd;
      good = good && epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
    }
    if (!good) throw Error(result::kSyscall, "no epoll for UCX: {}", std::strerror(errno));

    const SignalsBlocked blocked;
    thread_ = std::thread([this] { loop(); });
    pthread_setname_np(thread_.native_handle(), "updraft-ucx");
  } catch (...) {
    close_context();
    throw;
  }
}

void UcxLoop::close_context() {
  if (epoll_ >= 0) ::close(epoll_);
  if (wake_ >= 0) ::close(wake_);
  if (worker_ && !abandoned_) ucp_worker_destroy(worker_);
  if (context_ && !abandoned_) ucp_cleanup(context_);
  if (!abandoned_) --live;
  epoll_ = wake_ = -1;
  worker_ = nullptr;
  context_ = nullptr;
}

UcxLoop::~UcxLoop() {
  stop();
  control_.reset();  // its last completions still call us
  close_context();
}

}  // namespace updraft::collective
