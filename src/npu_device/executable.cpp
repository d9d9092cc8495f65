#include "npu_device/executable.h"

#include <algorithm>

#include "base/config.h"
#include "device/soc.h"
#include "frontends/tensorflow/conversion.h"
#include "npu_device/host_operator.h"
#include "npu_device/runtime.h"
#include "npu_device/step_stats.h"
#include "npu_device/tensor_list.h"

namespace updraft::npu_device {
namespace {

using tensorflow::AttrValue;

constexpr std::string_view kControl[] = {"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"};

bool is_control(std::string_view type) { return std::ranges::find(kControl, type) != std::end(kControl); }

/// The sizes of what these give are known when they have run.
constexpr std::string_view kSizesLate[] = {"DynamicPartition", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "Unique",
                                           "UniqueV2",         "UniqueWithCounts",    "UniqueWithCountsV2",  "Where"};

/// Types that no product has on the device: the guide of CANN 6.3.RC2 for TensorFlow, chapter 3.
bool on_cards(ElementType type) {
  return type != ElementType::Double && type != ElementType::Complex64 && type != ElementType::Complex128;
}

/// Operators that hand numbers on as they are; the guide names gathering, broadcasting and sending of float64. Cast
/// brings them to a type of the card.
bool moves_only(std::string_view type) {
  constexpr std::string_view kMovers[] = {"Cast",     "Const",    "Gather",    "GatherNd",
                                          "GatherV2", "Identity", "IdentityN", "_EagerConst"};
  return type.starts_with("Hcom") || type.starts_with("Iterator") ||
         std::ranges::find(kMovers, type) != std::end(kMovers);
}

bool all_on_device(const std::vector<ElementType>& types) { return std::ranges::all_of(types, on_device); }

}  // namespace

Signature signature_of(const std::vector<Value>& arguments) {
  Signature signature;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ArgumentKind kind{arguments[i].type, -1};
    if (arguments[i].kind == Value::Kind::Variable) {
      kind.type = arguments[i].variable->type;
      for (size_t j = 0; j <= i && kind.variable < 0; ++j)
        if (arguments[j].variable == arguments[i].variable) kind.variable = static_cast<int>(j);
    }
    signature.push_back(kind);
  }
  return signature;
}

std::string text_of(const Signature& signature) {
  std::string text;
  for (const ArgumentKind& kind : signature) text += fmt::format(";{},{}", static_cast<int>(kind.type), kind.variable);
  return text;
}

Executable::Executable(Runtime& runtime, Body body, Signature signature, bool on_cpu)
    : runtime_(runtime), body_(std::move(body)), signature_(std::move(signature)), on_cpu_(on_cpu) {
  if (signature_.size() != body_.arguments)
    throw StatusError(StatusCode::InvalidArgument,
                      fmt::format("{} takes {} arguments, got {}", body_.name, body_.arguments, signature_.size()));
  if (Config::get().card_fidelity && !on_cpu) check_types_of_cards();
  variables_.assign(body_.items.size(), -1);
  for (size_t i = 0; i < body_.items.size(); ++i) {
    const Item& item = body_.items[i];
    if (item.argument >= 0) variables_[i] = signature_[static_cast<size_t>(item.argument)].variable;
    else if (item.type() == "Identity" && body_.type_of(item.inputs.at(0)) == ElementType::Resource)
      variables_[i] = variables_[static_cast<size_t>(item.inputs[0].item)];
  }
}

// UPDRAFT_FIDELITY=card.
void Executable::check_types_of_cards() const {
  const auto of_host = [](ElementType type) { return type == ElementType::Variant || type == ElementType::String; };
  for (const Item& item : body_.items) {
    if (!item.def || item.def->attributes.contains(kOnHost) || moves_only(item.type())) continue;
    if (std::ranges::any_of(item.outputs, of_host) ||
        std::ranges::any_of(item.inputs, [&](Ref input) { return of_host(body_.type_of(input)); }))
      continue;  // data sets, texts, lists of tensors
    const auto check = [&](ElementType type) {
      if (on_cards(type)) return;
      throw StatusError(StatusCode::Unimplemented,
                        fmt::format("node {} ({}) has {}: {} has no such tensors (UPDRAFT_FIDELITY=card). Cast them to "
                                    "float32, or leave the node to the CPU with npu_scope.without_npu_compile_scope()",
                                    item.name, item.type(), tensorflow::name_of(type), soc().name));
    };
    for (const ElementType type : item.outputs) check(type);
    for (const Ref input : item.inputs) check(body_.type_of(input));
  }
}

