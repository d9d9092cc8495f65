// Tensors that steps of a graph print. A type of our own: the engine makes it of StringFormat and PrintV2, so that no
// text is a tensor.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/scratch.h"
#include "device/device.h"
#include "device/tensor_channel.h"
#include "kernels/pipeline.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

constexpr const char* kChannel = "_npu_log";  // where TorchAir listens
constexpr int32_t kText = 13;                 // ACL_STRING
constexpr std::chrono::seconds kPatience{10};

void append(std::string& to, double v) {
  if (v == std::floor(v) && std::abs(v) < 1e15) to += fmt::format("{:.0f}", v);
  else if (std::isnan(v)) to += "nan";
  else to += fmt::format("{:.9g}", v);
}
void append(std::string& to, int64_t v) { to += fmt::format("{}", v); }

/// "[[0 1 2]\n [3 4 5]]", of long dimensions the first and the last `most` (below 0: all).
template <class T>
void append(std::string& to, const TensorView& v, const T* at, int d, int64_t most) {
  if (d == v.rank) return append(to, *at);
  const int64_t n = v.dims[d];
  const bool shortened = most >= 0 && n > 2 * most, innermost = d == v.rank - 1;
  const char* between = innermost ? " " : "\n ";
  to += '[';
  bool first = true;
  for (int64_t i = 0; i < n; ++i) {
    if (!first) to += between;
    first = false;
    if (shortened && i == most) {
      to += "...";
      i = n - most - 1;
      continue;
    }
    append(to, v, at + i * v.strides[d], d + 1, most);
  }
  to += ']';
}

std::string text_of(const TensorView& x, int64_t most) {
  std::string text;
  ScratchScope scratch;
  const bool real = is_floating(x.dtype);
  const DType type = real ? DType::Double : DType::Int64;
  TensorView v = TensorView::contiguous(nullptr, type, x.dims, x.rank);
  if (!x.empty()) v = gather_to(scratch.take(static_cast<size_t>(x.numel()) * sizeof(double)), type, x);
  if (real) append(text, v, v.as<const double>(), 0, most);
  else append(text, v, v.as<const int64_t>(), 0, most);
  return text;
}

/// To whoever listens to the device, else to stderr.
void say(int device, std::string text) {
  if (const auto channel = find_channel(device, kChannel)) {
    ChannelItem item{0, kText, {}, {}, {}};
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    item.bytes.assign(bytes, bytes + text.size());
    if (channel->send({std::move(item)}, kPatience) == TensorChannel::Outcome::Done) return;
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

/// The tensors whose elements are told, `summarize` of each.
std::vector<TensorView> to_tell(const Op& op, const char* name, const Tensors& all, int64_t summarize) {
  op.require(summarize == -1 || summarize > 0, "summarize is {}, want a positive number, or -1 for all elements",
             summarize);
  std::vector<TensorView> views;
  for (size_t i = 0; i < all.size(); ++i) {
    op.require(is_floating(all[i].dtype) || is_integral(all[i].dtype, true), "{}{} is {}, want real numbers", name, i,
               describe(all[i]));
    views.push_back(all[i]);
  }
  return views;
}

}  // namespace

ABOUT(PrintTensors, AICPU, "Prints format, in which the x, one after the other, take the place of placeholder",
      "打印 format，其中的 placeholder 依次替换为各个 x")
IR_OP(PrintTensors, PrintTensors, (Tensors, x), (Text, format), (Text, placeholder), (Int, summarize, 3)) {
  std::vector<TensorView> views = to_tell(op, "x", x, summarize);
  const Device* device = x.size() && x.item(0)->storage ? Device::owner(x.item(0)->storage) : nullptr;
  op.launch([views = std::move(views), text = std::string(format), mark = std::string(placeholder), summarize,
             index = device ? device->index() : 0] {
    std::string said;
    size_t at = 0;
    for (const TensorView& v : views) {
      const size_t found = mark.empty() ? std::string::npos : text.find(mark, at);
      if (found == std::string::npos) break;
      said += text.substr(at, found - at) + text_of(v, summarize);
      at = found + mark.size();
    }
    say(index, said + text.substr(at));
  });
}

ABOUT(Assert, AICPU, "Fails where input_condition is not true, and tells the first elements of what is given",
      "input_condition 不为真时报错，并给出各输入的前若干元素")
IR_OP(Assert, Assert, (In, input_condition), (Tensors, input_data), (Int, summarize, 3)) {
  op.require(is_integral(input_condition->dtype, true), "input_condition is {}, want bool", describe(*input_condition));
  std::vector<TensorView> views = to_tell(op, "input_data", input_data, summarize);
  if (op.inferring()) return;
  op.launch([condition = *input_condition, views = std::move(views), most = int64_t{summarize}] {
    const std::vector<int64_t> all = integers_of(condition);
    if (std::all_of(all.begin(), all.end(), [](int64_t v) { return v != 0; })) return;
    std::string text = "the condition is false";
    for (const TensorView& v : views) {
      const int64_t n = most < 0 ? v.numel() : std::min(most, v.numel());
      std::vector<double> first = gathered<double>(v);
      text += "\ninput data: ";
      append(text, TensorView::contiguous(first.data(), DType::Double, &n, 1), first.data(), 0, -1);
    }
    fail_kernel(text);
  });
}

}  // namespace updraft
