// Programs of NVIDIA's that a script starts: subprocess.run(["nvidia-smi", …]), os.system("nvidia-smi -L"), and
// commands that wait in a variable. What is only shown is exchanged; what is read says what to take.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/strings.h"
#include "migrate/source/words.h"
#include "migrate/text/readers.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/rules.h"

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
    s_.claims.take(literal);
    const rules::Rule& rule = *found.front();
    if (!s_.applies(rule) || s_.kept(literal)) return;
    Finding& f = s_.add(rule, literal, Confidence::Certain, std::string(c.program));
    if (c.program != "nvidia-smi") return;
    const std::string now = npu_smi(c.rest);
    f.suggestion = now;
    f.message += rules::told("command.take", {now});
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
    if (tree.kind(id) == Kind::String && !s.claims.taken(id)) c.visit(id);
}

// Command lines that stand in strings, looked at as a shell script's: os.system(f"CUDA_VISIBLE_DEVICES={n} python
// train.py --device cuda"), subprocess.run("…", shell=True), shlex.split("…").

namespace {

bool takes_a_line(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 10> known = {"os.system",
                                                             "os.popen",
                                                             "subprocess.run",
                                                             "subprocess.call",
                                                             "subprocess.check_call",
                                                             "subprocess.Popen",
                                                             "subprocess.check_output",
                                                             "shlex.split",
                                                             "subprocess.getoutput",
                                                             "subprocess.getstatusoutput"};
  return std::find(known.begin(), known.end(), api) != known.end();
}

/// The call that a string, or the string that a name stands for, is the command line of.
bool is_line(const Sites& s, NodeId literal) {
  const syntax::Tree& tree = s.tree();
  const auto first_of_starter = [&](NodeId argument) {
    const NodeId list = tree.parent(argument);
    return tree.kind(list) == Kind::ArgumentList && tree.child(list, std::size_t{0}) == argument &&
           takes_a_line(s.module.local(tree.child(tree.parent(list), Field::Function)).name);
  };
  NodeId whole = literal;
  const NodeId up = tree.parent(literal);
  if (tree.kind(up) == Kind::Attribute) {  // "python train.py --device cuda".split(), .format(…)
    const std::string_view method = tree.text(tree.child(up, Field::Attribute));
    if (tree.call_of(up) == kNone || (method != "split" && method != "format")) return false;
    if (method == "split") {
      std::string_view text = tree.text(literal);
      for (std::string_view program : {"python", "torchrun", "accelerate", "deepspeed", "CUDA_VISIBLE_DEVICES"})
        if (text.substr(std::min<std::size_t>(text.find_first_of("\"'") + 1, text.size())).starts_with(program))
          return true;
      return false;
    }
    whole = tree.call_of(up);
  } else if (tree.kind(up) == Kind::Binary && tree[literal].field == Field::Left) {
    whole = up;
  }
  if (first_of_starter(whole)) return true;
  const NodeId assignment = tree.parent(whole);
  if (tree.kind(assignment) != Kind::Assignment || tree[whole].field != Field::Right) return false;
  const NodeId name = tree.child(assignment, Field::Left);
  if (tree.kind(name) != Kind::Identifier) return false;
  const names::ScopeId scope = s.module.scopes().of(name);
  for (NodeId n = assignment; n < tree.size(); ++n)
    if (tree.kind(n) == Kind::Identifier && tree.text(n) == tree.text(name) && s.module.scopes().of(n) == scope &&
        first_of_starter(n))
      return true;
  return false;
}

/// ["torchrun", "--nproc_per_node", "gpu", "train.py"], and "--nproc_per_node=gpu" as one word.
void processes_per_node(Sites& s) {
  const syntax::Tree& tree = s.tree();
  static const rules::Rule& rule = rules::coded("TX303");
  const auto option = [](std::string_view word) { return word == "--nproc_per_node" || word == "--nproc-per-node"; };
  const auto change = [&](NodeId literal, std::size_t last) {
    // behind what follows the word: the closing quotes
    const auto end = static_cast<std::uint32_t>(tree[literal].begin + last);
    if (s.kept(literal) || s.claims.taken(literal)) return;
    s.claims.take(literal);
    s.add(rule, literal, Confidence::Certain, "torchrun").edits.push_back({end - 3, end, "npu"});
  };
  for (NodeId list = 0; list < tree.size(); ++list) {
    if (tree.kind(list) != Kind::List && tree.kind(list) != Kind::Tuple && tree.kind(list) != Kind::ArgumentList)
      continue;
    std::string before;
    for (NodeId word : tree.children(list)) {
      std::string text;
      if (tree.kind(word) != Kind::String || !s.module.plain_string(word, text)) {
        before.clear();
        continue;
      }
      const std::size_t equals = text.find('=');
      const bool whole = option(before) && text == "gpu";
      const bool joined =
          equals != std::string::npos && option(text.substr(0, equals)) && text.substr(equals) == "=gpu";
      if (const std::size_t at = tree.text(word).rfind("gpu"); (whole || joined) && at != std::string_view::npos)
        change(word, at + 3);
      before = std::move(text);
    }
  }
}

}  // namespace

