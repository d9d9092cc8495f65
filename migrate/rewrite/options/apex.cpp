// -a MODEL: torch.cuda.amp of a script becomes apex.amp: amp.initialize behind the optimizers, amp.scale_loss around
// backward(). The whole of a script or nothing of it: what is left stays torch.npu.amp, and is said.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/sites.h"
#include "migrate/source/words.h"

namespace updraft::migrate::rewrite {
namespace {

/// Stands for apex's module in edits until its name in the source is known.
const std::string kAmp = "\x01";

struct Refused {
  NodeId where;
  Text why;
};

/// The name behind the last dot of an API of torch's mixed precision: autocast, GradScaler; empty for others.
std::string_view amp_name(std::string_view api) noexcept {
  if (api == "torch.autocast") return "autocast";
  static constexpr std::array<std::string_view, 3> kPackages = {"torch.cuda.amp", "torch.npu.amp", "torch.amp"};
  const std::string_view last = api.substr(api.rfind('.') + 1);
  const bool known = std::any_of(kPackages.begin(), kPackages.end(),
                                 [&](std::string_view package) { return rules::under(api, package); });
  return known && (last == "autocast" || last == "GradScaler") ? last : std::string_view{};
}

std::size_t line_begin(std::string_view text, std::size_t at) noexcept {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
}

/// A variable that holds a GradScaler: a name with its bindings, or self.NAME in a class.
struct Holder {
  const std::vector<names::Binding>* bindings = nullptr;
  std::string text;
  NodeId cls = kNone;

  bool operator==(const Holder&) const = default;
};

class ApexAmp {
 public:
  ApexAmp(Sites& sites, const std::string& models) : s_(sites), tree_(sites.tree()) {
    for (std::size_t at = 0; at <= models.size();) {
      const std::size_t comma = std::min(models.find(',', at), models.size());
      if (comma > at) models_.push_back(models.substr(at, comma - at));
      at = comma + 1;
    }
  }

  void run() {
    for (const Use& use : uses_under(s_, {"torch"}))
      if (const std::string_view what = amp_name(use.value.name); what == "autocast") autocasts_.push_back(use);
      else if (what == "GradScaler") scalers_.push_back(use);
    if (scalers_.empty()) return;  // nothing of this source trains in mixed precision by itself
    for (const Use& use : scalers_)
      if (s_.kept(use.node)) return;
    try {
      convert();
    } catch (const Refused& refused) {
      Finding& f = s_.add(rules::coded("PT823"), refused.where, Confidence::Review, "torch.cuda.amp");
      f.message = rules::told("PT823", {refused.why});
    }
  }

 private:
  /// `reason` of messages.tsv.
  [[noreturn]] static void refuse(NodeId where, std::string_view reason,
                                  std::initializer_list<rules::Part> parts = {}) {
    throw Refused{where, rules::told(reason, parts)};
  }

  std::string text(NodeId node) const { return std::string(tree_.text(node)); }

  NodeId statement_of(NodeId node) const {
    while (node != kNone && tree_.kind(node) != Kind::ExpressionStatement) {
      if (tree_.kind(node) == Kind::Block || tree_.kind(node) == Kind::Module) return kNone;
      node = tree_.parent(node);
    }
    return node;
  }

  /// Nothing else stands on the statement's lines.
  bool alone(NodeId statement) const {
    const std::string_view all = tree_.text();
    const std::size_t start = line_begin(all, tree_[statement].begin);
    if (all.substr(start, tree_[statement].begin - start).find_first_not_of(" \t") != std::string_view::npos)
      return false;
    const std::size_t next = all.find_first_not_of(" \t\r", tree_[statement].end);
    return next == std::string_view::npos || all[next] == '\n' || all[next] == '#';
  }

  std::string indent_of(NodeId statement) const {
    const std::size_t start = line_begin(tree_.text(), tree_[statement].begin);
    std::string indent(tree_.text().substr(start, tree_[statement].begin - start));
    const auto less = dedents_.find(start);
    if (less != dedents_.end()) indent.erase(0, less->second);
    return indent;
  }

