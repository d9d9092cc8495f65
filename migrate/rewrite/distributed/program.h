// The files that an entry file reaches by its imports, indexed: who calls what, where names are used, and where a value
// goes from where it is made.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "migrate/finding.h"
#include "migrate/names/module.h"
#include "migrate/names/project.h"

namespace updraft::migrate::rewrite::distributed {

using names::Value;
using names::What;
using syntax::Field;
using syntax::Kind;
using syntax::kNone;
using syntax::NodeId;

struct Source {
  std::string path, text;
  std::unique_ptr<names::Module> module;
  std::vector<Finding> findings;
  std::set<std::string> imports;                                          ///< modules that edits need: os, torch
  std::unordered_map<std::string_view, std::vector<NodeId>> identifiers;  ///< variables by name
  std::unordered_map<std::string_view, std::vector<NodeId>> attributes;   ///< attribute nodes by the attribute's name
  std::vector<NodeId> calls;
  std::set<NodeId> unwrapped;  ///< attributes that got .module already

  const syntax::Tree& tree() const noexcept { return module->tree(); }
  std::string_view text_of(NodeId node) const noexcept { return tree().text(node); }
  /// A finding at a node, certain, with no edits yet.
  Finding& add(const char* rule, Category category, NodeId node, Text message, std::string api = {});
  /// What the file calls a module at a node: torch, or its alias. Asks for an import where there is none. Empty where
  /// another thing has that name.
  std::string name_of(const std::string& package, NodeId where);
  /// Resolved name of what a call calls; empty where it is nothing outside the project.
  std::string callee(NodeId call) const;
};

/// An expression; where it is a container of which one item counts, which: a position, or from kKeys on a key.
struct Place {
  static constexpr std::size_t kWhole = ~std::size_t{0}, kKeys = std::size_t{1} << 32;
  Source* source = nullptr;
  NodeId node = kNone;
  std::size_t item = kWhole;

  bool operator<(const Place& o) const noexcept {
    return std::tie(source, node, item) < std::tie(o.source, o.node, o.item);
  }
};

/// A variable: of a scope (`bindings` identifies it) or an attribute of a class's instances (`owner` is PATH#CLASS).
struct Variable {
  Source* source = nullptr;
  std::string name, owner;
  const std::vector<names::Binding>* bindings = nullptr;

  bool operator<(const Variable& o) const noexcept {
    return std::tie(source, name, owner, bindings) < std::tie(o.source, o.name, o.owner, o.bindings);
  }
};

class Program {
 public:
  Program(const names::Project& project, const names::Project::Reader& read, const std::string& main);

  Source& main() noexcept { return *sources_.front(); }
  const std::deque<std::unique_ptr<Source>>& sources() const noexcept { return sources_; }
  const names::Project& project() const noexcept { return project_; }
  /// Calls of a function of the project: PATH#FUNCTION, PATH#CLASS (construction) or PATH#CLASS.METHOD.
  const std::vector<Place>& calls_of(const std::string& function) const;
  /// The id of a function_definition, as above (a constructor has its class's); empty for nested ones.
  std::string id_of(const Source& source, NodeId function) const;
  /// What a call calls, as above; empty where that is nothing of the project.
  std::string callee(const Source& source, NodeId call) const;
  /// The definition; source null where there is none.
  Place definition(const std::string& id) const;
  /// The variable that an identifier or self.NAME means.
  Variable variable(Source& source, NodeId node) const;
  /// An attribute of instances belongs to the first class of the project that its class comes from: what a subclass
  /// sets a base reads.
  std::string owner_of(const std::string& cls) const;
  /// Calls of a method by the names under which it is called: its own class's, and those of the bases.
  std::vector<Place> calls_of_method(const Source& source, NodeId function) const;
  /// Every use of a variable in the program.
  std::vector<Place> uses(const Variable& variable) const;

 private:
  void index(Source& source);

