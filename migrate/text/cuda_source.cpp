#include "migrate/text/readers.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_set>

#include "migrate/rules/rule.h"
#include "migrate/source/words.h"
#include "migrate/support/table.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {
namespace {

using source::is_name_byte;

/// One pass over the source; comments and strings are passed over, except those that hold names of operators.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), sheet_(text) {}

  std::vector<Finding> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    bool line_start = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line_start = true;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else if (c == '#' && line_start) {
        directive();
        line_start = false;
      } else {
        line_start = false;
        if (c == '"' || c == '\'') literal();
        else if (is_name_byte(c)) word();
        else if (text_.substr(at_, 3) == "<<<") launch();
        else {
          if (c == '(')
            last_open_ = last_word_end_ == at_ || blanks_between(last_word_end_, at_) ? last_word_ : std::string_view();
          ++at_;
        }
      }
    }
    return sheet_.take();
  }

 private:
  bool blanks_between(std::size_t from, std::size_t to) const {
    if (to - from > 20) return false;
    return text_.substr(from, to - from).find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  void blanks(std::size_t& at) const {
    while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at]))) ++at;
  }

  /// `key` of the sentence, which begins with the API.
  Finding& add(std::string_view rule, std::size_t begin, std::size_t end, std::string_view api, std::string_view key) {
    const std::string_view shown = api.substr(0, 100);
    Finding& f = sheet_.add(rule, begin, end, rules::told(key, {shown}));
    f.api = shown;
    return f;
  }

  void directive() {
    std::size_t at = at_ + 1;
    std::size_t end = std::min(text_.find('\n', at_), text_.size());
    while (at < end && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    if (text_.substr(at, 7) != "include") {
      at_ = at;  // macros are read like code
      return;
    }
    at += 7;
    while (at < end && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    const std::size_t start = at_;
    at_ = end;
    if (at >= end || (text_[at] != '<' && text_[at] != '"')) return;
    const char close = text_[at] == '<' ? '>' : '"';
    const std::size_t stop = text_.substr(0, end).find(close, at + 1);
    if (stop == std::string_view::npos) return;
    at_ = stop + 1;
    const std::string_view path = text_.substr(at + 1, stop - at - 1);
    static const support::Table headers = support::Table::of("cuda_headers.tsv");
    for (support::Row header = headers.first(); header; header = header.next()) {
      if (!path.starts_with(header.key())) continue;
      if (close == '"' && header.key() == "cuda" && path.find('/') == std::string_view::npos &&
          !path.starts_with("cuda_") && path != "cuda.h")
        continue;
      const std::string_view shown = path.substr(0, 100);
      const Bilingual note{header.cell(1), header.cell(2)};
      sheet_.add("TX403", start, stop + 1, rules::told("TX403", {shown, note})).api = shown;
      return;
    }
  }

  void literal() {
    const char quote = text_[at_];
    const std::size_t start = at_++;
    if (quote == '"' && start > 0 && text_[start - 1] == 'R') {  // R"tag( … )tag"
      const std::size_t open = text_.find('(', at_);
      if (open != std::string_view::npos && open - at_ <= 16) {
        const std::string end = ")" + std::string(text_.substr(at_, open - at_)) + "\"";
        const std::size_t stop = text_.find(end, open);
        if (stop == std::string_view::npos) {
          at_ = text_.size();
          return;
        }
        name_of_operator(open + 1, stop);
        at_ = stop + end.size();
        return;
      }
    }
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    name_of_operator(start + 1, at_);
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
  }

  /// m.def("name(Tensor x) -> Tensor"), m.impl("name", …), .op("ns::name"), REGISTER_OP("Name"): the first string.
  void name_of_operator(std::size_t begin, std::size_t end) {
    const std::string_view call = last_open_;
    last_open_ = {};
    if (call != "def" && call != "impl" && call != "op" && call != "REGISTER_OP" && call != "Name") return;
    if (call == "Name" && !tensorflow_) return;
    if ((call == "def" || call == "impl" || call == "op") && !in_library_) return;
    std::size_t from = begin;
    while (from < end && std::isspace(static_cast<unsigned char>(text_[from]))) ++from;
    std::size_t stop = from;
    while (stop < end && (is_name_byte(text_[stop]) || text_[stop] == ':' || text_[stop] == '.')) ++stop;
    if (stop == from) return;
    std::string name(text_.substr(from, stop - from));
    if (call == "Name" || (call == "impl" && !cuda_library_)) return;
    if (!space_.empty() && name.find("::") == std::string::npos) name = space_ + "::" + name;
    if (call == "REGISTER_OP") add("TX402", from, stop, name, "TX402.tensorflow").suggestion = "Ascend C";
    else if (in_pybind_)
      add("TX402", from, stop, name, "TX402.python").suggestion = "torch_npu.utils.cpp_extension.NpuExtension";
    else add("TX402", from, stop, name, "TX402").suggestion = "op-plugin";
  }

  /// TORCH_LIBRARY(ns, m), PYBIND11_MODULE(name, m) …: what follows defines operators of it.
  void library(std::string_view macro) {
    std::size_t at = at_;
    blanks(at);
    if (at >= text_.size() || text_[at] != '(') return;
    ++at;
    blanks(at);
    std::size_t end = at;
    while (end < text_.size() && is_name_byte(text_[end])) ++end;
    const std::string_view first = text_.substr(at, end - at);
    in_library_ = true;
    in_pybind_ = macro == "PYBIND11_MODULE";
    space_ = in_pybind_ || first == "_" ? std::string() : std::string(first.substr(0, 80));
    cuda_library_ = false;
    if (macro == "TORCH_LIBRARY_IMPL") {
      at = end;
      blanks(at);
      if (at < text_.size() && text_[at] == ',') ++at;
      blanks(at);
      std::size_t stop = at;
      while (stop < text_.size() && is_name_byte(text_[stop])) ++stop;
      const std::string_view key = text_.substr(at, stop - at);
      cuda_library_ = key.find("CUDA") != std::string_view::npos;
    }
    at_ = end;
    last_open_ = {};
  }

  void kernel(std::size_t begin) {
    // template and attribute words until the name before its parameters
    std::size_t at = at_;
    int guard = 0;
    while (at < text_.size() && guard++ < 40) {
      blanks(at);
      std::size_t end = at;
      while (end < text_.size() && is_name_byte(text_[end])) ++end;
      if (end == at) {
        if (at < text_.size() && (text_[at] == '*' || text_[at] == '&' || text_[at] == ':')) {
          ++at;
          continue;
        }
        return;
      }
      const std::string_view word = text_.substr(at, end - at);
      std::size_t next = end;
      blanks(next);
      if (next < text_.size() && text_[next] == '(') {
        if (word == "__launch_bounds__" || word == "__attribute__" || word == "__cluster_dims__") {
          int depth = 0;
          std::size_t k = next;
          for (; k < text_.size() && k < next + 400; ++k) {
            if (text_[k] == '(') ++depth;
            if (text_[k] == ')' && --depth == 0) break;
          }
          at = k + 1;
          continue;
        }
        add("TX401", begin, end, word, "TX401");
        at_ = next;
        return;
      }
      at = end;
    }
  }

  void launch() {
    // name<<<…>>> or name<T><<<…>>>
    std::size_t end = at_;
    while (end > 0 && std::isspace(static_cast<unsigned char>(text_[end - 1]))) --end;
    if (end > 0 && text_[end - 1] == '>') {
      int depth = 0;
      std::size_t k = end;
      for (; k > 0 && end - k < 400; --k) {
        if (text_[k - 1] == '>') ++depth;
        if (text_[k - 1] == '<' && --depth == 0) break;
      }
      end = k > 0 ? k - 1 : 0;
      while (end > 0 && std::isspace(static_cast<unsigned char>(text_[end - 1]))) --end;
    }
    std::size_t begin = end;
    while (begin > 0 && is_name_byte(text_[begin - 1]) && end - begin < 200) --begin;
    if (begin < end && launched_.insert(std::string(text_.substr(begin, end - begin))).second)
      add("TX404", begin, end, text_.substr(begin, end - begin), "TX404");
    at_ += 3;
  }

  void word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
    const std::string_view w = text_.substr(begin, at_ - begin);
    last_word_ = w;
    last_word_end_ = at_;
    if (w == "__global__") kernel(begin);
    else if (w == "TORCH_LIBRARY" || w == "TORCH_LIBRARY_FRAGMENT" || w == "TORCH_LIBRARY_IMPL" ||
             w == "PYBIND11_MODULE")
      library(w);
    else if (w == "RegisterOperators") in_library_ = true, in_pybind_ = false, space_.clear();
    else if (w == "REGISTER_KERNEL_BUILDER") tensorflow_ = true;
    else if (w == "kCUDA" || w == "DEVICE_GPU" || w == "getCurrentCUDAStream" || w == "CUDAGuard" ||
             w == "OptionalCUDAGuard" || w == "is_cuda" || w == "AT_CUDA_CHECK" ||
             w == "C10_CUDA_KERNEL_LAUNCH_CHECK" || w == "C10_CUDA_CHECK") {
      if (!used_.insert(std::string(w)).second) return;
      const bool stream = w == "getCurrentCUDAStream", guard = w.ends_with("Guard");
      Finding& f = add("TX405", begin, at_, w,
                       stream                           ? "TX405.stream"
                       : guard                          ? "TX405.guard"
                       : w == "is_cuda" || w == "kCUDA" ? "TX405.device"
                                                        : "TX405.part");
      if (stream) f.suggestion = "c10_npu::getCurrentNPUStream";
      if (guard) f.suggestion = "c10_npu::NPUGuard";
    }
  }

  std::string_view text_;
  Sheet sheet_;
  std::size_t at_ = 0, last_word_end_ = 0;
  std::string_view last_word_, last_open_;
  bool in_library_ = false, in_pybind_ = false, cuda_library_ = false, tensorflow_ = false;
  std::string space_;
  std::unordered_set<std::string> launched_, used_;
};

}  // namespace