  const std::string& newline() const {
    static const std::string crlf = "\r\n", lf = "\n";
    return tree_.text().find("\r\n") != std::string_view::npos ? crlf : lf;
  }

  NodeId function_around(NodeId node) const {
    NodeId up = tree_.parent(node);
    while (up != kNone && tree_.kind(up) != Kind::Function) up = tree_.parent(up);
    return up;
  }

  /// Name or self.NAME that an assignment of one value gives it to; kNone where it is another thing.
  NodeId target_of(NodeId value) const {
    const NodeId assignment = tree_.parent(value);
    if (tree_.kind(assignment) != Kind::Assignment || tree_[value].field != Field::Right) return kNone;
    const NodeId left = tree_.child(assignment, Field::Left);
    if (tree_.kind(tree_.parent(assignment)) != Kind::ExpressionStatement) return kNone;
    return tree_.kind(left) == Kind::Identifier ||
                   (tree_.kind(left) == Kind::Attribute && text(left).starts_with("self."))
               ? left
               : kNone;
  }

  Holder holder(NodeId variable) const {
    if (tree_.kind(variable) == Kind::Attribute)
      return {nullptr, text(variable), tree_.ancestor(variable, Kind::Class)};
    return {s_.module.scopes().lookup(tree_.text(variable), s_.module.scopes().of(variable)), text(variable), kNone};
  }

  /// Every mention of a variable, but where it is set.
  std::vector<NodeId> mentions(const Holder& h) const {
    std::vector<NodeId> found;
    const Kind kind = h.cls != kNone || h.text.find('.') != std::string::npos ? Kind::Attribute : Kind::Identifier;
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (tree_.kind(id) == kind && tree_.text(id) == h.text && tree_[id].field != Field::Left &&
          (kind == Kind::Attribute || tree_.is_reference(id)) && holder(id) == h &&
          tree_.kind(tree_.parent(id)) != Kind::Parameters)
        found.push_back(id);
    return found;
  }

  NodeId argument(NodeId call, std::string_view keyword, std::size_t position) const {
    std::size_t n = 0;
    for (NodeId a : tree_.children(tree_.child(call, Field::Arguments))) {
      if (tree_.kind(a) == Kind::KeywordArgument) {
        if (tree_.text(tree_.child(a, Field::Name)) == keyword) return tree_.child(a, Field::Value);
      } else if (n++ == position) {
        return a;
      }
    }
    return kNone;
  }

  // Steps ------------------------------------------------------------------------------------------------------------

  void convert() {
    if (scalers_.size() != 1) refuse(scalers_[1].node, "PT823.scalers");
    const NodeId call = scalers_[0].call;
    if (call == kNone) refuse(scalers_[0].node, "PT823.scaler.called");
    const NodeId target = target_of(call);
    if (target == kNone) refuse(call, "PT823.scaler.variable");
    settings(call);
    statement_ = tree_.parent(tree_.parent(call));
    if (!alone(statement_)) refuse(call, "statement.line");
    if (tree_.kind(target) == Kind::Identifier) {
      const Holder made = holder(target);
      for (const names::Binding& b : made.bindings ? *made.bindings : std::vector<names::Binding>{})
        if (b.how != names::Bind::Assignment || b.value != call) refuse(target, "PT823.scaler.values", {made.text});
    }
    remove(statement_);
    for (const Use& use : autocasts_) autocast(use);
    look_for_dedents();
    carry(holder(target));
    initialize(target);
    imports();
    finish(call);
  }

