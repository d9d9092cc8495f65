// Every process trains on its own part of the data: DistributedSampler on the training loaders, and on no other. What
// trains is seen from the loops that walk a loader, wherever it was made.
#include <algorithm>
#include <set>
#include <utility>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/distributed/program.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

constexpr std::string_view kLoader = "torch.utils.data.DataLoader";

bool is_loader(std::string_view api) noexcept {
  return api == kLoader || api == "torch.utils.data.dataloader.DataLoader";
}

bool contains_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (at == 0 || !(std::isalpha(static_cast<unsigned char>(text[at - 1])) && text[at - 1] != '_')) return true;
  return false;
}

bool says_other(std::string_view name) {
  return contains_word(name, "val") || contains_word(name, "test") || contains_word(name, "eval") ||
         contains_word(name, "dev");
}

bool says_train(std::string_view name) {
  return (contains_word(name, "train") || contains_word(name, "Train") || contains_word(name, "trn")) &&
         !says_other(name);
}

/// The loop whose iterable holds an expression: for x in enumerate(loader). kNone where that is another thing, such as
/// range(len(loader)).
NodeId walked_by(const syntax::Tree& tree, NodeId node) {
  for (NodeId up = tree.parent(node); up != kNone; node = up, up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::For:
      case Kind::ForInClause: return tree[node].field == Field::Right ? up : kNone;
      case Kind::Call: {
        const std::string_view callee = tree.text(tree.child(up, Field::Function));
        if (callee == "len" || callee == "range" || callee == "next") return kNone;
        break;
      }
      case Kind::ArgumentList:
      case Kind::Parenthesized:
      case Kind::KeywordArgument: break;
      default: return kNone;
    }
  }
  return kNone;
}

enum class Purpose { Unknown, Training, Other };

struct Loader {
  Source* source = nullptr;
  NodeId call = kNone;
  Flow flow;
  std::vector<Place> loops;  // that walk it and train; item is unused
  Purpose purpose = Purpose::Unknown;
  explicit Loader(Program& p) : flow(p) {}
};

std::string target_name(const Source& s, NodeId call) {
  const syntax::Tree& tree = s.tree();
  for (NodeId up = tree.parent(call); up != kNone; up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::Assignment: return std::string(tree.text(tree.child(up, Field::Left)));
      case Kind::Pair: return std::string(tree.text(tree.child(up, Field::Key)));
      case Kind::KeywordArgument: return std::string(tree.text(tree.child(up, Field::Name)));
      case Kind::Function: return std::string(tree.text(tree.child(up, Field::Name)));
      default: break;
    }
  }
  return {};
}

void learn_purpose(Program& program, Loader& l) {
  l.flow.from(Place{l.source, l.call});
  bool walked = false;
  std::vector<Place> places(l.flow.places().begin(), l.flow.places().end());
  places.push_back({l.source, l.call});
  for (const Place& p : places) {
    if (p.item != Place::kWhole) continue;
    const NodeId loop = walked_by(p.source->tree(), p.node);
    if (loop == kNone) continue;
    walked = true;
    if (p.source->tree().kind(loop) == Kind::For && trains(program, *p.source, loop)) {
      // one loop for the phases: for phase in ("train", "val"): for x in loaders[phase]
      const Flow::Chosen* chosen = l.flow.chosen(p);
      if (chosen && says_other(chosen->item + target_name(*l.source, l.call))) continue;
      l.purpose = Purpose::Training;
      l.loops.push_back({p.source, p.node});
    }
  }
  if (l.purpose == Purpose::Training) return;
  if (walked) l.purpose = Purpose::Other;
}

/// The statement "LOADER.sampler.set_epoch(EPOCH)" in the loop over the epochs around a loop over the loader.
class Epochs {
 public:
  Epochs(Program& program, const Loader& loader) : program_(program), loader_(loader) {}

