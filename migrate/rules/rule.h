// Rules are data: what to look for, what to write instead, how sure that is and why. docs/use/migrate-rules.md
// describes the YAML.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "migrate/finding.h"
#include "migrate/support/messages.h"

namespace updraft::migrate::rules {

enum class Match : std::uint8_t {
  Api,          ///< a resolved name: `name` or anything under it
  Member,       ///< .NAME of an object
  Argument,     ///< a parameter of the calls `name`: its value is a device, a backend or `literal`
  Keyword,      ///< NAME=value of any call
  Environment,  ///< an environment variable in os.environ and the like
  Import,       ///< a package is imported
  String,       ///< a device or backend in a context of its own
  Command       ///< a program that a string, or a list of strings, starts
};

enum class Value : std::uint8_t { None, Device, Backend, Literal };
enum class Call : std::uint8_t { Any, Only, Never };

struct Example {
  std::string before, after;  ///< equal: must not be touched
  std::string finds;          ///< rule id that must be reported; empty: any
};

struct Rule {
  std::string id;
  std::string framework;  ///< pytorch or tensorflow
  Match match = Match::Api;
  std::vector<std::string> names;   ///< Environment: a trailing * stands for any end
  std::vector<std::string> except;  ///< names (or what stands under them) that are left alone
  std::string to;
  std::string table;   ///< Api: torch_cuda: every name under `name` by support/data/torch_cuda.tsv
                       ///< Environment: variables: was made from a row of support/data/variables.tsv
  bool exact = false;  ///< Api: the name itself, nothing under it
  Call call = Call::Any;
  int arguments = -1;               ///< Api: only calls of so many arguments; -1: any use
  std::vector<std::string> unless;  ///< Api: a parameter, then values: calls that give it one of these are left alone
  std::string parameter;            ///< Argument
  int position = -1;                ///< Argument: from 0; -1: keyword only
  Value value = Value::None;
  std::string literal;
  std::string absent;   ///< Argument: source text of the value where a call leaves it out; empty: nothing is added
  std::string context;  ///< String
  Category category = Category::Change;
  Confidence confidence = Confidence::Certain;
  Text message;
  std::string suggestion;
  std::vector<Example> examples;
  std::string source;  ///< file and line, for messages
};

/// Words of which a source has at least one, or the rules have nothing to say about it.
struct Triggers {
  std::vector<std::string> anywhere;  ///< also within others
  std::vector<std::string> names;     ///< identifiers: "comm" does not stand in "command"
};

class RuleSet {
 public:
  RuleSet() = default;
  RuleSet(const RuleSet&) = delete;  // the indices point into it
  RuleSet& operator=(const RuleSet&) = delete;

  /// Rules of a later call come before those of earlier ones of the same name: users override.
  void add(std::vector<Rule> rules);

  const std::vector<Rule>& all() const noexcept { return rules_; }
  using Found = std::vector<const Rule*>;
  /// Rules on names that end in a part: torch.cuda for "cuda".
  const Found& apis(std::string_view last) const noexcept { return find(apis_, last); }
  const Found& members(std::string_view name) const noexcept { return find(members_, name); }
  const Found& arguments(std::string_view last) const noexcept { return find(arguments_, last); }
  const Found& keywords(std::string_view name) const noexcept { return find(keywords_, name); }
  const Found& environment(std::string_view name) const noexcept;
  const Found& imports(std::string_view package) const noexcept { return find(imports_, package); }
  const Found& commands(std::string_view program) const noexcept { return find(commands_, program); }
  const Rule* string(Value value, std::string_view context) const noexcept;
  /// The rule on the longest part of a resolved name, exceptions heeded; null where none is.
  const Rule* api(std::string_view name) const noexcept;
  Triggers triggers(std::string_view framework) const;

 private:
  using Index = std::unordered_map<std::string, Found>;
  static const Found& find(const Index& index, std::string_view key) noexcept;
  void index();

  std::vector<Rule> rules_;
  Index apis_, members_, arguments_, keywords_, environment_, imports_, strings_, commands_;
  std::unordered_map<std::string, const Rule*> names_;
  std::vector<std::string> beginnings_;  ///< of environment variables, with the *
};

/// From YAML (JSON is YAML) in our schema, or rules.json of the original tool. Throws Error with file, line, what was
/// wanted and what was found.
std::vector<Rule> load(std::string_view text, const std::string& source);

/// What a rule on APIs makes of a name that it applies to.
struct Renaming {
  std::string from, to;   ///< `from` is the part of the name that is exchanged; `to` empty: there is nothing to take
  bool known = true;      ///< false: the table does not have the name
  bool to_class = false;  ///< `from` is a module and `to` a class, from which nothing can be imported
  Text note;              ///< of the table
};
Renaming renaming(const Rule& rule, std::string_view name);

// The rules whose findings code makes, and what these say: support/data/rules.tsv and messages.tsv.

/// By id. Throws Error where the table does not have it.
const Rule& coded(std::string_view id);

using support::Part;
using support::told;

/// Whether `name` is `prefix` or stands under it.
bool under(std::string_view name, std::string_view prefix) noexcept;

// Which rules a run is to have: by the command line, and by comments in the sources.

/// Ids or beginnings of ids: PT101, PT2, TX.
struct Selection {
  std::vector<std::string> select;  ///< empty: all
  std::vector<std::string> ignore;

  bool empty() const noexcept { return select.empty() && ignore.empty(); }
  bool has(std::string_view id) const noexcept;
};

/// Takes findings away that are not selected, and those on whose lines a comment says `updraft: keep[PT101, TX2]`.
/// Failures stay: they are no rule's.
void select(std::vector<Finding>& findings, std::string_view text, const Selection& selection);

// The rules that come with the program: rules/FRAMEWORK/*.yaml, embedded.

std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();

/// Adds the rules of a framework (pytorch or tensorflow).
void add_builtin(RuleSet& rules, std::string_view framework);

}  // namespace updraft::migrate::rules