  /// Arguments of the GradScaler, as those of amp.initialize.
  void settings(NodeId call) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSame = {
        {{"init_scale", "dynamic_init_scale"},
         {"growth_factor", "scale_growth_factor"},
         {"backoff_factor", "scale_backoff_factor"},
         {"growth_interval", "scale_window"}}};
    std::size_t place = 0;
    const bool with_device = !rules::under(scalers_[0].value.name, "torch.cuda");
    for (NodeId a : tree_.children(tree_.child(call, Field::Arguments))) {
      std::string_view name;
      NodeId value = a;
      if (tree_.kind(a) == Kind::KeywordArgument) {
        name = tree_.text(tree_.child(a, Field::Name));
        value = tree_.child(a, Field::Value);
      } else if (tree_.kind(a) == Kind::ListSplat || tree_.kind(a) == Kind::DictionarySplat) {
        refuse(a, "PT823.scaler.arguments");
      } else if (with_device && place == 0) {
        ++place;
        continue;  // the device
      } else {
        name = kSame[std::min<std::size_t>(place - (with_device ? 1 : 0), 3)].first;
        ++place;
      }
      if (name == "device") continue;
      if (name == "enabled") {
        if (tree_.kind(value) != Kind::True) enabled_ = text(value);
        continue;
      }
      const auto* same = std::find_if(kSame.begin(), kSame.end(), [&](const auto& pair) { return pair.first == name; });
      if (same == kSame.end()) refuse(a, "PT823.initialize", {name});
      options_ += ", " + std::string(same->second) + "=" + text(value);
    }
  }

  void autocast(const Use& use) {
    const NodeId call = use.call;
    if (call == kNone) refuse(use.node, "PT823.autocast.called");
    if (!rules::under(use.value.name, "torch.cuda") && !rules::under(use.value.name, "torch.npu")) {
      std::string device;
      const NodeId given = argument(call, "device_type", 0);
      if (given == kNone || !s_.module.plain_string(given, device)) refuse(call, "PT823.autocast.device");
      if (device == "cpu") return;
    }
    bool off = false;
    for (NodeId a : tree_.children(tree_.child(call, Field::Arguments))) {
      if (tree_.kind(a) != Kind::KeywordArgument) {
        // torch.cuda.amp.autocast(enabled, dtype): the first may be given by its place
        if (!rules::under(use.value.name, "torch.cuda.amp") ||
            a != tree_.child(tree_.child(call, Field::Arguments), std::size_t{0}))
          continue;
        off = tree_.kind(a) == Kind::False;
        if (!off && tree_.kind(a) != Kind::True) condition(a);
        continue;
      }
      const std::string_view name = tree_.text(tree_.child(a, Field::Name));
      const NodeId value = tree_.child(a, Field::Value);
      if (name == "dtype") {
        const std::string type = text(value);
        if (!type.ends_with(".float16") && !type.ends_with(".half")) refuse(a, "PT823.type", {type});
      } else if (name == "enabled") {
        off = tree_.kind(value) == Kind::False;
        if (!off && tree_.kind(value) != Kind::True) condition(value);
      }
    }
    if (off) {
      casts_.emplace_back(use, true);
      return;
    }
    conditions_.emplace_back(call, condition_);
    condition_.clear();
    casts_.emplace_back(use, false);
  }

  void condition(NodeId value) { condition_ = text(value); }

