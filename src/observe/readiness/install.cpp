// UPDRAFT_READINESS, which `updraft run --report` sets: a folder in which each process leaves what it recorded.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "observe/readiness/recorder.h"

namespace updraft::readiness {
namespace {

std::string folder() {
  const char* path = std::getenv("UPDRAFT_READINESS");
  return path ? path : "";
}

Recorder* g_recorder = nullptr;  // never freed: engines outlive static destruction
std::string& g_folder = *new std::string;
pid_t g_process = 0;

void write() {
  if (getpid() != g_process) return;  // a fork that has run nothing
  const std::string path = g_folder + "/" + std::to_string(getpid()) + ".json";
  const std::string text = g_recorder->json();
  // Written under another name first: who reads the folder finds whole files.
  const std::string draft = path + ".part";
  std::FILE* file = std::fopen(draft.c_str(), "we");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written &= std::fclose(file) == 0;
  if (!written || std::rename(draft.c_str(), path.c_str()) != 0)
    std::fprintf(stderr, "updraft: %s, for the report of this run, cannot be written\n", path.c_str());
}

[[maybe_unused]] const bool g_installed = [] {
  at_first_use([] {
    g_folder = folder();
    if (g_folder.empty()) return;
    auto recorder = std::make_shared<Recorder>();
    g_recorder = recorder.get();
    g_process = getpid();
    subscribe(std::move(recorder), watch::kTasks | watch::kArguments | watch::kCalls);
    std::atexit(write);
  });
  return true;
}();

}  // namespace
}  // namespace updraft::readiness
