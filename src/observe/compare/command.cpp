// The command `msaccucmp`: msaccucmp's commands and options.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/boundary.h"
#include "base/error.h"
#include "observe/compare/comparison.h"
#include "observe/compare/convert.h"
#include "observe/compare/detail.h"
#include "observe/compare/formats.h"
#include "observe/compare/result_files.h"

namespace updraft::compare {
namespace {

constexpr double kThreshold = 0.98;

constexpr const char* kUsage =
    R"(usage: msaccucmp compare -m MINE -g GOLDEN [options]     compare two folders of tensors, or two files
       msaccucmp convert -d DUMP [options]                turn dump files into npy, bin or pt
       msaccucmp overflow -d FOLDER -out FOLDER [-n N]    the operators that overflowed, the first first
       msaccucmp file_compare -m FILE -g FILE -out FOLDER compare two arrays

compare: a side is a folder of a dump's step, or of arrays (OpName.Index.time.npy, .pt, .bin), or both mixed
  -m, --my_dump_path PATH       what is judged
  -g, --golden_dump_path PATH   what it is compared with
  -f, --fusion_rule_file JSON   the graph of -m (atc --mode=5): which operators of the network each operator stands for
  -cf, --close_fusion_rule_file JSON   the graph without fusion, of -g
  -q, --quant_fusion_rule_file JSON    the graph of a quantised model
  -out, --output FOLDER         where result_TIME.csv and result_TIME.html go (default: here); made where it is missing
  -alg, --algorithm LIST        measures by number or name, by commas, or all (default)
  -c, --custom_script_path FOLDER   measures of your own, functions compare(mine, golden, args) in FOLDER/algorithm/
                                alg_NAME.py; -alg names them, too;  -a NAME:key=value;…  what they are given
  -r, --range START,END,STEP    those operators of -f alone;  -s, --select N,N… likewise; not both
  -overflow_detection           a column that says which float16 tensors overflow
  -advisor                      advisor_summary.txt: what to look at first (with -overflow_detection)
  -map, --mapping               which file is compared with which, in place of the comparison
  -max, --max_cmp_size N        the first N elements of a tensor alone
  -op, --op_name NAME           one operator, element by element: -o N | -i N (tensor, default -o 0), -n, --topn N
                                (default 20), -ml, --max_line N (of a csv, 10000 to 1000000), --ignore_single_op_result
  -v, --version 1|2             accepted: the version of the files is seen in them
convert
  -d, --dump_file PATH          a file, files by commas, or a folder
  -out, --output FOLDER   -t, --type npy|bin|msnpy|pt   -f, --format NCHW|NHWC|ND|HWCN|NCDHW|NDHWC
  -o N | -i N                   that tensor alone   -s, --shape N,N…   sizes without padding, for -f
)";

/// Options by their long names; those without a value are "1".
class Arguments {
 public:
  struct Known {
    const char *small, *large;  ///< "-m", "--my_dump_path"; large may be null
    bool value = true;
  };
  Arguments(int argc, const char* const* argv, std::vector<Known> known) : known_(std::move(known)) {
    for (int i = 0; i < argc; ++i) {
      std::string word = argv[i];
      std::optional<std::string> value;
      if (word.starts_with("--"))
        if (const size_t equals = word.find('='); equals != std::string::npos) {
          value = word.substr(equals + 1);
          word.resize(equals);
        }
      const Known* option = nullptr;
      for (const Known& one : known_)
        if (word == one.small || (one.large && word == one.large)) option = &one;
      if (!option) throw Error(code::kAclInvalidParam, "{} is not known here; msaccucmp -h lists the options", word);
      if (!option->value) {
        values_[option->small] = "1";
        continue;
      }
      if (!value) {
        if (i + 1 >= argc) throw Error(code::kAclInvalidParam, "{} wants a value", word);
        value = argv[++i];
        // msaccucmp takes several measures one after the other
        while (std::strcmp(option->small, "-alg") == 0 && i + 1 < argc && argv[i + 1][0] >= '0' &&
               argv[i + 1][0] <= '9')
          *value += std::string(",") + argv[++i];
      }
      values_[option->small] = *value;
    }
  }
  bool has(const char* name) const { return values_.contains(name); }
  std::string text(const char* name, const std::string& absent = "") const {
    const auto found = values_.find(name);
    return found == values_.end() ? absent : found->second;
  }
  std::string wanted(const char* name) const {
    const std::string value = text(name);
    if (value.empty()) throw Error(code::kAclInvalidParam, "{} is missing; msaccucmp -h lists the options", name);
    return value;
  }
  int number(const char* name, int absent, int least, int most) const {
    if (!has(name)) return absent;
    const std::string value = text(name);
    int n = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
    if (value.empty() || error != std::errc() || end != value.data() + value.size() || n < least || n > most)
      throw Error(code::kAclInvalidParam, "{} is {}, want {} to {}", name, value, least, most);
    return n;
  }
  std::optional<int> index(const char* name) const {
    return has(name) ? std::optional(number(name, 0, 0, 1 << 20)) : std::nullopt;
  }
  void want_beside(const char* name, const char* other) const {
    if (has(name) && !has(other)) throw Error(code::kAclInvalidParam, "{} has an effect beside {} only", name, other);
  }

