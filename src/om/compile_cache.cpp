#include "om/compile_cache.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/folders.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/sha256.h"
#include "graph/compile/option_error.h"
#include "graph/dump/graph_dump.h"
#include "graph/dump/kernel_meta.h"
#include "graph/executor/collective.h"
#include "graph/proto/model_proto.h"
#include "om/om_file.h"

namespace updraft::om {
namespace {

namespace fs = std::filesystem;
using graph::Bytes;
using graph::OptionTexts;
using Json = nlohmann::json;

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha_hex(std::string_view text) { return hex(sha256(text.data(), text.size())); }

/// A checksum of much data at the speed of memory: 128 bits of four lanes. It finds accidents, no attackers.
std::string checksum(std::span<const std::byte> bytes) {
  constexpr uint64_t kPrime = 0x9E3779B97F4A7C15ULL;
  uint64_t lanes[4] = {1, 2, 3, 4};
  auto mix = [](uint64_t& lane, uint64_t word) {
    const auto product = static_cast<unsigned __int128>(lane ^ word ^ kPrime) * (word + 0xD6E8FEB86659FD93ULL);
    lane = lane * kPrime + (static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64)) + 1;
  };
  size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32)
    for (size_t lane = 0; lane < 4; ++lane) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at + 8 * lane, 8);
      mix(lanes[lane], word);
    }
  for (; at < bytes.size(); ++at) mix(lanes[at % 4], static_cast<uint64_t>(bytes[at]));
  mix(lanes[0], bytes.size());
  const std::string_view all(reinterpret_cast<const char*>(lanes), sizeof lanes);
  return sha_hex(all).substr(0, 32);
}

/// The number that the linker gave this build of the library: another build may compile in another way.
const std::string& build_id() {
  static const std::string id = [] {
    struct Search {
      uintptr_t here;
      std::string id;
    } search{reinterpret_cast<uintptr_t>(&build_id), {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
          auto& s = *static_cast<Search*>(data);
          bool ours = false;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& p = info->dlpi_phdr[i];
            const uintptr_t begin = info->dlpi_addr + p.p_vaddr;
            ours = ours || (p.p_type == PT_LOAD && s.here >= begin && s.here < begin + p.p_memsz);
          }
          for (int i = 0; ours && i < info->dlpi_phnum; ++i) {
            const auto& p = info->dlpi_phdr[i];
            if (p.p_type != PT_NOTE) continue;
            const auto* at = reinterpret_cast<const uint8_t*>(info->dlpi_addr + p.p_vaddr);
            for (const uint8_t* end = at + p.p_memsz; at + sizeof(ElfW(Nhdr)) < end;) {
              ElfW(Nhdr) note;
              std::memcpy(&note, at, sizeof note);
              const uint8_t* value = at + sizeof note + ((note.n_namesz + 3) & ~3U);
              if (note.n_type == NT_GNU_BUILD_ID) s.id = hex({value, note.n_descsz});
              at = value + ((note.n_descsz + 3) & ~3U);
            }
          }
          return ours ? 1 : 0;
        },
        &search);
    return "Updraft 0.1.0 " + search.id;
  }();
  return id;
}

std::string value_of(const OptionTexts& options, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = options.find(name); found != options.end() && !found->second.empty()) return found->second;
  return {};
}

/// A name that is a file's: others get their hash behind what is left of them.
std::string file_name_of(const std::string& key) {
  std::string name = key.substr(0, 100);
  bool same = name.size() == key.size() && !key.empty() && key[0] != '.';
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') {
      c = '_';
      same = false;
    }
  return same ? name : "k" + name + "_" + sha_hex(key).substr(0, 16);
}

/// Options that say where things are kept, and nothing of the result.
bool is_place(std::string_view option) {
  return option.find("cache") != std::string_view::npos || option == "ge.graph_key" || option == "ge.debugDir" ||
         option == "debug_dir" || option == "ge.exec.deviceId" || option == "ge.session_device_id";
}

class Lock {
 public:
  explicit Lock(const std::string& folder) : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {}
  }
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }
  Lock(const Lock&) = delete;

 private:
  int fd_;
};

/// False where it cannot be written; nobody ever sees a part of it.
bool write_whole(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> number{0};
  const std::string part = fmt::format("{}.{}-{}.part", path, getpid(), number++);
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0) return true;
  unlink(part.c_str());
  return false;
}

/// The index of one key: {"library": …, "graphs": {HASH: {"file": …, "bytes": …, "checksum": …, "notes": […]}}}.
Json read_index(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const Json index = try_json(file);
  if (index.is_object() && index.value("library", Json()) == build_id() && index.contains("graphs") &&
      index["graphs"].is_object())
    return index;
  UPDRAFT_LOG(kWarning, "GE", "{} is no index of this library's compiled graphs: they are compiled anew", path);
  return {};
}

