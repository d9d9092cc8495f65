#include "observe/profiling/export/profile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "base/error.h"
#include "base/json_text.h"

namespace updraft::profiling {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

template <class T>
bool take(std::string_view payload, T& record, std::string_view* tail = nullptr) {
  if (payload.size() < sizeof(T)) return false;
  std::memcpy(&record, payload.data(), sizeof(T));
  if (tail) *tail = payload.substr(sizeof(T));
  return true;
}

bool add(Kind kind, std::string_view payload, Profile& p) {
  std::string_view tail;
  switch (kind) {
    case Kind::Text: {
      TextRecord r;
      if (!take(payload, r, &tail)) return false;
      p.texts.try_emplace(r.id, tail);
      return true;
    }
    case Kind::Call: return take(payload, p.calls.emplace_back()) || (p.calls.pop_back(), false);
    case Kind::Task: return take(payload, p.tasks.emplace_back()) || (p.tasks.pop_back(), false);
    case Kind::Memory: return take(payload, p.memory.emplace_back()) || (p.memory.pop_back(), false);
    case Kind::Marker: return take(payload, p.markers.emplace_back()) || (p.markers.pop_back(), false);
    case Kind::Step: return take(payload, p.steps.emplace_back()) || (p.steps.pop_back(), false);
    case Kind::HostSample: return take(payload, p.host_samples.emplace_back()) || (p.host_samples.pop_back(), false);
    case Kind::Report: {
      ReportRecord r;
      if (!take(payload, r, &tail) || r.what > static_cast<uint32_t>(ReportKind::Additional)) return false;
      p.reports.push_back({static_cast<ReportKind>(r.what), std::string(tail)});
      return true;
    }
    case Kind::Lost: {
      LostRecord r;
      if (!take(payload, r)) return false;
      p.lost += r.records;
      return true;
    }
  }
  return true;  // of a later version
}

// Records of a buffer; gives how many bytes were whole records.
size_t read_some(std::string_view bytes, Profile& profile, bool& damaged) {
  size_t at = 0;
  while (bytes.size() - at >= sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.bytes < sizeof(RecordHeader)) {
      damaged = true;
      return bytes.size();
    }
    if (bytes.size() - at < header.bytes) break;
    if (!add(static_cast<Kind>(header.kind), bytes.substr(at + sizeof header, header.bytes - sizeof header), profile))
      damaged = true;
    at += header.bytes;
  }
  return at;
}

bool good_header(std::string_view bytes) {
  FileHeader header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return !std::memcmp(header.magic, kMagic, sizeof kMagic) && header.version == kVersion;
}

void read_file(const fs::path& path, Profile& profile) {
  std::ifstream in(path, std::ios::binary);
  std::string block(4u << 20, '\0');
  size_t kept = 0;
  bool first = true, damaged = false;
  while (in) {
    in.read(block.data() + kept, static_cast<std::streamsize>(block.size() - kept));
    const size_t have = kept + static_cast<size_t>(in.gcount());
    size_t at = 0;
    if (first) {
      first = false;
      if (!good_header({block.data(), have})) {
        ++profile.damaged;
        return;
      }
      at = sizeof(FileHeader);
    }
    const size_t used = at + read_some({block.data() + at, have - at}, profile, damaged);
    kept = have - used;
    std::memmove(block.data(), block.data() + used, kept);
  }
  if (kept || damaged) ++profile.damaged;
}

Json json_of(const fs::path& path) {
  std::ifstream in(path);
  Json json = try_json(in);
  return json.is_object() ? json : Json::object();
}

uint64_t number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return 0;
  try {
    return found->is_string()   ? std::stoull(found->get<std::string>())
           : found->is_number() ? found->get<uint64_t>()
                                : 0;
  } catch (const std::exception&) { return 0; }
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

void read_facts(Profile& p) {
  const fs::path host = fs::path(p.folder) / "host";
  const Json start = json_of(host / "start_info"), info = json_of(host / "info.json"),
             sample = json_of(host / "sample.json");
  p.begin = number_of(start, "clockMonotonicRaw");
  p.wall_offset = static_cast<int64_t>(number_of(start, "collectionTimeBegin") * 1000) - static_cast<int64_t>(p.begin);
  p.process = static_cast<uint32_t>(number_of(info, "pid"));
  p.host = text_of(info, "hostname");
  p.host_id = text_of(info, "hostUid");
  p.soc = text_of(info, "soc");
  if (info.contains("rank_id") && info.at("rank_id").is_number_integer()) p.rank = info.at("rank_id").get<int>();
  p.metrics = text_of(sample, "aicMetrics");
  p.fp_point = text_of(sample, "fpPoint");
  p.bp_point = text_of(sample, "bpPoint");
  const auto unless_off = [&](const char* key) { return !sample.contains(key) || sample.at(key) != false; };
  p.collectives = unless_off("collectives");
  p.iterations = unless_off("iterations");
  p.switches = number_of(sample, "dataTypeConfig");
  p.io_frequency = static_cast<int>(number_of(sample, "ioFrequency"));
  p.interconnect_frequency = static_cast<int>(number_of(sample, "interconnectionFrequency"));
  if (sample.contains("remarks") && sample.at("remarks").is_array())
    for (const Json& remark : sample.at("remarks"))
      if (remark.is_string()) p.remarks.push_back(remark.get<std::string>());
}