 private:
  std::vector<Known> known_;
  std::map<std::string, std::string> values_;
};

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder, error))
    throw Error(code::kAclInvalidFile, "-out is {}: the folder cannot be made", folder);
}

/// -alg, among which those of -c may be; all is all of both.
void choose_measures(Options& options, const std::string& text, const std::string& folder, const std::string& values) {
  std::string rest = text;
  if (!folder.empty()) {
    options.custom = std::make_shared<CustomMeasures>(folder, values);
    const std::vector<std::string>& known = options.custom->names();
    if (text == "all") options.custom_names = known;
    rest.clear();
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      std::string word = text.substr(at, end - at);
      std::erase(word, ' ');
      at = end + 1;
      if (std::ranges::find(known, word) == known.end()) rest += (rest.empty() ? "" : ",") + word;
      else if (std::ranges::find(options.custom_names, word) == options.custom_names.end())
        options.custom_names.push_back(word);
    }
  }
  if (!rest.empty() || options.custom_names.empty()) options.measures = parse_measures(rest);
}

int run_compare(int argc, const char* const* argv) {
  const Arguments a(argc, argv,
                    {{"-m", "--my_dump_path"},
                     {"-g", "--golden_dump_path"},
                     {"-f", "--fusion_rule_file"},
                     {"-q", "--quant_fusion_rule_file"},
                     {"-cf", "--close_fusion_rule_file"},
                     {"-out", "--output"},
                     {"-c", "--custom_script_path"},
                     {"-a", "--algorithm_options"},
                     {"-alg", "--algorithm"},
                     {"-map", "--mapping", false},
                     {"-overflow_detection", nullptr, false},
                     {"-r", "--range"},
                     {"-s", "--select"},
                     {"-p", "--post_process"},
                     {"-max", "--max_cmp_size"},
                     {"-advisor", nullptr, false},
                     {"-v", "--version"},
                     {"-op", "--op_name"},
                     {"-o", "--output_tensor"},
                     {"-i", "--input_tensor"},
                     {"--ignore_single_op_result", nullptr, false},
                     {"-n", "--topn"},
                     {"-ml", "--max_line"},
                     {"-ffts", nullptr, false},
                     {"-threads", "--threads"}});
  if (!a.text("-p").empty())
    throw Error(code::kAclApiNotSupport,
                "-p is not implemented: it names Python of msaccucmp, which reads the same dumps (pip install "
                "mindstudio-probe)");
  Options options;
  options.mine = a.wanted("-m");
  options.golden = a.wanted("-g");
  options.rule = a.text("-f");
  options.quantised_rule = a.text("-q");
  options.unfused_rule = a.text("-cf");
  options.output = a.text("-out", ".");
  choose_measures(options, a.text("-alg", "all"), a.text("-c"), a.text("-a"));
  a.want_beside("-a", "-c");
  options.advisor = a.has("-advisor");
  options.overflow = a.has("-overflow_detection") || options.advisor;
  options.mapping = a.has("-map");
  options.range = a.text("-r");
  options.select = a.text("-s");
  options.most = a.number("-max", 0, 0, INT32_MAX);
  options.op = a.text("-op");
  options.input = a.index("-i");
  options.output_index = a.index("-o");
  options.top = a.number("-n", 20, 1, 10000);
  options.lines = a.number("-ml", 1000000, 10000, 1000000);
  options.without_detail = a.has("--ignore_single_op_result");
  options.threads = a.number("-threads", 0, 0, 1024);
  a.number("-v", 2, 1, 2);
  for (const char* name : {"-o", "-i", "-n", "-ml", "--ignore_single_op_result"}) a.want_beside(name, "-op");
  if (a.has("-o") && a.has("-i")) throw Error(code::kAclInvalidParam, "-o and -i were both given, want one of them");
  if (!options.op.empty() && (a.has("-r") || a.has("-s")))
    throw Error(code::kAclInvalidParam, "-op is one operator: leave out -r and -s");
  make_folder(options.output);
  std::error_code error;
  if (std::filesystem::is_regular_file(options.mine, error) && std::filesystem::is_regular_file(options.golden, error))
    return compare_files(options, "");
  Comparison comparison(options);
  for (const std::string& note : comparison.notes()) std::printf("%s\n", note.c_str());
  if (!options.op.empty()) return compare_tensor(comparison);
  const bool terminal = isatty(STDERR_FILENO);
  const std::vector<Line> lines = comparison.run([&](size_t done, size_t all) {
    if (terminal) std::fprintf(stderr, "\r%zu of %zu operators%s", done, all, done == all ? "\n" : "");
  });
  const std::string stem = options.output + "/" + (options.mapping ? "mapping" : "") + result_stem();
  if (options.mapping) {
    write_file(stem + ".csv", mapping_csv(comparison, lines));
    std::printf("written to %s.csv\n", stem.c_str());
    return 0;
  }
  write_file(stem + ".csv", result_csv(comparison, lines));
  write_file(stem + ".html", result_page(comparison, lines, kThreshold));
  std::printf("written to %s.csv and .html\n", stem.c_str());
  if (!comparison.matched()) {
    std::fprintf(stderr, "msaccucmp: no operator is on both sides: are these dumps of one model?\n");
    return 1;
  }
  if (const auto first = first_divergence(comparison, lines, kThreshold)) {
    const Line& line = lines[first->line];
    std::printf("first divergence: %s (%s), %s\n", line.mine.c_str(), line.type.c_str(), line.tensor.c_str());
  } else {
    std::printf("no tensor differs\n");
  }
  if (options.advisor) {
    const std::string text = advice(comparison, lines);
    write_file(options.output + "/advisor_summary.txt", text);
    std::fputs(text.c_str(), stdout);
  }
  return 0;
}