  /// `walked`: the loader where a training loop walks it.
  bool set(Place walked, int depth = 0) {
    Source& s = *walked.source;
    const syntax::Tree& tree = s.tree();
    NodeId inner = walked_by(tree, walked.node);
    // bar = tqdm(loader); for x in bar: the sampler is the loader's
    for (int wrapped = 0; wrapped < 3; ++wrapped) {
      const Variable v = program_.variable(s, walked.node);
      NodeId under = kNone;
      if (v.bindings)
        for (const names::Binding& b : *v.bindings)
          if (b.how == names::Bind::Assignment && tree.kind(b.value) == Kind::Call &&
              is_pass_through(tree.text(tree.child(b.value, Field::Function))))
            under = tree.child(tree.child(b.value, Field::Arguments), std::size_t{0});
      if (under == kNone) break;
      walked.node = under;
    }
    if (inner == kNone) inner = walked.node;  // handed on in a call
    const auto [loop, epoch] = counting(tree, inner);
    if (const Flow::Chosen* chosen = loader_.flow.chosen(walked)) {
      if (loop == kNone) return false;
      return chosen->item.starts_with('"')
                 ? insert_text(s, loop, tree.child(loop, Field::Body), kNone,
                               std::string(tree.text(chosen->container)) + "[" + chosen->item + "]", epoch)
                 : insert_each(s, loop, walked.node, epoch);
    }
    if (loop != kNone) return insert(s, loop, walked.node, epoch);
    const NodeId function = function_of(s, inner);
    return function != kNone && depth < 4 && callers(walked, function, depth);
  }

 private:
  /// The loop around a node, in its function, that counts the epochs: the nearest that says so, else the nearest that
  /// counts.
  static std::pair<NodeId, std::string> counting(const syntax::Tree& tree, NodeId inner) {
    std::pair<NodeId, std::string> nearest{kNone, {}};
    for (NodeId up = tree.parent(inner); up != kNone && tree.kind(up) != Kind::Function; up = tree.parent(up)) {
      const Kind kind = tree.kind(up);
      if (kind != Kind::For && kind != Kind::While) continue;
      std::string epoch = counter(tree, up);
      if (epoch.empty()) continue;
      if (epoch.find("epoch") != std::string::npos || epoch.starts_with("ep")) return {up, std::move(epoch)};
      if (nearest.first == kNone) nearest = {up, std::move(epoch)};
    }
    return nearest;
  }

  /// for loader in (a, b): the sampler of each, where it has one for several cards.
  bool insert_each(Source& s, NodeId loop, NodeId loader, const std::string& epoch) {
    const syntax::Tree& tree = s.tree();
    const Variable v = program_.variable(s, loader);
    if (!v.bindings) return false;
    for (const names::Binding& b : *v.bindings) {
      const NodeId each = tree.ancestor(b.node, Kind::For);
      if (each == kNone || !tree.inside(b.node, tree.child(each, Field::Left)) || !tree.inside(each, loop)) continue;
      const std::string line = v.name + ".sampler.set_epoch(" + epoch + ")";
      if (written(s, each, line)) return true;
      add(s, each).edits.push_back(at_start(tree, tree.child(each, Field::Body),
                                            {"if hasattr(" + v.name + ".sampler, \"set_epoch\"):", unit(tree) + line}));
      return true;
    }
    return false;
  }

  static std::string counter(const syntax::Tree& tree, NodeId loop) {
    if (tree.kind(loop) == Kind::For) {
      const NodeId left = tree.child(loop, Field::Left), right = tree.child(loop, Field::Right);
      if (tree.kind(left) == Kind::Identifier) {
        // range(…), trange(…), tqdm(range(…)), count(): numbers
        const std::string_view over = tree.text(right);
        for (std::string_view numbers : {"range(", "count("})
          if (over.find(numbers) != std::string_view::npos) return std::string(tree.text(left));
      }
      if (tree.kind(left) == Kind::PatternList && tree.text(right).starts_with("enumerate("))
        return std::string(tree.text(tree.child(left, std::size_t{0})));
      return {};
    }
    // while epoch < epochs: …; epoch += 1
    const NodeId condition = tree.child(loop, Field::Condition), body = tree.child(loop, Field::Body);
    for (NodeId id = body; body != kNone && id < tree[body].last; ++id) {
      if (tree.kind(id) != Kind::AugmentedAssignment) continue;
      const NodeId left = tree.child(id, Field::Left);
      if (tree.kind(left) != Kind::Identifier) continue;
      for (NodeId c = condition; condition != kNone && c < tree[condition].last; ++c)
        if (tree.kind(c) == Kind::Identifier && tree.text(c) == tree.text(left)) return std::string(tree.text(left));
    }
    return {};
  }

