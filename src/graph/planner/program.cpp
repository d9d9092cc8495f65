#include "graph/planner/program.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/config.h"
#include "base/error.h"
#include "graph/node_call.h"
#include "graph/planner/arena.h"
#include "graph/planner/image_blocks.h"

namespace updraft::graph {

bool passes_on(const Node& node) {
  static constexpr std::string_view kTypes[] = {
      "EnsureShape", "ExpandDims", "Flatten",   "FlattenV2",    "GuaranteeConst", "Identity",    "Reshape",
      "Squeeze",     "SqueezeV2",  "SqueezeV3", "StopGradient", "Unsqueeze",      "UnsqueezeV2", "UnsqueezeV3"};
  return std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

bool gives_a_new_tensor(const Node& node) {
  return node.type() == "ViewCopy" && node.outputs().size() == 1 && !node.output().uses.empty();
}

bool reads_transposed(const Node& node, size_t input) {
  if (node.type() == "FusedAttention") return input < 3;
  if (node.type() == "Cast") {  // which writes it in the other order, if nobody else wants it so
    const Endpoint from = node.input(0).from;
    return input == 0 && from.node->output(from.index).uses.size() == 1;
  }
  static constexpr std::string_view kTypes[] = {"BatchMatMul", "BatchMatMulV2", "FusedMatMul", "MatMul", "MatMulV2"};
  return input < 2 && std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

namespace {

using Tensors = std::unordered_map<int64_t, std::vector<size_t>>;  ///< id of the node -> its outputs' roots

/// Memory that one or more tensors of the graph have: what Reshape gives has its input's.
struct Root {
  Place place;
  size_t bytes = 0;
  size_t first = SIZE_MAX;  ///< a step from which on it has its memory, before the one that makes it
  size_t last = 0;          ///< the step that reads it last
  bool placed = false;
  bool shared = false;  ///< several tensors of the graph have it
  bool alone = false;   ///< nothing else may have this memory in the same run
};

/// Names and types of nodes whose outputs have memory of their own (OP_NO_REUSE_MEM).
std::vector<std::string> nodes_without_reuse() {
  std::vector<std::string> names;
  const char* value = std::getenv("OP_NO_REUSE_MEM");
  for (std::string_view rest = value ? value : ""; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

bool is_convolution(const Node& node) {
  return node.type() == "Conv2D" || node.type() == "FusedConv2D" || node.type() == "RequantConv2D";
}
/// What convolutions compute of as it lies.
bool has_layouts(DType t) { return t == DType::Float || t == DType::BFloat16 || t == DType::Int8 || t == DType::UInt8; }

/// Its images lie with the channels innermost as they are: their last dimension is that of the channels.
bool has_channels_last(const Node& node) {
  return find_or<std::string>(node.attributes, "data_format", node.type() == "Conv2D" ? "NHWC" : "NCHW") == "NHWC";
}

bool takes_any_layout(const Node& node) {
  static constexpr std::string_view kTypes[] = {"Add",
                                                "AvgPoolV2",
                                                "ByteTable",
                                                "ClipByValueV2",
                                                "ConcatV2",
                                                "Conv2D",
                                                "Conv2DTranspose",
                                                "DequantizeLinear",
                                                "Div",
                                                "Elu",
                                                "Erf",
                                                "FusedConv2D",
                                                "GeluV2",
                                                "GlobalAveragePool",
                                                "HardSigmoid",
                                                "HardSwish",
                                                "LeakyRelu",
                                                "MaxPoolV3",
                                                "Maximum",
                                                "Minimum",
                                                "Mish",
                                                "Mul",
                                                "PadV3",
                                                "RequantAdd",
                                                "RequantConv2D",
                                                "QuantizeLinear",
                                                "RealDiv",
                                                "ReduceMax",
                                                "ReduceMean",
                                                "ReduceSum",
                                                "Relu",
                                                "Relu6",
                                                "ResizeBilinearV2",
                                                "ResizeNearestNeighborV2",
                                                "Sigmoid",
                                                "Softplus",
                                                "Sub",
                                                "Swish",
                                                "Tanh"};
  return std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

/// A transposed tensor in the memory of another.
struct TransposedView {
  size_t root = 0;
  Dims dims, strides;
};

Dims row_major(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0; step *= dims[d]) strides[d] = step;
  return strides;
}

bool is_row_major(const Dims& dims, const Dims& strides) {
  const Dims want = row_major(dims);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1 && strides[d] != want[d]) return false;
  return true;
}

/// The strides of the view in another shape; nothing where its elements would have to be moved.
std::optional<Dims> reshaped(const TransposedView& from, const Dims& to) {
  if (count_of(from.dims) == 0 || count_of(from.dims) != count_of(to)) return {};
  Dims strides(to.size());
  size_t t = to.size();
  for (size_t d = from.dims.size(); d > 0;) {
    // A run of dimensions that lie as one, from the back.
    int64_t size = from.dims[--d], left = from.strides[d];
    const int64_t step = left;
    while (d > 0 && (from.dims[d - 1] == 1 || from.strides[d - 1] == step * size)) size *= from.dims[--d];
    while (t > 0 && (size > 1 || to[t - 1] == 1)) {
      if (size % to[t - 1] != 0) return {};
      strides[--t] = left;
      left *= to[t];
      size /= to[t];
    }
    if (size > 1) return {};
  }
  while (t > 0) {
    if (to[--t] != 1) return {};
    strides[t] = 1;
  }
  return strides;
}

class Planner {
 public:
  Planner(const Graph& graph, std::span<const Known> inputs, std::span<const size_t> late, int threads)
      : graph_(graph), inputs_(inputs), late_(late), threads_(threads) {}

  std::optional<Program> plan() {
    feed();
    for (Node* node : graph_.needed_in_order()) {
      if (node->type() == "NetOutput") continue;
      if (!add(*node)) return {};
    }
    if (!add_outputs()) return {};
    choose_layouts();
    const auto fixed = [&](const StepTensor& t) {
      const Place::Area area = roots_[t.place.index].place.area;
      return area == Place::Area::Constant || area == Place::Area::Value;
    };
    const std::vector<ImageBlock> blocks = find_image_blocks(program_.steps, fixed, threads_);
    if (blocks.empty()) {
      place_tensors(program_, std::move(roots_));
      return std::move(program_);
    }
    auto whole = std::make_shared<Program>(program_);
    place_tensors(*whole, roots_);
    std::vector<Root> roots = roots_;
    for (const ImageBlock& block : blocks) divide(block, roots, fixed);
    place_tensors(program_, std::move(roots));
    write_out_rounds(blocks);
    program_.whole = std::move(whole);
    return std::move(program_);
  }

 private:
  void feed() {
    const auto data = graph_.inputs();
    if (data.size() != inputs_.size())
      throw Error(code::kAclnnParamInvalid, "graph {} has {} inputs, {} were given", graph_.name(), data.size(),
                  inputs_.size());
    for (size_t i = 0; i < data.size(); ++i) {
      world_.feed(*data[i], inputs_[i]);
      const size_t root = new_root({Place::Area::Input, i});
      tensors_[data[i]->id()] = {root};
      input_roots_.push_back(root);
      data_.push_back(data[i]);
      hold(root, data[i]->out());
    }
    program_.inputs.assign(inputs_.begin(), inputs_.end());
  }

  size_t new_root(Place place, size_t bytes = 0) {
    roots_.push_back({.place = place, .bytes = bytes, .placed = place.area != Place::Area::Arena});
    return roots_.size() - 1;
  }

  /// False where this cannot be planned.
  bool add(Node& node) {
    if (tensors_.contains(node.id()) || views_.contains(node.id())) return true;
    if (is_control_flow(node)) return false;
    world_.infer(node);
    std::vector<size_t>& outputs = tensors_[node.id()];
    if (node.constant()) {
      outputs.push_back(new_root({Place::Area::Constant, program_.constants.size()}));
      program_.constants.push_back(&node);
      return true;
    }
    bool values = !node.outputs().empty();
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
      const Known& known = world_.at(node.out(i));
      if (!known.exact()) return false;
      values = values && known.value;
    }
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
      const Known& known = world_.at(node.out(i));
      if (values) {
        outputs.push_back(new_root({Place::Area::Value, program_.values.size()}));
        program_.values.push_back(*known.value);
      } else if (i == 0 && is_passed_on(node)) {
        if (view_again(node)) return true;
        outputs.push_back(root_of(node.input(0).from));
        roots_[outputs.back()].shared = true;
      } else {
        outputs.push_back(new_root({}, static_cast<size_t>(count_of(*known.dims)) * size_of(known.dtype)));
      }
      hold(outputs.back(), node.out(i));
    }
    if (values || (is_passed_on(node) && outputs.size() == 1)) return true;
    if (view_transposed(node)) return true;
    add_step(node);
    return true;
  }

  /// Transpose is no step as long as only those read it that take its input's memory as it lies.
  bool view_transposed(Node& node) {
    if (node.type() != "Transpose" || node.inputs().size() != 2 || !node.input(1).from) return false;
    const Known& order = world_.at(node.input(1).from);
    const Dims& dims = *world_.at(node.out()).dims;
    if (!order.value || order.value->count() != static_cast<int64_t>(dims.size())) return false;
    const Endpoint from = node.input(0).from;
    const auto seen = views_.find(from.node->id());
    const Dims strides = seen == views_.end() ? row_major(*world_.at(from).dims) : seen->second.strides;
    TransposedView view{seen == views_.end() ? root_of(from) : seen->second.root, dims, {}};
    for (int64_t d : order.value->integers())
      view.strides.push_back(strides[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(dims.size()) : d)]);
    roots_[view.root].shared = true;
    if (is_row_major(view.dims, view.strides)) tensors_[node.id()] = {view.root};  // only dimensions of one moved
    else keep_view(node, std::move(view));
    return true;
  }

  /// The same for what Reshape and its kin make of a view; false where it is none, or its elements have to be moved.
  bool view_again(Node& node) {
    const auto seen = views_.find(node.input(0).from.node->id());
    if (seen == views_.end() || node.outputs().size() != 1) return false;
    TransposedView view{seen->second.root, *world_.at(node.out()).dims, {}};
    auto strides = reshaped(seen->second, view.dims);
    if (!strides) return false;
    view.strides = std::move(*strides);
    keep_view(node, std::move(view));
    return true;
  }

  void keep_view(Node& node, TransposedView view) {
    tensors_.erase(node.id());  // add() made room for its roots
    views_[node.id()] = std::move(view);
    viewed_.push_back(&node);
  }

  /// A view gets memory of its own, because somebody reads it who wants it row-major.
  void write_out(Node& node) {
    if (views_.erase(node.id()) == 0) return;
    if (passes_on(node)) {
      const size_t root = root_of(node.input(0).from);
      roots_[root].shared = true;
      tensors_[node.id()] = {root};
      return;
    }
    const Known& known = world_.at(node.out());
    tensors_[node.id()] = {new_root({}, static_cast<size_t>(count_of(*known.dims)) * size_of(known.dtype))};
    hold(tensors_[node.id()][0], node.out());
    add_step(node);
  }

  bool is_passed_on(Node& node) {
    if (!passes_on(node)) return false;
    const Known &x = world_.at(node.input(0).from), &y = world_.at(node.out());
    return x.exact() && x.dtype == y.dtype && count_of(*x.dims) == count_of(*y.dims);
  }

  void add_step(Node& node) {
    NodeCall call(node);
    Step step{&node, {}, {}};
    bool updates = false;
    for (size_t i = 0; i < node.outputs().size(); ++i) updates = updates || call.updates(i);
    if (updates)  // views of what it writes must not see that
      for (Node* viewed : viewed_) write_out(*viewed);
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (node.inputs()[i].from && !reads_transposed(node, i)) write_out(*node.inputs()[i].from.node);
    std::map<int, size_t> updated;  // inputs that lie in a copy
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (const int input = call.updates(i) ? node.find_input(node.output(static_cast<int>(i)).name) : -1; input >= 0)
        if (must_stay(node, static_cast<int>(i), node.input(input).from))
          updated[input] = copy_of(node.input(input).from);
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const Input& input = node.input(i);
      if (!input.from) {
        step.inputs.push_back({{}, DType::Undefined, {}, true});
        continue;
      }
      step.inputs.push_back(use(input.from));
      if (const auto copy = updated.find(i); copy != updated.end()) {
        step.inputs.back().place.index = copy->second;
        roots_[copy->second].last = program_.steps.size();
      }
    }
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
      if (call.updates(static_cast<size_t>(i))) {  // it has the memory of the input of that name
        const int input = node.find_input(node.output(i).name);
        const auto copy = updated.find(input);
        const size_t root = copy == updated.end() ? root_of(node.input(input).from) : copy->second;
        tensors_[node.id()][static_cast<size_t>(i)] = root;
        roots_[root].shared = true;
        hold(root, node.out(i));
      }
      step.outputs.push_back(use(node.out(i)));
      if (std::ranges::find(no_reuse_, node.name()) != no_reuse_.end() ||
          std::ranges::find(no_reuse_, node.type()) != no_reuse_.end())
        roots_[root_of(node.out(i))].alone = true;
    }
    program_.steps.push_back(std::move(step));
  }