class Files {
 public:
  explicit Files(const CompileCache& cache) : cache_(cache), name_(file_name_of(cache.key)) {}

  std::optional<graph::Model> find(const std::string& hash, graph::CompileReport& report) const {
    const Json index = read_index(index_path());
    if (index.is_null() || !index["graphs"].contains(hash)) return {};
    try {
      const Json& entry = index["graphs"][hash];
      const std::string file = entry.at("file");
      if (file.find('/') != std::string::npos) return {};
      const std::string path = cache_.folder + "/" + file;
      if (!fs::is_regular_file(path)) return {};
      const Bytes bytes = Bytes::of_file(path);
      if (bytes.size() != entry.at("bytes").get<size_t>() ||
          checksum(bytes.span()) != entry.at("checksum").get<std::string>())
        throw Error(code::kAclInvalidFile, "it is not what the index says");
      graph::Model model = read(bytes);
      for (const auto& note : entry.at("notes")) report.notes.push_back(note);
      report.precision.changed = entry.at("changed");
      report.precision.kept = entry.at("kept");
      report.precision.saturated = entry.at("saturated");
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the latest used goes last when the cache is full
      return model;
    } catch (const Error& e) {
      UPDRAFT_LOG(kWarning, "GE", "compiled graph {} in {} is not taken: {}", hash, index_path(), e.text());
    } catch (const Json::exception& e) {
      UPDRAFT_LOG(kWarning, "GE", "compiled graph {} in {} is not taken: {}", hash, index_path(), e.what());
    }
    return {};
  }

  /// False where the folder cannot be written.
  bool store(const std::string& hash, const graph::Model& model, const graph::CompileReport& report) const {
    const Bytes bytes = write(model);
    const std::string file = fmt::format("{}_{}.om", name_, hash.substr(0, 16));
    const Lock lock(cache_.folder);
    if (!write_whole(cache_.folder + "/" + file, bytes.text())) return false;
    Json index = read_index(index_path());
    if (index.is_null()) index = {{"library", build_id()}, {"graphs", Json::object()}};
    index["graphs"][hash] = {{"file", file},
                             {"bytes", bytes.size()},
                             {"checksum", checksum(bytes.span())},
                             {"notes", report.notes},
                             {"changed", report.precision.changed},
                             {"kept", report.precision.kept},
                             {"saturated", report.precision.saturated}};
    if (!write_whole(index_path(), json_text(index, 1) + "\n")) return false;
    if (!cache_.limits.empty()) keep_limits(file);
    return true;
  }

  void clear() const {
    const Lock lock(cache_.folder);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(cache_.folder, error))
      if (entry.path().extension() == ".om" || entry.path().extension() == ".idx") fs::remove(entry.path(), error);
  }

 private:
  std::string index_path() const { return cache_.folder + "/" + name_ + ".idx"; }

  /// Those that nobody used for the longest time go, but never the newest.
  void keep_limits(const std::string& newest) const {
    std::error_code error;
    const std::string ini = cache_.limits + "/op_cache.ini";
    if (!fs::exists(ini, error)) {
      const CacheLimits now = CacheLimits::of(cache_.limits);
      write_whole(ini, fmt::format("[op_compiler_cache]\nascend_max_op_cache_size={}\n"
                                   "ascend_remain_cache_size_ratio={}\n",
                                   now.megabytes, now.remain_percent));
    }
    const CacheLimits limits = CacheLimits::of(cache_.limits);
    struct Kept {
      fs::file_time_type used;
      uint64_t bytes;
      fs::path path;
    };
    std::vector<Kept> all;
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(cache_.folder, error)) {
      if (entry.path().extension() != ".om") continue;
      std::error_code gone;
      const Kept kept{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
      if (gone) continue;
      bytes += kept.bytes;
      all.push_back(kept);
    }
    const uint64_t most = limits.megabytes << 20;
    if (bytes <= most) return;
    std::ranges::sort(all, {}, &Kept::used);
    for (const Kept& kept : all) {
      if (bytes <= most / 100 * limits.remain_percent) break;
      if (kept.path.filename() == newest) continue;
      if (fs::remove(kept.path, error)) bytes -= kept.bytes;
    }
  }

  const CompileCache& cache_;
  const std::string name_;
};

uint64_t number_or(const std::string& text, uint64_t least, uint64_t most, uint64_t other) {
  char* end = nullptr;
  const uint64_t n = std::strtoull(text.c_str(), &end, 10);
  return text.empty() || *end || n < least || n > most ? other : n;
}

}  // namespace

