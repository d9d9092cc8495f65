#include "observe/compare/side.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "observe/dump/names.h"

namespace updraft::compare {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}
uint64_t number_of(const std::string& text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return isalnum(c) || c == '_' || c == '-'; });
}
bool is_array(const std::string& extension) {
  return extension == "npy" || extension == "pt" || extension == "pth" || extension == "bin";
}

/// Of so many parts, those of a dump file's name.
bool parse_dump_parts(const std::vector<std::string>& parts, size_t n, DumpName& to) {
  if (n < 4 || !is_name(parts[0]) || !is_name(parts[1])) return false;
  for (size_t i = 2; i < n; ++i)
    if (!is_number(parts[i])) return false;
  to.type = parts[0];
  to.op = parts[1];
  to.task = number_of(parts[2]);
  to.has_stream = n >= 5;
  to.stream = to.has_stream ? number_of(parts[3]) : 0;
  to.time = number_of(parts[to.has_stream ? 4 : 3]);
  return true;
}

}  // namespace

bool parse_dump_name(const std::string& name, DumpName& to) {
  const auto parts = parts_of(name);
  return parse_dump_parts(parts, parts.size(), to);
}

std::map<std::string, std::string> read_mapping(const std::string& folder) {
  std::map<std::string, std::string> names;
  std::ifstream in(folder + "/mapping.csv");
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const size_t comma = line.find(',');
    if (comma != std::string::npos) names[line.substr(0, comma)] = line.substr(comma + 1);
  }
  return names;
}

Side::Side(const std::string& folder) : folder_(folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw Error(code::kAclInvalidFile, "{}: there is no such folder", folder);
  const auto names = read_mapping(folder);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::string name = entry.path().filename().string();
    const auto mapped = names.find(name);
    add(mapped == names.end() ? name : mapped->second, entry.path().string());
  }
  if (operators_.empty())
    throw Error(
        code::kAclInvalidFile,
        "{}: no file in it is a dump (OpType.OpName.TaskId.StreamId.time) or an array (OpName.Index.time.npy, .pt "
        "or .bin); give the folder of a step, such as PATH/20261124183512/0/MODEL/1/0",
        folder);
}

void Side::add(const std::string& name, const std::string& path) {
  const auto parts = parts_of(name);
  DumpName dump;
  if (parse_dump_parts(parts, parts.size(), dump)) {
    npu_ = true;
    OperatorFiles& files = operators_[dump.op];
    if (!files.dump.empty() && files.time > dump.time) return;
    files.type = dump.type;
    files.dump = path;
    files.time = dump.time;
    return;
  }
  if (!is_array(parts.back())) return;
  // What was converted from a dump: its name, then "input" or "output" and the index.
  const auto side = std::ranges::find_if(parts, [](const std::string& p) { return p == "input" || p == "output"; });
  const auto at = static_cast<size_t>(side - parts.begin());
  if (side != parts.end() && at + 1 < parts.size() && is_number(parts[at + 1]) && parse_dump_parts(parts, at, dump)) {
    OperatorFiles& files = operators_[dump.op];
    if (files.time > dump.time) return;
    if (files.time < dump.time) files.inputs.clear(), files.outputs.clear();
    files.type = dump.type;
    files.time = dump.time;
    (*side == "input" ? files.inputs : files.outputs)[static_cast<int>(number_of(parts[at + 1]))] = path;
    return;
  }
  // A reference's output: names may have dots of their own.
  const size_t n = parts.size();
  if (n < 4 || !is_number(parts[n - 2]) || !is_number(parts[n - 3])) return;
  std::string op = parts[0];
  for (size_t i = 1; i + 3 < n; ++i) op += "_" + parts[i];
  OperatorFiles& files = operators_[op];
  const uint64_t time = number_of(parts[n - 2]);
  if (files.type.empty()) files.type = "NaN";
  std::string& slot = files.outputs[static_cast<int>(number_of(parts[n - 3]))];
  if (slot.empty() || files.time <= time) slot = path;
  files.time = std::max(files.time, time);
}

const OperatorFiles* Side::find(const std::string& op) const {
  const auto found = operators_.find(updraft::dump::clean(op));
  return found == operators_.end() ? nullptr : &found->second;
}

std::vector<std::string> Side::in_order() const {
  std::vector<std::string> names;
  for (const auto& [name, files] : operators_) names.push_back(name);
  std::ranges::stable_sort(names, {}, [&](const std::string& name) { return operators_.at(name).time; });
  return names;
}

Tensors Side::load(const OperatorFiles& files) const {
  Tensors made;
  if (!files.dump.empty()) {
    Dump dump = read_dump(files.dump);
    made.path = files.dump;
    for (size_t i = 0; i < dump.inputs.size(); ++i) made.inputs[static_cast<int>(i)] = std::move(dump.inputs[i]);
    for (size_t i = 0; i < dump.outputs.size(); ++i) made.outputs[static_cast<int>(i)] = std::move(dump.outputs[i]);
    return made;
  }
  for (const auto& [index, path] : files.inputs) made.inputs[index] = read_array(path);
  for (const auto& [index, path] : files.outputs) made.outputs[index] = read_array(path);
  made.path = !files.outputs.empty() ? files.outputs.begin()->second
              : files.inputs.empty() ? folder_
                                     : files.inputs.begin()->second;
  return made;
}

}  // namespace updraft::compare
