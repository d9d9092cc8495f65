// Programs of NVIDIA's that a script starts: subprocess.run(["nvidia-smi", …]), os.system("nvidia-smi -L"), and
// commands that wait in a variable. What is only shown is exchanged; what is read says what to take.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite {
namespace {

/// Functions of the standard library that start a program or look for one.
bool starts(std::string_view api) noexcept {
  for (std::string_view p :
       {"subprocess", "os.system", "os.popen", "os.execv", "os.execvp", "os.execl", "os.execlp", "os.spawnv",
        "os.spawnvp", "os.spawnl", "os.spawnlp", "shutil.which", "shlex.split", "asyncio.create_subprocess_exec",
        "asyncio.create_subprocess_shell", "distutils.spawn.find_executable", "pexpect"})
    if (rules::under(api, p)) return true;
  return false;
}

/// A name that says so: run_cmd, self.shell, command.
bool says_command(std::string_view name) {
  std::string low(name);
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  for (std::string_view word :
       {"run", "popen", "exec", "shell", "check_output", "getoutput", "command", "cmd", "spawn", "which", "executable"})
    if (low.find(word) != std::string::npos) return true;
  return false;
}

/// -L, --query-gpu=…, topo: what follows the program in a command line and in no sentence.
bool is_option(std::string_view rest) noexcept {
  for (std::string_view word : {"-", "topo ", "topo", "dmon", "pmon", "|", ">", "&&", ";"})
    if (rest.starts_with(word)) return true;
  return false;
}

struct Command {
  NodeId literal = kNone, content = kNone;
  std::string_view program;
  std::string rest;      ///< the words after it
  NodeId list = kNone;   ///< where the words stand one by one
  NodeId call = kNone;   ///< what starts it
  std::string_view api;  ///< its name; empty where that is none of the standard library
};

std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// The npu-smi that shows the same.
std::string npu_smi(std::string_view rest) {
  const auto has = [&](std::string_view word) { return rest.find(word) != std::string_view::npos; };
  if (rest == "-L" || has("--list-gpus")) return "npu-smi info -l";
  if (has("compute-apps") || has("pmon")) return "npu-smi info -t proc-mem -i ID";
  if (has("memory") || has("utilization")) return "npu-smi info -t usages -i ID";
  if (has("count") || has("=index")) return "npu-smi info -l";
  if (has("=name") || has("uuid") || has("=gpu_name") || has("driver")) return "npu-smi info -t board -i ID";
  return "npu-smi info";
}

class Commands {
 public:
  explicit Commands(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void visit(NodeId literal) {
    Command c;
    c.literal = literal;
    for (NodeId child : tree_.children(literal))
      if (tree_.kind(child) != Kind::StringStart) {
        if (tree_.kind(child) == Kind::StringContent) c.content = child;
        break;
      }
    if (c.content == kNone) return;
    const std::string_view text = tree_.text(c.content), word = text.substr(0, text.find_first_of(" \t\n|;&"));
    c.program = word.substr(word.rfind('/') + 1);
    const auto& found = s_.rules.commands(c.program);
    if (found.empty() || is_docstring(tree_, literal)) return;
    c.rest = trimmed(text.substr(word.size()));
    if (!started(c)) return;
    s_.done[literal] = true;
    const rules::Rule& rule = *found.front();
    if (!s_.applies(rule) || s_.kept(literal)) return;
    Finding& f = s_.add(rule, literal, Confidence::Certain, std::string(c.program));
    if (c.program != "nvidia-smi") return;
    const std::string now = npu_smi(c.rest);
    f.suggestion = now;
    f.message.en += "; take " + now;
    f.message.zh += "；改用 " + now;
    if (!only_shown(c)) return;
    f.category = Category::Change;
    f.confidence = Confidence::Likely;
    if (c.list == kNone) {
      f.edits.push_back(s_.replace(c.content, now));
      return;
    }
    const std::string_view quoted = tree_.text(literal);
    const std::string quote(quoted.substr(quoted.size() - 1));
    f.edits.push_back(s_.replace(c.content, "npu-smi" + quote + ", " + quote + "info"));
    if (const NodeId option = tree_.child(c.list, std::size_t{1}); option != kNone)
      f.edits.push_back(s_.replace(option, quote + "-l" + quote));
  }

 private:
  /// Whether the string is a command line, or the first word of one, and what starts it.
  bool started(Command& c) const {
    NodeId mine = c.literal, up = tree_.parent(mine);
    for (; up != kNone; mine = up, up = tree_.parent(up)) {
      const Kind kind = tree_.kind(up);
      if (kind == Kind::Parenthesized || kind == Kind::ConcatenatedString) {
        if (kind == Kind::ConcatenatedString && tree_.child(up, std::size_t{0}) != mine) return false;
      } else if ((kind == Kind::List || kind == Kind::Tuple) && c.list == kNone) {
        if (tree_.child(up, std::size_t{0}) != mine || !c.rest.empty()) return false;
        c.list = up;
        for (NodeId item : tree_.children(up)) {
          std::string word;
          if (item == mine) continue;
          s_.module.plain_string(item, word);
          c.rest += (c.rest.empty() ? "" : " ") + (word.empty() ? "?" : word);
        }
      } else if (kind == Kind::Attribute) {  // "nvidia-smi -L".split()
        const NodeId call = tree_.parent(up);
        const std::string_view method = tree_.text(tree_.child(up, Field::Attribute));
        if ((method != "split" && method != "format") || tree_.kind(call) != Kind::Call) return false;
        up = call;
      } else if (kind == Kind::Binary) {  // "nvidia-smi -i %d" % n, ["nvidia-smi"] + options
        if (tree_[mine].field != Field::Left) return false;
      } else if (kind == Kind::KeywordArgument) {
        const std::string_view name = tree_.text(tree_.child(up, Field::Name));
        if (name != "args" && !says_command(name)) return false;
      } else {
        break;
      }
    }
    const Kind kind = tree_.kind(up);
    if (kind == Kind::ArgumentList) {
      c.call = tree_.parent(up);
      const NodeId callee = tree_.child(c.call, Field::Function);
      const Value v = s_.module.value(callee);
      if (v.what == What::Api) {
        api_ = v.name;
        if (starts(api_)) c.api = api_;
        return !c.api.empty();
      }
      const NodeId name = tree_.kind(callee) == Kind::Attribute ? tree_.child(callee, Field::Attribute) : callee;
      return says_command(tree_.text(name));
    }
    if (is_option(c.rest)) return kind == Kind::Assignment || kind == Kind::Return || kind == Kind::Pair;
    if (kind != Kind::Assignment) return false;
    const NodeId left = tree_.child(up, Field::Left);
    return says_command(tree_.text(tree_.kind(left) == Kind::Attribute ? tree_.child(left, Field::Attribute) : left));
  }

  /// A statement of its own whose output goes to the screen: os.system("nvidia-smi"), subprocess.run(["nvidia-smi"]).
  bool only_shown(const Command& c) const {
    if (c.call == kNone || (!c.rest.empty() && c.rest != "-L")) return false;
    if (tree_.kind(tree_.parent(c.call)) != Kind::ExpressionStatement || tree_[c.content].next == kNone ||
        tree_.kind(tree_[c.content].next) != Kind::StringEnd || tree_.text(c.content).front() == '/')
      return false;
    const NodeId arguments = tree_.child(c.call, Field::Arguments);
    const NodeId first = tree_.child(arguments, std::size_t{0});
    if (first != (c.list == kNone ? c.literal : c.list)) return false;
    if (c.api == "os.system") return c.list == kNone;
    if (c.api != "subprocess.run" && c.api != "subprocess.call" && c.api != "subprocess.check_call") return false;
    bool shell = false;
    for (NodeId a : tree_.children(arguments)) {
      if (a == first) continue;
      const std::string_view name = tree_.text(tree_.child(a, Field::Name));
      if (name == "shell") shell = tree_.kind(tree_.child(a, Field::Value)) == Kind::True;
      else if (name != "check") return false;
    }
    return shell == (c.list == kNone);
  }

  Sites& s_;
  const syntax::Tree& tree_;
  mutable std::string api_;
};

}  // namespace

void commands(Sites& s) {
  const syntax::Tree& tree = s.tree();
  Commands c(s);
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::String && !s.done[id]) c.visit(id);
}

}  // namespace updraft::migrate::rewrite