  /// Blocks of autocast go: apex casts from amp.initialize on.
  void look_for_dedents() {
    for (const auto& [call, condition] : conditions_)
      if (condition != enabled_)
        refuse(call,
               enabled_.empty()    ? "PT823.switch.autocast"
               : condition.empty() ? "PT823.switch.scaler"
                                   : "PT823.switch.both",
               {condition.empty() ? enabled_ : condition, enabled_});
    const std::string_view all = tree_.text();
    for (const auto& [use, off] : casts_) {
      const NodeId up = tree_.parent(use.call);
      if (off) {
        edits_.push_back(s_.replace(use.call, kAmp + ".disable_casts()"));
        continue;
      }
      if (tree_.kind(up) == Kind::Decorator) {
        if (!alone(up)) refuse(use.call, "PT823.autocast.line");
        remove_line(up);
        continue;
      }
      const NodeId with = tree_.ancestor(use.call, Kind::With);
      if (tree_.kind(up) != Kind::WithItem || with == kNone)
        refuse(use.call, tree_.kind(up) == Kind::AsPattern ? "PT823.autocast.name" : "PT823.autocast.with");
      std::vector<NodeId> items;
      for (NodeId id = with; id < tree_.child(with, Field::Body); ++id)
        if (tree_.kind(id) == Kind::WithItem) items.push_back(id);
      if (items.size() > 1) {
        const auto at = std::find(items.begin(), items.end(), up);
        if (at + 1 != items.end()) edits_.push_back({tree_[*at].begin, tree_[*(at + 1)].begin, ""});
        else edits_.push_back({tree_[*(at - 1)].end, tree_[*at].end, ""});
        continue;
      }
      const NodeId body = tree_.child(with, Field::Body);
      const std::size_t colon = all.find(':', tree_[up].end), start = line_begin(all, tree_[with].begin);
      const std::size_t stop = all.find('\n', colon);
      if (tree_[body].begin < stop) {  // with autocast(): loss = f(x)
        edits_.push_back({tree_[with].begin, tree_[body].begin, ""});
        continue;
      }
      const bool plain =
          all.substr(start, tree_[with].begin - start).find_first_not_of(" \t") == std::string_view::npos &&
          all.substr(colon + 1, stop - colon - 1).find_first_not_of(" \t\r") == std::string_view::npos;
      const std::size_t first = line_begin(all, tree_[body].begin);
      const std::size_t more = (tree_[body].begin - first) - (tree_[with].begin - start);
      if (!plain || holds_long_string(body)) {
        edits_.push_back(s_.replace(use.call, "contextlib.nullcontext()"));
        contextlib_ = true;
        continue;
      }
      edits_.push_back({static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(stop + 1), ""});
      for (std::size_t line = stop + 1; line < tree_[body].end; line = all.find('\n', line) + 1) {
        if (all[line] != '\n' && all[line] != '\r' &&
            all.substr(line, more).find_first_not_of(" \t") == std::string_view::npos)
          dedents_[line] += more;
        if (all.find('\n', line) == std::string_view::npos) break;
      }
    }
  }

  bool holds_long_string(NodeId body) const {
    for (NodeId id = body; id < tree_[body].last; ++id)
      if (tree_.kind(id) == Kind::String && tree_.text(id).find('\n') != std::string_view::npos) return true;
    return false;
  }

  /// What a variable with the scaler is used for, and the parameters that it goes on to.
  void carry(const Holder& first) {
    std::vector<Holder> holders{first};
    for (std::size_t i = 0; i < holders.size(); ++i)
      for (NodeId mention : mentions(holders[i])) {
        const NodeId up = tree_.parent(mention);
        if (tree_.kind(up) == Kind::Attribute && tree_.call_of(up) != kNone) {
          method(tree_.call_of(up), up, mention);
          continue;
        }
        const Holder next = passed_on(mention);
        if (std::find(holders.begin(), holders.end(), next) == holders.end()) holders.push_back(next);
      }
    if (steps_.empty()) refuse(statement_, "PT823.scaler.step");
    for (auto& [statement, loss, call] : backwards_) backward(statement, loss, call);
  }

  Holder passed_on(NodeId mention) {
    NodeId given = mention;
    if (tree_.kind(tree_.parent(mention)) == Kind::KeywordArgument) given = tree_.parent(mention);
    const NodeId list = tree_.parent(given), call = tree_.parent(list);
    if (tree_.kind(list) != Kind::ArgumentList || tree_.kind(call) != Kind::Call) refuse(mention, "PT823.scaler.value");
    const NodeId callee = tree_.child(call, Field::Function);
    NodeId function = kNone;
    for (NodeId id : tree_.children(0))
      if (tree_.kind(id) == Kind::Function && tree_.text(tree_.child(id, Field::Name)) == tree_.text(callee))
        function = id;
    if (function == kNone || tree_.kind(callee) != Kind::Identifier || !starts(tree_))
      refuse(mention, "PT823.scaler.given");
    const auto parameters = s_.module.parameters(function);
    const std::string name = names::Module::parameter(tree_, given, parameters);
    NodeId parameter = kNone;
    for (NodeId p : tree_.children(tree_.child(function, Field::Parameters)))
      if (tree_.kind(p) == Kind::Identifier && tree_.text(p) == name) parameter = p;
    if (parameter == kNone) refuse(mention, "PT823.scaler.parameter");
    for (NodeId id = 0; id < tree_.size(); ++id) {  // every mention of the function is such a call
      if (tree_.kind(id) != Kind::Identifier || tree_.text(id) != tree_.text(callee) || !tree_.is_reference(id))
        continue;
      if (tree_[id].field == Field::Name && tree_.parent(id) == function) continue;
      if (tree_.call_of(id) == kNone) refuse(id, "PT823.scaler.function");
    }
    if (taken_out_.insert(given).second) take_out(list, given);
    if (taken_out_.insert(parameter).second) take_out(tree_.child(function, Field::Parameters), parameter);
    calls_[function].push_back(call);
    // inside the function its name stands for the parameter
    const names::ScopeId scope = s_.module.scopes().opened_by(function);
    return {s_.module.scopes().lookup(name, scope), name, kNone};
  }

