#include "migrate/text/shell/rules.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "migrate/rules/rule.h"
#include "migrate/source/words.h"
#include "migrate/support/settings.h"
#include "migrate/text/file.h"
#include "migrate/text/readers.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/lexer.h"
#include "migrate/text/values.h"

namespace updraft::migrate::text {

std::vector<Finding> shell(std::string_view text, const PythonFindings& python, const ShellOptions& options) {
  if (auto failure = too_large(text, "TX300"); !failure.empty()) return failure;
  Sheet sheet(text);
  ShellRules rules(sheet, python, options);
  ShellLexer(text, options.lines || options.makefile, rules).run();
  return sheet.take();
}

std::vector<Finding> arguments(std::string_view text, const std::vector<Argument>& words,
                               const PythonFindings& python) {
  Sheet sheet(text);
  ShellRules rules(sheet, python, {});
  ShellCommand command;
  for (const Argument& argument : words) {
    ShellWord& word = command.words.emplace_back();
    word.begin = argument.begin;
    word.end = argument.begin + argument.text.size();
    word.text = argument.text;
    for (std::size_t i = word.begin; i < word.end; ++i) word.at.push_back(static_cast<std::uint32_t>(i));
    word.quoted = true;
    command.end = word.end;
  }
  rules.command(command);
  return sheet.take();
}
namespace {

using source::among;
using source::is_name_byte;

constexpr std::array<std::string_view, 7> kTakesNames = {"export", "unset",    "printenv", "declare",
                                                         "local",  "readonly", "typeset"};
constexpr std::array<std::string_view, 5> kPrints = {"echo", "printf", "log", "print", "logger"};
constexpr std::array<std::string_view, 9> kFilters = {"awk",  "gawk",  "mawk", "sed", "gsed",
                                                      "grep", "egrep", "perl", "rg"};
constexpr std::array<std::string_view, 6> kShells = {"bash", "sh", "zsh", "dash", "ksh", "ssh"};
constexpr std::array<std::string_view, 6> kLaunchers = {"torchrun",   "accelerate", "deepspeed",
                                                        "horovodrun", "lightning",  "ray"};
constexpr std::array<std::string_view, 9> kInstallers = {"pip", "pip3",   "conda", "mamba", "micromamba",
                                                         "uv",  "poetry", "pipx",  "pdm"};
constexpr std::array<std::string_view, 4> kSystemInstallers = {"apt-get", "apt", "yum", "dnf"};
constexpr std::array<std::string_view, 4> kSlurm = {"srun", "sbatch", "salloc", "qsub"};

/// The length of NAME in NAME=…, NAME+=…, NAME[i]=…; 0: no assignment.
std::size_t assigned_name(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && is_name_byte(word[end])) ++end;
  if (end == 0 || end >= word.size() || std::isdigit(static_cast<unsigned char>(word[0]))) return 0;
  std::size_t at = end;
  if (word[at] == '[') {
    at = word.find(']', at);
    if (at == std::string_view::npos) return 0;
    ++at;
  }
  if (at < word.size() && word[at] == '+') ++at;
  return at < word.size() && word[at] == '=' ? end : 0;
}

/// The name in $NAME, ${NAME}, ${NAME:-…}; empty: no such word.
std::string_view expanded_name(std::string_view word) {
  if (word.size() < 2 || word[0] != '$') return {};
  word.remove_prefix(word[1] == '{' ? 2 : 1);
  std::size_t end = 0;
  while (end < word.size() && is_name_byte(word[end])) ++end;
  return word.substr(0, end);
}

/// Is [offset, offset + size) of the word's text written without a break?
bool unbroken(const ShellWord& word, std::size_t offset, std::size_t size) {
  return size > 0 && offset + size <= word.at.size() && word.at[offset + size - 1] - word.at[offset] == size - 1;
}

/// The value of a word from `offset` on, and of ${NAME:-value} the value in it.
struct Value {
  std::size_t offset;
  std::string_view text, name;
};
Value value_of(const ShellWord& word, std::size_t offset) {
  const std::string_view text = std::string_view(word.text).substr(std::min(offset, word.text.size()));
  if (!text.starts_with("${") || !text.ends_with("}")) return {offset, text, {}};
  const std::string_view name = expanded_name(text);
  std::size_t at = 2 + name.size();
  if (at < text.size() && text[at] == ':') ++at;
  if (at >= text.size() || (text[at] != '-' && text[at] != '=')) return {offset, text, {}};
  return {offset + at + 1, text.substr(at + 1, text.size() - at - 2), name};
}

/// python -c "import torch; …": a new line with an import goes to the front, where it is before what needs it.
void keep_on_one_line(Edit& edit, std::string_view source) {
  if (edit.begin != edit.end || source.find('\n') != std::string_view::npos) return;
  if (!source.starts_with("import ") && !source.starts_with("from ")) return;
  if (source.starts_with("from __future__")) return;
  std::string_view line = edit.text;
  while (line.starts_with('\n')) line.remove_prefix(1);
  while (line.ends_with('\n')) line.remove_suffix(1);
  if (!line.starts_with("import ") || line.size() == edit.text.size() || line.find('\n') != std::string_view::npos)
    return;
  edit.text = std::string(line) + "; ";
  edit.begin = edit.end = 0;
}

}  // namespace

