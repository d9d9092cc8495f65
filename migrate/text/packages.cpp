// What is installed: requirements, and Dockerfiles.
#include <algorithm>
#include <cctype>
#include <string>

#include "migrate/rules/rule.h"
#include "migrate/support/third_party.h"
#include "migrate/text/notebook/json.h"
#include "migrate/text/readers.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/rules.h"

namespace updraft::migrate::text {
namespace {

bool is_package_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.'; }

/// +cu121, /cu121, =cuda118, py3.11_cuda12.1_cudnn8
bool cuda_build(std::string_view version) {
  for (std::size_t at = 0; (at = version.find("cu", at)) != std::string_view::npos; at += 2) {
    const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(version[at - 1]));
    std::size_t digit = at + 2;
    if (version.substr(digit, 2) == "da") digit += 2;
    if (starts && digit < version.size() &&
        (std::isdigit(static_cast<unsigned char>(version[digit])) || version[digit] == '*'))
      return true;
  }
  return false;
}

constexpr std::size_t kLongestName = 200;

void cuda_build_finding(Sheet& sheet, std::string_view name, std::size_t begin, std::size_t end) {
  Finding& f = sheet.add("TX231", begin, end, rules::told("TX231", {name}));
  f.api = name;
  f.suggestion = name == "torch" ? "torch+cpu, torch-npu" : "";
}

bool package_finding(Sheet& sheet, std::string_view name, std::size_t begin, std::size_t end) {
  if (name.size() > kLongestName) return false;
  const ThirdParty known = lookup_distribution(name);
  if (!worth_saying(known)) return false;
  Finding& f = sheet.add("TX232", begin, end, sentence(known, name));
  f.api = name;
  f.suggestion = known.alternative;
  return true;
}

}  // namespace

void requirement(Sheet& sheet, std::string_view spec, std::size_t begin) {
  std::size_t at = 0;
  if (const std::size_t channel = spec.find("::"); channel != std::string_view::npos) at = channel + 2;
  if (spec.starts_with("http:") || spec.starts_with("https:") || spec.starts_with("git+") ||
      spec.starts_with("file:")) {
    // …/torch-2.1.0%2Bcu118-cp310-….whl, git+https://github.com/NVIDIA/apex.git@sha
    const bool git = spec.starts_with("git+");
    std::string_view path = spec.substr(0, spec.find_first_of("#?;"));
    if (const std::size_t ref = path.rfind('@'); git && ref != std::string_view::npos && ref > path.find("://") + 3)
      path = path.substr(0, ref);
    if (path.ends_with(".git")) path.remove_suffix(4);
    std::string_view last = path.substr(path.rfind('/') + 1);
    std::string_view version = last;
    if (!git) last = last.substr(0, last.find('-'));
    if (package_finding(sheet, last, begin, begin + path.size())) return;
    if (!git && (cuda_build(version) || version.find("%2Bcu") != std::string_view::npos))
      cuda_build_finding(sheet, last, begin, begin + path.size());
    return;
  }
  std::size_t end = at;
  while (end < spec.size() && is_package_byte(spec[end])) ++end;
  const std::string_view name = spec.substr(at, end - at);
  if (name.empty()) return;
  std::size_t stop = spec.find_first_of(";#", end);
  if (stop == std::string_view::npos) stop = spec.size();
  while (stop > end && std::isspace(static_cast<unsigned char>(spec[stop - 1]))) --stop;
  const std::string_view version = spec.substr(end, stop - end);
  if (const std::size_t url = version.find("@"); url != std::string_view::npos) {
    if (package_finding(sheet, name, begin + at, begin + stop)) return;
  }
  requirement(sheet, name, version, begin + at, begin + stop);
}

void requirement(Sheet& sheet, std::string_view name, std::string_view version, std::size_t begin, std::size_t end) {
  if (package_finding(sheet, name, begin, end)) return;
  if (cuda_build(version)) cuda_build_finding(sheet, name, begin, end);
}

