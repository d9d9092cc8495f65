#include "graph/compile/aipp.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/compile/option_error.h"
#include "graph/proto/dump.h"
#include "ops/ir_op.h"

namespace updraft::graph {
namespace {

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
  void check_all_taken() const {
    for (const auto& [name, value] : json_.items())
      if (!taken_.contains(name)) refuse(fmt::format("there is no parameter {} of static AIPP", name));
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

Aipp read_block(Block block) {
  Aipp made;
  const std::string mode = block.text("aipp_mode", "static");
  if (mode != "static")
    block.refuse(fmt::format(
        "aipp_mode is {}: only static is implemented; write the parameters into the file, and one model for each set",
        mode));
  const std::string format = block.text("input_format", "");
  if (format == "YUV420SP_U8") made.source = Aipp::Source::Yuv420sp;
  else if (format == "RGB888_U8") made.source = Aipp::Source::Rgb;
  else if (format == "XRGB8888_U8") made.source = Aipp::Source::Xrgb;
  else if (format == "YUV400_U8") made.source = Aipp::Source::Yuv400;
  else block.refuse(fmt::format("input_format is '{}', want YUV420SP_U8, RGB888_U8, XRGB8888_U8 or YUV400_U8", format));
  made.input = static_cast<size_t>(block.whole("related_input_rank"));
  made.source_width = block.whole("src_image_size_w");
  made.source_height = block.whole("src_image_size_h");
  made.crop = block.flag("crop");
  made.crop_left = block.whole("load_start_pos_w");
  made.crop_top = block.whole("load_start_pos_h");
  made.crop_width = block.whole("crop_size_w");
  made.crop_height = block.whole("crop_size_h");
  made.resize = block.flag("resize");
  made.resize_width = block.whole("resize_output_w");
  made.resize_height = block.whole("resize_output_h");
  made.padding = block.flag("padding");
  made.left = block.whole("left_padding_size");
  made.right = block.whole("right_padding_size");
  made.top = block.whole("top_padding_size");
  made.bottom = block.whole("bottom_padding_size");
  made.padding_value = block.real("padding_value", 0);
  made.csc = block.flag("csc_switch");
  made.swap_rb = block.flag("rbuv_swap_switch");
  made.alpha_last = block.flag("ax_swap_switch");
  block.flag("single_line_mode");  // how the hardware moves lines; the numbers are the same
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 3; ++c)
      made.matrix[r][c] = static_cast<float>(block.whole(fmt::format("matrix_r{}c{}", r, c), -32768, 32767));
    made.input_bias[r] = static_cast<float>(block.whole(fmt::format("input_bias_{}", r), 0, 255));
    made.output_bias[r] = static_cast<float>(block.whole(fmt::format("output_bias_{}", r), 0, 255));
  }
  for (size_t c = 0; c < 4; ++c) {
    made.mean[c] = block.real(fmt::format("mean_chn_{}", c), 0);
    made.minimum[c] = block.real(fmt::format("min_chn_{}", c), 0);
    made.factor[c] = block.real(fmt::format("var_reci_chn_{}", c), 1);
  }
  block.check_all_taken();
  if (made.source == Aipp::Source::Yuv420sp && made.crop && (made.crop_left % 2 || made.crop_top % 2))
    block.refuse("load_start_pos_w and load_start_pos_h must be even for YUV420SP_U8");
  if (made.source == Aipp::Source::Yuv400 && (made.csc || made.swap_rb))
    block.refuse("YUV400_U8 has one channel: csc_switch and rbuv_swap_switch want three");
  return made;
}

/// Puts the steps before one input, on images whose channels come last.
class Steps {
 public:
  Steps(Graph& graph, Node& data, const Aipp& aipp, const std::string& path)
      : graph_(graph), data_(data), aipp_(aipp), path_(path) {}

  void insert() {
    const TensorDesc wanted = data_.output().desc;
    if (wanted.dims.size() != 4 || !wanted.rank_known())
      refuse(fmt::format("input {} is {}, want four dimensions", data_.name(), describe(wanted)));
    const bool last = wanted.format == Format::NHWC;
    const int64_t channels = wanted.dims[last ? 3 : 1];
    height_ = wanted.dims[last ? 1 : 2];
    width_ = wanted.dims[last ? 2 : 3];
    if (height_ < 0 || width_ < 0 || channels < 0)
      refuse(fmt::format("input {} is {}, want known sizes", data_.name(), describe(wanted)));
    const std::vector<Use> readers = data_.output().uses;
    source_sizes();
    Endpoint x = cast(image(wanted.dims[0]), DType::Float);
    x = crop(x);
    if (aipp_.csc) x = convert_colours(x);
    if (aipp_.resize) x = resize(x);
    x = normalise(x);
    x = pad(x);
    const int64_t given = aipp_.source == Aipp::Source::Yuv400 ? 1 : aipp_.source == Aipp::Source::Xrgb ? channels_ : 3;
    const int64_t want_height = wanted.dims[last ? 1 : 2], want_width = wanted.dims[last ? 2 : 3];
    if (given != channels || height_ != want_height || width_ != want_width)
      refuse(fmt::format(
          "the steps give images of {} channels, {} rows and {} columns; input {} of the model wants {}, {} and {}",
          given, height_, width_, data_.name(), channels, want_height, want_width));
    if (!last) x = emit("TransposeD", {x}, {{"perm", Dims{0, 3, 1, 2}}});
    if (wanted.dtype != DType::Float) x = cast(x, wanted.dtype);
    for (const Use& use : readers) graph_.connect(*use.node, use.index, x);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw OptionError(kOption, path_, why); }