std::string_view program_name(std::string_view word) {
  if (word.starts_with('@') || word.starts_with('-')) word.remove_prefix(1);  // of makefiles
  return word.substr(word.rfind('/') + 1);
}

bool is_python(std::string_view program) {
  for (const std::string_view stem : {"python", "pypy"}) {
    if (!program.starts_with(stem)) continue;
    return program.find_first_not_of("0123456789.", stem.size()) == std::string_view::npos;
  }
  return program == "$PYTHON" || program == "${PYTHON}" || program == "ipython";
}

void ShellRules::rename(std::size_t begin, std::size_t end, std::string_view value) {
  const std::string_view name = sheet_.text().substr(begin, end - begin);
  const std::optional<Variable> row = lookup_variable(name);
  if (!row) return;
  const std::string n(name.substr(0, 80));
  if (row->replacement.empty()) {
    sheet_.add("TX312", begin, end, sentence(*row, n));
    return;
  }
  const bool fits = value_fits(*row, value);
  Finding& f = sheet_.change("TX311", fits ? row->confidence : Confidence::Review, begin, end,
                             std::string(row->replacement), sentence(*row, n));
  if (!fits) f.message += rules::told("variable.values", {n});
  f.api = n;
  f.suggestion = row->replacement;
}

void ShellRules::expansion(std::size_t begin, std::size_t end) {
  if (options_.expansions) {
    const std::optional<Variable> row = lookup_variable(sheet_.text().substr(begin, end - begin));
    if (row && !row->replacement.empty()) rename(begin, end, {});
  }
}

/// --attn_implementation flash_attention_2, ACCELERATE_MIXED_PRECISION=fp8: the table that configurations go by as
/// well.
bool ShellRules::setting(const ShellWord& word, std::size_t offset, std::string_view key, std::string_view value) {
  std::string name = plain_key(key);
  if (name.starts_with("accelerate_")) name.erase(0, 11);
  for (const Setting& known : lookup_setting(name, value)) {
    if (!known.where.empty() || !unbroken(word, offset, value.size())) continue;
    const std::uint32_t begin = word.at[offset], end = word.at[offset + value.size() - 1] + 1;
    if (known.category == Category::Change)
      sheet_.change(known.rule, Confidence::Likely, begin, end, std::string(known.replacement), sentence(known, value));
    else sheet_.add(known.rule, begin, end, sentence(known, value));
    return true;
  }
  return false;
}

