// The tokens that workers of attention sent to a worker of experts, brought into the order of their experts. They lie
// at addresses that the context of the workers' schedule names, in device memory.
#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "ops/moe/worker_schedule.h"

namespace updraft {
namespace {

using Schedule = WorkerSchedule;
constexpr int64_t kTokenInfo = 384, kTokenData = 400, kPollingIndex = 416, kSessionIds = 528, kMicroBatchIds = 544,
                  kExpertIds = 560, kOutNum = 576;
constexpr int32_t kNoExpert = 1000000;  // from here on an id is of no expert
constexpr int64_t kQuantized = 2;       // token_dtype: INT8 and a scale behind each token

struct WorkerBatching {
  TensorView context;
  int64_t experts, width, token_type;
  bool schedule;
  TensorView y, group_list, session_ids, micro_batch_ids, token_ids, expert_offsets, dynamic_scale, actual_token_num;
};

int32_t number(const char* from, int64_t i) {
  int32_t value;
  std::memcpy(&value, from + i * 4, sizeof value);
  return value;
}

void batch_tokens(const WorkerBatching& w) {
  const Schedule s(w.context);
  const int64_t sessions = s.count(Schedule::kSessions), batches = s.count(Schedule::kMicroBatches),
                tokens = s.count(Schedule::kMicroBatchSize), selected = s.count(Schedule::kSelectedExperts),
                size = s.count(Schedule::kTokenSize), rows = w.y.dims[0];
  const int64_t polled = static_cast<int64_t>(s.field<uint64_t>(kPollingIndex)), each = tokens * selected;
  const int64_t sent = w.schedule ? sessions : s.count(kOutNum);
  const int64_t bytes = w.token_type == kQuantized ? w.width : w.width * 2;
  const int64_t least = w.token_type == kQuantized ? bytes + 4 : bytes;
  const double all_bytes = static_cast<double>(sessions) * static_cast<double>(batches) * static_cast<double>(tokens) *
                           static_cast<double>(selected) * static_cast<double>(size);
  if (all_bytes > 1e15 || sent > sessions || sent * each > rows || size < least || polled < 0 || polled >= batches)
    throw Error(code::kAclnnRuntime,
                "schedule_context says session_num {}, out_num {}, micro_batch_size {}, selected_expert_num {}, "
                "attn_to_ffn_token_size {} and polling_index {} of {} micro batches: want at most {} tokens, which "
                "max_out_shape has room for, of {} bytes or more",
                sessions, sent, tokens, selected, size, polled, batches, rows, least);
  const char* session_of = s.buffer("session_ids_buf", kSessionIds, 4, sent);
  const char* batch_of = s.buffer("micro_batch_ids_buf", kMicroBatchIds, 4, polled + 1);
  const char* data = s.buffer("token_data_buf", kTokenData, size, sessions * batches * each);
  const int32_t batch = number(batch_of, polled);
  if (batch < 0 || batch >= batches)
    throw Error(code::kAclnnRuntime, "micro_batch_ids_buf has {} at {}, want 0 to {}", batch, polled, batches - 1);

  std::vector<int32_t> expert(static_cast<size_t>(sent * each));
  if (w.schedule) {
    const int64_t entry = 8 + each * 4;  // a flag, a layer and the experts' ids
    const char* info = s.buffer("token_info_buf", kTokenInfo, entry, sessions * batches);
    for (int64_t a = 0; a < sent; ++a) {
      const char* from = info + (a * batches + polled) * entry;
      // An operator that waits would keep the device from those that send.
      if (number(from, 0) != 1)
        throw Error(code::kAclnnRuntime,
                    "token_info_buf has flag {} for session {} and micro batch {}, want 1: call the operator when its "
                    "tokens are there",
                    number(from, 0), a, polled);
      std::memcpy(expert.data() + a * each, from + 8, static_cast<size_t>(each) * 4);
    }
  } else {
    std::memcpy(expert.data(), s.buffer("expert_ids_buf", kExpertIds, 4, sent * each), expert.size() * 4);
  }
  std::vector<int64_t> order(expert.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int64_t i) { return expert[static_cast<size_t>(i)] >= kNoExpert; });
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return expert[static_cast<size_t>(i)]; });

  const auto all = static_cast<size_t>(rows);
  std::vector<int64_t> groups(static_cast<size_t>(w.experts * 2));
  std::vector<int32_t> session(all), micro_batch(all), token(all), offset(all);
  std::vector<float> scale(all);
  int64_t group = -1;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t at = order[i];
    const int32_t e = expert[static_cast<size_t>(at)];
    session[i] = number(session_of, at / each);
    if (session[i] < 0 || session[i] >= sessions)
      throw Error(code::kAclnnRuntime, "session_ids_buf has {} at {}, want 0 to {}", session[i], at / each,
                  sessions - 1);
    micro_batch[i] = batch;
    token[i] = static_cast<int32_t>(at % each / selected);
    offset[i] = static_cast<int32_t>(at % selected);
    if (i == 0 || e != expert[static_cast<size_t>(order[i - 1])]) {
      if (++group >= w.experts)
        throw Error(code::kAclnnRuntime, "the tokens go to more experts than expert_num, {}", w.experts);
      groups[static_cast<size_t>(2 * group)] = e;
    }
    ++groups[static_cast<size_t>(2 * group + 1)];
  }
  const TensorView y = w.y.is_contiguous() ? w.y : TensorView::contiguous(nullptr, w.y.dtype, w.y.dims, w.y.rank);
  std::vector<char> own(y.data ? 0 : all * static_cast<size_t>(bytes));
  char* to = y.data ? y.as<char>() : own.data();
  parallel_for(rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(bytes, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto i = static_cast<size_t>(r);
      if (i >= order.size()) {
        std::memset(to + r * bytes, 0, static_cast<size_t>(bytes));
        continue;
      }
      const int64_t place = (int64_t{session[i]} * batches + batch) * each + token[i] * selected + offset[i];
      std::memcpy(to + r * bytes, data + place * size, static_cast<size_t>(bytes));
      if (w.token_type == kQuantized) std::memcpy(&scale[i], data + place * size + bytes, sizeof(float));
    }
  });
  if (!y.data) copy_elements(w.y, TensorView::contiguous(own.data(), w.y.dtype, w.y.dims, w.y.rank));
  write_all(w.group_list, groups);
  write_all(w.session_ids, session);
  write_all(w.micro_batch_ids, micro_batch);
  write_all(w.token_ids, token);
  write_all(w.expert_offsets, offset);
  write_all(w.dynamic_scale, scale);
  write_all(w.actual_token_num, std::vector<int64_t>{static_cast<int64_t>(order.size())});
}

}  // namespace