  /// The function that walks the loader is called in the loop over the epochs.
  bool callers(Place walked, NodeId function, int depth) {
    Source& s = *walked.source;
    bool any = false;
    for (const Place& call : program_.calls_of_method(s, function)) {
      Place given = call;
      const syntax::Tree& t = call.source->tree();
      const NodeId list = t.child(call.node, Field::Arguments);
      bool found = false;
      for (NodeId a : t.children(list)) {
        const NodeId value = t.kind(a) == Kind::KeywordArgument ? t.child(a, Field::Value) : a;
        if (loader_.flow.has(*call.source, value) && walked_variable_is_parameter(walked)) {
          given.node = value;
          found = true;
        }
      }
      if (!found) {
        // the loader is no argument: it must mean the same thing at the call
        const Variable v = program_.variable(s, walked.node);
        const bool module_level = v.bindings && call.source == &s && !is_local(s, walked.node);
        const bool attribute = !v.owner.empty() && s.text_of(walked.node).starts_with("self.") &&
                               t.text(t.child(call.node, Field::Function)).starts_with("self.");
        if (!module_level && !attribute) {
          const std::string object = receiver(*call.source, call.node);
          if (v.owner.empty() || object.empty()) continue;
          any = set_at(given, object + "." + v.name, depth) || any;
          continue;
        }
        any = set_at(given, std::string(s.text_of(walked.node)), depth) || any;
        continue;
      }
      any = set(given, depth + 1) || any;
    }
    return any;
  }

  static std::string receiver(const Source& s, NodeId call) {
    const NodeId callee = s.tree().child(call, Field::Function);
    if (s.tree().kind(callee) != Kind::Attribute) return {};
    return std::string(s.text_of(s.tree().child(callee, Field::Object)));
  }

  bool is_local(Source& s, NodeId node) const {
    const Variable v = program_.variable(s, node);
    const names::Scopes& scopes = s.module->scopes();
    return !v.bindings || scopes.lookup(v.name, 0) != v.bindings;
  }

  bool walked_variable_is_parameter(Place walked) const {
    const Variable v = program_.variable(*walked.source, walked.node);
    return v.bindings && std::any_of(v.bindings->begin(), v.bindings->end(),
                                     [](const names::Binding& b) { return b.how == names::Bind::Parameter; });
  }

  bool set_at(Place call, const std::string& loader, int depth) {
    Source& s = *call.source;
    const syntax::Tree& tree = s.tree();
    if (const auto [loop, epoch] = counting(tree, call.node); loop != kNone)
      return insert_text(s, loop, tree.child(loop, Field::Body), kNone, loader, epoch);
    const NodeId function = function_of(s, call.node);
    if (function == kNone || depth >= 4 || !loader.starts_with("self.")) return false;
    bool any = false;
    for (const Place& outer : program_.calls_of_method(s, function))
      if (receiver(*outer.source, outer.node) == "self") any = set_at(outer, loader, depth + 1) || any;
    return any;
  }

  bool insert(Source& s, NodeId loop, NodeId loader, const std::string& epoch) {
    const syntax::Tree& tree = s.tree();
    if (tree.kind(loader) == Kind::Call) return false;
    // made anew in every epoch: after that
    NodeId made = kNone;
    const Variable v = program_.variable(s, loader);
    if (v.bindings)
      for (const names::Binding& b : *v.bindings)
        if (b.how == names::Bind::Assignment && tree.inside(b.node, loop)) made = tree.statement(b.node);
    return insert_text(s, loop, tree.child(loop, Field::Body), made, std::string(tree.text(loader)), epoch);
  }

