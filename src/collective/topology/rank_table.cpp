#include "collective/topology/rank_table.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "base/config.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/sha256.h"
#include "collective/error.h"
#include "collective/topology/product.h"
#include "collective/topology/text_file.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {

using Json = nlohmann::json;
constexpr size_t kMostBytes = 64 << 20;

std::string spelled(const Json& json) {
  // Not their contents: a value may be a million lists deep.
  if (json.is_array()) return fmt::format("a list of {}", json.size());
  if (json.is_object()) return fmt::format("an object of {}", json.size());
  return printable(json_text(json), 60);
}

[[noreturn]] void refuse(const std::string& name, const std::string& place, const std::string& wanted,
                         const std::string& got, const std::string& fix) {
  throw Error(result::kPara, "EI0004: {}: at {}: want {}, found {}. {}", name, place, printable(wanted, 500),
              printable(got, 500), fix);
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}
  RankTable read(const std::string& text);

 private:
  [[noreturn]] void refuse(
      const std::string& place, const std::string& wanted, const std::string& got,
      const std::string& fix = "Correct the rank table and give all processes the same one") const {
    collective::refuse(name_, place, wanted, got, fix);
  }
  [[noreturn]] void repeated(const std::string& place, const std::string& what, const std::string& value,
                             const std::string& before) const {
    refuse(place, what, fmt::format("\"{}\" again, which {} has", value, before));
  }

  Json parse(const std::string& text) const;
  const Json& member(const Json& object, const std::string& place, const char* key) const;
  const Json& list(const Json& object, const std::string& place, const char* key) const;
  int64_t number(const Json& value, const std::string& place, int64_t low, int64_t high, const char* what) const;
  int64_t number(const Json& object, const std::string& place, const char* key, int64_t low, int64_t high,
                 const char* what) const;
  void count(const Json& object, const std::string& place, const char* key, size_t found, const char* of) const;
  std::string text(const Json& object, const std::string& place, const char* key) const;

  void read_servers(const Json& root);
  void read_groups(const Json& root);
  void read_super_pods(const Json& root);
  void read_devices(const Json& owner, const std::string& place, const std::string& server, const std::string& pod);
  void check_ips() const;
  void number_pods();
  void sort_ranks();

  struct Found {
    RankEntry entry;
    std::string place;
    int64_t rank;
  };
  const std::string& name_;
  std::vector<Found> found_;
  RankTable table_;
};

Json Reader::parse(const std::string& text) const {
  try {
    return parse_json(text, true);  // comments are passed over: the guide's examples have them
  } catch (const Json::parse_error& e) {
    const size_t at = std::min(e.byte ? e.byte - 1 : 0, text.size());
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const size_t start = at ? text.rfind('\n', at - 1) : std::string::npos;
    const size_t column = start == std::string::npos ? at + 1 : at - start;
    const std::string what = e.what();
    const size_t start_of_reason = what.find("syntax error");  // what is before it says the place once more
    refuse(fmt::format("line {}, column {}", line, column), "JSON",
           printable(start_of_reason == std::string::npos ? what : what.substr(start_of_reason), 200),
           "Check commas, quotation marks and brackets");
  }
}

const Json& Reader::member(const Json& object, const std::string& place, const char* key) const {
  if (!object.is_object()) refuse(place, "an object {…}", spelled(object));
  const auto it = object.find(key);
  if (it == object.end()) refuse(place + "." + key, "a value", "nothing");
  return *it;
}

const Json& Reader::list(const Json& object, const std::string& place, const char* key) const {
  const Json& value = member(object, place, key);
  if (!value.is_array() || value.empty()) refuse(place + "." + key, "a list that is not empty", spelled(value));
  return value;
}

int64_t Reader::number(const Json& value, const std::string& place, int64_t low, int64_t high, const char* what) const {
  std::optional<int64_t> n;
  if (value.is_string()) n = parse_integer(trimmed(value.get_ref<const std::string&>()));
  else if (value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX) n = value.get<int64_t>();
  else if (value.is_number_integer() && !value.is_number_unsigned()) n = value.get<int64_t>();
  if (!n || *n < low || *n > high)
    refuse(place, fmt::format("{}, an integer in [{}, {}]", what, low, high), spelled(value));
  return *n;
}

int64_t Reader::number(const Json& object, const std::string& place, const char* key, int64_t low, int64_t high,
                       const char* what) const {
  return number(member(object, place, key), place + "." + key, low, high, what);
}

