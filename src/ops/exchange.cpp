#include "ops/exchange.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "device/memory.h"
#include "device/stream.h"
#include "ops/call.h"
#include "ops/op.h"

namespace updraft {
namespace {

constinit ExchangeDoor g_door = nullptr;
constexpr size_t kAlign = 512;

/// In the order of their addresses: asked for each operator that is launched. Written while the library is loaded.
std::vector<const OpInfo*>& operators() {
  static std::vector<const OpInfo*> all;
  return all;
}

ExchangeDoor exchange_door() {
  if (!g_door) throw Error(code::kAclInternal, "this program has no collectives");
  return g_door;
}

}  // namespace

void set_exchange_door(ExchangeDoor door) { g_door = door; }

Transfer::Side Exchange::place(int64_t elements, DType type) {
  const Transfer::Side side{nullptr, room};
  room += (static_cast<size_t>(elements) * size_of(type) + kAlign - 1) / kAlign * kAlign;
  return side;
}

TensorView Exchange::view(const Transfer::Side& side, DType type, std::initializer_list<int64_t> dims) const {
  return TensorView::contiguous(host_address(address(side)), type, dims.begin(), static_cast<int>(dims.size()));
}

std::shared_ptr<Exchange> exchange_of(const char* group, int64_t ranks, int64_t rank) {
  auto exchange = std::make_shared<Exchange>();
  exchange->group = group;
  exchange->ranks = ranks;
  exchange->rank = rank;
  return exchange;
}

void BetweenRanks::operator()() const {
  throw Error(code::kAclnnParamInvalid, "it waits for other ranks: it cannot be a step of another operator");
}

WaitsForRanks::WaitsForRanks(const OpInfo& info) {
  std::vector<const OpInfo*>& all = operators();
  all.insert(std::ranges::upper_bound(all, &info, std::less<>()), &info);
}

bool waits_for_ranks(const OpInfo& info) { return std::ranges::binary_search(operators(), &info, std::less<>()); }

bool waits_for_ranks(const aclOpExecutor& plan) { return plan.info && plan.body && waits_for_ranks(*plan.info); }

void start_between_ranks(aclOpExecutor& plan, Stream& stream) {
  const BetweenRanks parts = std::move(*plan.body.target<BetweenRanks>());
  // Each part holds the exchange: its block lives until the last has run.
  auto part_of = [](aclOpExecutor& task, const BetweenRanks& parts, const std::function<void()>& work) {
    task.body.emplace([exchange = parts.exchange, work] {
      if (work) work();
    });
    task.state = aclOpExecutor::State::Launched;
  };
  aclOpExecutor* after = nullptr;
  try {
    after = take_executor();
    after->info = plan.info;
    after->deterministic = plan.deterministic;
    after->work = plan.work;
    after->cost = {0, 0, plan.cost.unit};
    part_of(*after, parts, parts.after);
    part_of(plan, parts, parts.before);
    parts.exchange->block = DeviceBlock(stream.device(), parts.exchange->room);
  } catch (...) {
    plan.release();
    if (after) after->release();
    throw;
  }
  try {
    stream.submit(&plan);
    exchange_door()(*parts.exchange, stream);
  } catch (...) {
    after->release();
    throw;
  }
  stream.submit(after);
}

}  // namespace updraft