  /// An entry of a list goes, with its comma.
  void take_out(NodeId list, NodeId entry) {
    NodeId before = kNone, behind = kNone;
    bool passed = false;
    for (NodeId id : tree_.children(list)) {
      if (id == entry) passed = true;
      else if (!passed) before = id;
      else if (behind == kNone) behind = id;
    }
    if (behind != kNone) edits_.push_back({tree_[entry].begin, tree_[behind].begin, ""});
    else if (before != kNone) edits_.push_back({tree_[before].end, tree_[entry].end, ""});
    else edits_.push_back({tree_[entry].begin, tree_[entry].end, ""});
  }

  void method(NodeId call, NodeId attribute, NodeId object) {
    const std::string_view name = tree_.text(tree_.child(attribute, Field::Attribute));
    const NodeId list = tree_.child(call, Field::Arguments);
    std::size_t count = 0;
    for ([[maybe_unused]] NodeId a : tree_.children(list)) ++count;
    const NodeId statement = statement_of(call);
    const bool whole = statement != kNone && tree_.parent(call) == statement && alone(statement);
    if (name == "state_dict" || name == "load_state_dict") {
      edits_.push_back(s_.replace(object, kAmp));
      checkpoint_ = true;
    } else if (name == "update" && count == 0 && whole) {
      remove(statement);
    } else if (name == "unscale_" && count == 1 && whole) {
      remove(statement);  // apex unscales as scale_loss ends
    } else if (name == "step" && count == 1) {
      const NodeId optimizer = tree_.child(list, std::size_t{0});
      steps_.emplace_back(call, optimizer);
      edits_.push_back(s_.replace(call, text(optimizer) + ".step()"));
    } else if (name == "scale" && count == 1) {
      const NodeId attribute_of_result = tree_.parent(call), outer = tree_.call_of(attribute_of_result);
      if (tree_.kind(attribute_of_result) != Kind::Attribute || outer == kNone ||
          tree_.text(tree_.child(attribute_of_result, Field::Attribute)) != "backward" || statement == kNone ||
          tree_.parent(outer) != statement || !alone(statement))
        refuse(call, "PT823.loss");
      backwards_.push_back({statement, tree_.child(list, std::size_t{0}), outer});
    } else {
      refuse(call, "PT823.method", {name});
    }
  }

  /// The optimizers that step after a backward pass: the next in its block, or in a block below it.
  void backward(NodeId statement, NodeId loss, NodeId outer) {
    std::vector<std::string> optimizers;
    const NodeId function = function_around(statement);
    NodeId limit = kNone;  // where the next backward pass of the function begins
    for (const auto& other : backwards_)
      if (other.statement > statement && function_around(other.statement) == function)
        limit = std::min(limit, other.statement);
    const auto note = [&](NodeId optimizer) {
      if (std::find(optimizers.begin(), optimizers.end(), text(optimizer)) == optimizers.end())
        optimizers.push_back(text(optimizer));
    };
    for (const auto& [call, optimizer] : steps_)
      if (function_around(call) == function && call > statement && call < limit) note(optimizer);
    if (optimizers.empty())  // several losses, then the step
      for (const auto& [call, optimizer] : steps_)
        if (function_around(call) == function && call > statement) note(optimizer);
    if (optimizers.empty()) {
      for (const auto& [call, optimizer] : steps_) note(optimizer);
      if (optimizers.size() > 1) refuse(statement, "PT823.optimizer.which");
    }
    std::string unit = "    ";
    if (indent_of(statement).find('\t') != std::string::npos) unit = "\t";
    const std::string which = optimizers.size() == 1 ? optimizers[0] : "[" + joined(optimizers) + "]";
    edits_.push_back({tree_[statement].begin, tree_[loss].begin, "with " + kAmp + ".scale_loss("});
    edits_.push_back(
        {tree_[loss].end, tree_[tree_.child(outer, Field::Arguments)].begin,
         ", " + which + ") as scaled_loss:" + newline() + indent_of(statement) + unit + "scaled_loss.backward"});
  }

