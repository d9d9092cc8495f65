#include "graph/compile/aipp.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/compile/option_error.h"
#include "graph/compile/option_file.h"
#include "graph/proto/dump.h"
#include "graph/shape/aipp_inputs.h"
#include "graph/shape/gears.h"
#include "ops/ir_op.h"

namespace updraft::graph {
namespace {

using aipp::Common;
using aipp::Picture;
using aipp::Source;
using Json = nlohmann::ordered_json;
constexpr const char* kOption = "insert_op_conf";

/// The fields of one aipp_op block; each is asked for, and others are refused.
class Block {
 public:
  Block(const Json& json, const std::string& path) : json_(json), path_(path) {}

  [[noreturn]] void refuse(const std::string& why) const { throw OptionError(kOption, path_, why); }

  std::string text(const std::string& name, const std::string& other) {
    const Json* found = take(name);
    if (!found) return other;
    if (!found->is_string()) refuse(fmt::format("{} is {}", name, found->dump()));
    return found->get<std::string>();
  }
  bool flag(const std::string& name) {
    const Json* found = take(name);
    if (!found) return false;
    if (found->is_boolean()) return found->get<bool>();
    if (found->is_number_integer() && (*found == 0 || *found == 1)) return *found == 1;
    refuse(fmt::format("{} is {}, want true or false", name, found->dump()));
  }
  float real(const std::string& name, float other) {
    const Json* found = take(name);
    if (!found) return other;
    if (!found->is_number()) refuse(fmt::format("{} is {}, want a number", name, found->dump()));
    return found->get<float>();
  }
  int64_t whole(const std::string& name, int64_t least = 0, int64_t most = 1 << 20) {
    const Json* found = take(name);
    if (!found) return 0;
    if (!found->is_number_integer() || *found < least || *found > most)
      refuse(fmt::format("{} is {}, want a whole number of {} to {}", name, found->dump(), least, most));
    return found->get<int64_t>();
  }
  void check_all_taken(const std::string& mode) const {
    for (const auto& [name, value] : json_.items())
      if (!taken_.contains(name)) refuse(fmt::format("there is no parameter {} of {} AIPP", name, mode));
  }

 private:
  const Json* take(const std::string& name) {
    taken_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  const Json& json_;
  const std::string& path_;
  std::set<std::string> taken_;
};

void read_picture(Block& block, Picture& made) {
  auto size = [&](const char* name) { return static_cast<int32_t>(block.whole(name)); };
  made.crop = block.flag("crop");
  made.crop_left = size("load_start_pos_w");
  made.crop_top = size("load_start_pos_h");
  made.crop_width = size("crop_size_w");
  made.crop_height = size("crop_size_h");
  made.resize = block.flag("resize");
  made.resize_width = size("resize_output_w");
  made.resize_height = size("resize_output_h");
  made.padding = block.flag("padding");
  made.left = size("left_padding_size");
  made.right = size("right_padding_size");
  made.top = size("top_padding_size");
  made.bottom = size("bottom_padding_size");
  made.padding_value = block.real("padding_value", 0);
  for (size_t c = 0; c < 4; ++c) {
    made.mean[c] = block.real(fmt::format("mean_chn_{}", c), 0);
    made.minimum[c] = block.real(fmt::format("min_chn_{}", c), 0);
    made.factor[c] = block.real(fmt::format("var_reci_chn_{}", c), 1);
  }
  if (made.resize && (!made.resize_width || !made.resize_height))
    block.refuse("resize is true: want resize_output_w and resize_output_h");
}

void read_common(Block& block, Common& made) {
  const std::string format = block.text("input_format", "");
  for (const Source source : {Source::Yuv420sp, Source::Rgb888, Source::Xrgb8888, Source::Yuv400})
    if (format == aipp::name_of(source)) made.source = source;
  if (made.source == Source::None)
    block.refuse(fmt::format("input_format is '{}', want YUV420SP_U8, RGB888_U8, XRGB8888_U8 or YUV400_U8", format));
  made.width = static_cast<int32_t>(block.whole("src_image_size_w"));
  made.height = static_cast<int32_t>(block.whole("src_image_size_h"));
  made.csc = block.flag("csc_switch");
  made.swap_rb = block.flag("rbuv_swap_switch");
  made.alpha_last = block.flag("ax_swap_switch");
  block.flag("single_line_mode");  // how the hardware moves lines; the numbers are the same
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 3; ++c)
      made.matrix[r][c] = static_cast<int16_t>(block.whole(fmt::format("matrix_r{}c{}", r, c), -32768, 32767));
    made.input_bias[r] = static_cast<uint8_t>(block.whole(fmt::format("input_bias_{}", r), 0, 255));
    made.output_bias[r] = static_cast<uint8_t>(block.whole(fmt::format("output_bias_{}", r), 0, 255));
  }
}

Aipp read_block(Block block) {
  Aipp made;
  const std::string mode = block.text("aipp_mode", "static");
  if (mode != "static" && mode != "dynamic") block.refuse(fmt::format("aipp_mode is {}, want static or dynamic", mode));
  made.dynamic = mode == "dynamic";
  made.input_name = block.text("related_input_name", "");
  made.input = static_cast<size_t>(block.whole("related_input_rank"));
  if (made.dynamic) {
    made.most_bytes = block.whole("max_src_image_size", 1, UINT32_MAX);
    if (!made.most_bytes)
      block.refuse("aipp_mode is dynamic: want max_src_image_size, the bytes of the largest images of a batch");
    if (block.flag("support_rotation")) block.refuse("support_rotation is true: images are not rotated");
  } else {
    read_common(block, made.common);
    read_picture(block, made.picture);
    const bool odd = made.picture.crop_left % 2 || made.picture.crop_top % 2;
    if (made.common.source == Source::Yuv420sp && made.picture.crop && odd)
      block.refuse("load_start_pos_w and load_start_pos_h must be even for YUV420SP_U8");
    if (made.common.source == Source::Yuv400 && (made.common.csc || made.common.swap_rb))
      block.refuse("YUV400_U8 has one channel: csc_switch and rbuv_swap_switch want three");
  }
  block.check_all_taken(mode);
  return made;
}

/// Puts the node before one input.
class Insertion {
 public:
  Insertion(Graph& graph, Node& data, const Aipp& aipp, const std::string& path)
      : graph_(graph), data_(data), aipp_(aipp), path_(path), wanted_(data.output().desc) {}

