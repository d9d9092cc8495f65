#include "hccl_sim/measure.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "collective/algorithm/schedule.h"
#include "collective/error.h"

namespace hccl_sim {
namespace {

using updraft::Error;
using updraft::collective::has_schedule;
using updraft::collective::name_of;
namespace result = updraft::collective::result;

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw Error(result::kInternal, "\"{}\" cannot be started", command);
  std::string output;
  std::array<char, 4096> part;
  for (size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) output.append(part.data(), n);
  const int status = pclose(pipe);
  if (status != 0)
    throw Error(result::kInternal, "\"{}\" ended with status {}: run it by itself to see why. It said: {}", command,
                WIFEXITED(status) ? WEXITSTATUS(status) : status, output);
  return output;
}

/// The first of 16 ports that somebody may listen on; of the loopback, the others' are not to be seen from here.
int free_ports() {
  for (int turn = 0; turn < 100; ++turn) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    const bool bound = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (fd >= 0) close(fd);
    if (bound && ntohs(address.sin_port) < 65000) return ntohs(address.sin_port);
  }
  throw Error(result::kInternal, "--measure: no port is free on this machine");
}

/// A rank table of so many servers; gone with its object.
class Table {
 public:
  Table(int ranks, const std::vector<Host>& hosts) {
    const int each = ranks / static_cast<int>(hosts.size());
    nlohmann::json servers = nlohmann::json::array();
    for (int s = 0, rank = 0; s < static_cast<int>(hosts.size()); ++s) {
      nlohmann::json devices = nlohmann::json::array();
      for (int c = 0; c < each; ++c)
        devices.push_back({{"device_id", std::to_string(c)},
                           {"device_ip", fmt::format("10.0.{}.{}", s, c + 1)},
                           {"rank_id", std::to_string(rank++)}});
      servers.push_back({{"server_id", hosts[static_cast<size_t>(s)].address}, {"device", std::move(devices)}});
    }
    path_ = (std::filesystem::temp_directory_path() / "hccl_sim-XXXXXX").string();
    const int fd = mkstemp(path_.data());
    if (fd < 0) throw Error(result::kOpenFile, "--measure: {} cannot be made: {}", path_, std::strerror(errno));
    close(fd);
    write_text(path_, nlohmann::json({{"status", "completed"},
                                      {"version", "1.0"},
                                      {"server_count", std::to_string(hosts.size())},
                                      {"server_list", std::move(servers)}})
                          .dump());
  }
  ~Table() { std::remove(path_.c_str()); }
  Table(const Table&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A shell's command that starts every rank on its server and ends with the status of one that failed, if any did.
std::string command_of(const std::string& test, int ranks, const std::vector<Host>& hosts, const Table& table,
                       const std::string& variables) {
  const int each = ranks / static_cast<int>(hosts.size());
  std::string all, wait;
  for (int r = ranks - 1; r >= 0; --r) {
    all +=
        fmt::format("{} env {} DEVICE_ID={} {} --rank-table {} --rank {} 2>&1 & p{}=$!\n",
                    hosts[static_cast<size_t>(r / each)].start, variables, r % each, test, quoted(table.path()), r, r);
    wait += fmt::format("wait $p{} || s=$?\n", r);
  }
  return "s=0\n" + all + wait + "exit $s";
}

}  // namespace

std::vector<Measurement> measure(const Measured& what) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "hccl_test";
  if (error || !std::filesystem::exists(program, error))
    throw Error(result::kOpenFile,
                "--measure wants the program {}, which is not there: measure with hccl_test elsewhere and write "
                "operation,ranks,bytes,us into a CSV file",
                program.string());
  std::vector<Measurement> all;
  for (const int servers : what.servers) {
    std::vector<Host> hosts = what.hosts;
    if (!hosts.empty() && static_cast<int>(hosts.size()) < servers)
      throw Error(result::kPara, "--measure: {} servers are asked for, {} are named by --host", servers, hosts.size());
    for (int s = static_cast<int>(hosts.size()); s < servers; ++s)
      hosts.push_back({fmt::format("127.0.0.{}", s + 1), ""});
    hosts.resize(static_cast<size_t>(servers));
    for (const int n : what.ranks) {
      if (n % servers != 0) continue;
      for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::Broadcast}) {
        if (servers > 1 && what.algorithm != Algorithm::Auto && !has_schedule(kind, what.algorithm)) continue;
        const std::string test =
            fmt::format("{} {} -b 1K -e 16M -f 4 -n 20 -w 5 -c 0", quoted(program.string()), hccl_test_name(kind));
        const std::string algorithm = what.algorithm == Algorithm::Auto
                                          ? ""
                                          : fmt::format("'HCCL_ALGO=level0:NA;level1:{}'", name_of(what.algorithm));
        const Measurement like{kind,
                               n,
                               servers,
                               servers > 1 ? what.algorithm : Algorithm::Auto,
                               0,
                               0,
                               static_cast<double>(std::thread::hardware_concurrency())};
        const Table table(n, hosts);
        std::vector<Measurement> fastest;
        for (int turn = 0; turn < what.turns; ++turn) {
          const std::string command =
              servers == 1 && what.hosts.empty()
                  ? fmt::format("{} -p {} 2>&1", test, n)
                  : command_of(test, n, hosts, table, fmt::format("HCCL_IF_BASE_PORT={} {}", free_ports(), algorithm));
          const auto found = parse_hccl_test(output_of(command), like);
          if (found.empty() || (turn > 0 && found.size() != fastest.size()))
            throw Error(result::kInternal, "\"{}\" gave {} times, wanted {}", command, found.size(), fastest.size());
          if (turn == 0) fastest = found;
          for (size_t i = 0; i < found.size(); ++i) fastest[i].seconds = std::min(fastest[i].seconds, found[i].seconds);
        }
        all.insert(all.end(), fastest.begin(), fastest.end());
        std::fputs(fmt::format("{} on {} ranks, {} server(s)\n", hccl_test_name(kind), n, servers).c_str(), stderr);
      }
    }
  }
  if (all.empty()) throw Error(result::kPara, "--measure: none of --ranks can be spread over --spread servers evenly");
  return all;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(result::kOpenFile, "{} cannot be read", path);
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Error(result::kOpenFile, "{} cannot be written: is there such a folder, and may you write to it?", path);
}

}  // namespace hccl_sim