bool ShellRules::judged(const ShellWord& word, std::size_t offset, std::string_view key, std::string_view value,
                        bool known) {
  if (known && setting(word, offset, key, value)) return true;
  auto judgement = judge(key, value);
  if (!judgement || judgement->words.empty()) return false;
  if (!known && judgement->meaning == Meaning::Device && judgement->confidence == Confidence::Review) return false;
  if (judgement->meaning == Meaning::Accelerator && !known) return false;
  for (const Word& w : judgement->words)
    if (!unbroken(word, offset + w.begin, w.end - w.begin)) return false;
  const std::size_t begin = word.at[offset], end = word.at[offset + value.size() - 1] + 1;
  Finding& f =
      sheet_.add(judgement->meaning == Meaning::Backend ? "TX302" : "TX301", begin, end, reason(*judgement, key));
  f.confidence = judgement->confidence;
  for (const Word& w : judgement->words) {
    const std::uint32_t at = word.at[offset + w.begin];
    f.edits.push_back({at, at + static_cast<std::uint32_t>(w.end - w.begin), std::string(w.replacement)});
  }
  return true;
}

void ShellRules::variables(const ShellCommand& command) {
  const auto& words = command.words;
  const std::string_view first = program_name(words[0].text);
  const bool names = among(kTakesNames, first);
  bool leading = true;  // assignments before the command, or of export and its like
  bool python = false;
  const std::size_t code = code_of(command, python);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ShellWord& w = words[i];
    const std::string_view text = w.text;
    const std::size_t name = assigned_name(text);
    if (name == 0 && !(i == 0 && (names || first == "env"))) leading = leading && names;
    // ARGS="--device cuda", CMD="python train.py --device cuda": read by itself
    const std::size_t value_at = name > 0 ? text.find('=') + 1 : 0;
    const bool command_text = name > 0 && leading && w.quoted && text.find("--", value_at) != std::string_view::npos &&
                              text.find(' ', value_at) != std::string_view::npos;
    if (command_text) inside(w, value_at, false);
    // NAME=… at the start, after a comma (--export=ALL,NAME=…) or an option's = ; once each
    if (!(w.single && w.text.find(' ') != std::string::npos && !leading) && (code == 0 || i != code)) {
      for (std::size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
        std::size_t end = at, begin;
        if (end > 0 && text[end - 1] == '+') --end;
        for (begin = end; begin > 0 && is_name_byte(text[begin - 1]) && end - begin < 80; --begin) {}
        if (begin > 0 && command_text) break;
        if (begin == end || (begin > 0 && text[begin - 1] != ',' && text[begin - 1] != '=' && text[begin - 1] != ' '))
          continue;
        if (begin == 0 && w.begin != w.at[0] && !w.quoted) continue;
        if (!unbroken(w, begin, end - begin) || !lookup_variable(text.substr(begin, end - begin))) continue;
        std::string_view value = text.substr(at + 1);
        if (begin > 0) value = value.substr(0, value.find_first_of(" ,"));
        rename(w.at[begin], w.at[end - 1] + 1, value);
      }
    }
    if (name > 0 && leading && !lookup_variable(text.substr(0, name))) {
      const Value v = value_of(w, text.find('=') + 1);
      if (!v.text.empty()) judged(w, v.offset, text.substr(0, name), v.text, true);
    }
    if (leading && name > 0) {  // PATH=/usr/local/cuda/bin:$PATH
      const std::string_view n = text.substr(0, name);
      if ((n == "PATH" || n == "LD_LIBRARY_PATH" || n == "LIBRARY_PATH" || n == "CPATH") &&
          text.find("/cuda") != std::string_view::npos)
        sheet_.add("TX334", w.begin, w.end, rules::told("TX334.folders"));
    }
    // names alone: export NAME, env -u NAME, docker run -e NAME, mpirun -x NAME
    const bool option =
        i > 0 && (words[i - 1].text == "-x" || words[i - 1].text == "-e" || words[i - 1].text == "--env" ||
                  words[i - 1].text == "-u" || words[i - 1].text == "-v");
    if ((option || (names && i > 0)) && lookup_variable(text) && unbroken(w, 0, text.size()))
      rename(w.at[0], w.at[0] + text.size(), {});
  }
  if (!options_.makefile) return;
  const bool assigns = words.size() > 1 && (words[1].text == "=" || words[1].text == ":=" || words[1].text == "::=" ||
                                            words[1].text == "?=" || words[1].text == "+=");
  const std::size_t at = first == "export" || first == "override" ? 1 : 0;
  if (at == 1 && words.size() > 2 && !assigns) {
    ShellCommand rest = command;
    rest.words.erase(rest.words.begin());
    if (!lookup_variable(rest.words[0].text)) variables(rest);
    return;
  }
  if (assigns && unbroken(words[0], 0, words[0].text.size())) {
    if (lookup_variable(words[0].text)) {
      rename(words[0].at[0], words[0].at[0] + words[0].text.size(),
             words.size() > 2 ? std::string_view(words[2].text) : "");
    } else if (words.size() > 2) {
      const Value v = value_of(words[2], 0);
      if (!v.text.empty()) judged(words[2], v.offset, words[0].text, v.text, true);
    }
  } else if (words.size() == 1 && command.within == '(' && lookup_variable(words[0].text) &&
             unbroken(words[0], 0, words[0].text.size())) {
    rename(words[0].at[0], words[0].at[0] + words[0].text.size(), {});  // $(NAME)
  }
}

