#include "observe/compare/detail.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/wall_clock.h"
#include "observe/compare/result_files.h"
#include "observe/dump/names.h"

namespace updraft::compare {
namespace {

struct Element {
  int64_t index;
  float mine, golden, absolute, relative;
};

/// Four numbers at least: "N C H W".
std::vector<int64_t> padded(std::vector<int64_t> dims) {
  while (dims.size() < 4) dims.push_back(1);
  return dims;
}

std::string place(int64_t index, const std::vector<int64_t>& dims) {
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    const int64_t size = std::max<int64_t>(dims[d], 1);
    text = std::to_string(index % size) + (text.empty() ? "" : " ") + text;
    index /= size;
  }
  return text;
}

std::string line(const Element& e, const std::vector<int64_t>& dims) {
  const std::string relative = std::isfinite(e.relative) ? fmt::format("{:.6f}\t", e.relative) : "-";
  return fmt::format("{},{},{:.6f}\t,{:.6f}\t,{:.6f}\t,{}\n", e.index, place(e.index, dims), e.mine, e.golden,
                     e.absolute, relative);
}

/// The elements with the greatest errors, the greatest first.
std::vector<Element> greatest(const std::vector<Element>& all, int n, float Element::*error) {
  std::vector<Element> found;
  for (const Element& e : all)
    if (std::isfinite(e.*error)) found.push_back(e);
  const auto k = std::min<size_t>(static_cast<size_t>(n), found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<ptrdiff_t>(k), found.end(),
                    [&](const Element& a, const Element& b) {
                      return a.*error != b.*error ? a.*error > b.*error : a.index > b.index;
                    });
  found.resize(k);
  return found;
}

}  // namespace

int compare_tensor(Comparison& of) {
  const Options& options = of.options();
  const bool output = !options.input;
  const int index = output ? options.output_index.value_or(0) : *options.input;
  const std::string wanted = fmt::format(":{}:{}", output ? "output" : "input", index);
  for (Pair& pair : of.pairs_of(options.op)) {
    if (!pair.line.tensor.ends_with(wanted)) continue;
    if (!pair.refusal.empty()) throw Error(code::kAclInvalidParam, "{}", pair.refusal);
    const int64_t count = pair.mine.count();
    if (count != pair.golden.count())
      throw Error(code::kAclInvalidParam, "{} has {} elements and the golden data {}", pair.line.tensor, count,
                  pair.golden.count());
    std::vector<float> x(static_cast<size_t>(count)), y(x.size());
    pair.mine.to_floats(0, x);
    pair.golden.to_floats(0, y);
    std::vector<Element> all(x.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const float d = std::fabs(x[i] - y[i]);
      all[i] = {static_cast<int64_t>(i), x[i], y[i], d, d / std::fabs(y[i])};
    }
    const std::string stem =
        fmt::format("{}/{}_{}_{}", options.output, dump::clean(options.op), output ? "output" : "input", index);
    const std::vector<int64_t> dims = padded(pair.mine.dims);
    const std::string head = "Index,N C H W,NPUDump,GroundTruth,AbsoluteError,RelativeError\n";
    if (!options.without_detail)
      for (size_t begin = 0; begin < all.size(); begin += static_cast<size_t>(options.lines)) {
        std::string text = head;
        for (size_t i = begin; i < std::min(all.size(), begin + static_cast<size_t>(options.lines)); ++i)
          text += line(all[i], dims);
        write_file(fmt::format("{}_{}.csv", stem, begin), text);
      }
    std::string summary = fmt::format("{}\nShape: {}\n", pair.line.tensor, shape_text(pair.mine.dims));
    for (const auto& [name, error] :
         {std::pair{"AbsoluteError", &Element::absolute}, {"RelativeError", &Element::relative}}) {
      float min = INFINITY, max = 0;
      for (const Element& e : all)
        if (std::isfinite(e.*error)) min = std::min(min, e.*error), max = std::max(max, e.*error);
      summary += fmt::format("Min{0}:{1:.6f}\nMax{0}:{2:.6f}\n", name, std::isfinite(min) ? min : 0.f, max);
    }
    Row row = measure(pair.mine, pair.golden, options.measures, pair.line.mine_path, pair.line.golden_path,
                      options.threads, options.most);
    add_custom(row, options, pair.mine, pair.golden, pair.line.mine_path, pair.line.golden_path);
    const std::vector<std::string> names = options.measure_names();
    for (size_t i = 0; i < row.cells.size(); ++i) summary += fmt::format("{}:{}\n", names[i], row.cells[i].text);
    write_file(stem + "_summary.txt", summary);
    std::fputs(summary.c_str(), stdout);
    for (const auto& [name, error] : {std::pair{"absolute", &Element::absolute}, {"relative", &Element::relative}}) {
      std::string text = head;
      for (const Element& e : greatest(all, options.top, error)) text += line(e, dims);
      write_file(fmt::format("{}_{}_error_topn.csv", stem, name), text);
      std::printf("\nTop %d by %s error:\n%s", options.top, name, text.c_str());
    }
    return 0;
  }
  throw Error(code::kAclInvalidParam, "{} has no {} {} on both sides", options.op, output ? "output" : "input", index);
}

int compare_files(const Options& options, const std::string& output) {
  const std::string &mine = options.mine, &golden = options.golden;
  const Array x = read_array(mine), y = read_array(golden);
  if (x.dims != y.dims)
    throw Error(code::kAclInvalidParam, "the shape in {} is {} and in {} {}", mine, shape_text(x.dims), golden,
                shape_text(y.dims));
  Row row = measure(x, y, options.measures, mine, golden,
                    static_cast<int>(std::max(1u, std::thread::hardware_concurrency())), options.most);
  add_custom(row, options, x, y, mine, golden);
  std::string text;
  const std::vector<std::string> names = options.measure_names();
  for (size_t i = 0; i < row.cells.size(); ++i) text += fmt::format("{}: {}\n", names[i], row.cells[i].text);
  std::fputs(text.c_str(), stdout);
  for (const std::string& reason : row.reasons) std::printf("%s\n", reason.c_str());
  if (output.empty()) return 0;
  const std::string file = output + "/file_result_" + wall_clock("%Y%m%d%H%M%S").text + ".txt";
  write_file(file, text);
  std::printf("written to %s\n", file.c_str());
  return 0;
}

}  // namespace updraft::compare