  static std::string joined(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    return list;
  }

  // Where the models and optimizers are made
  // ----------------------------------------------------------------------------

  /// An optimizer as it is called where the scaler is made: through the parameters of the functions between.
  std::string at_home(NodeId optimizer, NodeId call) const {
    const NodeId function = function_around(call);
    const auto calls = calls_.find(function);
    if (calls == calls_.end() || tree_.kind(optimizer) != Kind::Identifier) return text(optimizer);
    const auto parameters = s_.module.parameters(function);
    if (std::find(parameters.begin(), parameters.end(), text(optimizer)) == parameters.end()) return text(optimizer);
    std::string found;
    for (const NodeId outer : calls->second)
      for (NodeId a : tree_.children(tree_.child(outer, Field::Arguments)))
        if (names::Module::parameter(tree_, a, parameters) == tree_.text(optimizer)) {
          const NodeId value = tree_.kind(a) == Kind::KeywordArgument ? tree_.child(a, Field::Value) : a;
          const std::string here = at_home(value, outer);
          if (!found.empty() && found != here) refuse(outer, "PT823.optimizer.several");
          found = here;
        }
    if (found.empty()) refuse(optimizer, "PT823.optimizer.unknown");
    return found;
  }

  /// The statement of `block` that a node stands in; kNone outside.
  NodeId within(NodeId block, NodeId node) const {
    while (node != kNone && tree_.parent(node) != block) node = tree_.parent(node);
    return node;
  }

  void initialize(NodeId scaler) {
    std::vector<std::string> optimizers;
    for (const auto& [call, optimizer] : steps_)
      if (const std::string name = at_home(optimizer, call);
          std::find(optimizers.begin(), optimizers.end(), name) == optimizers.end())
        optimizers.push_back(name);
    std::vector<std::string> models;
    NodeId place = kNone, block = kNone;
    for (const std::string& optimizer : optimizers) {
      std::vector<NodeId> made;
      for (NodeId id = 0; id < tree_.size(); ++id)
        if (tree_.kind(id) == Kind::Assignment && text(tree_.child(id, Field::Left)) == optimizer &&
            function_around(id) == home(scaler, optimizer))
          made.push_back(id);
      if (made.empty()) refuse(statement_, "PT823.optimizer.model", {optimizer});
      const NodeId function = function_around(made[0]);
      const NodeId here = function == kNone ? kHere : tree_.child(function, Field::Body);
      if (block == kNone) block = here;
      if (block != here) refuse(made[0], "PT823.optimizer.functions");
      for (const NodeId id : made) {
        const NodeId statement = within(block, id);
        if (place == kNone || statement > place) place = statement;
      }
    }
    std::vector<NodeId> parallel;
    for (const std::string& model : models_) {
      std::string name;
      for (NodeId id = 0; id < tree_.size(); ++id) {
        if (tree_.kind(id) != Kind::Assignment || within(block, id) == kNone) continue;
        const std::string left = text(tree_.child(id, Field::Left));
        if (left != model && left != "self." + model) continue;
        name = left;
        const std::string_view value = tree_.text(tree_.child(id, Field::Right));
        if (value.find("DataParallel") != std::string_view::npos || value.find("DDP(") != std::string_view::npos) {
          parallel.push_back(id);
          continue;
        }
        place = std::max(place, within(block, id));
      }
      for (NodeId id : tree_.children(block)) {  // model.cuda() alone
        const std::string_view line = tree_.text(id);
        if (tree_.kind(id) == Kind::ExpressionStatement && !name.empty() &&
            (line.starts_with(name + ".cuda(") || line.starts_with(name + ".to(") || line.starts_with(name + ".npu(")))
          place = std::max(place, id);
      }
      if (name.empty() && block != kHere) {
        const auto parameters = s_.module.parameters(tree_.parent(block));
        if (std::find(parameters.begin(), parameters.end(), model) != parameters.end()) name = model;
      }
      if (name.empty()) refuse(statement_, "PT823.model", {model});
      models.push_back(name);
    }
    for (const NodeId id : parallel)
      if (within(block, id) <= place) refuse(id, "PT823.parallel");
    const NodeId used = within(block, steps_[0].first);
    if (used != kNone && place >= used) refuse(statement_, "PT823.optimizer.loop");
    const auto group = [&](const std::vector<std::string>& names) {
      return names.size() == 1 ? names[0] : "[" + joined(names) + "]";
    };
    const std::string line = group(models) + ", " + group(optimizers) + " = " + kAmp + ".initialize(" + group(models) +
                             ", " + group(optimizers) + (enabled_.empty() ? "" : ", enabled=" + enabled_) +
                             ", opt_level=\"O1\", loss_scale=\"dynamic\"" + options_ + ")";
    edits_.push_back(insert_line(tree_, place, line, false));
  }