void ShellRules::options(const ShellCommand& command) {
  const auto& words = command.words;
  bool python = false, of_fabric = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ShellWord& w = words[i];
    const std::string_view text = w.text, program = program_name(text);
    if (i + 1 < words.size() && words[i + 1].text == "run" &&
        (program == "fabric" || (program == "lightning" && i + 2 < words.size() && words[i + 2].text == "model"))) {
      of_fabric = true;
      sheet_.add("TX304", w.begin, words[i + 1].end);
    }
    if (program.ends_with(".py")) of_fabric = false;  // what follows is the script's
    if (of_fabric && text.starts_with("--accelerator")) {
      if (text == "--accelerator") ++i;
      continue;
    }
    if (is_python(program) || among(kLaunchers, program) || program.ends_with(".py")) python = true;
    if (text.empty() || assigned_name(text) == 0 || i > 0) {
      const std::size_t equals = text.find('=');
      const bool option = text.starts_with("--") && text.size() > 2;
      if (equals != std::string_view::npos && equals > 0 && text.find(' ') > equals && (option || i > 0)) {
        const std::string_view key = text.substr(0, equals);
        if (plain_key(key) == "nproc_per_node" && text.substr(equals + 1) == "gpu" && unbroken(w, equals + 1, 3)) {
          sheet_.change("TX303", Confidence::Certain, w.at[equals + 1], w.at[equals + 1] + 3, "npu");
        } else {
          const Value v = value_of(w, equals + 1);
          if (!v.text.empty() && !lookup_variable(key)) judged(w, v.offset, key, v.text, option || python);
        }
        continue;
      }
      if (option && i + 1 < words.size()) {
        const ShellWord& next = words[i + 1];
        const Value v = value_of(next, 0);
        if (plain_key(text) == "nproc_per_node" && next.text == "gpu" && unbroken(next, 0, 3)) {
          sheet_.change("TX303", Confidence::Certain, next.at[0], next.at[0] + 3, "npu");
          ++i;
        } else if (!v.text.empty() && judged(next, v.offset, text, v.text, true)) {
          ++i;
        } else if (next.text.starts_with('-')) {
          flag(w);
        }
        continue;
      }
      const bool dash = text.starts_with('-');
      if (option && i + 1 == words.size()) {
        flag(w);
        continue;
      }
      if (!dash && python && i > 0 && !device_words(text).empty()) {  // train.py cuda:0, -d cuda
        const bool sure = text.find(':') != std::string_view::npos || words[i - 1].text == "-d";
        Finding* f = nullptr;
        for (const Word& word : device_words(text)) {
          if (!unbroken(w, word.begin, word.end - word.begin)) continue;
          if (!f) {
            f = &sheet_.add("TX301", w.begin, w.end, rules::told("value.device"));
            f->confidence = sure ? Confidence::Likely : Confidence::Review;
          }
          const std::uint32_t at = w.at[word.begin];
          f->edits.push_back({at, at + 4, "npu"});
        }
      } else if (!dash && python && i > 0 && text == "nccl" && unbroken(w, 0, 4)) {
        sheet_.change("TX302", Confidence::Likely, w.at[0], w.at[0] + 4, "hccl", rules::told("value.backend"));
      }
    }
  }
}