  /// True when `node`, whose output `output` is what it makes of the memory of `from`, must not write there: what is
  /// the same in all runs, an input that nobody said may change, and what somebody reads later as it was. Variables
  /// (RefData) are written where they are: who reads when is settled before.
  bool must_stay(Node& node, int output, Endpoint from) {
    const size_t root = root_of(from);
    const Place place = roots_[root].place;
    if (place.area == Place::Area::Constant || place.area == Place::Area::Value) return true;
    const auto input = std::ranges::find(input_roots_, root);
    if (input != input_roots_.end()) {
      const Node& data = *data_[static_cast<size_t>(input - input_roots_.begin())];
      if (data.type() == "RefData" || !gives_a_new_tensor(node)) return false;
      if (!becomes_late(node.out(output))) return true;
    }
    return root < holders_.size() && std::ranges::any_of(holders_[root], [&](const Endpoint& held) {
             return std::ranges::any_of(held.node->output(held.index).uses, [&](const Use& use) {
               return use.node != &node && !tensors_.contains(use.node->id()) && !views_.contains(use.node->id());
             });
           });
  }

  /// True when the tensor, or what is made of it in its memory, is an output whose memory is an input's.
  bool becomes_late(Endpoint from) const {
    std::vector<Endpoint> open = {from};
    while (!open.empty()) {
      const Endpoint at = open.back();
      open.pop_back();
      for (const Use& use : at.node->output(at.index).uses) {
        const auto number = static_cast<size_t>(use.index);
        if (use.node->type() == "NetOutput") {
          if (std::ranges::find(late_, number) != late_.end()) return true;
        } else if (passes_on(*use.node) && use.index == 0) {
          open.push_back(use.node->out());
        } else if (updates_input(*use.node, number)) {
          for (int i = 0; i < static_cast<int>(use.node->outputs().size()); ++i)
            if (use.node->output(i).name == use.node->input(use.index).name) open.push_back(use.node->out(i));
        }
      }
    }
    return false;
  }