  static constexpr NodeId kHere = 0;  ///< the module as a block

  /// The function in which an optimizer of that name is made: the scaler's own, or for self.NAME another of its class.
  NodeId home(NodeId scaler, const std::string& optimizer) const {
    const NodeId own = function_around(scaler);
    if (!optimizer.starts_with("self.")) return own;
    const NodeId cls = tree_.ancestor(scaler, Kind::Class);
    for (NodeId id = cls; cls != kNone && id < tree_[cls].last; ++id)
      if (tree_.kind(id) == Kind::Assignment && text(tree_.child(id, Field::Left)) == optimizer)
        return function_around(id);
    return own;
  }

  // Lines
  // ------------------------------------------------------------------------------------------------------------------

  void remove(NodeId statement) { removed_.push_back(statement); }

  void remove_line(NodeId node) {
    const std::string_view all = tree_.text();
    const std::size_t start = line_begin(all, tree_[node].begin), stop = all.find('\n', tree_[node].end);
    const auto end = static_cast<std::uint32_t>(stop == std::string_view::npos ? all.size() : stop + 1);
    edits_.push_back({static_cast<std::uint32_t>(start), end, ""});
    for (std::size_t line = start; line < end; line = all.find('\n', line) + 1) {
      gone_.insert(line);
      if (all.find('\n', line) == std::string_view::npos) break;
    }
  }