int device_of(const std::string& name) {
  if (name.rfind("device_", 0) != 0 || name.size() < 8 || name.size() > 12) return -1;
  for (size_t i = 7; i < name.size(); ++i)
    if (name[i] < '0' || name[i] > '9') return -1;
  return std::stoi(name.substr(7));
}

// How many records of a kind fit into that many bytes: room is taken at once, so that nothing is copied while it grows.
template <class T>
void reserve(std::vector<T>& list, uint64_t bytes) {
  list.reserve(list.size() + bytes / (sizeof(T) + sizeof(RecordHeader)) + 1);
}

}  // namespace

void read_records(std::string_view bytes, Profile& profile) {
  if (!good_header(bytes)) {
    ++profile.damaged;
    return;
  }
  bytes.remove_prefix(sizeof(FileHeader));
  bool damaged = false;
  if (read_some(bytes, profile, damaged) != bytes.size() || damaged) ++profile.damaged;
}

void put_in_order(Profile& p) {
  std::erase_if(p.calls, [](const CallRecord& c) { return c.end < c.begin; });
  std::erase_if(p.tasks, [](const TaskRecord& t) { return t.ended < t.begun || t.device < 0 || t.device >= 1024; });
  std::erase_if(p.memory, [](const MemoryRecord& m) { return m.device < 0 || m.device >= 1024; });
  std::sort(p.calls.begin(), p.calls.end(), [](const CallRecord& a, const CallRecord& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.correlation < b.correlation;
  });
  std::sort(p.tasks.begin(), p.tasks.end(), [](const TaskRecord& a, const TaskRecord& b) {
    return a.device != b.device ? a.device < b.device : a.begun != b.begun ? a.begun < b.begun : a.id < b.id;
  });
  std::sort(p.memory.begin(), p.memory.end(), [](const MemoryRecord& a, const MemoryRecord& b) {
    return a.device != b.device ? a.device < b.device : a.time < b.time;
  });
  std::sort(p.markers.begin(), p.markers.end(), [](const MarkerRecord& a, const MarkerRecord& b) {
    return a.time != b.time ? a.time < b.time : a.what < b.what;
  });
  std::sort(p.steps.begin(), p.steps.end(), [](const StepRecord& a, const StepRecord& b) { return a.time < b.time; });
  std::sort(p.host_samples.begin(), p.host_samples.end(),
            [](const HostSampleRecord& a, const HostSampleRecord& b) { return a.time < b.time; });
  for (const TaskRecord& t : p.tasks)
    if (std::find(p.devices.begin(), p.devices.end(), t.device) == p.devices.end()) p.devices.push_back(t.device);
  std::sort(p.devices.begin(), p.devices.end());
}

bool is_profile(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(fs::path(folder) / "host" / "data", error);
}

std::vector<std::string> find_profiles(const std::string& folder) {
  std::error_code error;
  if (is_profile(folder)) return {folder};
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.rfind("PROF_", 0) == 0 && is_profile(entry.path())) found.push_back(entry.path());
  }
  if (error) throw Error(code::kAclInvalidFile, "the folder {} cannot be read: {}", folder, error.message());
  if (found.empty())
    throw Error(code::kAclInvalidFile, "{} holds no profile: want a folder PROF_*, or one with such folders in it",
                folder);
  std::sort(found.begin(), found.end());
  return found;
}

Profile read_profile(const std::string& folder) {
  if (!is_profile(folder)) throw Error(code::kAclInvalidFile, "{} is no profile: it has no host/data", folder);
  Profile p;
  p.folder = folder;
  read_facts(p);
  std::vector<fs::path> files;
  uint64_t host_bytes = 0, device_bytes = 0;
  const auto collect = [&](const fs::path& data, uint64_t& bytes) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(data, error)) {
      const std::string name = entry.path().filename();
      if (name.find(".slice_") == std::string::npos || !entry.is_regular_file(error)) continue;
      files.push_back(entry.path());
      if (name.rfind("texts", 0) != 0) bytes += entry.file_size(error);
    }
  };
  collect(fs::path(folder) / "host" / "data", host_bytes);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const int device = device_of(entry.path().filename());
    if (device < 0) continue;
    p.devices.push_back(device);
    collect(entry.path() / "data", device_bytes);
  }
  reserve(p.calls, host_bytes);
  reserve(p.tasks, device_bytes);
  for (const fs::path& file : files) read_file(file, p);
  put_in_order(p);
  return p;
}

std::vector<MarkedSpan> marked_spans(const Profile& profile) {
  std::vector<MarkedSpan> spans;
  std::unordered_map<uint64_t, const MarkerRecord*> open;
  for (const MarkerRecord& m : profile.markers) {
    if (m.what == static_cast<uint32_t>(MarkerKind::Begin)) {
      open[m.range] = &m;
    } else if (m.what != static_cast<uint32_t>(MarkerKind::End)) {
      spans.push_back({&m, &m});
    } else if (const auto found = open.find(m.range); found != open.end()) {
      spans.push_back({found->second, &m});
      open.erase(found);
    }
  }
  return spans;
}

}  // namespace updraft::profiling