  void hold(size_t root, Endpoint tensor) {
    holders_.resize(std::max(holders_.size(), roots_.size()));
    holders_[root].push_back(tensor);
  }

  /// Memory of a run's own with a copy of the tensor: somebody will write there.
  size_t copy_of(Endpoint from) {
    const Known& known = world_.at(from);
    const size_t root = new_root({}, static_cast<size_t>(count_of(*known.dims)) * size_of(known.dtype));
    Step copy;
    copy.inputs.push_back(use(from));
    copy.outputs.push_back({{Place::Area::Arena, root}, known.dtype, *known.dims});
    program_.steps.push_back(std::move(copy));
    return root;
  }

  size_t root_of(Endpoint from) {
    write_out(*from.node);
    return tensors_.at(from.node->id()).at(static_cast<size_t>(from.index));
  }

  /// The tensor as the step that is being made reads or writes it; its place is filled in at last.
  StepTensor use(Endpoint from) {
    const Known& known = world_.at(from);
    if (const auto view = views_.find(from.node->id()); view != views_.end()) {
      const TransposedView& v = view->second;
      roots_[v.root].last = program_.steps.size();
      return {{Place::Area::Arena, v.root}, known.dtype, v.dims, false, false, v.strides};
    }
    const size_t root = root_of(from);
    roots_[root].last = program_.steps.size();
    return {{Place::Area::Arena, root}, known.dtype, *known.dims};
  }