  static bool insert_text(Source& s, NodeId loop, NodeId body, NodeId made, const std::string& loader,
                          const std::string& epoch) {
    if (body == kNone) return false;
    const std::string line = loader + ".sampler.set_epoch(" + epoch + ")";
    if (written(s, loop, line)) return true;
    add(s, loop).edits.push_back(made == kNone ? at_start(s.tree(), body, {line}) : after(s.tree(), made, {line}));
    return true;
  }

  static bool written(const Source& s, NodeId loop, const std::string& line) {
    for (const Finding& f : s.findings)
      for (const Edit& e : f.edits)
        if (f.rule == "PT356" && f.begin == s.tree()[loop].begin && e.text.find(line) != std::string::npos) return true;
    return false;
  }

  static Finding& add(Source& s, NodeId loop) {
    return s.add("PT356", Category::Change, loop, rules::told("PT356"),
                 "torch.utils.data.distributed.DistributedSampler.set_epoch");
  }

  Program& program_;
  const Loader& loader_;
};

/// Whether a class is read by walking it alone: an IterableDataset, or one that has __iter__ and no __getitem__.
bool iterable_class(const Program& program, const Value& v) {
  const auto is = [](std::string_view name) {
    return name.ends_with("IterableDataset") || name.ends_with("IterDataPipe") || name == "webdataset.WebDataset" ||
           name == "webdataset.DataPipeline" || name == "torch.utils.data.ChainDataset";
  };
  if (!v.own) return is(v.name);
  if (program.project().derives(v.name, is)) return true;
  const std::string walks = program.project().defines(v.name, "__iter__");
  return !walks.empty() && program.project().defines(v.name, "__getitem__").empty() &&
         !program.project().derives(v.name, [](std::string_view) { return true; });
}

bool iterable(const Program& program, const Source& s, NodeId dataset, int depth = 0) {
  const Value v = s.module->value(dataset);
  if (v.what == What::Instance) return iterable_class(program, v);
  if (depth > 3) return false;
  // made by a function of the project
  std::vector<NodeId> found;
  s.module->sources(dataset, found);
  for (NodeId from : found) {
    if (s.tree().kind(from) != Kind::Call) continue;
    if (const Value made = s.module->value(from); made.what == What::Instance && iterable_class(program, made))
      return true;
    const Place maker = program.definition(program.callee(s, from));
    if (!maker.source) continue;
    const syntax::Tree& tree = maker.source->tree();
    for (NodeId n = maker.node; n < tree[maker.node].last; ++n)
      if (tree.kind(n) == Kind::Return && iterable(program, *maker.source, tree.child(n, std::size_t{0}), depth + 1))
        return true;
  }
  return false;
}

/// What the dictionaries after ** in a call hold.
struct Options {
  bool known = true;  ///< every key is
  std::set<std::string> keys;
};