void package_index(Sheet& sheet, std::string_view url, std::size_t begin) {
  const bool pytorch = url.find("download.pytorch.org/whl") != std::string_view::npos &&
                       url.find("/whl/cpu") == std::string_view::npos && !url.ends_with("/whl") &&
                       !url.ends_with("/whl/");
  const bool nvidia = url.find("pypi.nvidia.com") != std::string_view::npos ||
                      url.find("pypi.ngc.nvidia.com") != std::string_view::npos ||
                      url.find("developer.download.nvidia.com") != std::string_view::npos;
  if (!pytorch && !nvidia && !cuda_build(url)) return;
  if (!pytorch && !nvidia && url.find("://") == std::string_view::npos) return;
  sheet.add("TX233", begin, begin + url.size());
}

namespace {

class Dockerfile {
 public:
  Dockerfile(std::string_view text, const PythonFindings& python, int depth)
      : text_(text), python_(python), depth_(depth), sheet_(text) {}

  std::vector<Finding> run() {
    std::size_t at = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
    while (at < text_.size()) at = instruction(at);
    return sheet_.take();
  }

 private:
  std::size_t line_end(std::size_t at) const { return std::min(text_.find('\n', at), text_.size()); }
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  /// The instruction that begins on this line; where the next one does.
  std::size_t instruction(std::size_t at) {
    while (at < text_.size() && blank(text_[at])) ++at;
    std::size_t word = at;
    while (word < text_.size() && std::isalpha(static_cast<unsigned char>(text_[word]))) ++word;
    std::string keyword(text_.substr(at, std::min<std::size_t>(word - at, 20)));
    for (char& c : keyword) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::size_t end = line_end(at);
    if (word == at) return std::min(end + 1, text_.size());
    for (;;) {  // lines that end in a backslash go on, over comments
      std::size_t last = end;
      while (last > at && blank(text_[last - 1])) --last;
      if (end >= text_.size() || last <= at || text_[last - 1] != '\\') break;
      end = line_end(end + 1);
      for (;;) {
        std::size_t first = text_.rfind('\n', end == 0 ? 0 : end - 1) + 1;
        while (first < end && blank(text_[first])) ++first;
        if (first >= end || text_[first] != '#' || end >= text_.size()) break;
        end = line_end(end + 1);
      }
    }
    while (word < end && blank(text_[word])) ++word;
    std::size_t next = std::min(end + 1, text_.size());
    const std::string_view rest = text_.substr(word, end - word);
    if (keyword == "FROM") from(rest, word);
    else if (keyword == "HEALTHCHECK" && rest.find("CMD") != std::string_view::npos) {
      word += rest.find("CMD") + 3;
      while (word < end && blank(text_[word])) ++word;
      if (word < end && text_[word] == '[') list(text_.substr(word, end - word), word);
      else script(word, end, true);
    } else if (keyword == "ENV" || keyword == "ARG") variables(rest, word);
    else if ((keyword == "RUN" || keyword == "CMD" || keyword == "ENTRYPOINT") && rest.starts_with("["))
      list(rest, word);
    else if (keyword == "RUN" && rest.find("<<") != std::string_view::npos) next = here(word, end, next);
    else if (keyword == "RUN" || keyword == "CMD" || keyword == "ENTRYPOINT") script(word, end, true);
    return next;
  }

  void script(std::size_t begin, std::size_t end, bool lines) {
    Embedded embedded;
    embedded.same(text_.substr(begin, end - begin), begin);
    ShellOptions options;
    options.depth = depth_ + 1;
    options.lines = lines;
    sheet_.adopt(shell(embedded.text(), python_, options), embedded);
  }