  bool add_outputs() {
    const Node* end = graph_.net_output();
    if (!end) throw Error(code::kAclnnParamInvalid, "graph {} has no outputs", graph_.name());
    std::vector<size_t> copies, copies_late;
    for (size_t i = 0; i < end->inputs().size(); ++i) {
      const Endpoint from = end->inputs()[i].from;
      if (!from) throw Error(code::kAclnnParamInvalid, "output {} of graph {} is not connected", i, graph_.name());
      const Known& known = world_.at(from);
      if (!known.exact()) return false;
      program_.outputs.emplace_back(known.dtype, *known.dims);
      const bool late = std::ranges::find(late_, i) != late_.end();
      Root& root = roots_[root_of(from)];
      if (root.place.area == Place::Area::Arena && !late) {  // whoever makes it writes it into the output
        root.place = {Place::Area::Output, i};
        root.placed = true;
        continue;
      }
      (late ? copies_late : copies).push_back(i);
    }
    copies.insert(copies.end(), copies_late.begin(), copies_late.end());
    for (size_t i : copies) {
      const Endpoint from = end->inputs()[i].from;
      const Known& known = program_.outputs[i];
      Step copy;
      copy.inputs.push_back(use(from));
      copy.outputs.push_back({{Place::Area::Output, i}, known.dtype, *known.dims});
      program_.steps.push_back(std::move(copy));
    }
    return true;
  }