Executable::Kind Executable::kind_of(const Item& item) const {
  if (item.argument >= 0) return Kind::Argument;
  const std::string_view type = item.type();
  if (type == "NoOp") return Kind::Nothing;
  if (type == "Const") return Kind::Constant;
  if (item.def->attributes.contains(kOnHost)) return Kind::Host;
  if (is_control(type)) return Kind::Control;
  if (type == "Identity" && item.outputs.at(0) == ElementType::Resource) return Kind::Alias;
  bool tensors = all_on_device(item.outputs), variables = false;
  for (const Ref input : item.inputs) {
    const ElementType of = body_.type_of(input);
    if (of == ElementType::Resource && variables_[static_cast<size_t>(input.item)] >= 0) variables = true;
    else tensors = tensors && on_device(of);
  }
  if (!tensors || on_cpu_) return Kind::Host;
  if (variables ? is_variable_operator(type) : tensorflow::find_row(type) != nullptr) return Kind::Device;
  runtime_.tell_host(type, "the NPU has no operator for it");
  return Kind::Host;
}

std::shared_ptr<const Executable::Plan> Executable::plan() {
  const std::lock_guard lock(mutex_);
  if (!plan_) plan_ = make_plan();
  return plan_;
}

std::shared_ptr<const Executable::Plan> Executable::move_to_host(const Refusal& refusal) {
  // no CPU kernel has it
  if (const std::string_view type = body_.items[static_cast<size_t>(refusal.item)].type();
      type.starts_with("Hcom") || type.starts_with("_Keras"))
    throw StatusError(StatusCode::InvalidArgument, refusal.reason);
  const std::lock_guard lock(mutex_);
  refused_.insert(refusal.item);
  return plan_ = make_plan();
}

/// The CPU refused these as well: it was the call that was wrong.
void Executable::move_back(const std::vector<Refusal>& refusals) {
  const std::lock_guard lock(mutex_);
  for (const Refusal& refusal : refusals) refused_.erase(refusal.item);
  plan_ = nullptr;
}

/// A variable is read in the phase of the first who wants to know: the cluster that updates it then sees its memory,
/// and not a value of an earlier phase, because of which the memory could not be written. Writers wait for it, so it is
/// read before them.
void Executable::read_late(const Plan& plan, std::vector<size_t>& level) const {
  constexpr size_t kNobody = SIZE_MAX;
  std::vector<size_t> wanted(body_.items.size(), kNobody);
  for (size_t i = body_.items.size(); i-- > 0;) {
    const Item& item = body_.items[i];
    if (plan.kinds[i] == Kind::Device && item.type() == "ReadVariableOp" && wanted[i] != kNobody)
      level[i] = std::max(level[i], wanted[i] - (wanted[i] % 2 == 0));  // what runs on the host is told just before
    if (plan.kinds[i] == Kind::Constant || plan.kinds[i] == Kind::Argument) continue;
    auto wants = [&](int of) {
      size_t& first = wanted[static_cast<size_t>(of)];
      first = std::min(first, plan.kinds[i] == Kind::Nothing || plan.kinds[i] == Kind::Alias ? wanted[i] : level[i]);
    };
    for (const Ref input : item.inputs) wants(input.item);
    for (const int before : item.after) wants(before);
  }
}