void Reader::count(const Json& object, const std::string& place, const char* key, size_t found, const char* of) const {
  const Json& value = member(object, place, key);
  if (number(value, place + "." + key, 0, std::numeric_limits<int64_t>::max(), of) != static_cast<int64_t>(found))
    refuse(place + "." + key, fmt::format("the {}, {}", of, found), spelled(value),
           fmt::format("Write \"{}\": \"{}\", or correct the list", key, found));
}

std::string Reader::text(const Json& object, const std::string& place, const char* key) const {
  const Json& value = member(object, place, key);
  std::string text;
  if (value.is_string()) text = trimmed(value.get_ref<const std::string&>());
  else if (value.is_number_integer()) text = json_text(value);
  if (text.empty()) refuse(place + "." + key, "a text that is not empty", spelled(value));
  return text;
}

void Reader::read_devices(const Json& owner, const std::string& place, const std::string& server,
                          const std::string& pod) {
  const int most = Config::get().installed - 1;
  if (!owner.is_object()) refuse(place, "an object {…}", spelled(owner));
  // Template 1 says device, the old one devices; the guide's remarks on template 1 say devices as well.
  const char* key = owner.contains("device") || (!owner.contains("devices") && pod.empty()) ? "device" : "devices";
  const Json& devices = list(owner, place, key);
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string here = fmt::format("{}.{}[{}]", place, key, i);
    const Json& device = devices[i];
    Found f;
    f.place = here;
    f.entry.server = server;
    f.entry.pod = pod;
    const Json& id = member(device, here, "device_id");
    const int64_t n = number(id, here + ".device_id", 0, std::numeric_limits<int32_t>::max(), "a device of the server");
    if (n > most)
      refuse(here + ".device_id", fmt::format("a device of the server, 0 to {}", most), spelled(id),
             fmt::format("Correct it, or set UPDRAFT_DEVICES to at least {}", n + 1));
    f.entry.device = static_cast<int>(n);
    if (const auto ip = device.find("device_ip"); ip != device.end() && !ip->is_null()) {
      const std::string written = ip->is_string() ? std::string(trimmed(ip->get_ref<const std::string&>())) : "?";
      if (!written.empty()) {
        const auto address = parse_ip(written);
        if (!address) refuse(here + ".device_ip", "a numeric IP address such as 192.168.1.8", spelled(*ip));
        f.entry.device_ip = *address;
      }
    }
    if (table_.version == "1.2") f.entry.super_device = text(device, here, "super_device_id");
    // Its range is known when all devices are.
    f.rank =
        table_.version.empty() ? -1 : number(device, here, "rank_id", 0, std::numeric_limits<int32_t>::max(), "a rank");
    found_.push_back(std::move(f));
  }
}

void Reader::read_servers(const Json& root) {
  const Json& servers = list(root, "$", "server_list");
  count(root, "$", "server_count", servers.size(), "length of server_list");
  std::map<std::string, std::string> seen;
  for (size_t i = 0; i < servers.size(); ++i) {
    const std::string place = fmt::format("$.server_list[{}]", i);
    const std::string server = text(servers[i], place, "server_id");
    auto [before, is_new] = seen.emplace(server, place);
    if (!is_new) repeated(place + ".server_id", "each server once", server, before->second);
    read_devices(servers[i], place, server, "");
  }
}

void Reader::read_super_pods(const Json& root) {
  const Json& pods = list(root, "$", "super_pod_list");
  std::map<std::string, std::string> ids, pod_of, place_of;
  for (size_t i = 0; i < pods.size(); ++i) {
    const std::string place = fmt::format("$.super_pod_list[{}]", i);
    const std::string id = text(pods[i], place, "super_pod_id");
    auto [before, is_new] = ids.emplace(id, place);
    if (!is_new) repeated(place + ".super_pod_id", "each super pod once", id, before->second);
    const Json& servers = list(pods[i], place, "server_list");
    for (size_t j = 0; j < servers.size(); ++j) {
      const std::string here = fmt::format("{}.server_list[{}]", place, j);
      const std::string server = text(servers[j], here, "server_id");
      auto [other, first] = place_of.emplace(server, here);
      if (!first) repeated(here + ".server_id", "each server in one super pod", server, other->second);
      pod_of[server] = id;
      if (std::none_of(found_.begin(), found_.end(), [&](const Found& f) { return f.entry.server == server; }))
        refuse(here + ".server_id", "a server_id of $.server_list", "\"" + server + "\"");
    }
  }
  std::map<std::pair<std::string, std::string>, std::string> devices;
  for (Found& f : found_) {
    const auto pod = pod_of.find(f.entry.server);
    if (pod == pod_of.end())
      refuse("$.super_pod_list", fmt::format("server {} in one of the super pods", f.entry.server), "it in none");
    f.entry.super_pod = pod->second;
    auto [before, is_new] = devices.emplace(std::pair(pod->second, f.entry.super_device), f.place);
    if (!is_new)
      repeated(f.place + ".super_device_id", "each device of a super pod once", f.entry.super_device, before->second);
  }
}