  Endpoint emit(std::string_view type, const std::vector<Endpoint>& inputs, Attributes attributes = {}) {
    Node& node = graph_.add(type, fmt::format("aipp_{}_{}", data_.name(), type));
    node.attributes = std::move(attributes);
    node.attributes[kKeepsType] = true;
    const OpInfo& info = *find_ir_op(type);
    const auto names = ir_inputs(info);
    for (size_t i = 0; i < inputs.size(); ++i)
      graph_.add_input(node,
                       names[0]->kind == ::updraft::Kind::Tensors ? names[0]->name + std::to_string(i) : names[i]->name,
                       inputs[i]);
    graph_.add_output(node, ir_outputs(info)[0]->name);
    return node.out();
  }
  Endpoint constant(Tensor value) {
    return graph_.add_constant(fmt::format("aipp_{}_const", data_.name()), std::move(value)).out();
  }
  Endpoint numbers(std::vector<float> values) { return constant(Tensor::of(values)); }
  Endpoint cast(Endpoint x, DType type) { return emit("Cast", {x}, {{"dst_type", static_cast<int64_t>(type)}}); }
  Endpoint reshape(Endpoint x, const Dims& dims) { return emit("Reshape", {x, constant(Tensor::of(dims))}); }

  /// Where the file does not say them the source has what the model's input needs.
  void source_sizes() {
    if (aipp_.padding) {
      height_ -= aipp_.top + aipp_.bottom;
      width_ -= aipp_.left + aipp_.right;
    }
    rows_ = aipp_.source_height ? aipp_.source_height : height_;
    columns_ = aipp_.source_width ? aipp_.source_width : width_;
    if (aipp_.source == Aipp::Source::Yuv420sp && (rows_ % 2 || columns_ % 2))
      refuse(fmt::format("YUV420SP_U8 wants even sizes, the source has {} rows and {} columns", rows_, columns_));
    height_ = rows_;
    width_ = columns_;
  }

  /// The input takes bytes from now on; the image with a dimension of channels in their order.
  Endpoint image(int64_t batch) {
    const auto source = aipp_.source;
    const bool planes = source == Aipp::Source::Yuv420sp;
    const int64_t stored = planes || source == Aipp::Source::Yuv400 ? 1 : source == Aipp::Source::Rgb ? 3 : 4;
    auto ranges = data_.output().desc.ranges;
    TensorDesc desc(DType::UInt8, {batch, planes ? rows_ * 3 / 2 : rows_, columns_, stored}, Format::NHWC);
    if (batch < 0 && !ranges.empty()) {
      for (const int64_t d : desc.dims) desc.ranges.emplace_back(d, d);
      desc.ranges[0] = ranges[0];
    }
    data_.output_desc() = desc;
    for (int i = 0; i < static_cast<int>(data_.inputs().size()); ++i) data_.input_desc(i) = desc;
    Endpoint x = planes ? full_planes() : data_.out();
    std::vector<int64_t> order = {0, 1, 2};
    if (source == Aipp::Source::Yuv400) return x;
    if (source == Aipp::Source::Xrgb) {
      const int64_t begin = aipp_.alpha_last ? 0 : 1;
      for (int64_t& channel : order) channel += begin;
      channels_ = 3;
    }
    if (aipp_.swap_rb) std::swap(order[source == Aipp::Source::Yuv420sp ? 1 : 0], order[2]);
    if (stored == 3 && !aipp_.swap_rb) return x;
    if (planes && !aipp_.swap_rb) return x;
    return emit("GatherV2D", {x, constant(Tensor::of(order))}, {{"axis", 3}});
  }

  /// A plane of Y and one of pairs UV at half the size become three channels.
  Endpoint full_planes() {
    const int64_t half_rows = rows_ / 2, half_columns = columns_ / 2;
    const Endpoint y =
        emit("SliceD", {data_.out()}, {{"offsets", Dims{0, 0, 0, 0}}, {"size", Dims{-1, rows_, -1, -1}}});
    Endpoint uv =
        emit("SliceD", {data_.out()}, {{"offsets", Dims{0, rows_, 0, 0}}, {"size", Dims{-1, half_rows, -1, -1}}});
    uv = reshape(uv, {-1, half_rows, 1, half_columns, 1, 2});
    uv = emit("TileD", {uv}, {{"multiples", Dims{1, 1, 2, 1, 2, 1}}});
    uv = reshape(uv, {-1, rows_, columns_, 2});
    return emit("ConcatV2D", {y, uv}, {{"concat_dim", 3}, {"N", 2}});
  }

