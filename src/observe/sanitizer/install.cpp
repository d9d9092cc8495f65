// UPDRAFT_SANITIZE, which `updraft run --sanitize` sets to the kinds that are looked for, and UPDRAFT_SANITIZE_FOLDER:
// where each process leaves what it found.
#include "observe/sanitizer/install.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "observe/sanitizer/recorder.h"

namespace updraft::sanitizer {
namespace {

Recorder* g_recorder = nullptr;  // never freed: engines outlive static destruction
std::string& g_folder = *new std::string;
std::mutex& g_writing = *new std::mutex;

void write() {
  std::lock_guard lock(g_writing);
  const std::string path = g_folder + "/" + std::to_string(getpid()) + ".json";
  const std::string text = g_recorder->findings().json();
  // Written under another name first: who reads the folder finds whole files.
  const std::string draft = path + ".part";
  std::FILE* file = std::fopen(draft.c_str(), "we");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written &= std::fclose(file) == 0;
  if (!written || std::rename(draft.c_str(), path.c_str()) != 0)
    std::fprintf(stderr, "updraft: %s, for the sanitizer's report, cannot be written\n", path.c_str());
}

bool loaded(const char* name) {
  void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library;
}

/// Frameworks leave streams, events and pools to the end of the process on purpose; MindSpore's graphs also what their
/// executors were made of.
Recorder::Keeps kept() {
  if (loaded("libmindspore_ascend.so.2")) return Recorder::Keeps::Plans;
  for (const char* name :
       {"libtorch_npu.so", "libonnxruntime_providers_cann.so", "_tf_adapter.so", "_npu_device_backends.so"})
    if (loaded(name)) return Recorder::Keeps::Handles;
  return Recorder::Keeps::Nothing;
}

[[maybe_unused]] const bool g_installed = [] {
  at_first_use([] {
    const char* kinds = std::getenv("UPDRAFT_SANITIZE");
    const char* folder = std::getenv("UPDRAFT_SANITIZE_FOLDER");
    if (!kinds || !*kinds || !folder || !*folder) return;
    const auto bits = kinds_of(kinds);
    if (!bits) {
      std::fprintf(stderr, "updraft: UPDRAFT_SANITIZE=%s names a kind that there is not; nothing is looked for\n",
                   kinds);
      return;
    }
    g_folder = folder;
    auto recorder = std::make_shared<Recorder>(*bits);
    g_recorder = recorder.get();
    g_recorder->findings().fresh = write;  // what ends without a word has told of it
    subscribe(std::move(recorder), watch::kTasks | watch::kArguments | watch::kCalls | watch::kOrder | watch::kBrief);
    // A fork has a report of its own: what the parent found is in the parent's.
    pthread_atfork([] { g_recorder->before_fork(g_writing); }, [] { g_recorder->after_fork(g_writing, false); },
                   [] { g_recorder->after_fork(g_writing, true); });
    std::atexit([] {
      if (g_recorder->idle_fork()) return;
      g_recorder->finish(kept());
      write();
    });
  });
  return true;
}();

}  // namespace

void tell_block(const void* at, bool taken) {
  if (g_recorder) g_recorder->block(at, taken);
}

uint64_t blocks_now() { return g_recorder ? g_recorder->now() : 0; }

void tell_blocks(std::span<void* const> blocks, uint64_t since) {
  if (g_recorder) g_recorder->blocks_in_use(blocks, since);
}

bool tell_host_touched(const void* at, bool writes) { return g_recorder && g_recorder->host_touched(at, writes); }

}  // namespace updraft::sanitizer