void Reader::read_groups(const Json& root) {
  const Json& groups = list(root, "$", "group_list");
  count(root, "$", "group_count", groups.size(), "length of group_list");
  std::map<std::string, std::string> pods;  // the groups are merged: names are unique in all of them
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::string group = fmt::format("$.group_list[{}]", g);
    const Json& instances = list(groups[g], group, "instance_list");
    count(groups[g], group, "instance_count", instances.size(), "length of instance_list");
    const size_t before = found_.size();
    for (size_t i = 0; i < instances.size(); ++i) {
      const std::string place = fmt::format("{}.instance_list[{}]", group, i);
      const std::string pod = text(instances[i], place, "pod_name");
      auto [other, is_new] = pods.emplace(pod, place);
      if (!is_new) repeated(place + ".pod_name", "each pod once", pod, other->second);
      read_devices(instances[i], place, text(instances[i], place, "server_id"), pod);
    }
    count(groups[g], group, "device_count", found_.size() - before, "number of devices in instance_list");
  }
}

void Reader::check_ips() const {
  std::map<std::pair<std::string, int>, std::string> devices;
  std::map<std::string, std::string> ips;
  std::set<std::string> servers;
  for (const Found& f : found_) {
    servers.insert(f.entry.server);
    auto [before, is_new] = devices.emplace(std::pair(f.entry.server, f.entry.device), f.place);
    if (!is_new)
      repeated(f.place + ".device_id", fmt::format("each device of server {} once", f.entry.server),
               std::to_string(f.entry.device), before->second);
    if (f.entry.device_ip.empty()) continue;
    auto [other, first] = ips.emplace(f.entry.device_ip, f.place);
    if (!first) repeated(f.place + ".device_ip", "each address once", f.entry.device_ip, other->second);
  }
  if (servers.size() < 2) return;
  for (const Found& f : found_)
    if (f.entry.device_ip.empty())
      refuse(f.place + ".device_ip", "an address, as there is more than one server", "none",
             "Write the device's IP address (only the devices of a single server can do without)");
}

/// The old template has no rank_id.
void Reader::number_pods() {
  const int64_t n = static_cast<int64_t>(found_.size());
  std::set<int64_t> numbers;
  for (const Found& f : found_)
    if (const auto number = parse_integer(f.entry.pod); number && *number >= 0 && *number < n) numbers.insert(*number);
  const bool all = numbers.size() == found_.size();
  for (size_t i = 0; i < found_.size(); ++i)
    found_[i].rank = all ? *parse_integer(found_[i].entry.pod) : static_cast<int64_t>(i);
}

void Reader::sort_ranks() {
  const int64_t n = static_cast<int64_t>(found_.size());
  std::map<int64_t, std::string> seen;
  for (Found& f : found_) {
    if (f.rank >= n)
      refuse(f.place + ".rank_id", fmt::format("a rank in [0, {}], as there are {} devices", n - 1, n),
             std::to_string(f.rank), "Number the devices 0, 1, 2, … without gaps");
    auto [before, is_new] = seen.emplace(f.rank, f.place);
    if (!is_new) repeated(f.place + ".rank_id", "each rank once", std::to_string(f.rank), before->second);
    f.entry.rank = static_cast<uint32_t>(f.rank);
    table_.ranks.push_back(std::move(f.entry));
  }
  std::sort(table_.ranks.begin(), table_.ranks.end(),
            [](const RankEntry& a, const RankEntry& b) { return a.rank < b.rank; });
}

/// FNV-1a, 128 bits.
std::string digest_of(const RankTable& table) {
  __extension__ typedef unsigned __int128 Wide;
  constexpr Wide prime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  const auto add = [&](const std::string& field) {
    for (const std::string& part : {std::to_string(field.size()) + ":", field})
      for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  };
  add(table.version);
  for (const RankEntry& e : table.ranks)
    for (const std::string& field :
         {std::to_string(e.rank), e.server, e.pod, std::to_string(e.device), e.device_ip, e.super_pod, e.super_device})
      add(field);
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash));
}