std::vector<int64_t> sizes(const std::string& text) {
  std::vector<int64_t> all;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int64_t n = 0;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 0 || (next != end && *next != ','))
      throw Error(code::kAclInvalidParam, "-s is {}, want sizes by commas, such as 1,3,224,224", text);
    all.push_back(n);
    at = next == end ? end : next + 1;
  }
  return all;
}

int run_convert(int argc, const char* const* argv) {
  const Arguments a(argc, argv,
                    {{"-d", "--dump_file"},
                     {"-f", "--format"},
                     {"-s", "--shape"},
                     {"-o", "--output_tensor"},
                     {"-i", "--input_tensor"},
                     {"-c", "--custom_script_path"},
                     {"-out", "--output"},
                     {"-v", "--version"},
                     {"-t", "--type"},
                     {"-threads", "--threads"}});
  ConvertOptions options;
  options.from = a.wanted("-d");
  options.output = a.text("-out", ".");
  options.type = a.text("-t", "npy");
  if (options.type != "npy" && options.type != "bin" && options.type != "msnpy" && options.type != "pt")
    throw Error(code::kAclInvalidParam, "-t is {}, want npy, bin, msnpy or pt", options.type);
  options.format = a.text("-f");
  options.shape = sizes(a.text("-s"));
  options.input = a.index("-i");
  options.output_index = a.index("-o");
  options.threads = a.number("-threads", 0, 0, 1024);
  a.number("-v", 2, 1, 2);
  for (const char* name : {"-s", "-o", "-i"}) a.want_beside(name, "-f");
  if (a.has("-c"))
    throw Error(code::kAclApiNotSupport,
                "-c is not implemented: it names Python of msaccucmp, which reads the same dumps");
  return convert(options) ? 1 : 0;
}

int run_overflow(int argc, const char* const* argv) {
  const Arguments a(argc, argv, {{"-d", "--dump_path"}, {"-out", "--output"}, {"-n", "--top_n"}});
  report_overflows({a.wanted("-d"), a.wanted("-out"), a.number("-n", 1, 1, 5)});
  return 0;
}

int run_files(int argc, const char* const* argv) {
  const Arguments a(argc, argv, {{"-m", "--my_dump_path"}, {"-g", "--golden_dump_path"}, {"-out", "--output"}});
  const std::string output = a.wanted("-out");
  make_folder(output);
  Options options;
  options.mine = a.wanted("-m");
  options.golden = a.wanted("-g");
  options.measures = parse_measures("all");
  std::erase(options.measures, kKullbackLeiblerDivergence);
  std::erase(options.measures, kStandardDeviation);
  return compare_files(options, output);
}

}  // namespace
}  // namespace updraft::compare

extern "C" UPDRAFT_API int updraft_compare(int argc, const char* const* argv) {
  using namespace updraft::compare;
  try {
    const std::string command = argc > 1 ? argv[1] : "";
    for (int i = 1; i < argc; ++i)
      if (std::strcmp(argv[i], "-h") == 0 || std::strcmp(argv[i], "--help") == 0) {
        std::fputs(kUsage, stdout);
        return 0;
      }
    if (command == "compare") return run_compare(argc - 2, argv + 2);
    if (command == "convert") return run_convert(argc - 2, argv + 2);
    if (command == "overflow") return run_overflow(argc - 2, argv + 2);
    if (command == "file_compare") return run_files(argc - 2, argv + 2);
    std::fputs(kUsage, stderr);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "msaccucmp: %s\n", e.what());
    return 1;
  }
}