  void insert() {
    const Dims& dims = wanted_.dims;
    if (dims.size() != 4 || !wanted_.rank_known())
      refuse(fmt::format("input {} is {}, want four dimensions", data_.name(), describe(wanted_)));
    last_ = wanted_.format == Format::NHWC;
    channels_ = dims[last_ ? 3 : 1];
    size_ = {dims[last_ ? 1 : 2], dims[last_ ? 2 : 3]};
    if (channels_ < 0)
      refuse(fmt::format("input {} is {}, want a known number of channels", data_.name(), describe(wanted_)));
    const std::vector<Use> readers = data_.output().uses;
    Node& node = graph_.add("Aipp", "aipp_" + data_.name());
    node.attributes[kKeepsType] = true;
    node.attributes[kOriginalType] = static_cast<int64_t>(wanted_.dtype);
    node.attributes["data_format"] = last_ ? "NHWC" : "NCHW";
    node.attributes["aipp_mode"] = aipp_.dynamic ? "dynamic" : "static";
    Node& parameters = aipp_.dynamic ? dynamic(node) : constant(node);
    graph_.add_input(node, "images", data_.out());
    graph_.add_input(node, "params", parameters.out());
    graph_.add_output(node, "features", TensorDesc(DType::Float, wanted_.dims, wanted_.format));
    Endpoint features = node.out();
    if (wanted_.dtype != DType::Float) features = cast(features);
    for (const Use& use : readers) graph_.connect(*use.node, use.index, features);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw OptionError(kOption, path_, why); }

  Endpoint cast(Endpoint from) {
    Node& node = graph_.add("Cast", fmt::format("aipp_{}_cast", data_.name()));
    node.attributes["dst_type"] = static_cast<int64_t>(wanted_.dtype);
    node.attributes[kKeepsType] = true;
    graph_.add_input(node, "x", from);
    graph_.add_output(node, "y");
    return node.out();
  }

  void describe_input(const TensorDesc& desc) {
    data_.output_desc() = desc;
    for (int i = 0; i < static_cast<int>(data_.inputs().size()); ++i) data_.input_desc(i) = desc;
  }

  /// The images keep the sizes of what the model reads: those of their source are the client's matter.
  Node& dynamic(Node& node) {
    int64_t most = wanted_.dims[0];
    if (const auto gears = gears_of(graph_)) {
      const bool ranged = !wanted_.ranges.empty();
      if (most < 0) most = ranged ? wanted_.ranges[0].second : most;
    } else if (!wanted_.known()) {
      refuse(fmt::format(
          "input {} is {}: dynamic AIPP wants sizes that are known, or gears (dynamic_batch_size and its kin)",
          data_.name(), describe(wanted_)));
    }
    if (channels_ != 1 && channels_ != 3)
      refuse(fmt::format("input {} is {}: AIPP gives 1 or 3 channels", data_.name(), describe(wanted_)));
    TensorDesc desc = wanted_;
    desc.dtype = DType::UInt8;
    describe_input(desc);
    node.attributes["max_src_image_size"] = aipp_.most_bytes;
    size_t others = 0;
    for (const Node* input : graph_.inputs()) others += input->name().starts_with(kAippInput);
    const std::string name = others ? fmt::format("{}_{}", kAippInput, others) : kAippInput;
    const auto bytes = static_cast<int64_t>(aipp::Settings::bytes(static_cast<size_t>(most)));
    return graph_.add_data(name, static_cast<int64_t>(graph_.inputs().size()), TensorDesc(DType::UInt8, {bytes}));
  }