  void from(std::string_view rest, std::size_t at) {
    if (rest.starts_with("--")) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      rest.remove_prefix(space);
      at += space;
      while (!rest.empty() && blank(rest[0])) rest.remove_prefix(1), ++at;
    }
    const std::string_view image = rest.substr(0, rest.find_first_of(" \t\r"));
    if (image.starts_with("nvidia/") || image.find("nvcr.io/") != std::string_view::npos ||
        image.find("cuda") != std::string_view::npos)
      sheet_.add("TX251", at, at + image.size());
  }

  void variables(std::string_view rest, std::size_t at) {
    const std::size_t stop = std::min(rest.find_first_of("= \t\r"), rest.size());
    if (stop < rest.size() && rest[stop] == '=') {
      script(at, at + rest.size(), true);
      return;
    }
    // ENV NAME value: read as an assignment, of which only the name can change
    const std::string_view value = rest.substr(stop);
    std::string assignment = std::string(rest.substr(0, stop)) + "=\"";
    const std::size_t first = std::min(value.find_first_not_of(" \t\r"), value.size());
    assignment += std::string(value.substr(first, value.substr(first).find_first_of("\"$`\\\r"))) + "\"";
    std::vector<Finding> found = shell(assignment, {});
    std::erase_if(found, [&](const Finding& f) { return f.begin != 0 || f.end != stop; });
    Embedded embedded;
    embedded.same(rest, at);
    sheet_.adopt(std::move(found), embedded);
  }

  /// ["python", "train.py", "--device", "cuda"]
  void list(std::string_view rest, std::size_t at) {
    JsonReader json(rest, false);
    std::vector<Argument> words;
    for (JsonReader::Token token = json.next(); token.kind != JsonReader::Kind::End; token = json.next()) {
      if (token.kind == JsonReader::Kind::Error) return;
      if (token.kind == JsonReader::Kind::String && !token.escaped) words.push_back({json.raw(token), token.begin});
    }
    Embedded embedded;
    embedded.same(rest, at);
    embedded.encode_by(
        [](std::string_view t, std::uint32_t, std::uint32_t) { return std::optional(json_escaped(t, false)); });
    sheet_.adopt(arguments(rest, words, python_), embedded);
  }

  /// RUN <<EOF … EOF is a script, RUN bash -e <<EOF … EOF a command with a here-document; where the next instruction
  /// begins.
  std::size_t here(std::size_t begin, std::size_t end, std::size_t at) {
    const std::string_view rest = text_.substr(begin, end - begin);
    std::string_view word = rest.substr(rest.find("<<") + 2);
    const bool tabs = word.starts_with("-");
    if (tabs) word.remove_prefix(1);
    while (word.starts_with(" ")) word.remove_prefix(1);
    std::string delimiter(word.substr(0, word.find_first_of(" \t\r\n;|&<>)")));
    std::erase_if(delimiter, [](char c) { return c == '"' || c == '\''; });
    std::string_view command = rest;
    while (command.starts_with("--")) {  // --mount=…
      command.remove_prefix(std::min(command.find_first_of(" \t"), command.size()));
      command.remove_prefix(std::min(command.find_first_not_of(" \t\\\r\n"), command.size()));
    }
    const bool alone = command.starts_with("<<");
    const std::size_t body = at;
    while (!delimiter.empty() && endless_ < 20 && at < text_.size()) {
      const std::size_t stop = line_end(at);
      std::string_view line = text_.substr(at, stop - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      const std::size_t next = std::min(stop + 1, text_.size());
      if (line == delimiter) {
        script(alone ? body : begin, alone ? at : next, false);
        return next;
      }
      at = next;
    }
    ++endless_;
    script(begin, end, true);  // a shift, or a here-document that does not end
    return body;
  }

  std::string_view text_;
  const PythonFindings& python_;
  int depth_;
  int endless_ = 0;  ///< here-documents that do not end: each costs a walk through the file
  Sheet sheet_;
};

}  // namespace

std::vector<Finding> dockerfile(std::string_view text, const PythonFindings& python, int depth) {
  return Dockerfile(text, python, depth).run();
}

}  // namespace updraft::migrate::text