ABOUT(aclnnFfnWorkerBatching, Vector,
      "y = the tokens that workers of attention sent to this worker, in the order of their experts",
      "将各 attention worker 发来的 token 按专家排序后输出，并给出各专家的 token 数")
ACLNN(aclnnFfnWorkerBatching, (In, schedule_context), (Int, expert_num), (Ints, max_out_shape), (Int, token_dtype),
      (Int, need_schedule), (Int, layer_num), (Out, y), (Out, group_list), (Out, session_ids), (Out, micro_batch_ids),
      (Out, token_ids), (Out, expert_offsets), (Out, dynamic_scale), (Out, actual_token_num)) {
  Schedule::require(op, *schedule_context);
  op.require(expert_num > 0, "expert_num is {}, want more than 0", expert_num);
  op.require(max_out_shape.size() == 4, "max_out_shape has {} values, want 4", max_out_shape.size());
  for (size_t i = 0; i < 4; ++i)
    op.require(max_out_shape[i] > 0, "max_out_shape has {} at {}, want more than 0", max_out_shape[i], i);
  op.require(token_dtype >= 0 && token_dtype <= kQuantized,
             "token_dtype is {}, want 0 (FLOAT16), 1 (BFLOAT16) or 2 (INT8)", token_dtype);
  op.require(layer_num >= 0, "layer_num is {}, want 0 or more", layer_num);
  op.require(need_schedule == 0 || need_schedule == 1, "need_schedule is {}, want 0 or 1", need_schedule);
  const int64_t rows = max_out_shape[0] * max_out_shape[1] * max_out_shape[2], width = max_out_shape[3];
  op.result("y", *y, {rows, width},
            token_dtype == kQuantized ? DType::Int8
            : token_dtype == 1        ? DType::BFloat16
                                      : DType::Float16);
  op.result("group_list", *group_list, {int64_t{expert_num}, 2}, DType::Int64);
  op.result("session_ids", *session_ids, {rows}, DType::Int32);
  op.result("micro_batch_ids", *micro_batch_ids, {rows}, DType::Int32);
  op.result("token_ids", *token_ids, {rows}, DType::Int32);
  op.result("expert_offsets", *expert_offsets, {rows}, DType::Int32);
  op.result("dynamic_scale", *dynamic_scale, {rows}, DType::Float);
  op.result("actual_token_num", *actual_token_num, {1}, DType::Int64);
  op.work(rows * width);
  op.launch([w = WorkerBatching{*schedule_context, expert_num, width, token_dtype, need_schedule == 1, *y, *group_list,
                                *session_ids, *micro_batch_ids, *token_ids, *expert_offsets, *dynamic_scale,
                                *actual_token_num}] { batch_tokens(w); });
}

}  // namespace updraft