std::vector<Finding> cuda_source(std::string_view text) {
  if (auto failure = too_large(text, "TX400"); !failure.empty()) return failure;
  return Scanner(text).run();
}

std::vector<Finding> cmake(std::string_view text) {
  if (auto failure = too_large(text, "TX400"); !failure.empty()) return failure;
  Sheet sheet(text);
  std::size_t at = 0;
  std::string command;  // the word before the innermost (
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (is_name_byte(c)) {
      const std::size_t begin = at;
      while (at < text.size() && is_name_byte(text[at])) ++at;
      std::string word(text.substr(begin, std::min<std::size_t>(at - begin, 80)));
      std::string lower = word;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
      std::size_t next = at;
      while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
      const bool calls = next < text.size() && text[next] == '(';
      const bool languages = (command == "project" || command == "enable_language") && word == "CUDA";
      const bool found = command == "find_package" && (lower == "cuda" || lower == "cudatoolkit" || lower == "cudnn" ||
                                                       lower == "nccl" || lower == "tensorrt" || lower == "cutlass");
      const bool adds = calls && (lower == "cuda_add_library" || lower == "cuda_add_executable" ||
                                  lower == "cuda_compile" || lower == "cuda_select_nvcc_arch_flags");
      const bool sets = command == "set" && (word == "CMAKE_CUDA_ARCHITECTURES" || word == "CMAKE_CUDA_FLAGS" ||
                                             word == "TORCH_CUDA_ARCH_LIST");
      if (languages || found || adds || sets) {
        sheet.add("TX406", begin, at, rules::told("TX406", {word})).api = word;
      }
      if (calls) command = lower;
    } else if (c == '"') {
      ++at;
      while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
      at = std::min(at + 1, text.size());
    } else {
      if (c == ')') command.clear();
      ++at;
    }
  }
  return sheet.take();
}

}  // namespace updraft::migrate::text
