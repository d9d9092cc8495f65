// What experts sent back to a worker of attention, brought together for each token. The tokens lie at an address that
// the context of the workers' schedule names, in device memory.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "device/device.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

/// Where the context keeps what is read here (op-plugin's test of the operator writes its struct).
constexpr int64_t kContextBytes = 1024, kMicroBatches = 4, kMicroBatchSize = 8, kSelectedExperts = 12, kTokenData = 272,
                  kTokenDataBytes = 280, kMicroBatch = 288;

struct WorkerCombine {
  TensorView context, scales, layer, y, next_layer;
};

template <class T>
T field(const std::vector<int8_t>& context, int64_t at) {
  T value;
  std::memcpy(&value, context.data() + at, sizeof value);
  return value;
}

void combine_tokens(const WorkerCombine& w) {
  const std::vector<int8_t> context = gathered<int8_t>(w.context);
  const int64_t tokens = w.scales.dims[0], experts = w.scales.dims[1], width = w.y.dims[1];
  const auto batches = field<uint32_t>(context, kMicroBatches), batch = field<uint32_t>(context, kMicroBatch);
  const auto size = field<uint32_t>(context, kMicroBatchSize), selected = field<uint32_t>(context, kSelectedExperts);
  const auto address = field<uint64_t>(context, kTokenData), bytes = field<uint64_t>(context, kTokenDataBytes);
  if (size != tokens || selected != experts + 1)
    throw Error(
        code::kAclnnRuntime,
        "schedule_context says micro_batch_size {} and selected_expert_num {}, and expert_scales has {} tokens and "
        "{} experts: want as many tokens, and one expert more (the shared one)",
        size, selected, tokens, experts);
  if (batch >= batches)
    throw Error(code::kAclnnRuntime, "schedule_context says micro_batch_id {}, want less than micro_batch_num, {}",
                batch, batches);
  const uint64_t part = static_cast<uint64_t>(tokens * (experts + 1) * width) * 2;
  const char* data = reinterpret_cast<const char*>(address);
  Device* owner = Device::owner(data);
  if (bytes / part < uint64_t{batch} + 1 || !owner || !owner->memory().covers(data, data + part * (batch + 1)))
    throw Error(
        code::kAclnnRuntime,
        "schedule_context says that token_data_buf is {:#x} with {} bytes: want device memory of {} bytes or more "
        "for {} micro batches",
        address, bytes, part * (batch + 1), batch + 1);
  const int64_t dims[] = {tokens, experts + 1, width};
  const TensorView all =
      TensorView::contiguous(static_cast<char*>(host_address(data)) + part * batch, w.y.dtype, dims, 3);
  const std::vector<float> x = floats_of(all), scale = floats_of(w.scales);
  std::vector<float> y(static_cast<size_t>(tokens * width));
  parallel_for(tokens, std::max<int64_t>(1, 16384 / ((experts + 1) * width)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* to = y.data() + t * width;
      const float* from = x.data() + t * (experts + 1) * width;
      for (int64_t e = 0; e < experts; ++e)
        kernels().axpy_f32(to, from + e * width, width, scale[static_cast<size_t>(t * experts + e)]);
      kernels().axpy_f32(to, from + experts * width, width, 1);
    }
  });
  write_all(w.y, y);
  write_all(w.next_layer, std::vector<int32_t>{static_cast<int32_t>(integers_of(w.layer)[0] + 1)});
}

}  // namespace

ABOUT(aclnnAttentionWorkerCombine, Vector,
      "y = the tokens that experts sent to this worker, weighted by expert_scales, and the shared expert's",
      "按 expert_scales 加权合并各专家返回给本 worker 的 token，并加上共享专家的结果")
ACLNN(aclnnAttentionWorkerCombine, (In, schedule_context), (In, expert_scales), (In, layer_id), (Int, hidden_size),
      (Int, token_dtype), (Int, need_schedule), (Out, y), (Out, next_layer_id)) {
  op.require(schedule_context->dtype == DType::Int8 && schedule_context->numel() >= kContextBytes,
             "schedule_context is {}, want INT8 of {} elements or more", describe(*schedule_context), kContextBytes);
  op.require(expert_scales->rank == 2 && expert_scales->dtype == DType::Float,
             "expert_scales is {}, want FLOAT of [tokens, experts]", describe(*expert_scales));
  op.require(layer_id->numel() == 1 && layer_id->dtype == DType::Int32, "layer_id is {}, want INT32 of one element",
             describe(*layer_id));
  op.require(hidden_size > 0, "hidden_size is {}, want more than 0", hidden_size);
  // Who waits for the tokens of other workers needs their flags, which a schedule keeps: that is not done here.
  op.require(need_schedule == 0, "need_schedule is {}, supported is 0: wait for the tokens before the call",
             need_schedule);
  const int64_t dims[] = {expert_scales->dims[0], hidden_size};
  op.result("y", *y, dims, 2, token_dtype == 1 ? DType::BFloat16 : DType::Float16);
  op.result_like("next_layer_id", *next_layer_id, *layer_id, DType::Int32);
  op.work(expert_scales->numel() * hidden_size * 2);
  if (y->empty()) return;
  op.launch(
      [w = WorkerCombine{*schedule_context, *expert_scales, *layer_id, *y, *next_layer_id}] { combine_tokens(w); });
}

}  // namespace updraft