  /// `from torch.cuda.amp import autocast, GradScaler`, of which nothing is needed any more, becomes apex's import.
  void imports() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> gone;
    for (const Use& use : scalers_) gone.emplace(tree_[use.node].begin, tree_[use.node].end);
    for (const auto& [use, off] : casts_) gone.emplace(tree_[use.node].begin, tree_[use.node].end);
    const auto inside = [&](NodeId id) {
      return std::any_of(gone.begin(), gone.end(), [&](const auto& range) {
        return range.first <= tree_[id].begin && tree_[id].end <= range.second;
      });
    };
    NodeId spared = kNone;
    bool amp_taken = false;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::ImportFrom || tree_.parent(id) != 0) continue;
      const std::string_view module = tree_.text(tree_.child(id, Field::ModuleName));
      if (module != "torch.cuda.amp" && module != "torch.cuda" && module != "torch.amp" && module != "torch.npu.amp")
        continue;
      std::set<std::string_view> bound;
      for (NodeId n = id + 1; n < tree_[id].last; ++n)
        if (tree_.kind(n) == Kind::AliasedImport) bound.insert(tree_.text(tree_.child(n, Field::Alias)));
        else if (tree_.kind(n) == Kind::DottedName && tree_[n].field == Field::Name &&
                 tree_.kind(tree_.parent(n)) != Kind::AliasedImport)
          bound.insert(tree_.text(n));
      bool needed = bound.empty();
      for (NodeId n = 0; n < tree_.size() && !needed; ++n)
        needed = tree_.kind(n) == Kind::Identifier && bound.contains(tree_.text(n)) && tree_.is_reference(n) &&
                 !tree_.inside(n, id) && !inside(n);
      if (needed || !alone(id)) continue;
      if (spared == kNone) {
        spared = id;
      } else {
        remove_line(id);
      }
    }
    for (NodeId n = 0; n < tree_.size() && !amp_taken; ++n)
      amp_taken = tree_.kind(n) == Kind::Identifier && tree_.text(n) == "amp" && tree_.is_reference(n) && !inside(n) &&
                  (spared == kNone || !tree_.inside(n, spared));
    name_ = amp_taken ? "apex_amp" : "amp";
    const std::string line = name_ == "amp" ? "from apex import amp" : "from apex import amp as apex_amp";
    if (spared != kNone) {
      edits_.push_back(s_.replace(spared, line));
    } else {
      const NodeId torch = first_import(s_, "torch");
      if (torch == kNone || tree_.parent(torch) != 0) refuse(statement_, "PT823.torch");
      edits_.push_back(insert_line(tree_, torch, line, false));
    }
    if (contextlib_) {
      const NodeId first = first_statement(tree_);
      edits_.push_back(insert_line(tree_, first, "import contextlib", true));
    }
  }

  void finish(NodeId call) {
    std::map<NodeId, std::size_t> left;
    std::set<NodeId> whole(removed_.begin(), removed_.end());
    for (const NodeId statement : removed_) {
      const NodeId block = tree_.parent(statement);
      if (left.contains(block)) continue;
      for (NodeId id : tree_.children(block)) left[block] += !whole.contains(id);
    }
    for (const NodeId statement : removed_) {
      const NodeId block = tree_.parent(statement);
      if (tree_.kind(block) == Kind::Block && left[block] == 0) {
        edits_.push_back(s_.replace(statement, "pass"));
        left[block] = 1;
      } else {
        remove_line(statement);
      }
    }
    for (const auto& [line, more] : dedents_) {
      if (gone_.contains(line)) continue;
      const bool covered = std::any_of(edits_.begin(), edits_.end(), [&](const Edit& e) {
        return e.begin <= line && line + more <= e.end && e.begin < e.end;
      });
      if (!covered) edits_.push_back({static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(line + more), ""});
    }
    for (Edit& e : edits_)
      for (std::size_t at = e.text.find(kAmp); at != std::string::npos; at = e.text.find(kAmp, at))
        e.text.replace(at, kAmp.size(), name_);
    // what the migration does to those places by itself
    std::erase_if(s_.findings, [&](const Finding& f) {
      return !f.edits.empty() && std::any_of(f.edits.begin(), f.edits.end(), [&](const Edit& mine) {
        return std::any_of(edits_.begin(), edits_.end(), [&](const Edit& e) {
          return e.begin < e.end && e.begin <= mine.begin && mine.end <= e.end;
        });
      });
    });
    Finding& f = s_.add(rules::coded("PT822"), call, Confidence::Likely, "torch.cuda.amp");
    f.message = rules::told("PT822");
    if (checkpoint_) f.message += rules::told("PT822.checkpoint");
    f.edits = std::move(edits_);
  }

  struct Backward {
    NodeId statement, loss, call;
  };

  Sites& s_;
  const syntax::Tree& tree_;
  std::vector<std::string> models_;
  std::vector<Use> autocasts_, scalers_;
  std::vector<std::pair<Use, bool>> casts_;
  std::vector<std::pair<NodeId, std::string>> conditions_;
  std::vector<std::pair<NodeId, NodeId>> steps_;  // call, optimizer
  std::vector<Backward> backwards_;
  std::map<NodeId, std::vector<NodeId>> calls_;  // of functions that take the scaler
  std::set<NodeId> taken_out_;
  std::map<std::size_t, std::size_t> dedents_;  // by line
  std::set<std::size_t> gone_;                  // lines that are deleted
  std::vector<NodeId> removed_;
  std::vector<Edit> edits_;
  std::string enabled_, condition_, options_, name_;
  NodeId statement_ = kNone;
  bool contextlib_ = false, checkpoint_ = false;
};

}  // namespace

void apex_amp(Sites& s, const std::string& models) {
  if (s.about_torch) ApexAmp(s, models).run();
}

}  // namespace updraft::migrate::rewrite
