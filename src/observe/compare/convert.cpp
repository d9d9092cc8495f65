#include "observe/compare/convert.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/wall_clock.h"
#include "observe/compare/formats.h"
#include "observe/compare/measures.h"
#include "observe/compare/npy.h"
#include "observe/compare/pt_file.h"
#include "observe/compare/result_files.h"
#include "observe/compare/side.h"
#include "observe/dump/file_writer.h"
#include "observe/dump/names.h"
#include "observe/overflow/opdebug.h"

namespace updraft::compare {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& from) {
  std::vector<std::string> files;
  for (size_t begin = 0; begin <= from.size();) {
    const size_t end = std::min(from.find(',', begin), from.size());
    const std::string path = from.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    std::error_code error;
    if (fs::is_directory(path, error)) {
      for (const auto& entry : fs::directory_iterator(path, error)) {
        const std::string name = entry.path().filename().string();
        if (entry.is_regular_file(error) && name != "mapping.csv" && entry.path().extension() != ".csv")
          files.push_back(entry.path().string());
      }
      if (files.empty()) throw Error(code::kAclInvalidFile, "{}: the folder has no files", path);
    } else if (fs::is_regular_file(path, error)) {
      files.push_back(path);
    } else {
      throw Error(code::kAclInvalidFile, "{}: there is no such file or folder", path);
    }
  }
  std::ranges::sort(files);
  return files;
}

std::string shape_name(const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : "_") + std::to_string(d);
  return text;
}

/// A file name of a folder, long ones as a number that mapping.csv explains.
std::string fitting(const std::string& folder, const std::string& name, const std::string& extension) {
  bool is_long = false;
  std::string stem = dump::name_on_disk(name + extension, &is_long);
  if (!is_long) return folder + "/" + stem;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  stem += extension;
  if (std::FILE* mapping = std::fopen((folder + "/mapping.csv").c_str(), "a")) {
    std::fprintf(mapping, "%s,%s%s\n", stem.c_str(), name.c_str(), extension.c_str());
    std::fclose(mapping);
  }
  return folder + "/" + stem;
}

void write_array(const ConvertOptions& options, const Array& array, const std::string& stem, const DumpName& name,
                 const char* side, int index) {
  const std::string at = fmt::format("{}.{}.{}", stem, side, index);
  if (options.type == "pt") return write_file(fitting(options.output, at, ".pt"), write_pt(array));
  if (options.type == "msnpy")
    return write_file(fitting(options.output,
                              fmt::format("{}.{}.{}.{}.{}.{}.{}.{}", name.type, name.op, name.task, name.stream,
                                          name.time, side, index, format_name(array.format)),
                              ".npy"),
                      write_npy(array));
  if (options.type == "bin") {
    const std::string_view bytes(reinterpret_cast<const char*>(array.data.data()),
                                 static_cast<size_t>(array.count()) * dump::type_size(array.type));
    return write_file(fitting(options.output,
                              fmt::format("{}.{}.{}.{}", at, shape_name(array.dims), dump::type_name(array.type),
                                          format_name(array.format)),
                              ".bin"),
                      bytes);
  }
  if (!options.format.empty())
    return write_file(
        fitting(options.output, fmt::format("{}.{}.{}", at, shape_name(array.dims), options.format), ".npy"),
        write_npy(array));
  write_file(fitting(options.output, at, ".npy"), write_npy(array));
}

void convert_file(const ConvertOptions& options, const std::string& path) {
  const std::string stem = fs::path(path).filename().string();
  DumpName name;
  const auto mapping = read_mapping(fs::path(path).parent_path().string());
  const auto mapped = mapping.find(stem);
  const std::string& full = mapped == mapping.end() ? stem : mapped->second;
  parse_dump_name(full, name);
  const Dump dump = read_dump(path);
  if (full.starts_with("Opdebug.Node_OpDebug.")) {
    for (size_t i = 0; i < dump.outputs.size(); ++i)
      write_file(fmt::format("{}/{}.output.{}.json", options.output, full, i),
                 overflow::opdebug_json(dump.outputs[i].data));
    return;
  }
  const bool one = options.input || options.output_index;
  for (const bool output : {false, true}) {
    const auto& arrays = output ? dump.outputs : dump.inputs;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const auto index = static_cast<int>(i);
      if (one && (output ? options.output_index != index : options.input != index)) continue;
      if (options.format.empty()) write_array(options, arrays[i], full, name, output ? "output" : "input", index);
      else
        write_array(options, to_format(arrays[i], format_number(options.format), options.shape), full, name,
                    output ? "output" : "input", index);
    }
  }
}

void make_output(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder, error))
    throw Error(code::kAclInvalidFile, "-out is {}: the folder cannot be made", folder);
}

