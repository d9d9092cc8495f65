// The constants of a model on a device.
#include <algorithm>

#include "device/device.h"
#include "graph/executor/outline.h"
#include "graph/executor/run.h"
#include "graph/ir/mapped_files.h"

namespace updraft::graph {
namespace {

/// Smaller constants are not worth a prepared form.
constexpr int64_t kLeastPrepared = 256;
/// Smaller ones are copied at once.
constexpr size_t kLeastInFile = 64 << 10;

constexpr ConstantSource kFile{[](const void* data, size_t bytes) {
                                 require_unwritten(data);
                                 want_file_pages(data, bytes);
                               },
                               &drop_file_pages};

/// True where all who read the constant are products and convolutions that take it as their weights.
bool is_weight(const Node& node) {
  static constexpr std::string_view kTypes[] = {"BatchMatMul",   "BatchMatMulV2", "Conv2D",
                                                "FusedConv2D",   "MatMul",        "MatMulV2",
                                                "RequantConv2D", "RequantMatMul", "FusedMatMul"};
  const std::vector<Use>& uses = node.output().uses;
  return !uses.empty() && std::ranges::all_of(uses, [](const Use& use) {
    return use.index == 1 && std::ranges::find(kTypes, std::string_view(use.node->type())) != std::end(kTypes);
  });
}

size_t bytes_of(const Tensor& constant) { return static_cast<size_t>(constant.count()) * size_of(constant.dtype); }

/// Reads the constant's bytes once; pages of a mapped file are asked for before and given back after.
template <class Read>
auto read_once(const Tensor& constant, Read read) {
  const Bytes from = constant.data.part(0, bytes_of(constant));
  want_file_pages(from.data(), from.size());
  struct Drop {
    const Bytes& from;
    ~Drop() { drop_file_pages(from.data(), from.size()); }
  } const drop{from};
  return read(from.span());
}

}  // namespace

Weights::Weights(const Model& model, Device& device, std::byte* client, bool keep_files) : device_(device) {
  size_t own = 0;                                 // bytes of a block without those
  std::vector<std::pair<Node*, size_t>> brought;  // and where they lie in it
  for (const Graph* graph : model.graphs())
    for (const auto& node : graph->nodes()) {
      const Tensor* constant = node->constant();
      if (!constant) continue;
      const size_t want = bytes_of(*constant);
      if (constant->data.size() < want)
        throw Error(code::kAclnnParamInvalid, "constant {} is {}{} and has {} bytes, want {}", node->name(),
                    updraft::name_of(constant->dtype), describe(constant->dims), constant->data.size(), want);
      const bool prepared =
          (is_floating(constant->dtype) || constant->dtype == DType::Int8) && constant->count() >= kLeastPrepared;
      const bool stays = keep_files && !client && prepared && want >= kLeastInFile && is_weight(*node) &&
                         in_mapped_file(constant->data.data(), want);
      Weight& weight = weights_[node.get()];
      places_.emplace_back(node.get(), bytes_);
      bytes_ += aligned_weight(want);
      if (!client && !stays && want >= SharedConstant::kLeast) {
        share(*node, prepared);
        continue;
      }
      if (prepared)
        weight.constant = operands_.emplace_back(std::make_unique<ConstantOperand>(stays ? &kFile : nullptr)).get();
      if (stays) {
        weight.data = const_cast<std::byte*>(constant->data.data());
        in_files_.push_back(node.get());
      } else {
        brought.emplace_back(node.get(), own);
        own += aligned_weight(want);
      }
    }
  if (!client) block_ = DeviceBlock(device, own);
  base_ = client ? client : block_.data();
  for (const auto& [node, at] : brought) bring(*node, base_ + at);
}

bool Weights::settle() {
  size_t bytes = 0;
  std::erase_if(in_files_, [&](const Node* node) { return weights_.at(node).constant->made() > 0; });
  for (const Node* node : in_files_) bytes += aligned_weight(bytes_of(*node->constant()));
  if (bytes == 0) return false;
  late_ = DeviceBlock(device_, bytes);
  std::byte* to = late_.data();
  for (Node* node : in_files_) {
    bring(*node, to);
    to += aligned_weight(bytes_of(*node->constant()));
  }
  in_files_.clear();
  return true;
}

void Weights::move_to(std::byte* memory) {
  if (memory == base_ || bytes_ == 0) return;
  for (const auto& [node, at] : places_) {
    bring(*node, memory + at);
    Weight& weight = weights_[node];  // others keep what they share
    if (weight.constant && shared_.contains(node))
      weight.constant = operands_.emplace_back(std::make_unique<ConstantOperand>()).get();
  }
  shared_.clear();
  base_ = memory;
  block_ = DeviceBlock();
  late_ = DeviceBlock();
}

void Weights::bring(Node& node, std::byte* to) {
  read_once(*node.constant(), [to](auto bytes) { copy_to_device(to, bytes); });
  lies_at(node, to, nullptr);
}

void Weights::share(Node& node, bool prepared) {
  std::shared_ptr<SharedConstant> constant =
      read_once(*node.constant(), [this](auto bytes) { return SharedConstant::of(device_, bytes); });
  if (prepared) weights_[&node].constant = &constant->operand();
  lies_at(node, constant->data(), constant);
  shared_.emplace(&node, std::move(constant));
}

void Weights::lies_at(Node& node, std::byte* data, std::shared_ptr<const void> owner) {
  Tensor constant = *node.constant();
  weights_[&node].data = data;
  constant.data = Bytes(std::move(owner), host_address(data), bytes_of(constant));
  node.attributes["value"] = std::move(constant);
}

}  // namespace updraft::graph
