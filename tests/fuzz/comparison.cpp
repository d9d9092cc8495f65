// The texts that a comparison reads beside its arrays, in parts that a byte 0x1e ends: the graph of -f, the graph of
// -cf, the mapping.csv of both folders, -r or (behind a "s") -s, and the debug output of an overflow. What is refused
// is refused by a documented Error; what is taken gives a table, a page and advice.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "input.h"
#include "observe/compare/comparison.h"
#include "observe/compare/npy.h"
#include "observe/compare/result_files.h"
#include "observe/overflow/opdebug.h"

using namespace updraft;
using namespace updraft::compare;

namespace {

std::string bytes_of(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

/// The operators of the seeds' graphs: x is read by a, a by b; b is fused of b and c. Files named 0 to 3 are for the
/// mapping.
void make_sides() {
  const std::string mine = fuzz::folder() + "/mine", golden = fuzz::folder() + "/golden";
  std::filesystem::create_directories(mine);
  std::filesystem::create_directories(golden);
  int task = 0;
  for (const char* op : {"a", "b"}) {
    dump::FileHeader header;
    header.op_name = op;
    dump::FileTensor tensor;
    tensor.type = 1;
    tensor.dims = {2, 2};
    tensor.size = 16;
    header.inputs = {tensor};
    header.outputs = {tensor};
    const std::string file = dump::write_header(header) + bytes_of({1, 2, 3, 4}) + bytes_of({2, 0, -2, 5});
    ++task;
    write_file(mine + "/Relu." + op + "." + std::to_string(task) + ".0.100", file);
    write_file(mine + "/" + std::to_string(task), file);
  }
  for (const char* op : {"a", "b", "c"}) {
    const std::string file = npy_header("<f4", {2, 2}) + bytes_of({2, 0, -2, 4});
    write_file(golden + "/" + op + ".0.100.npy", file);
    write_file(golden + "/" + std::to_string(task++), file);
  }
}

void compare_with(const Options& options) {
  try {
    Comparison comparison(options);
    const std::vector<Line> lines = comparison.run();
    result_csv(comparison, lines);
    mapping_csv(comparison, lines);
    result_page(comparison, lines, 0.99);
    advice(comparison, lines);
    for (const std::string op : {"a", "b"}) comparison.pairs_of(op);
  } catch (const Error& e) {
    if (e.code() != code::kAclParseFile && e.code() != code::kAclInvalidParam && e.code() != code::kAclInvalidFile)
      fuzz::wrong(e.what(), e.code());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  [[maybe_unused]] static const bool made = (make_sides(), true);
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < size; ++i)
    if (data[i] == 0x1e && parts.size() < 5) parts.emplace_back();
    else parts.back() += static_cast<char>(data[i]);
  parts.resize(5);
  Options options;
  options.mine = fuzz::folder() + "/mine";
  options.golden = fuzz::folder() + "/golden";
  options.measures = {kCosineSimilarity, kRelativeEuclideanDistance};
  options.overflow = options.advisor = true;
  options.threads = 1;
  const auto file = [&](const std::string& name, const std::string& text) {
    write_file(fuzz::folder() + "/" + name, text);
    return fuzz::folder() + "/" + name;
  };
  if (!parts[0].empty()) options.rule = file("rule.json", parts[0]);
  if (!parts[1].empty()) options.unfused_rule = file("unfused.json", parts[1]);
  for (const char* side : {"mine", "golden"}) file(side + std::string("/mapping.csv"), parts[2]);
  if (parts[3].starts_with('s')) options.select = parts[3].substr(1);
  else options.range = parts[3];
  compare_with(options);
  try {
    overflow::opdebug_json(std::as_bytes(std::span(parts[4])));
  } catch (const Error& e) {
    if (e.code() != code::kAclParseFile) fuzz::wrong(e.what(), e.code());
  }
  return 0;
}