  Node& constant(Node& node) {
    aipp::Settings settings{aipp_.common, {aipp_.picture}};
    Common& source = settings.common;
    const Picture& p = aipp_.picture;
    const bool planes = source.source == Source::Yuv420sp, known = size_.height >= 0 && size_.width >= 0;
    if (known) {  // where the file does not say them the source has what the model's input needs
      const int64_t rows = size_.height - (p.padding ? p.top + p.bottom : 0),
                    columns = size_.width - (p.padding ? p.left + p.right : 0);
      if (!source.height) source.height = static_cast<int32_t>(rows);
      if (!source.width) source.width = static_cast<int32_t>(columns);
      check(settings);
      node.attributes["size"] = Dims{size_.height, size_.width};
    } else if (source.height || source.width || p.crop || p.resize || p.padding) {
      refuse(fmt::format(
          "input {} is {}: where height and width are not known, leave out src_image_size, crop, resize and padding; "
          "dynamic AIPP takes any source",
          data_.name(), describe(wanted_)));
    } else if (channels_ != aipp::channels_of(source.source)) {
      refuse(fmt::format("{} has {} channels, input {} of the model wants {}", aipp::name_of(source.source),
                         aipp::channels_of(source.source), data_.name(), channels_));
    }
    node.attributes["input_format"] = aipp::name_of(source.source);
    const int64_t stored = source.source == Source::Rgb888 ? 3 : source.source == Source::Xrgb8888 ? 4 : 1;
    const int64_t height = known ? source.height : size_.height, width = known ? source.width : size_.width;
    if (planes) data_.attributes[kSharedPlanes] = true;
    TensorDesc desc(DType::UInt8, {wanted_.dims[0], planes && height >= 0 ? height * 3 / 2 : height, width, stored},
                    Format::NHWC);
    if (!wanted_.ranges.empty()) {
      for (const int64_t d : desc.dims) desc.ranges.emplace_back(d, d);
      desc.ranges[0] = wanted_.ranges[0];
      for (const size_t d : {size_t{1}, size_t{2}}) {
        if (desc.dims[d] >= 0) continue;
        desc.ranges[d] = wanted_.ranges[last_ ? d : d + 1];
        auto& [least, most] = desc.ranges[d];
        if (planes && d == 1) least = least / 2 * 3, most = most < 0 ? most : most / 2 * 3;
      }
    }
    describe_input(desc);
    Tensor tensor{DType::UInt8, {static_cast<int64_t>(aipp::Settings::bytes(1))}, {}};
    tensor.data = Bytes::make(aipp::Settings::bytes(1), [&](std::byte* to) { settings.write(to); });
    return graph_.add_constant(fmt::format("aipp_{}_params", data_.name()), std::move(tensor));
  }

  /// What the steps give is what the model's input has.
  void check(const aipp::Settings& settings) const {
    aipp::Size made;
    try {
      made = aipp::made_size(settings.common, settings.pictures[0]);
    } catch (const Error& e) { refuse(e.text()); }
    const int64_t given = aipp::channels_of(settings.common.source);
    if (given != channels_ || made != size_)
      refuse(fmt::format(
          "the steps give images of {} channels, {} rows and {} columns; input {} of the model wants {}, {} and {}",
          given, made.height, made.width, data_.name(), channels_, size_.height, size_.width));
  }

  Graph& graph_;
  Node& data_;
  const Aipp& aipp_;
  const std::string& path_;
  const TensorDesc wanted_;  ///< what the model reads
  bool last_ = false;        ///< the channels lie last in that
  int64_t channels_ = 0;
  aipp::Size size_;
};

}  // namespace

std::vector<Aipp> read_aipp(const std::string& path) {
  const std::string text = option_file_text(kOption, path);
  Json json;
  try {
    json = parse_text_format(text, "file");
  } catch (const Error& e) { throw OptionError(kOption, path, e.text()); }
  const auto blocks = json.find("aipp_op");
  if (blocks == json.end() || json.size() != 1)
    throw OptionError(kOption, path, "want blocks aipp_op { … } and nothing else");
  std::vector<Aipp> all;
  if (!blocks->is_array()) all.push_back(read_block({*blocks, path}));
  else
    for (const Json& block : *blocks) all.push_back(read_block({block, path}));
  return all;
}

void insert_aipp(Graph& graph, const std::vector<Aipp>& all, const std::string& path) {
  auto inputs = graph.inputs();
  std::erase_if(inputs, [](const Node* node) { return node->name() == kGearInput; });
  std::set<size_t> seen;
  for (const Aipp& aipp : all) {
    size_t number = aipp.input;
    if (!aipp.input_name.empty()) {
      const auto found = std::ranges::find(inputs, aipp.input_name, [](const Node* node) { return node->name(); });
      number = static_cast<size_t>(found - inputs.begin());
      if (found == inputs.end())
        throw OptionError(kOption, path,
                          fmt::format("related_input_name is {}, the model has no such input", aipp.input_name));
    }
    if (number >= inputs.size())
      throw OptionError(kOption, path,
                        fmt::format("related_input_rank is {}, the model has {} inputs", number, inputs.size()));
    if (!seen.insert(number).second)
      throw OptionError(kOption, path,
                        fmt::format("two blocks are for input {}: give each its related_input_rank", number));
    Insertion(graph, *inputs[number], aipp, path).insert();
  }
}

}  // namespace updraft::graph