Options starred(Program& program, Source& s, NodeId call) {
  const syntax::Tree& tree = s.tree();
  Options o;
  for (NodeId a : tree.children(tree.child(call, Field::Arguments))) {
    if (tree.kind(a) != Kind::DictionarySplat) continue;
    const NodeId value = tree.child(a, std::size_t{0});
    std::vector<NodeId> found;
    s.module->sources(value, found);
    bool any = false;
    for (NodeId from : found) {
      const Kind kind = tree.kind(from);
      const bool made = kind == Kind::Call && tree.text(tree.child(from, Field::Function)) == "dict";
      if (kind == Kind::Identifier || kind == Kind::Attribute) continue;
      if (kind != Kind::Dictionary && !made) {
        o.known = false;
        continue;
      }
      any = true;
      for (NodeId item : tree.children(made ? tree.child(from, Field::Arguments) : from)) {
        std::string key;
        if (tree.kind(item) == Kind::Pair && s.module->plain_string(tree.child(item, Field::Key), key))
          o.keys.insert(key);
        else if (tree.kind(item) == Kind::KeywordArgument) o.keys.emplace(tree.text(tree.child(item, Field::Name)));
        else o.known = false;
      }
    }
    o.known = o.known && any;
    if (tree.kind(value) != Kind::Identifier && tree.kind(value) != Kind::Attribute) continue;
    // options["sampler"] = …, options.update(…)
    const Variable v = program.variable(s, value);
    if (v.name.empty()) o.known = false;
    for (const Place& use : v.name.empty() ? std::vector<Place>{} : program.uses(v)) {
      const syntax::Tree& t = use.source->tree();
      const NodeId up = t.parent(use.node);
      if (t.kind(up) == Kind::Subscript && t.kind(t.parent(up)) == Kind::Assignment && t[up].field == Field::Left) {
        std::string key;
        if (use.source->module->plain_string(t.child(up, Field::Subscript), key)) o.keys.insert(key);
        else o.known = false;
      } else if (t.kind(up) == Kind::Attribute) {
        const NodeId changed = t.parent(up);
        const std::string_view method = t.text(t.child(up, Field::Attribute));
        if (method != "update" && method != "setdefault") continue;
        for (NodeId item : t.children(t.child(changed, Field::Arguments))) {
          std::string key;
          if (t.kind(item) == Kind::KeywordArgument) o.keys.emplace(t.text(t.child(item, Field::Name)));
          else if (t.kind(item) == Kind::Dictionary) {
            for (NodeId pair : t.children(item))
              if (use.source->module->plain_string(t.child(pair, Field::Key), key)) o.keys.insert(key);
              else o.known = false;
          } else if (method == "setdefault" && use.source->module->plain_string(item, key)) o.keys.insert(key);
          else if (method == "update") o.known = false;
        }
      }
    }
  }
  return o;
}

/// Why a training loader is not changed; empty where it is.
Text obstacle(Program& program, Source& s, NodeId call) {
  const syntax::Tree& tree = s.tree();
  const auto given = [&](const Argument& a) { return a && tree.kind(a.value) != Kind::None; };
  const Options options = starred(program, s, call);
  if (given(argument(tree, call, "batch_sampler", 4)) || options.keys.contains("batch_sampler"))
    return rules::told("PT357.batch_sampler");
  if (given(argument(tree, call, "sampler", 3)) || options.keys.contains("sampler"))
    return rules::told("PT357.sampler");
  const Argument dataset = argument(tree, call, "dataset", 0);
  if (!dataset) return rules::told("PT357.arguments");
  if (iterable(program, s, dataset.value)) return rules::told("PT357.iterable");
  // an explicit shuffle=True excludes samplers among the options
  const Argument shuffles = argument(tree, call, "shuffle", 2);
  if (options.keys.contains("shuffle") || (!options.known && !(shuffles && tree.kind(shuffles.value) == Kind::True)))
    return rules::told("PT357.options");
  if (argument(tree, call, "shuffle", 2).hidden || argument(tree, call, "sampler", 3).hidden) {
    bool stars = false;
    for (NodeId a : tree.children(tree.child(call, Field::Arguments))) stars = stars || tree.kind(a) == Kind::ListSplat;
    if (stars) return rules::told("PT357.starred");
  }
  return {};
}

/// A loader that one function makes for training and for validation: shuffle says which.
bool conditional(const syntax::Tree& tree, const Argument& shuffle) {
  if (!shuffle) return false;
  const Kind kind = tree.kind(shuffle.value);
  return kind != Kind::True && kind != Kind::False && kind != Kind::None;
}