/// Odd phases are the device's. An item stands in the first of its kind that is not before what it needs. Every other
/// phase of the device is for what has sizes that data decide: a graph with such is run node by node, and what has none
/// (the moments of a large embedding, all of which move) shall not be.
std::shared_ptr<const Executable::Plan> Executable::make_plan() const {
  auto made = std::make_shared<Plan>();
  std::vector<size_t> level(body_.items.size(), 0);
  std::vector<bool> late(body_.items.size(), false);
  for (size_t i = 0; i < body_.items.size(); ++i) {
    const Item& item = body_.items[i];
    const Kind kind = refused_.contains(static_cast<int>(i)) ? Kind::Host : kind_of(item);
    made->kinds.push_back(kind);
    size_t at = 0;
    for (const Ref input : item.inputs) at = std::max(at, level[static_cast<size_t>(input.item)]);
    for (int before : item.after) at = std::max(at, level[static_cast<size_t>(before)]);
    if (kind == Kind::Constant) at = 0;
    if (kind == Kind::Device) {
      late[i] = std::ranges::find(kSizesLate, item.type()) != std::end(kSizesLate) ||
                std::ranges::any_of(item.inputs, [&](Ref r) { return late[static_cast<size_t>(r.item)]; });
      at += ((late[i] ? 3 : 1) - at) % 4;  // phases 1, 5, 9 …, or 3, 7, 11 …
    }
    if (kind == Kind::Control || kind == Kind::Host) at += at & 1;
    level[i] = at;
  }
  read_late(*made, level);
  for (size_t i = 0; i < body_.items.size(); ++i) {
    const Kind kind = made->kinds[i];
    if (kind != Kind::Device && kind != Kind::Control && kind != Kind::Host) continue;
    if (made->phases.size() <= level[i]) made->phases.resize(level[i] + 1);
    made->phases[level[i]].items.push_back(static_cast<int>(i));
  }
  std::set<Ref> read_elsewhere(body_.results.begin(), body_.results.end());
  for (size_t i = 0; i < body_.items.size(); ++i)
    for (const Ref input : body_.items[i].inputs)
      if (made->kinds[i] != Kind::Device || level[static_cast<size_t>(input.item)] != level[i])
        read_elsewhere.insert(input);
  for (size_t p = 1; p < made->phases.size(); p += 2) {
    Phase& phase = made->phases[p];
    if (phase.items.empty()) continue;
    std::vector<Ref> wanted;
    for (int item : phase.items)
      for (int o = 0; o < static_cast<int>(body_.items[static_cast<size_t>(item)].outputs.size()); ++o)
        if (read_elsewhere.contains({item, o})) wanted.push_back({item, o});
    phase.cluster = std::make_shared<Cluster>(runtime_, body_, phase.items, variables_, wanted);
  }
  return made;
}

std::vector<Value> Executable::run(const std::vector<Value>& arguments, const std::string& path) {
  std::shared_ptr<const Plan> plan = this->plan();
  Values values(body_.items.size());
  std::vector<bool> done(body_.items.size(), false);
  for (size_t i = 0; i < arguments.size(); ++i) values[i] = {arguments[i]};
  try {
    for (const Phase& phase : plan->phases) {
      if (phase.cluster) phase.cluster->run(values, arguments);
      else
        for (int item : phase.items) run_on_host(*plan, item, values, path);
      for (int item : phase.items) done[static_cast<size_t>(item)] = true;
    }
  } catch (const Refusal& refusal) {
    plan = move_to_host(refusal);
    std::vector<Refusal> refusals = {refusal};
    try {
      run_one_by_one(*plan, values, done, arguments, path, refusals);
    } catch (...) {
      move_back(refusals);
      throw;
    }
    for (const Refusal& r : refusals) runtime_.tell_host(body_.items[static_cast<size_t>(r.item)].type(), r.reason);
  }
  std::vector<Value> results;
  for (const Ref ref : body_.results) results.push_back(value_of(*plan, ref, values));
  return results;
}

/// What is left of a run of which an item was refused. The next run has other phases.
void Executable::run_one_by_one(const Plan& plan, Values& values, std::vector<bool>& done,
                                const std::vector<Value>& arguments, const std::string& path,
                                std::vector<Refusal>& refusals) {
  for (int i = 0; i < static_cast<int>(body_.items.size()); ++i) {
    const auto at = static_cast<size_t>(i);
    if (done[at]) continue;
    bool host = plan.of(i) == Kind::Host || plan.of(i) == Kind::Control;
    if (plan.of(i) == Kind::Device) {
      std::vector<Ref> outputs;
      for (int o = 0; o < static_cast<int>(body_.items[at].outputs.size()); ++o) outputs.push_back({i, o});
      try {
        Cluster(runtime_, body_, {i}, variables_, outputs).run(values, arguments);
      } catch (const Refusal& refusal) {
        refusals.push_back(refusal);
        move_to_host(refusal);
        host = true;
      }
    }
    if (host) run_on_host(plan, i, values, path);
  }
}

/// A value that somebody reads; constants that only the CPU needs are made when they are first read.
const Value& Executable::value_of(const Plan& plan, Ref ref, Values& values) {
  while (plan.of(ref.item) == Kind::Alias) ref = body_.items[static_cast<size_t>(ref.item)].inputs.at(0);
  auto& of = values[static_cast<size_t>(ref.item)];
  if (of.empty() && plan.of(ref.item) == Kind::Constant) of = {constant(ref.item)};
  return of.at(static_cast<size_t>(ref.output));
}

