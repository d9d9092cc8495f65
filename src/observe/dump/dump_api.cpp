// The calls that start and end dumps.
#include <cstdio>
#include <cstring>
#include <mutex>

#include "acl/acl_dump.h"
#include "acl/api.h"
#include "acl/dump_door.h"
#include "acl/json_file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "observe/dump/tensor_dump.h"

using namespace updraft;

namespace {

constexpr int kInvalidDumpConfiguration = 100009, kDumpAlreadyRun = 100044, kDumpNotRun = 100045;

/// Where files go. It outlives static destruction, as engines do.
dump::FileWriter& writer() {
  static auto* made = new dump::FileWriter;
  return *made;
}

struct DumpState {
  std::mutex mutex;
  std::shared_ptr<dump::TensorDump> running;
  bool by_file = false;   ///< the configuration file of aclInit asked for it
  bool by_calls = false;  ///< between aclmdlInitDump and aclmdlFinalizeDump
  std::string path;       ///< of the latest, for acldumpGetPath
};
DumpState& control() {
  static auto* made = new DumpState;
  return *made;
}

/// Ends what runs. Empty, or what could not be written.
std::string end(DumpState& c) {
  if (!c.running) return {};
  unsubscribe(c.running.get());
  const std::string unknown = c.running->unknown_names();
  c.running.reset();
  writer().flush();
  if (!unknown.empty()) {
    std::fprintf(stderr, "updraft: dump: no operator that ran has the name of %s: nothing is written for it\n",
                 unknown.c_str());
    UPDRAFT_LOG(kWarning, "IDEDD", "dump: no operator that ran has the name of {}", unknown);
  }
  const auto failures = writer().take_failures();
  if (failures.count == 0) return {};
  return fmt::format("{} file{} of the dump could not be written; the first: {}", failures.count,
                     failures.count == 1 ? "" : "s", failures.first);
}

/// Clients rarely look at the code of the last call: what was lost is said on stderr as well.
std::string end_aloud(DumpState& c) noexcept try {
  std::string text = end(c);
  if (!text.empty()) std::fprintf(stderr, "updraft: %s\n", text.c_str());
  return text;
} catch (...) { return {}; }

void begin(DumpState& c, const nlohmann::json& section, const std::string& file) {
  dump::Settings settings = dump::read_settings(section, file);
  end_aloud(c);
  c.path = settings.path;
  if (!settings.writes() && !settings.writes_failures()) return;
  static const bool at_exit = [] {
    std::atexit([] {
      std::unique_lock lock(control().mutex, std::try_to_lock);
      if (lock) end_aloud(control());
    });
    return true;
  }();
  (void)at_exit;
  c.running = std::make_shared<dump::TensorDump>(std::move(settings), writer());
  subscribe(c.running, watch::kTasks | watch::kArguments);
}

[[maybe_unused]] const bool g_door = [] {
  dump_door() = {[](const std::string& section, const std::string& file) {
                   DumpState& c = control();
                   std::lock_guard lock(c.mutex);
                   begin(c, parse_json(section), file);
                   c.by_file = c.running != nullptr;
                 },
                 [] {
                   DumpState& c = control();
                   std::lock_guard lock(c.mutex);
                   end_aloud(c);
                   c.by_file = c.by_calls = false;
                 }};
  return true;
}();

using Callback = int32_t (*)(const acldumpChunk*, int32_t);

/// Hands pieces of files to a client.
class CallbackSink final : public dump::ChunkSink {
 public:
  CallbackSink(Callback callback, int32_t flag) : callback_(callback), flag_(flag) {}
  bool take(const std::string& path, const std::byte* bytes, size_t size, int64_t offset, bool last) override {
    std::vector<std::byte> memory(offsetof(acldumpChunk, dataBuf) + size + 1);
    auto* chunk = reinterpret_cast<acldumpChunk*>(memory.data());
    path.copy(chunk->fileName, sizeof chunk->fileName - 1);
    chunk->bufLen = static_cast<uint32_t>(size);
    chunk->isLastChunk = last;
    chunk->offset = offset;
    chunk->flag = flag_;
    if (size) std::memcpy(memory.data() + offsetof(acldumpChunk, dataBuf), bytes, size);
    return callback_(chunk, static_cast<int32_t>(memory.size() - 1)) == 0;
  }

 private:
  const Callback callback_;
  const int32_t flag_;
};

}  // namespace

ACL_API aclmdlInitDump() {
  return guard("aclmdlInitDump", [] {
    if (!acl_is_initialized()) throw Error(code::kAclUninitialized, "aclInit was not called");
    DumpState& c = control();
    std::lock_guard lock(c.mutex);
    if (c.by_calls) throw Error(kDumpAlreadyRun, "aclmdlInitDump was called before: aclmdlFinalizeDump ends that dump");
    if (c.by_file)
      throw Error(kDumpAlreadyRun,
                  "the configuration file of aclInit has started a dump already: leave out its \"dump\", "
                  "or these calls");
    c.by_calls = true;
  });
}

ACL_API aclmdlSetDump(const char* path) {
  return guard("aclmdlSetDump", [&] {
    need(path, "dumpCfgPath");
    DumpState& c = control();
    std::lock_guard lock(c.mutex);
    if (!c.by_calls) throw Error(kDumpNotRun, "aclmdlInitDump was not called");
    try {
      const nlohmann::json json = read_json_object(path);
      if (!json.contains("dump"))
        throw Error(kInvalidDumpConfiguration, "{}: there is no \"dump\", want {{\"dump\": {{\"dump_path\": …}}}}",
                    path);
      begin(c, json.at("dump"), path);
    } catch (const Error& e) {  // torch_npu looks at no code of this call
      std::fprintf(stderr, "updraft: nothing is dumped: %s\n", e.what());
      throw;
    }
  });
}

ACL_API aclmdlFinalizeDump() {
  return guard("aclmdlFinalizeDump", [] {
    DumpState& c = control();
    std::lock_guard lock(c.mutex);
    if (!c.by_calls) throw Error(kDumpNotRun, "aclmdlInitDump was not called");
    c.by_calls = false;
    if (const std::string text = end_aloud(c); !text.empty()) throw Error(code::kAclInternal, text);
  });
}

ACL_API acldumpRegCallback(Callback callback, int32_t flag) {
  return guard("acldumpRegCallback", [&] {
    need(reinterpret_cast<const void*>(callback), "messageCallback");
    writer().send_to(std::make_shared<CallbackSink>(callback, flag));
  });
}

extern "C" UPDRAFT_API void acldumpUnregCallback() {
  guard("acldumpUnregCallback", [] { writer().send_to(nullptr); });
}

extern "C" UPDRAFT_API const char* acldumpGetPath(acldumpType type) {
  const char* found = nullptr;
  guard("acldumpGetPath", [&] {
    if (type < AIC_ERR_BRIEF_DUMP || type > OVERFLOW_DUMP)
      throw Error(code::kAclInvalidParam, "dumpType {} is unknown, want 1 to 5", static_cast<int>(type));
    static thread_local std::string path;
    DumpState& c = control();
    std::lock_guard lock(c.mutex);
    path.clear();
    if (c.running) {
      const dump::Settings& s = c.running->settings();
      const bool fits = type == DATA_DUMP       ? s.writes() && !s.overflow
                        : type == OVERFLOW_DUMP ? s.overflow
                                                : s.writes_failures();
      if (fits) path = s.path;
    }
    found = path.empty() ? nullptr : path.c_str();
  });
  return found;
}