void command_lines(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const std::string_view all = tree.text();
  const bool processes = all.find("nproc") != std::string_view::npos && all.find("gpu") != std::string_view::npos;
  if (all.find("cuda") == std::string_view::npos && all.find("nccl") == std::string_view::npos &&
      all.find("CUDA_") == std::string_view::npos && !processes)
    return;
  if (processes) processes_per_node(s);
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::String || s.claims.taken(id)) continue;
    const std::string_view text = tree.text(id);
    if (text.size() < 8 || text.size() > 4000 || text.find(' ') == std::string_view::npos) continue;
    if (text.find("cuda") == std::string_view::npos && text.find("CUDA_") == std::string_view::npos &&
        text.find("nccl") == std::string_view::npos && text.find("NCCL") == std::string_view::npos &&
        text.find("nproc") == std::string_view::npos)
      continue;
    if (!is_line(s, id) || s.kept(id)) continue;
    text::Embedded embedded;
    for (NodeId c : tree.children(id)) {
      if (tree.kind(c) == Kind::StringContent) embedded.same(tree.text(c), tree[c].begin);
      if (tree.kind(c) == Kind::Interpolation) embedded.filler("0");
    }
    embedded.encode_by([](std::string_view t, std::uint32_t, std::uint32_t) -> std::optional<std::string> {
      if (t.find_first_of("\"'\\\n{}%") != std::string_view::npos) return std::nullopt;
      return std::string(t);
    });
    text::ShellOptions options;
    options.lines = true;
    options.depth = 1;
    text::Sheet sheet(all);
    sheet.adopt(text::shell(embedded.text(), {}, options), embedded);
    std::vector<Finding> found = sheet.take();
    if (found.empty()) continue;
    s.claims.take(id);
    std::move(found.begin(), found.end(), std::back_inserter(s.findings));
  }
}

// Strings that Python evaluates: eval("torch.cuda.is_available()"), @pytest.mark.skipif("not
// torch.cuda.is_available()").

namespace {

/// Whether a call evaluates its first argument.
bool evaluates(const Sites& s, NodeId call) {
  const syntax::Tree& tree = s.tree();
  const NodeId callee = tree.child(call, Field::Function);
  if (tree.kind(callee) == Kind::Identifier) {
    const std::string_view name = tree.text(callee);
    if (name == "eval" || name == "exec") return !s.module.scopes().lookup(name, s.module.scopes().of(callee));
  }
  const Value v = s.module.value(callee);
  static constexpr std::array<std::string_view, 5> known = {"pytest.mark.skipif", "pytest.mark.xfail", "timeit.timeit",
                                                            "timeit.repeat", "timeit.Timer"};
  return v.what == What::Api && std::find(known.begin(), known.end(), v.name) != known.end();
}

/// [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
bool behind_c(const syntax::Tree& tree, NodeId list, NodeId literal) {
  if (tree.kind(list) != Kind::List && tree.kind(list) != Kind::Tuple) return false;
  std::string_view before;
  for (NodeId item : tree.children(list)) {
    if (item == literal) return before == "\"-c\"" || before == "'-c'";
    before = tree.text(item);
  }
  return false;
}

using source::is_name_byte;

/// Every torch.cuda.NAME in a piece of code that a rule exchanges.
void names(Sites& s, NodeId content, std::vector<Edit>& edits) {
  const std::string_view text = s.tree().text(content);
  const std::uint32_t begin = s.tree()[content].begin;
  for (std::size_t at = 0; (at = text.find("torch.cuda", at)) != std::string_view::npos;) {
    std::size_t end = at;
    while (end < text.size() && (is_name_byte(text[end]) || text[end] == '.')) ++end;
    const std::string name(text.substr(at, end - at));
    const bool whole = at == 0 || !(is_name_byte(text[at - 1]) || text[at - 1] == '.');
    const rules::Rule* rule = whole ? s.rules.api(name) : nullptr;
    if (rule && s.applies(*rule) && rule->category == Category::Change) {
      const rules::Renaming r = rules::renaming(*rule, name);
      if (!r.to.empty()) {
        const auto from = static_cast<std::uint32_t>(begin + at);
        edits.push_back({from, from + static_cast<std::uint32_t>(r.from.size()), r.to});
      }
    }
    at = end;
  }
}

}  // namespace