/// "[Shape: (4608, 3072)] [Dtype: float16] [Max: 65500.0] [Min: -2294.0] [Mean: -1.586]".
std::string summary(const Array& array) {
  std::string shape;
  for (int64_t d : array.dims) shape += (shape.empty() ? "" : ", ") + std::to_string(d);
  if (array.dims.size() == 1) shape += ",";
  float max = -std::numeric_limits<float>::infinity(), min = std::numeric_limits<float>::infinity();
  double sum = 0;
  std::vector<float> block(8192);
  const int64_t count = array.count();
  for (int64_t i = 0; i < count; i += 8192) {
    const auto n = static_cast<size_t>(std::min<int64_t>(8192, count - i));
    array.to_floats(i, {block.data(), n});
    for (size_t k = 0; k < n; ++k) {
      max = block[k] != block[k] || max != max ? std::numeric_limits<float>::quiet_NaN() : std::max(max, block[k]);
      min = block[k] != block[k] || min != min ? std::numeric_limits<float>::quiet_NaN() : std::min(min, block[k]);
      sum += static_cast<double>(block[k]);
    }
  }
  return fmt::format("[Shape: ({})] [Dtype: {}] [Max: {}] [Min: {}] [Mean: {}]", shape, dump::type_name(array.type),
                     max, min, sum / static_cast<double>(std::max<int64_t>(count, 1)));
}

}  // namespace

int convert(const ConvertOptions& options) {
  if (!options.format.empty() && format_number(options.format) < 0)
    throw Error(code::kAclInvalidParam, "-f is {}, want NCHW, NHWC, ND, HWCN, NCDHW or NDHWC", options.format);
  make_output(options.output);
  const auto files = files_of(options.from);
  std::atomic<size_t> next{0};
  std::atomic<int> failed{0}, done{0};
  std::mutex mutex;
  auto work = [&] {
    for (size_t i; (i = next++) < files.size();) {
      try {
        convert_file(options, files[i]);
        ++done;
      } catch (const std::exception& e) {
        ++failed;
        std::lock_guard lock(mutex);
        std::fprintf(stderr, "msaccucmp: %s is not converted: %s\n", files[i].c_str(), e.what());
      }
    }
  };
  const int threads =
      options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> team;
  for (int t = 1; t < std::min<int>(threads, static_cast<int>(files.size())); ++t) team.emplace_back(work);
  work();
  for (std::thread& one : team) one.join();
  std::printf("%d of %zu files converted into %s\n", done.load(), files.size(), options.output.c_str());
  return failed;
}

int report_overflows(const OverflowOptions& options) {
  make_output(options.output);
  std::vector<std::pair<uint64_t, std::string>> found;  // by time
  std::error_code error;
  if (!fs::is_directory(options.from, error))
    throw Error(code::kAclInvalidFile, "-d is {}: there is no such folder", options.from);
  for (const auto& entry : fs::recursive_directory_iterator(options.from, error)) {
    const std::string name = entry.path().filename().string();
    DumpName parts;
    if (entry.is_regular_file(error) && name.starts_with("Opdebug.Node_OpDebug.") && parse_dump_name(name, parts))
      found.emplace_back(parts.time, entry.path().string());
  }
  std::ranges::sort(found);
  if (found.empty()) {
    std::printf("No operator overflowed: there is no file Opdebug.Node_OpDebug.* in %s\n", options.from.c_str());
    return 0;
  }
  std::printf("%zu operators overflowed; the first %d:\n", found.size(),
              std::min<int>(options.top, static_cast<int>(found.size())));
  std::string text;
  for (int i = 0; i < std::min<int>(options.top, static_cast<int>(found.size())); ++i) {
    const std::string& path = found[static_cast<size_t>(i)].second;
    const Dump debug = read_dump(path);
    text += fmt::format(
        "================================================[{}]================================================\n",
        i + 1);
    overflow::DebugInfo info;
    for (const Array& output : debug.outputs) info = overflow::read_opdebug(output.data);
    const std::string folder = fs::path(path).parent_path().string();
    std::string match;
    DumpName parts, matched;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (!parse_dump_name(name, parts) || parts.type == "Opdebug" || parts.task != info.task ||
          parts.stream != info.stream)
        continue;
      if (match.empty() || parts.time < matched.time) match = entry.path().string(), matched = parts;
    }
    if (!match.empty()) text += fmt::format("[{}] {}\n", matched.type, matched.op);
    text += fmt::format(" [{}][TaskId:{}][StreamId:{}][Status:{}]\n [timestamp:{}]\n", info.part, info.task,
                        info.stream, info.status, found[static_cast<size_t>(i)].first);
    if (match.empty()) {
      text += " the operator's own dump is not in the folder\n";
      continue;
    }
    ConvertOptions to;
    to.output = options.output;
    convert_file(to, match);
    const Dump dump = read_dump(match);
    const std::string stem = fs::path(match).filename().string();
    for (const bool output : {false, true}) {
      const auto& arrays = output ? dump.outputs : dump.inputs;
      for (size_t k = 0; k < arrays.size(); ++k)
        text += fmt::format(" {}.{}.{}.npy\n -[Format: {}] {}\n", stem, output ? "output" : "input", k,
                            format_name(arrays[k].format), summary(arrays[k]));
    }
  }
  std::fputs(text.c_str(), stdout);
  const std::string file = options.output + "/overflow_summary_" + wall_clock("%Y%m%d%H%M%S").text + ".txt";
  write_file(file, text);
  std::printf("written to %s\n", file.c_str());
  return static_cast<int>(found.size());
}

}  // namespace updraft::compare