/// --load_in_8bit, an option that switches on.
void ShellRules::flag(const ShellWord& w) {
  for (const Setting& known : lookup_setting(plain_key(w.text), "true"))
    if (known.where.empty() && known.category != Category::Change) {
      sheet_.add(known.rule, w.begin, w.end, sentence(known, w.text));
      return;
    }
}

void ShellRules::comparisons(const ShellCommand& command) {
  const auto& words = command.words;
  for (std::size_t i = 1; i + 2 < words.size(); ++i) {
    const std::string_view op = words[i + 1].text;
    if (op != "=" && op != "==" && op != "!=" && op != "=~") continue;
    for (const auto& [variable_word, value] :
         {std::pair(&words[i], &words[i + 2]), std::pair(&words[i + 2], &words[i])}) {
      const std::string_view name = expanded_name(variable_word->text);
      if (name.empty() || value->text.empty()) continue;
      std::string_view text = value->text;
      while (text.ends_with('*') || text.ends_with(':')) text.remove_suffix(1);  // cuda*, cuda:*
      std::size_t from = text.starts_with('^') || text.starts_with('*') ? 1 : 0;
      text.remove_prefix(std::min(from, text.size()));
      if (!text.empty() && judged(*value, from, name, text, true)) break;
    }
  }
}

void ShellRules::patterns(const ShellWord& subject, const std::vector<ShellWord>& words) {
  const std::string_view name = expanded_name(subject.text);
  if (name.empty()) return;
  for (const ShellWord& w : words) {
    std::string_view text = w.text;
    while (text.ends_with('*') || text.ends_with(':')) text.remove_suffix(1);
    if (!text.empty()) judged(w, 0, name, text, true);
  }
}

/// The word's text from `from` on is Python, or else a command or arguments.
void ShellRules::inside(const ShellWord& w, std::size_t from, bool python) {
  if (options_.depth >= kDeepest || w.at.size() <= from) return;
  const std::string_view all = sheet_.text();
  std::size_t first = w.at[from];
  if (first > w.begin && (all[first - 1] == '\'' || all[first - 1] == '"')) --first;
  if (first > w.begin && all[first - 1] == '\\') --first;
  const char quote = all[first];
  Embedded embedded;
  for (std::size_t k = from; k < w.at.size(); ++k) {
    const std::size_t at = w.at[k];
    const bool escaped = at > w.begin && all[at - 1] == '\\' && (k == 0 || w.at[k - 1] + 1 < at);
    if (escaped) embedded.unit(std::string_view(w.text).substr(k, 1), at - 1, at + 1);
    else embedded.same(std::string_view(w.text).substr(k, 1), at);
  }
  embedded.encode_by([quote, lines = options_.lines || options_.makefile](std::string_view text, std::uint32_t,
                                                                          std::uint32_t) -> std::optional<std::string> {
    const std::string_view never = quote == '\'' ? "'" : quote == '"' ? "\"\\$`!" : " \t'\"\\$`!;&|<>()*?[]{}#\n";
    if (text.find_first_of(never) != std::string_view::npos || (lines && text.find('\n') != std::string_view::npos))
      return std::nullopt;
    return std::string(text);
  });
  if (python) {
    if (!python_) return;
    std::vector<Finding> found = python_(embedded.text());
    for (Finding& f : found)
      for (Edit& e : f.edits) keep_on_one_line(e, embedded.text());
    sheet_.adopt(std::move(found), embedded);
    return;
  }
  ShellOptions inner = options_;
  inner.expansions = w.single && quote == '\'';
  inner.depth = options_.depth + 1;
  sheet_.adopt(shell(embedded.text(), python_, inner), embedded);
}