  Endpoint crop(Endpoint x) {
    if (!aipp_.crop) return x;
    const int64_t height = aipp_.crop_height ? aipp_.crop_height : height_,
                  width = aipp_.crop_width ? aipp_.crop_width : width_;
    if (aipp_.crop_top + height > height_ || aipp_.crop_left + width > width_)
      refuse(fmt::format(
          "the crop of {} rows and {} columns at row {}, column {} leaves the source of {} rows and {} columns", height,
          width, aipp_.crop_top, aipp_.crop_left, height_, width_));
    height_ = height;
    width_ = width;
    return emit("SliceD", {x},
                {{"offsets", Dims{0, aipp_.crop_top, aipp_.crop_left, 0}}, {"size", Dims{-1, height, width, -1}}});
  }

  /// Whole numbers: the matrix times what is left of the channels, over 256, within a byte.
  Endpoint convert_colours(Endpoint x) {
    std::vector<float> transposed;
    for (size_t c = 0; c < 3; ++c)
      for (size_t r = 0; r < 3; ++r) transposed.push_back(aipp_.matrix[r][c]);
    Tensor matrix = Tensor::of(transposed);
    matrix.dims = {3, 3};
    x = emit("Sub", {x, numbers({aipp_.input_bias.begin(), aipp_.input_bias.end()})});
    x = emit("MatMul", {reshape(x, {-1, 3}), constant(std::move(matrix))});
    x = emit("Floor", {emit("Mul", {x, numbers({1.0F / 256})})});
    x = emit("Add", {x, numbers({aipp_.output_bias.begin(), aipp_.output_bias.end()})});
    x = emit("ClipByValue", {x, numbers({0}), numbers({255})});
    return reshape(x, {-1, height_, width_, 3});
  }

  Endpoint resize(Endpoint x) {
    if (!aipp_.resize_height || !aipp_.resize_width) refuse("resize is true: want resize_output_w and resize_output_h");
    height_ = aipp_.resize_height;
    width_ = aipp_.resize_width;
    x = emit("TransposeD", {x}, {{"perm", Dims{0, 3, 1, 2}}});
    x = emit("ResizeBilinearV2", {x, constant(Tensor::of(std::vector<int64_t>{height_, width_}))},
             {{"half_pixel_centers", true}});
    return emit("TransposeD", {x}, {{"perm", Dims{0, 2, 3, 1}}});
  }

  Endpoint normalise(Endpoint x) {
    const size_t channels = aipp_.source == Aipp::Source::Yuv400 ? 1 : 3;
    std::vector<float> less, factor;
    for (size_t c = 0; c < channels; ++c) {
      less.push_back(aipp_.mean[c] + aipp_.minimum[c]);
      factor.push_back(aipp_.factor[c]);
    }
    if (std::ranges::any_of(less, [](float v) { return v != 0; })) x = emit("Sub", {x, numbers(less)});
    if (std::ranges::any_of(factor, [](float v) { return v != 1; })) x = emit("Mul", {x, numbers(factor)});
    return x;
  }

  Endpoint pad(Endpoint x) {
    if (!aipp_.padding) return x;
    height_ += aipp_.top + aipp_.bottom;
    width_ += aipp_.left + aipp_.right;
    Tensor sizes = Tensor::of(std::vector<int64_t>{0, 0, aipp_.top, aipp_.bottom, aipp_.left, aipp_.right, 0, 0});
    sizes.dims = {4, 2};
    return emit("PadV2", {x, constant(std::move(sizes)), constant(Tensor::of(aipp_.padding_value))});
  }

  Graph& graph_;
  Node& data_;
  const Aipp& aipp_;
  const std::string& path_;
  int64_t height_ = 0, width_ = 0;  ///< of the image as the steps until now leave it
  int64_t rows_ = 0, columns_ = 0;  ///< of the source
  int64_t channels_ = 3;
};

}  // namespace

std::vector<Aipp> read_aipp(const std::string& path) {
  const Bytes file = Bytes::of_file(path);
  Json json;
  try {
    json = parse_text_format(file.text(), "file");
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
  const auto inputs = graph.inputs();
  std::set<size_t> seen;
  for (const Aipp& aipp : all) {
    if (aipp.input >= inputs.size())
      throw OptionError(kOption, path,
                        fmt::format("related_input_rank is {}, the model has {} inputs", aipp.input, inputs.size()));
    if (!seen.insert(aipp.input).second)
      throw OptionError(kOption, path,
                        fmt::format("two blocks are for input {}: give each its related_input_rank", aipp.input));
    Steps(graph, *inputs[aipp.input], aipp, path).insert();
  }
}

}  // namespace updraft::graph