  /// Convolutions want channels innermost. Their results lie so, and what is made of those by operators that take any
  /// layout as well as another, as long as all who read them do.
  void choose_layouts() {
    std::vector<bool> fits(roots_.size(), true);  // all who make and read it take any layout
    for (const Step& step : program_.steps)
      for (const auto* tensors : {&step.inputs, &step.outputs})
        for (const StepTensor& t : *tensors)
          if (!t.absent && t.place.area == Place::Area::Arena && !(step.node && takes_any_layout(*step.node)))
            fits[t.place.index] = false;
    std::vector<bool> last(roots_.size(), false);
    for (Step& step : program_.steps) {
      if (!step.node) continue;
      bool wanted = is_convolution(*step.node) && !has_channels_last(*step.node);
      for (StepTensor& t : step.inputs) {
        if (t.absent || !last[t.place.index]) continue;
        t.channels_last = true;
        wanted = true;
      }
      for (StepTensor& t : step.outputs) {
        const size_t root = t.place.index;
        if (!wanted || !fits[root] || roots_[root].placed || roots_[root].shared || t.dims.size() != 4 ||
            !has_layouts(t.dtype))
          continue;
        last[root] = t.channels_last = true;
      }
    }
  }

  /// Its steps take their images. What one of them makes and only they read has memory for one round; what lies before
  /// the block, or outlives it, stays for all rounds.
  void divide(const ImageBlock& block, std::vector<Root>& roots, FunctionRef<bool(const StepTensor&)> fixed) {
    std::unordered_set<size_t> inside;
    for (size_t s = block.begin; s < block.end; ++s)
      for (const StepTensor& t : program_.steps[s].outputs) {
        const Root& root = roots[t.place.index];
        if (!root.placed && root.last < block.end) inside.insert(t.place.index);
      }
    std::unordered_set<size_t> shrunk;
    for (size_t s = block.begin; s < block.end; ++s) {
      Step& step = program_.steps[s];
      const std::vector<bool> holds = holds_images(step, fixed);
      const auto take = [&](StepTensor& t) {
        t.dims[0] = block.images;
        Root& root = roots[t.place.index];
        const size_t bytes = static_cast<size_t>(count_of(t.dims)) * size_of(t.dtype);
        if (!inside.contains(t.place.index)) t.round_bytes = bytes;
        else if (shrunk.insert(t.place.index).second) root.bytes = bytes;
      };
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        StepTensor& t = step.inputs[i];
        if (t.absent) continue;
        if (!inside.contains(t.place.index)) keep(roots[t.place.index], block);
        if (holds[i]) take(t);
      }
      for (StepTensor& t : step.outputs) {
        if (!inside.contains(t.place.index)) keep(roots[t.place.index], block);
        take(t);
      }
    }
  }
  /// Nothing else has its memory while the block's rounds run.
  static void keep(Root& root, const ImageBlock& block) {
    root.first = std::min(root.first, block.begin);
    root.last = std::max(root.last, block.end - 1);
  }

  /// Each round of a block becomes steps, but for those that are the same in all rounds.
  void write_out_rounds(const std::vector<ImageBlock>& blocks) {
    std::vector<Step> steps;
    const auto add_step = [&](Step step) {
      steps.push_back(std::move(step));
      return steps.size() - 1;
    };
    size_t s = 0;
    const auto go_to = [&](size_t end) {
      for (; s < end; ++s) program_.order.push_back(add_step(std::move(program_.steps[s])));
    };
    for (const ImageBlock& block : blocks) {
      go_to(block.begin);
      std::vector<std::optional<size_t>> same(block.end - block.begin);
      for (int64_t round = 0; round < block.batch / block.images; ++round)
        for (size_t b = block.begin; b < block.end; ++b) {
          std::optional<size_t>& number = same[b - block.begin];
          if (!number) {
            Step step = program_.steps[b];
            bool moves = false;
            for (auto* tensors : {&step.inputs, &step.outputs})
              for (StepTensor& t : *tensors) {
                t.place.offset += static_cast<size_t>(round) * t.round_bytes;
                moves = moves || t.round_bytes > 0;
              }
            program_.order.push_back(add_step(std::move(step)));
            if (!moves) number = program_.order.back();
          } else {
            program_.order.push_back(*number);
          }
        }
      s = block.end;
    }
    go_to(program_.steps.size());
    program_.steps = std::move(steps);
  }

  /// Offsets of what the steps read and write. `roots`: with the steps between which they live.
  static void place_tensors(Program& program, std::vector<Root> roots) {
    const auto each = [&](auto&& f) {
      for (size_t s = 0; s < program.steps.size(); ++s)
        for (auto* tensors : {&program.steps[s].outputs, &program.steps[s].inputs})
          for (StepTensor& t : *tensors)
            if (!t.absent && t.place.area == Place::Area::Arena) f(s, t);
    };
    std::vector<Lifetime> lives;
    std::vector<Root*> sharing, alone;
    each([&](size_t s, const StepTensor& t) {
      Root& root = roots[t.place.index];
      if (std::exchange(root.placed, true)) return;
      (root.alone ? alone : sharing).push_back(&root);
      if (!root.alone) lives.push_back({root.bytes, std::min(root.first, s), std::max(root.last, s)});
    });
    SharedBlock block = share_block(lives);
    for (size_t i = 0; i < sharing.size(); ++i) sharing[i]->place.offset = block.offsets[i];
    for (Root* root : alone) root->place.offset = std::exchange(block.bytes, block.bytes + arena_bytes(root->bytes));
    program.arena_bytes = block.bytes;
    each([&](size_t, StepTensor& t) { t.place = roots[t.place.index].place; });
  }

  const Graph& graph_;
  std::span<const Known> inputs_;
  std::span<const size_t> late_;
  World world_;
  Tensors tensors_;
  std::unordered_map<int64_t, TransposedView> views_;  ///< by the id of the node, whose only output it is
  std::vector<Node*> viewed_;                          ///< the nodes of all views, in their order
  std::vector<Root> roots_;
  std::vector<std::vector<Endpoint>> holders_;  ///< by root the tensors that lie there
  std::vector<size_t> input_roots_;             ///< of the graph's inputs, which are
  std::vector<const Node*> data_;
  Program program_;
  const std::vector<std::string> no_reuse_ = nodes_without_reuse();
  const int threads_;
};

}  // namespace

std::optional<Program> plan(const Graph& graph, std::span<const Known> inputs, std::span<const size_t> late,
                            int threads) {
  return Planner(graph, inputs, late, threads ? threads : Config::get().threads).plan();
}

}  // namespace updraft::graph