/// The word of a command that is itself a command, or Python: bash -c "…", ssh host "…", tmux new -d "…"; 0: none.
std::size_t ShellRules::code_of(const ShellCommand& command, bool& python) {
  const auto& words = command.words;
  if (words.size() > 2 && program_name(words[0].text) == "tmux")
    return words.back().quoted && words.back().text.find(' ') != std::string::npos ? words.size() - 1 : 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view program = program_name(words[i].text);
    const bool shell_program = among(kShells, program) || program == "eval";
    python = is_python(program);
    if (!python && !shell_program) continue;
    std::size_t code = 0;
    for (std::size_t k = i + 1; k < words.size(); ++k) {
      const std::string_view option = words[k].text;
      const bool takes_code =
          option.size() > 1 && option[0] == '-' && option[1] != '-' && option.ends_with('c') && program != "ssh";
      if (takes_code && k + 1 < words.size()) code = k + 1;
      if (takes_code || !option.starts_with('-')) {
        if (!takes_code && (program == "ssh" ? k + 1 < words.size() : program == "eval"))
          code = program == "eval" ? k : k + 1;
        break;
      }
    }
    return code;
  }
  return 0;
}

void ShellRules::nested(const ShellCommand& command) {
  bool python = false;
  if (const std::size_t code = code_of(command, python); code > 0) inside(command.words[code], 0, python);
}

void ShellRules::here_document(const ShellCommand& command, std::size_t begin, std::size_t end, bool literal) {
  const std::string_view body = sheet_.text().substr(begin, end - begin);
  Embedded embedded;
  embedded.same(body, begin);
  embedded.encode_by([literal](std::string_view text, std::uint32_t, std::uint32_t) -> std::optional<std::string> {
    if (!literal && text.find_first_of("$`\\") != std::string_view::npos) return std::nullopt;
    return std::string(text);
  });
  std::string_view program = command.words.empty() ? std::string_view() : program_name(command.words[0].text);
  for (const ShellWord& w : command.words)
    if (is_python(program_name(w.text)) || among(kShells, program_name(w.text))) program = program_name(w.text);
  std::string_view file;
  if (!command.targets.empty()) file = command.targets.back().text;
  else if (program == "tee" && command.words.size() > 1) file = command.words.back().text;
  bool expansions_seen = false;
  if (options_.depth < kDeepest && !embedded.text().empty()) {
    if (is_python(program)) {
      if (python_) sheet_.adopt(python_(body), embedded);
    } else if (among(kShells, program)) {
      ShellOptions inner;
      inner.depth = options_.depth + 1;
      sheet_.adopt(shell(body, python_, inner), embedded);
      expansions_seen = true;
    } else if ((program == "cat" || program == "tee" || program.empty()) && !file.empty()) {
      const bool script = file.ends_with(".sh") || file.ends_with(".bash") || file.ends_with(".slurm");
      sheet_.adopt(file_findings(file, body, python_, options_.depth + 1), embedded);
      expansions_seen = script;
    }
  }
  if (literal || expansions_seen) return;
  for (std::size_t at = body.find('$'); at != std::string_view::npos; at = body.find('$', at + 1)) {
    if (at > 0 && body[at - 1] == '\\') continue;
    std::size_t from = at + 1;
    if (from < body.size() && body[from] == '{') ++from;
    std::size_t to = from;
    while (to < body.size() && is_name_byte(body[to])) ++to;
    if (to > from) expansion(begin + from, begin + to);
    at = std::max(at, to - 1);
  }
}

void ShellRules::comment(std::size_t begin, std::size_t end) {
  const std::string_view text = sheet_.text().substr(begin, std::min<std::size_t>(end - begin, 400));
  if (!text.starts_with("#SBATCH") && !text.starts_with("#PBS") && !text.starts_with("#BSUB") &&
      !text.starts_with("#$"))
    return;
  for (const std::string_view word : {"gpu:", "--gpus", "gpus=", "ngpus", "-G "}) {
    if (text.find(word) == std::string_view::npos) continue;
    sheet_.add("TX333", begin, begin + text.size());
    return;
  }
}