RankTable Reader::read(const std::string& text) {
  const Json root = parse(text);
  if (!root.is_object()) refuse("$", "an object {…}", spelled(root));
  const Json& status = member(root, "$", "status");
  if (status == "initializing") {
    table_.status = "initializing";
    return table_;
  }
  if (status != "completed") refuse("$.status", "\"completed\" or \"initializing\"", spelled(status));
  table_.status = "completed";
  const bool old = root.contains("group_list");
  if (old && root.contains("server_list")) refuse("$", "either server_list or group_list (the old template)", "both");
  if (old) {
    read_groups(root);
    number_pods();
  } else {
    const Json& version = member(root, "$", "version");
    if (version == "1.0" || version == 1.0) table_.version = "1.0";
    else if (version == "1.2" || version == 1.2) table_.version = "1.2";
    else refuse("$.version", "\"1.0\" or \"1.2\"", spelled(version));
    read_servers(root);
  }
  check_ips();
  if (table_.version == "1.2") read_super_pods(root);
  sort_ranks();
  table_.digest = digest_of(table_);
  return table_;
}

}  // namespace

RankTable parse_rank_table(const std::string& json, const std::string& name) {
  RankTable table = Reader(name).read(json);
  if (table.status == "completed" && Config::get().card_fidelity) check_card_limits(table, soc(), name);
  return table;
}

void check_card_limits(const RankTable& table, const SocProfile& product, const std::string& name) {
  const ProductLimits limits = limits_of(product);
  const std::string fix = "Change the table, choose another product (UPDRAFT_SOC), or unset UPDRAFT_FIDELITY";
  const char* list = table.version.empty() ? "$.group_list" : "$.server_list";
  if (table.version.empty() && !limits.old_template)
    refuse(name, "$", fmt::format("a server_list for {}", limits.family), "group_list (the old template)", fix);
  std::map<std::string, std::vector<int>> servers;
  for (const RankEntry& e : table.ranks) servers[e.server].push_back(e.device);
  if (servers.size() > static_cast<size_t>(limits.servers))
    refuse(name, list, fmt::format("at most {} servers for {}", limits.servers, limits.family),
           std::to_string(servers.size()), fix);
  const size_t each = servers.begin()->second.size();
  for (const auto& [server, devices] : servers) {
    const size_t n = devices.size();
    const bool allowed =
        limits.two_nets ? n == 1 || n == 2 || n == 4 || n == 8 : n <= static_cast<size_t>(limits.cards);
    const std::string of_server = fmt::format(" on server {}", server);
    if (!allowed)
      refuse(name, list,
             limits.two_nets ? fmt::format("1, 2, 4 or 8 devices a server for {}", limits.family)
                             : fmt::format("at most {} devices a server for {}", limits.cards, limits.family),
             std::to_string(n) + of_server, fix);
    if (n != each)
      refuse(name, list, fmt::format("as many devices on every server, {}", each), std::to_string(n) + of_server, fix);
    for (const int device : devices) {
      if (device >= limits.cards)
        refuse(name, list, fmt::format("devices 0 to {} for {}", limits.cards - 1, limits.family),
               std::to_string(device) + of_server, fix);
      if (limits.two_nets && n < 8 && device / 4 != devices.front() / 4)
        refuse(name, list, fmt::format("devices of one net, 0 to 3 or 4 to 7, for {}", limits.family),
               fmt::format("{} and {}{}", devices.front(), device, of_server), fix);
    }
  }
}

RankTable read_rank_table(const std::string& path, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const std::string name = "rank table " + printable(path);
  bool waiting = false;
  for (;;) {
    const bool last = passed() >= timeout_s;
    const TextFile file = read_text_file(path, kMostBytes);
    // Whoever writes the table may be in the middle of it; a table that never was initializing is refused at once.
    if (!file.problem.empty()) {
      if (!waiting || last)
        throw Error(result::kOpenFile,
                    "EI0004: {}: want a file that can be read, but: {}. Correct RANK_TABLE_FILE, or write the file "
                    "where this process can read it",
                    name, file.problem);
    } else {
      try {
        RankTable table = parse_rank_table(file.text, name);
        if (table.status == "completed") return table;
        if (!waiting) UPDRAFT_LOG(kInfo, "HCCL", "{} is initializing: waiting {} s at most", name, timeout_s);
      } catch (const Error&) {
        if (!waiting || last || !try_json(file.text, true).is_discarded()) throw;
      }
      if (last)
        throw Error(result::kTimeout,
                    "EI0004: {}: at $.status: want \"completed\", found \"initializing\" for {} s. Look after the job "
                    "scheduler that writes the table, or raise HCCL_CONNECT_TIMEOUT",
                    name, timeout_s);
    }
    waiting = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(timeout_s - passed(), 0.001, 0.05)));
  }
}

}  // namespace updraft::collective