Value Executable::constant(int index) {
  const std::lock_guard lock(mutex_);
  for (const auto& [which, value] : constants_)
    if (which == index) return value;
  constants_.emplace_back(index, constant_of(runtime_.handles(), *runtime_.library().operator_named("Const"),
                                             *body_.items[static_cast<size_t>(index)].def));
  return constants_.back().second;
}

void Executable::run_on_host(const Plan& plan, int index, Values& values, const std::string& path) {
  const Item& item = body_.items[static_cast<size_t>(index)];
  std::vector<Value> inputs;
  for (const Ref input : item.inputs) inputs.push_back(value_of(plan, input, values));
  std::vector<Value>& made = values[static_cast<size_t>(index)];
  if (plan.of(index) == Kind::Control) {
    made = run_control(item, std::move(inputs), path);
  } else {
    const HostWork told(item.name, item.type());
    try {
      if (!run_list_operator(runtime_.handles(), *item.def, inputs, made) &&
          !runtime_.feeds().run(*item.def, inputs, made))
        made = run_on_kernel(item, inputs, path);
    } catch (const StatusError& e) {
      if (body_.functions.empty()) throw;  // an operator by itself
      // by these words TensorFlow finds the line of the script
      throw StatusError(e.code(), fmt::format("{}\n\t [[{{{{node {}}}}}]]", e.text(), item.name));
    }
  }
  if (item.type().starts_with("IteratorGetNext")) ++batches_taken();
}

std::vector<Value> Executable::run_on_kernel(const Item& item, const std::vector<Value>& inputs,
                                             const std::string& path) {
  if (body_.functions.empty() || !has_row(*item.def))
    return run_on_cpu(runtime_.handles(), *item.def, inputs, item.outputs.size());
  std::vector<ElementType> types;
  for (const Ref input : item.inputs) types.push_back(body_.type_of(input));
  const std::string function =
      runtime_.random_rows().function(fmt::format("{}{}/{}", path, body_.name, item.name), *item.def, types);
  return run_function_on_cpu(runtime_.handles(), function, inputs, item.outputs.size());
}

/// The condition of a loop that counts is not asked, and its batches are read ahead of the steps.
std::vector<Value> Executable::run_loop(const Item& item, std::string_view condition, std::string_view body,
                                        std::vector<Value> inputs, const std::string& path) {
  auto function = [&](std::string_view name) { return runtime_.function(name, signature_of(inputs)); };
  const std::shared_ptr<Executable> first = function(body);
  std::shared_ptr<const LoopForm> form;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const LoopForm>& known = loops_[&item];
    if (!known)
      known = std::make_shared<const LoopForm>(function(condition)->body(), first->body(), body_,
                                               static_cast<int>(&item - body_.items.data()));
    form = known;
  }
  if (const auto steps = form->steps(inputs)) {
    const auto ahead = runtime_.feeds().start(*form, *steps, inputs, first);
    for (int64_t step = 0; step < *steps; ++step) inputs = function(body)->run(inputs, path);
    return inputs;
  }
  while (function(condition)->run(inputs, path).at(0).truth("the condition of a loop"))
    inputs = function(body)->run(inputs, path);
  return inputs;
}

std::vector<Value> Executable::run_control(const Item& item, std::vector<Value> inputs, const std::string& path) {
  auto attribute = [&](std::string_view name) -> const AttrValue& {
    const auto found = item.def->attributes.find(name);
    if (found == item.def->attributes.end())
      throw StatusError(StatusCode::InvalidArgument,
                        fmt::format("{} ({}): attribute {} is missing", item.name, item.type(), name));
    return found->second;
  };
  const std::string within = path + body_.name + "/" + item.name + "/";
  auto call = [&](std::string_view function, const std::vector<Value>& arguments) {
    return runtime_.function(function, signature_of(arguments))->run(arguments, within);
  };
  if (item.type().ends_with("While"))
    return run_loop(item, attribute("cond").text, attribute("body").text, std::move(inputs), within);
  const Value chooses = std::move(inputs.at(0));
  inputs.erase(inputs.begin());
  if (item.type().ends_with("If"))
    return call(attribute(chooses.truth("a condition") ? "then_branch" : "else_branch").text, inputs);
  const int64_t choice = chooses.integer("the number of a branch");
  const auto& branches = attribute("branches").functions;
  if (branches.empty())
    throw StatusError(StatusCode::InvalidArgument, fmt::format("{} ({}) has no branches", item.name, item.type()));
  const auto last = static_cast<int64_t>(branches.size()) - 1;
  return call(branches[static_cast<size_t>(choice < 0 || choice > last ? last : choice)], inputs);
}

}  // namespace updraft::npu_device