void ShellRules::packages(const ShellCommand& command, std::size_t from) {
  for (std::size_t i = from; i < command.words.size(); ++i) {
    const ShellWord& w = command.words[i];
    if (w.text.empty()) continue;
    const std::string_view text = w.text;
    const std::size_t equals = text.find('=');
    if (text.starts_with("--") && equals != std::string_view::npos) {
      if (unbroken(w, 0, text.size())) package_index(sheet_, text.substr(equals + 1), w.at[equals + 1]);
      continue;
    }
    if (text.starts_with('-')) {
      const bool url = text == "-i" || text == "-f" || text == "--index-url" || text == "--extra-index-url" ||
                       text == "--find-links";
      const bool file = text == "-r" || text == "-c" || text == "-n" || text == "-p" || text == "--name" ||
                        text == "--requirement" || text == "--channel" || text == "-t";
      if ((url || file) && i + 1 < command.words.size()) {
        const ShellWord& next = command.words[++i];
        if (url && unbroken(next, 0, next.text.size())) package_index(sheet_, next.text, next.at[0]);
      }
      continue;
    }
    if (unbroken(w, 0, text.size())) requirement(sheet_, text, w.at[0]);
  }
}

void ShellRules::tools(const ShellCommand& command) {
  const auto& words = command.words;
  bool docker = false, slurm = false, singularity = false;
  const auto of_cuda = [](std::string_view image) {
    return image.starts_with("pytorch/pytorch:") && image.find("cuda") != std::string_view::npos;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ShellWord& w = words[i];
    const std::string_view text = w.text, program = program_name(text);
    const std::string_view next = i + 1 < words.size() ? std::string_view(words[i + 1].text) : std::string_view();
    if (program == "docker" || program == "podman" || program == "nerdctl" || program == "docker-compose")
      docker = true;
    if (among(kSlurm, program)) slurm = true;
    if (program == "singularity" || program == "apptainer") singularity = true;
    if (program == "nvidia-smi") {
      const bool lists = next == "-L" || next == "--list-gpus" || next.starts_with("--query-gpu");
      const std::string_view all = sheet_.text();
      if (lists && command.terminator == '|') {  // | wc -l
        std::size_t at = command.end + 1;
        const auto blanks = [&] {
          while (at < all.size() && (all[at] == ' ' || all[at] == '\t')) ++at;
        };
        blanks();
        if (all.substr(at, 2) == "wc") {
          at += 2;
          blanks();
          if (all.substr(at, 2) == "-l" && !(at + 2 < all.size() && is_name_byte(all[at + 2]))) {
            Finding& f =
                sheet_.change("TX322", Confidence::Review, w.begin, at + 2, "npu-smi info -l | grep -c \"NPU ID\"");
            f.api = "nvidia-smi";
            f.suggestion = "npu-smi info -l";
            return;
          }
        }
      }
      const bool bare = next.empty() || next == "-L";
      if (bare && words.size() <= i + 2 && unbroken(w, 0, text.size()) && w.end - w.begin == text.size() && i == 0) {
        const std::size_t end = next.empty() ? w.end : words[i + 1].end;
        // shown on the screen, where nobody reads it
        const bool shown =
            (command.within == 0 || command.within == 'T') && command.terminator != '|' && command.terminator != '>';
        Finding& f =
            sheet_.change("TX321", shown ? Confidence::Likely : Confidence::Review, w.begin + (text.size() - 10), end,
                          next.empty() ? "npu-smi info" : "npu-smi info -l");
        f.api = "nvidia-smi";
      } else {
        sheet_.add("TX323", w.begin, w.end);
      }
      return;
    }
    if (program == "nvcc") {
      sheet_.add("TX331", w.begin, w.end);
    } else if (program == "nsys" || program == "ncu" || program == "nvprof" || program == "nsight") {
      sheet_.add("TX332", w.begin, w.end, rules::told("TX332.profiler", {program})).suggestion = "msprof";
    } else if (program == "compute-sanitizer" || program == "cuda-memcheck" || program == "cuda-gdb") {
      sheet_.add("TX332", w.begin, w.end, rules::told("TX332.code", {program}));
    } else if (program == "nvidia-cuda-mps-control" || program == "nvidia-docker" || program == "dcgmi") {
      sheet_.add("TX332", w.begin, w.end, rules::told("TX332.driver", {program}));
    } else if (text == "torch.distributed.launch") {
      sheet_.add("TX324", w.begin, w.end);
    } else if (program == "deepspeed" && i + 1 < words.size()) {
      sheet_.add("TX325", w.begin, w.end, rules::told("TX325.deepspeed"));
    } else if (program == "accelerate" && next == "launch") {
      sheet_.add("TX325", w.begin, words[i + 1].end, rules::told("TX325.accelerate"));
    } else if (program == "horovodrun") {
      sheet_.add("TX325", w.begin, w.end, rules::told("TX325.horovod")).suggestion = "torchrun";
    } else if (docker && (text == "--gpus" || text.starts_with("--gpus=") || text == "--runtime=nvidia" ||
                          (text == "nvidia" && i > 0 && words[i - 1].text == "--runtime"))) {
      sheet_.add("TX335", w.begin, w.end, rules::told("container.gpus"));
    } else if (text == "--nv" && singularity) {
      sheet_.add("TX335", w.begin, w.end, rules::told("TX335.bind"));
    } else if ((docker && (text.starts_with("nvidia/cuda") || text.starts_with("nvcr.io/") || of_cuda(text))) ||
               text.starts_with("docker://nvcr.io") || text.starts_with("docker://nvidia/") ||
               (slurm && text.starts_with("--container-image=") && text.find("nvcr.io") != std::string_view::npos)) {
      sheet_.add("TX336", w.begin, w.end, rules::told("container.image"));
    } else if (slurm && (text.find("gpu:") != std::string_view::npos || text.starts_with("--gpus") || text == "-G")) {
      sheet_.add("TX333", w.begin, w.end);
    } else if (i == 0 && program == "module" && (next == "load" || next == "add")) {
      for (std::size_t k = 2; k < words.size(); ++k) {
        const std::string_view m = words[k].text;
        if (m.find("cuda") == std::string_view::npos && m.find("cudnn") == std::string_view::npos &&
            m.find("nccl") == std::string_view::npos)
          continue;
        sheet_.add("TX334", words[k].begin, words[k].end, rules::told("TX334.module"));
      }
    } else if (among(kSystemInstallers, program)) {
      for (std::size_t k = i + 1; k < words.size(); ++k) {
        const std::string_view package = words[k].text;
        if (package.starts_with("cuda-") || package == "cuda" || package.starts_with("libcudnn") ||
            package.starts_with("libnccl") || package.starts_with("nvidia-"))
          sheet_.add("TX334", words[k].begin, words[k].end, rules::told("TX334.package"));
      }
      return;
    } else if (among(kInstallers, program) && i + 1 < words.size()) {
      for (std::size_t k = i + 1; k < words.size() && k < i + 4; ++k) {
        const std::string_view verb = words[k].text;
        if (verb != "install" && verb != "add" && verb != "create" && verb != "download" && verb != "wheel") continue;
        packages(command, k + 1);
        return;
      }
    }
  }
}

void ShellRules::command(const ShellCommand& command) {
  const auto& words = command.words;
  if (words.empty()) return;
  const std::string_view first = program_name(words[0].text);
  const bool prints = among(kPrints, first);
  // Programs of awk and the like are texts in another language, what echo prints is for people.
  if (among(kFilters, first)) return;
  if (prints && command.targets.empty()) return;
  variables(command);
  if (prints) return;
  if (first == "[" || first == "[[" || first == "test") comparisons(command);
  else options(command);
  nested(command);
  tools(command);
}

}  // namespace updraft::migrate::text
