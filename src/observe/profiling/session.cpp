#include "observe/profiling/session.h"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "device/device.h"
#include "observe/profiling/folder.h"
#include "observe/profiling/sampler.h"

namespace updraft::profiling {
namespace {

constexpr int kAlreadyRun = 100042;  // ACL_ERROR_PROF_ALREADY_RUN
constexpr int kNotRun = 100043;      // ACL_ERROR_PROF_NOT_RUN

struct State {
  std::mutex mutex;
  bool prepared = false;
  std::string output;
  std::string folder;  // PROF_*, made by the first start after prepare()
  std::shared_ptr<Recorder> recorder;
  std::unique_ptr<Sampler> sampler;
  std::vector<Listener> listeners;
};
State& state() {
  static auto* s = new State;  // engines outlive static destruction
  return *s;
}
std::atomic<bool> g_markers{false};
std::atomic<bool> g_child{false};  ///< of a process that was forked from one with a profile

void tell(bool start, uint64_t switches, const Settings& settings) {
  std::vector<Listener> all;
  {
    std::lock_guard lock(state().mutex);
    all = state().listeners;
  }
  for (const auto& listener : all) listener(start, switches, settings);
}

// What was begun on the devices is recorded when this returns; a failure of a stream is the client's own affair.
void settle_devices() {
  for (int i = 0; i < Device::count(); ++i) {
    Device* device = Device::find(i);
    if (!device) continue;
    try {
      device->synchronize();
    } catch (const Error& e) { UPDRAFT_LOG(kWarning, "PROFILING", "device {} ends with a failure: {}", i, e.text()); }
  }
}

void once_a_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    // A forked child has no devices and must not write into the parent's files.
    pthread_atfork(nullptr, nullptr, [] {
      Recorder::forget_in_child();
      g_markers = false;
      g_child = true;
    });
    std::atexit([] {
      if (g_child || !running()) return;
      try {
        stop();
      } catch (const Error&) {}  // another thread was faster
    });
  });
}

}  // namespace

void prepare(const std::string& output) {
  std::lock_guard lock(state().mutex);
  if (state().prepared)
    throw Error(kAlreadyRun, "profiling is in use already (results go to {}): end it by aclprofFinalize first",
                state().output);
  state().prepared = true;
  state().output = output;
  state().folder.clear();
}

void start(Settings settings) {
  once_a_process();
  std::shared_ptr<Recorder> recorder;
  {
    std::lock_guard lock(state().mutex);
    if (!state().prepared) throw Error(kNotRun, "aclprofInit was not called: it says where the results go");
    if (state().recorder) throw Error(kAlreadyRun, "a profile runs already: stop it first");
    settings.output = state().output;
    const bool again = !state().folder.empty();
    if (!again) state().folder = make_profile_folder(state().output);
    try {
      recorder = std::make_shared<Recorder>(state().folder, settings);
      write_start(state().folder, settings);
    } catch (...) {
      if (again) throw;
      // A folder without records would be taken for a profile.
      std::error_code ignored;
      std::filesystem::remove_all(std::exchange(state().folder, {}), ignored);
      throw;
    }
    for (const std::string& remark : settings.remarks) UPDRAFT_LOG(kWarning, "PROFILING", "{}", remark);
    state().recorder = recorder;
  }
  tell(true, settings.data, settings);
  if (const uint32_t wants = recorder->wants(); wants != watch::kRawTimes) subscribe(recorder, wants);
  g_markers = (settings.data & data::kMarkers) != 0;
  auto sampler = std::make_unique<Sampler>(recorder);
  std::lock_guard lock(state().mutex);
  state().sampler = std::move(sampler);
}

void stop() {
  std::shared_ptr<Recorder> recorder;
  std::unique_ptr<Sampler> sampler;
  std::string folder;
  {
    std::lock_guard lock(state().mutex);
    recorder = std::move(state().recorder);
    state().recorder.reset();
    sampler = std::move(state().sampler);
    folder = state().folder;
  }
  if (!recorder) throw Error(kNotRun, "no profile runs: aclprofStart was not called, or aclprofStop was before");
  g_markers = false;
  settle_devices();
  unsubscribe(recorder.get());
  sampler.reset();
  tell(false, 0, recorder->settings());
  recorder->close();
  if (const uint64_t aged = recorder->aged())
    std::fprintf(stderr,
                 "updraft: %s: the oldest records are missing: %llu file%s of up to 8 MB went, since storage_limit was "
                 "reached or the "
                 "disk was full\n",
                 folder.c_str(), static_cast<unsigned long long>(aged), aged == 1 ? "" : "s");
  std::string missing;
  int why = 0;
  if (const Recorder::Loss loss = recorder->loss(); loss.pieces) {
    missing = fmt::format("{} piece{} of records of up to 64 KiB", loss.pieces, loss.pieces == 1 ? "" : "s");
    why = loss.error;
  }
  try {
    write_end(folder, recorder->settings());
  } catch (const Error&) {  // what is recorded can be read without it, and whoever stops it has lost nothing else
    if (!why) why = errno;
    missing += missing.empty() ? "end_info" : " and end_info";
  }
  if (missing.empty()) return;
  std::fprintf(stderr, "updraft: %s: the profile is not whole: %s could not be written: %s\n", folder.c_str(),
               missing.c_str(), std::strerror(why));
  UPDRAFT_LOG(kError, "PROFILING", "{}: the profile is not whole: {} could not be written: {}", folder, missing,
              std::strerror(why));
}

void finish() {
  if (!prepared()) throw Error(kNotRun, "aclprofInit was not called, or aclprofFinalize was before");
  if (running()) stop();
  std::lock_guard lock(state().mutex);
  state().prepared = false;
  state().folder.clear();
}

bool prepared() {
  std::lock_guard lock(state().mutex);
  return state().prepared;
}

bool running() {
  std::lock_guard lock(state().mutex);
  return state().recorder != nullptr;
}

std::shared_ptr<Recorder> recorder() {
  std::lock_guard lock(state().mutex);
  return state().recorder;
}

bool recording_markers() { return g_markers.load(std::memory_order_relaxed); }

void run_until_exit(Settings settings) {
  prepare(settings.output);
  try {
    start(std::move(settings));
  } catch (...) {
    finish();  // the program may still profile itself
    throw;
  }
}

void listen(Listener listener) {
  std::shared_ptr<Recorder> now;
  {
    std::lock_guard lock(state().mutex);
    state().listeners.push_back(listener);
    now = state().recorder;
  }
  if (now) listener(true, now->settings().data, now->settings());
}

}  // namespace updraft::profiling