CompileCache CompileCache::of(const OptionTexts& options, const std::string& graph_name) {
  CompileCache cache;
  if (graph::KernelMeta::parse(options).debugging()) return cache;
  const std::string mode = value_of(options, {"ge.op_compiler_cache_mode", "op_compiler_cache_mode"});
  if (!mode.empty() && mode != "enable" && mode != "disable" && mode != "force")
    throw graph::OptionError("op_compiler_cache_mode", mode, "want enable, disable or force");
  cache.folder = value_of(options, {"ge.graph_compiler_cache_dir"});
  if (!cache.folder.empty()) {
    cache.key = value_of(options, {"ge.graph_key"});
    if (cache.key.empty()) cache.key = graph_name;
    return cache;
  }
  if (mode != "enable" && mode != "force") return cache;
  std::string folder = value_of(options, {"ge.op_compiler_cache_dir", "op_compiler_cache_dir"});
  if (folder.empty()) {
    const char* home = std::getenv("HOME");
    folder = std::string(home ? home : ".") + "/atc_data";
  }
  cache.limits = folder;
  cache.folder = folder + "/kernel_cache";
  cache.key = graph_name;
  cache.clear = mode == "force";
  return cache;
}

CacheLimits CacheLimits::of(const std::string& folder) {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  constexpr uint64_t kMost = 1U << 30;
  CacheLimits limits;
  limits.megabytes = number_or(variable("ASCEND_MAX_OP_CACHE_SIZE"), 1, kMost, limits.megabytes);
  limits.remain_percent =
      static_cast<unsigned>(number_or(variable("ASCEND_REMAIN_CACHE_SIZE_RATIO"), 1, 100, limits.remain_percent));
  std::ifstream file(folder + "/op_cache.ini");
  uint64_t megabytes = 0, percent = 0;
  for (std::string line; std::getline(file, line);) {
    std::erase_if(line, [](unsigned char c) { return std::isspace(c); });
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "ascend_max_op_cache_size") megabytes = number_or(value, 1, kMost, 0);
    if (name == "ascend_remain_cache_size_ratio") percent = number_or(value, 1, 100, 0);
  }
  return megabytes && percent ? CacheLimits{megabytes, static_cast<unsigned>(percent)} : limits;
}

std::string compile_key(const graph::Model& model, const OptionTexts& options) {
  graph::WeightBytes weights;
  std::string all = build_id();
  all += '\n' + sha_hex(graph::write_model(model, &weights));
  for (const Bytes& part : weights.parts) all += '\n' + checksum(part.span());
  std::set<std::string> groups;
  for (const auto& node : model.graph->nodes())
    if (graph::is_collective(*node)) groups.insert(graph::find_or(node->attributes, "group", std::string()));
  for (const std::string& group : groups)
    all += fmt::format("\ngroup {}: {}", group, graph::collective_strategy(group));
  for (const auto& [name, value] : options) {
    if (is_place(name)) continue;
    all += fmt::format("\n{}={}", name, value);
    std::error_code error;
    if (!value.empty() && fs::is_regular_file(value, error) && fs::file_size(value, error) > 0)
      all += '\n' + checksum(Bytes::of_file(value).span());
  }
  return sha_hex(all);
}

graph::Model compile_cached(const graph::Model& model, const OptionTexts& options, graph::CompileReport* wanted_report,
                            uint32_t graph_id, bool* hit) {
  graph::CompileReport own;
  graph::CompileReport& report = wanted_report ? *wanted_report : own;
  if (hit) *hit = false;
  const CompileCache cache = CompileCache::of(options, model.graph->name());
  if (!cache.enabled()) return graph::compile(model, options, &report, graph_id);
  graph::check_options(options);
  const bool there = make_folders(cache.folder, 0755);
  const Files files(cache);
  if (there && cache.clear) files.clear();
  const std::string hash = compile_key(model, options);
  if (auto found = there ? files.find(hash, report) : std::nullopt) {
    UPDRAFT_LOG(kInfo, "GE", "graph {} is taken from {}", model.graph->name(), cache.folder);
    graph::GraphDump(graph_id).stage(*found, graph::GraphDump::kLast);
    if (hit) *hit = true;
    return std::move(*found);
  }
  graph::Model compiled = graph::compile(model, options, &report, graph_id);
  if (!there || !files.store(hash, compiled, report)) {
    report.notes.push_back(fmt::format("{} cannot be written: the compiled graph is not kept", cache.folder));
    UPDRAFT_LOG(kWarning, "GE", "{}", report.notes.back());
  }
  return compiled;
}

}  // namespace updraft::om
