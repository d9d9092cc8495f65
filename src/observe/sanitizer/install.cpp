// UPDRAFT_SANITIZE, which `updraft run --sanitize` sets to the kinds that are looked for, and UPDRAFT_SANITIZE_FOLDER:
// where each process leaves what it found.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/boundary.h"
#include "device/memory.h"
#include "observe/sanitizer/recorder.h"

namespace updraft::sanitizer {
namespace {

Recorder* g_recorder = nullptr;  // never freed: engines outlive static destruction
std::string& g_folder = *new std::string;
std::mutex& g_writing = *new std::mutex;
std::atomic<bool> g_forked{false};

void write() {
  if (g_forked) return;
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

/// Frameworks leave streams, events and pools to the end of the process on purpose.
bool owns_its_handles() {
  for (const char* name : {"libtorch_npu.so", "libmindspore_ascend.so.2", "libonnxruntime_providers_cann.so",
                           "_tf_adapter.so", "_npu_device_backends.so"})
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {
      dlclose(library);
      return false;
    }
  return true;
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
    subscribe(std::move(recorder), watch::kTasks | watch::kArguments | watch::kCalls | watch::kOrder);
    pthread_atfork(nullptr, nullptr, [] { g_forked = true; });
    std::atexit([] {
      if (g_forked) return;
      g_recorder->finish(owns_its_handles());
      write();
    });
  });
  return true;
}();

}  // namespace
}  // namespace updraft::sanitizer

// Of a caching allocator in this process (python/updraft/sanitizer/inside.py): it gives out, or takes back, a block.
extern "C" UPDRAFT_API void updraft_sanitizer_block_taken(const void* at) {
  using namespace updraft::sanitizer;
  if (g_recorder && !g_forked) g_recorder->block(updraft::host_address(at), true);
}
extern "C" UPDRAFT_API void updraft_sanitizer_block_freed(const void* at) {
  using namespace updraft::sanitizer;
  if (g_recorder && !g_forked) g_recorder->block(updraft::host_address(at), false);
}
