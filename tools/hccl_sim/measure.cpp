#include "hccl_sim/measure.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "collective/error.h"

namespace hccl_sim {
namespace {

using updraft::Error;
namespace result = updraft::collective::result;

/// What else the machine does only makes times longer: of so many the shortest counts.
constexpr int kTurns = 5;

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

}  // namespace

std::vector<Measurement> measure(const std::vector<int>& ranks) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "hccl_test";
  if (error || !std::filesystem::exists(program, error))
    throw Error(result::kOpenFile,
                "--measure wants the program {}, which is not there: measure with hccl_test elsewhere and write "
                "operation,ranks,bytes,us into a CSV file",
                program.string());
  std::vector<Measurement> all;
  for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::Broadcast}) {
    for (const int n : ranks) {
      const std::string command = fmt::format("{} {} -p {} -b 1K -e 16M -f 4 -n 20 -w 5 -c 0 2>&1",
                                              quoted(program.string()), hccl_test_name(kind), n);
      std::vector<Measurement> fastest;
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto found = parse_hccl_test(output_of(command), kind, n);
        if (found.empty() || (turn > 0 && found.size() != fastest.size()))
          throw Error(result::kInternal, "\"{}\" gave {} times, wanted {}", command, found.size(), fastest.size());
        if (turn == 0) fastest = found;
        for (size_t i = 0; i < found.size(); ++i) fastest[i].seconds = std::min(fastest[i].seconds, found[i].seconds);
      }
      all.insert(all.end(), fastest.begin(), fastest.end());
      std::fputs(fmt::format("{} on {} ranks\n", hccl_test_name(kind), n).c_str(), stderr);
    }
  }
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