void code_strings(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const rules::Rule* rule = s.rules.string(rules::Value::Device, "code");
  if (!rule || !s.applies(*rule)) return;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::String || s.claims.taken(id) ||
        tree.text(id).find("torch.cuda") == std::string_view::npos)
      continue;
    const NodeId list = tree.parent(id), call = tree.parent(list);
    const bool argument = tree.kind(list) == Kind::ArgumentList && tree.child(list, std::size_t{0}) == id &&
                          tree.kind(call) == Kind::Call && evaluates(s, call);
    if ((!argument && !behind_c(tree, list, id)) || s.kept(id)) continue;
    std::vector<Edit> edits;
    for (NodeId c : tree.children(id))
      if (tree.kind(c) == Kind::StringContent) names(s, c, edits);
    if (edits.empty()) continue;
    s.claims.take(id);
    s.add(*rule, id, npu_has_its_own(tree, id) ? Confidence::Review : Confidence::Likely).edits = std::move(edits);
  }
}

// What setup() asks for: install_requires, extras_require and the like, as the text reader reads requirements.txt.

namespace {

constexpr std::array<std::string_view, 4> kKeywords = {"install_requires", "setup_requires", "tests_require",
                                                       "extras_require"};

/// The requirements that stand in an expression: a list, a dictionary of lists, a name of one.
void collect(const Sites& s, NodeId expression, std::vector<NodeId>& strings, int depth = 0) {
  if (depth > 4) return;
  const syntax::Tree& tree = s.tree();
  std::vector<NodeId> found;
  s.module.sources(expression, found);
  for (NodeId id : found) {
    switch (tree.kind(id)) {
      case Kind::String: strings.push_back(id); break;
      case Kind::List:
      case Kind::Tuple:
        for (NodeId item : tree.children(id)) collect(s, item, strings, depth + 1);
        break;
      case Kind::Dictionary:
        for (NodeId pair : tree.children(id))
          if (tree.kind(pair) == Kind::Pair) collect(s, tree.child(pair, Field::Value), strings, depth + 1);
        break;
      default: break;
    }
  }
}

}  // namespace

/// Extension("nms", ["nms_kernel.cu"]) of setuptools or distutils, which names nvcc itself.
void cuda_sources(Sites& s) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    std::string path;
    if (tree.kind(id) != Kind::String || !s.module.plain_string(id, path) || !path.ends_with(".cu")) continue;
    NodeId call = tree.ancestor(id, Kind::Call);
    while (call != kNone && !tree.text(tree.child(call, Field::Function)).ends_with("Extension"))
      call = tree.ancestor(call, Kind::Call);
    if (call == kNone || tree.text(tree.child(call, Field::Function)).ends_with("CUDAExtension") || s.kept(id))
      continue;
    s.add(rules::coded("TX234"), id, Confidence::Certain);
  }
}

void requirements(Sites& s) {
  const syntax::Tree& tree = s.tree();
  if (source::says(tree.text(), ".cu'") || source::says(tree.text(), ".cu\"")) cuda_sources(s);
  if (!source::says(tree.text(), "_require")) return;
  std::vector<NodeId> strings;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::KeywordArgument) continue;
    const std::string_view name = tree.text(tree.child(id, Field::Name));
    if (std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end())
      collect(s, tree.child(id, Field::Value), strings);
  }
  std::sort(strings.begin(), strings.end());
  strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
  text::Sheet sheet(tree.text());
  for (NodeId id : strings) {
    std::string spec;
    if (s.claims.taken(id) || s.kept(id) || !s.module.plain_string(id, spec)) continue;
    for (NodeId c : tree.children(id))
      if (tree.kind(c) == Kind::StringContent) text::requirement(sheet, tree.text(c), tree[c].begin);
  }
  std::vector<Finding> found = sheet.take();
  std::move(found.begin(), found.end(), std::back_inserter(s.findings));
}

}  // namespace updraft::migrate::rewrite