void sample(const Program& program, Loader& l) {
  Source& s = *l.source;
  const syntax::Tree& tree = s.tree();
  const std::string torch = s.name_of("torch", l.call);
  if (torch.empty()) return;
  const Argument dataset = argument(tree, l.call, "dataset", 0), shuffle = argument(tree, l.call, "shuffle", 2),
                 sampler = argument(tree, l.call, "sampler", 3);
  const bool literal = !conditional(tree, shuffle);
  Finding& f = s.add("PT355", Category::Change, l.call, rules::told("PT355"), std::string(kLoader));
  const Kind kind = tree.kind(dataset.value);
  std::string data(tree.text(dataset.value));
  if (kind != Kind::Identifier && kind != Kind::Attribute) {
    // made in passing: a name for it
    data = "train_dataset";
    const names::Scopes& scopes = s.module->scopes();
    while (scopes.lookup(data, scopes.of(l.call))) data += "_";
    const bool keyword = tree.kind(dataset.whole) == Kind::KeywordArgument;
    f.edits.push_back({tree[dataset.value].begin, tree[dataset.value].begin, (keyword ? "(" : "") + data + " := "});
    if (keyword) f.edits.push_back({tree[dataset.value].end, tree[dataset.value].end, ")"});
  }
  const bool shuffled = shuffle && tree.kind(shuffle.value) == Kind::True;
  std::string text = "sampler=" + torch + ".utils.data.distributed.DistributedSampler(" + data + ", shuffle=" +
                     (!literal   ? std::string(tree.text(shuffle.value))
                      : shuffled ? "True"
                                 : "False") +
                     ")";
  (void)program;
  if (shuffle && tree.kind(shuffle.whole) == Kind::KeywordArgument && !sampler) {
    f.edits.push_back({tree[shuffle.whole].begin, tree[shuffle.whole].end, text});
    return;
  }
  if (shuffle && (shuffled || !literal))
    f.edits.push_back(tree.kind(shuffle.whole) == Kind::KeywordArgument
                          ? Edit{tree[shuffle.value].begin, tree[shuffle.value].end, "False"}
                          : Edit{tree[shuffle.whole].begin, tree[shuffle.whole].end, "False"});
  if (sampler) {  // None
    const bool keyword_given = tree.kind(sampler.whole) == Kind::KeywordArgument;
    f.edits.push_back({tree[sampler.whole].begin, tree[sampler.whole].end,
                       keyword_given ? text : text.substr(std::string_view("sampler=").size())});
  } else {
    // **options at the end may hold anything but these
    f.edits.push_back(keyword(tree, l.call, text));
  }
}

}  // namespace

void loaders(Program& program) {
  for (const auto& source : program.sources())
    for (NodeId call : source->calls) {
      const NodeId callee = source->tree().child(call, Field::Function);
      const Kind kind = source->tree().kind(callee);
      if (kind != Kind::Identifier && kind != Kind::Attribute) continue;
      if (!is_loader(source->callee(call))) continue;
      Loader l(program);
      l.source = source.get();
      l.call = call;
      learn_purpose(program, l);
      const syntax::Tree& tree = source->tree();
      const Argument shuffle = argument(tree, call, "shuffle", 2);
      const bool shuffled = shuffle && tree.kind(shuffle.value) == Kind::True;
      if (l.purpose == Purpose::Unknown) {
        const std::string name = target_name(*source, call);
        if (shuffled || says_train(name)) l.purpose = Purpose::Training;
        if (tree.ancestor(call, Kind::DictComprehension) != kNone) l.purpose = Purpose::Unknown;
      }
      if (l.purpose == Purpose::Other) continue;  // validation: every process sees all of it
      if (l.purpose == Purpose::Unknown) {
        if (!shuffle && tree.ancestor(call, Kind::DictComprehension) == kNone) continue;
        source->add("PT357", Category::Note, call, rules::told("PT357.purpose"), std::string(kLoader)).confidence =
            Confidence::Review;
        continue;
      }
      Text why = obstacle(program, *source, call);
      if (why.empty() && conditional(tree, shuffle)) {
        // the same call also makes a loader that is only evaluated
        for (const Place& p : l.flow.places()) {
          const NodeId loop = p.item == Place::kWhole ? walked_by(p.source->tree(), p.node) : kNone;
          if (loop != kNone && p.source->tree().kind(loop) == Kind::For && !trains(program, *p.source, loop))
            why = rules::told("PT357.both");
        }
      }
      if (!why.empty()) {
        source->add("PT357", Category::Note, call, std::move(why), std::string(kLoader)).confidence =
            Confidence::Review;
        continue;
      }
      sample(program, l);
      bool set = false;
      for (const Place& loop : l.loops) set = Epochs(program, l).set(loop) || set;
      if (!set)
        source->add("PT357", Category::Note, call, rules::told("PT357.epochs"), std::string(kLoader)).confidence =
            Confidence::Review;
    }
}

}  // namespace updraft::migrate::rewrite::distributed