  const names::Project& project_;
  std::deque<std::unique_ptr<Source>> sources_;
  std::map<std::string, std::vector<Place>> calls_;
  std::map<std::string, Place> definitions_;
};

/// Everything that one value is known as: followed from expressions and variables through assignments, parameters,
/// returned values and attributes.
class Flow {
 public:
  explicit Flow(Program& program) : program_(program) {}

  /// From where a value is made.
  void from(Place made) { expression(made); }
  /// From a variable; its uses in `skip`'s function before `skip`'s end do not count.
  void from(const Variable& variable, Place skip);

  const std::set<Place>& places() const noexcept { return places_; }
  /// How a place was reached where a container stands between, and which item was not said there: loaders[phase],
  /// loaders.items(). The container's name and the item: loaders, "train".
  struct Chosen {
    NodeId container = kNone;
    std::string item;
  };
  const Chosen* chosen(const Place& place) const {
    const auto found = chosen_.find(place);
    return found == chosen_.end() ? nullptr : &found->second;
  }
  /// The item of the container in which the value was put first: "train" in {"train": DataLoader(…)}; empty: none.
  const std::string& key() const noexcept { return key_; }
  const std::set<Variable>& variables() const noexcept { return variables_; }
  bool has(const Source& source, NodeId node) const {
    return places_.contains({const_cast<Source*>(&source), node, Place::kWhole});
  }

 private:
  void expression(Place place);
  void bind(Source& source, NodeId target, std::size_t item);
  void variable(const Variable& variable, std::size_t item = Place::kWhole);
  void argument(Source& source, NodeId argument, std::size_t item);
  std::size_t key_item(const std::string& key);
  /// What an item of a container becomes where the container is asked for it. False: another item, or nobody knows.
  bool taken(Source& source, NodeId container, std::size_t item);
  void selected(Place place, NodeId container, std::size_t item, bool sure);
  void use(Place place);

  Program& program_;
  Place skip_;
  std::set<Place> places_;
  std::set<Variable> variables_;
  std::set<std::pair<Variable, std::size_t>> containers_;
  std::vector<std::string> keys_;
  std::map<Place, Chosen> chosen_;
  std::string key_;
  int depth_ = 0;
};

/// Calls that give what they are given in another wrapping: tqdm, enumerate, iter.
bool is_pass_through(std::string_view callee) noexcept;
/// Nearest function around a node; kNone for module-level code.
NodeId function_of(const Source& source, NodeId node);
/// Whether a node is what an assignment, loop or parameter list binds.
bool is_target(const syntax::Tree& tree, NodeId node);

// The steps of the conversion, each in a file of its own.

/// Why a script is left alone: it is distributed already, or something else does it for it.
struct Distributed {
  Place where;
  std::string api;
};
std::optional<Distributed> distributed_already(const Program& program);

/// A model to be wrapped in DistributedDataParallel.
struct Model {
  Source* source = nullptr;
  std::string name;  ///< as the source writes it: model, self.model
  Variable variable;
  std::vector<NodeId> parallel;  ///< statements that wrap it in DataParallel, or calls that do so in passing
  NodeId last = kNone;           ///< the statement after which it is complete and on its device
};
std::vector<Model> models(Program& program, const std::string& name);
void wrap(Program& program, const Model& model);

/// Where the processes begin and end.
struct Entry {
  NodeId block = kNone;     ///< of `if __name__ == "__main__":`, or the module
  std::string local_rank;   ///< the variable's name
  std::uint32_t ready = 0;  ///< module-level code after this offset runs in a process group
};
Entry entry(Program& program, const std::vector<Model>& models);

/// Samplers of training loaders, and their epochs.
void loaders(Program& program);
/// What only one process may do: saving, progress. Module-level code of the entry counts from the offset `ready` on.
void outputs(Program& program, const std::vector<Model>& models, std::uint32_t ready);

/// Whether a loop's body trains: something in it is called .backward(), or it calls a function of the program that
/// does so.
bool trains(const Program& program, const Source& source, NodeId loop, int depth = 0);

}  // namespace updraft::migrate::rewrite::distributed
