// What experts sent back to a worker of attention, brought together for each token. The tokens lie at an address that
// the context of the workers' schedule names, in device memory.
#include <algorithm>

#include "base/parallel.h"
#include "ops/moe/worker_schedule.h"

namespace updraft {
namespace {

using Schedule = WorkerSchedule;
constexpr int64_t kTokenData = 272, kMicroBatch = 288;

struct WorkerCombine {
  TensorView context, scales, layer, y, next_layer;
};

void combine_tokens(const WorkerCombine& w) {
  const Schedule s(w.context);
  const int64_t tokens = w.scales.dims[0], experts = w.scales.dims[1], width = w.y.dims[1];
  const int64_t batches = s.count(Schedule::kMicroBatches), batch = s.count(kMicroBatch),
                size = s.count(Schedule::kMicroBatchSize), selected = s.count(Schedule::kSelectedExperts);
  if (size != tokens || selected != experts + 1)
    throw Error(
        code::kAclnnRuntime,
        "schedule_context says micro_batch_size {} and selected_expert_num {}, and expert_scales has {} tokens and "
        "{} experts: want as many tokens, and one expert more (the shared one)",
        size, selected, tokens, experts);
  if (batch >= batches)
    throw Error(code::kAclnnRuntime, "schedule_context says micro_batch_id {}, want less than micro_batch_num, {}",
                batch, batches);
  const int64_t part = tokens * (experts + 1) * width * 2;
  char* const data = s.buffer("token_data_buf", kTokenData, part, batch + 1);
  const int64_t dims[] = {tokens, experts + 1, width};
  const TensorView all = TensorView::contiguous(data + part * batch, w.y.dtype, dims, 3);
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
  Schedule::require(op, *schedule_context);
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
