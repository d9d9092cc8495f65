// Operators by their names, for tools and tests (include/updraft/op.h).
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "base/json_text.h"
#include "device/context.h"
#include "ops/call.h"
#include "ops/ir_op.h"
#include "updraft/op.h"

using namespace updraft;

struct updraftOpCall {
  explicit updraftOpCall(const char* name) : call(name) {}
  OpCall call;
};

namespace {

/// The calls that there are: a stale pointer is refused.
std::mutex g_mutex;
std::unordered_set<const updraftOpCall*>& calls() {
  static auto* all = new std::unordered_set<const updraftOpCall*>;
  return *all;
}

OpCall& live(updraftOpCall* call) {
  require_pointer(call, "call");
  std::lock_guard lock(g_mutex);
  if (!calls().contains(call))
    throw Error(code::kAclnnParamInvalid, "{} is no call of an operator (destroyed, or never created)",
                static_cast<void*>(call));
  return call->call;
}

/// body(call) behind the border to C.
template <class F>
int with(const char* name, updraftOpCall* call, const char* parameter, F&& body) {
  return guard(name, [&] {
    OpCall& live_call = live(call);
    require_pointer(parameter, "parameter");
    body(live_call);
  });
}

const std::vector<const OpInfo*>& sorted(bool graph) {
  auto make = [](const OpInfo* first) {
    auto* all = new std::vector<const OpInfo*>;
    for (const OpInfo* op = first; op; op = op->next) all->push_back(op);
    std::sort(all->begin(), all->end(), [](auto* a, auto* b) { return std::strcmp(a->name, b->name) < 0; });
    return all;
  };
  static const auto *aclnn = make(first_op()), *graphs = make(first_ir_op());
  return graph ? *graphs : *aclnn;
}

nlohmann::ordered_json json_of(Kind kind, const Default& d) {
  if (d.is == Default::Is::Text) return d.text;
  auto number = [&](int i) -> nlohmann::ordered_json {
    if (kind == Kind::Bool || kind == Kind::Bools) return d.numbers[i] != 0;
    if (is_real(kind) || kind == Kind::Floats || kind == Kind::Scalar || kind == Kind::Scalars) return d.numbers[i];
    return static_cast<int64_t>(d.numbers[i]);
  };
  if (d.is == Default::Is::Number) return number(0);
  auto list = nlohmann::ordered_json::array();
  for (int i = 0; i < d.count; ++i) list.push_back(number(i));
  return list;
}

std::string describe_op(const OpInfo& info) {
  nlohmann::ordered_json entry;
  entry["name"] = info.name;
  entry["summary"] = info.about ? info.about->summary : "";
  entry["summary_zh"] = info.about ? info.about->summary_zh : "";
  entry["unit"] = info.about ? name_of(info.about->unit) : "";
  entry["graph"] = info.defaults != nullptr;
  entry["parameters"] = nlohmann::ordered_json::array();
  static constexpr const char* kKinds[] = {"tensor",  "tensors", "scalar", "scalars", "integers", "numbers",
                                           "bools",   "text",    "bool",   "integer", "integer",  "integer",
                                           "integer", "number",  "number", "type",    "texts",    "integer_lists"};
  static constexpr const char* kDirections[] = {"in", "out", "inout"};
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter& p = info.parameters[i];
    nlohmann::ordered_json one{{"name", p.name},
                               {"type", p.type},
                               {"kind", kKinds[static_cast<int>(p.kind)]},
                               {"direction", kDirections[static_cast<int>(p.direction)]},
                               {"optional", p.optional}};
    if (info.defaults && info.defaults[i].is != Default::Is::Required)
      one["default"] = json_of(p.kind, info.defaults[i]);
    entry["parameters"].push_back(std::move(one));
  }
  return json_text(entry);
}

}  // namespace

extern "C" UPDRAFT_API int updraftOpCount(int graph, uint64_t* count) {
  return guard("updraftOpCount", [&] {
    require_pointer(count, "count");
    *count = sorted(graph != 0).size();
  });
}

extern "C" UPDRAFT_API int updraftOpName(int graph, uint64_t index, const char** name) {
  return guard("updraftOpName", [&] {
    require_pointer(name, "name");
    const auto& all = sorted(graph != 0);
    if (index >= all.size())
      throw Error(code::kAclnnParamInvalid, "index is {}, there are {} operators", index, all.size());
    *name = all[index]->name;
  });
}

extern "C" UPDRAFT_API int updraftOpDescribe(const char* name, const char** json) {
  return guard("updraftOpDescribe", [&] {
    require_pointer(name, "name");
    require_pointer(json, "json");
    static thread_local std::string text;
    text = describe_op(operator_named(name));
    *json = text.c_str();
  });
}

extern "C" UPDRAFT_API int updraftOpCreate(const char* name, updraftOpCall** call) {
  return guard("updraftOpCreate", [&] {
    require_pointer(call, "call");
    *call = nullptr;
    require_pointer(name, "name");
    auto made = std::make_unique<updraftOpCall>(name);
    std::lock_guard lock(g_mutex);
    calls().insert(made.get());
    *call = made.release();
  });
}

extern "C" UPDRAFT_API int updraftOpDestroy(updraftOpCall* call) {
  return guard("updraftOpDestroy", [&] {
    if (!call) return;
    live(call);
    {
      std::lock_guard lock(g_mutex);
      calls().erase(call);
    }
    delete call;
  });
}

extern "C" UPDRAFT_API int updraftOpSetTensor(updraftOpCall* call, const char* parameter, int32_t dtype, uint64_t rank,
                                              const int64_t* dims, const int64_t* strides, void* data, int onHost) {
  return with("updraftOpSetTensor", call, parameter, [&](OpCall& c) {
    if (rank > static_cast<uint64_t>(kMaxDims))
      throw Error(code::kAclnnParamInvalid, "{} has {} dimensions: the most is {}", parameter, rank, kMaxDims);
    if (rank) require_pointer(dims, "dims");
    CallTensor tensor;
    tensor.dtype = static_cast<DType>(dtype);
    if (static_cast<int32_t>(tensor.dtype) != dtype || !is_computable(tensor.dtype))
      throw Error(code::kAclnnParamInvalid, "{} has data type {}, which no operator here computes", parameter, dtype);
    tensor.dims.assign(dims, dims + rank);
    if (strides) tensor.strides.assign(strides, strides + rank);
    tensor.data = data;
    tensor.on_host = onHost != 0;
    c.add_tensor(parameter, std::move(tensor));
  });
}

extern "C" UPDRAFT_API int updraftOpSetAbsent(updraftOpCall* call, const char* parameter) {
  return with("updraftOpSetAbsent", call, parameter, [&](OpCall& c) { c.add_absent(parameter); });
}

extern "C" UPDRAFT_API int updraftOpSetEmpty(updraftOpCall* call, const char* parameter) {
  return with("updraftOpSetEmpty", call, parameter, [&](OpCall& c) { c.set_empty(parameter); });
}

extern "C" UPDRAFT_API int updraftOpAsk(updraftOpCall* call, const char* parameter) {
  return with("updraftOpAsk", call, parameter, [&](OpCall& c) { c.ask(parameter); });
}

extern "C" UPDRAFT_API int updraftOpSetInteger(updraftOpCall* call, const char* parameter, int64_t value) {
  return with("updraftOpSetInteger", call, parameter, [&](OpCall& c) { c.set(parameter, value); });
}

extern "C" UPDRAFT_API int updraftOpSetNumber(updraftOpCall* call, const char* parameter, double value) {
  return with("updraftOpSetNumber", call, parameter, [&](OpCall& c) { c.set(parameter, value); });
}

extern "C" UPDRAFT_API int updraftOpSetBool(updraftOpCall* call, const char* parameter, int value) {
  return with("updraftOpSetBool", call, parameter, [&](OpCall& c) { c.set(parameter, value != 0); });
}

extern "C" UPDRAFT_API int updraftOpSetText(updraftOpCall* call, const char* parameter, const char* value) {
  return with("updraftOpSetText", call, parameter, [&](OpCall& c) {
    require_pointer(value, "value");
    c.set(parameter, std::string(value));
  });
}

extern "C" UPDRAFT_API int updraftOpSetIntegers(updraftOpCall* call, const char* parameter, const int64_t* values,
                                                uint64_t count) {
  return with("updraftOpSetIntegers", call, parameter, [&](OpCall& c) {
    if (count) require_pointer(values, "values");
    c.set(parameter, std::vector<int64_t>(values, values + count));
  });
}

extern "C" UPDRAFT_API int updraftOpSetNumbers(updraftOpCall* call, const char* parameter, const double* values,
                                               uint64_t count) {
  return with("updraftOpSetNumbers", call, parameter, [&](OpCall& c) {
    if (count) require_pointer(values, "values");
    c.set(parameter, std::vector<double>(values, values + count));
  });
}

extern "C" UPDRAFT_API int updraftOpSetTexts(updraftOpCall* call, const char* parameter, const char* const* values,
                                             uint64_t count) {
  return with("updraftOpSetTexts", call, parameter, [&](OpCall& c) {
    if (count) require_pointer(values, "values");
    std::vector<std::string> texts;
    for (uint64_t i = 0; i < count; ++i) {
      require_pointer(values[i], "a text");
      texts.emplace_back(values[i]);
    }
    c.set(parameter, std::move(texts));
  });
}

extern "C" UPDRAFT_API int updraftOpInfer(updraftOpCall* call) {
  return guard("updraftOpInfer", [&] { live(call).infer(); });
}

extern "C" UPDRAFT_API int updraftOpTensorCount(updraftOpCall* call, const char* parameter, uint64_t* count) {
  return with("updraftOpTensorCount", call, parameter, [&](OpCall& c) {
    require_pointer(count, "count");
    *count = c.tensors(parameter).size();
  });
}

extern "C" UPDRAFT_API int updraftOpGetTensor(updraftOpCall* call, const char* parameter, uint64_t index,
                                              int32_t* dtype, uint64_t* rank, int64_t* low, int64_t* high) {
  return with("updraftOpGetTensor", call, parameter, [&](OpCall& c) {
    require_pointer(dtype, "dtype");
    require_pointer(rank, "rank");
    require_pointer(low, "low");
    require_pointer(high, "high");
    const Shape shape = c.shape(parameter, index);
    *dtype = static_cast<int32_t>(shape.dtype);
    *rank = shape.dims.size();
    for (size_t d = 0; d < shape.dims.size(); ++d) {
      low[d] = shape.dims[d].low;
      high[d] = shape.dims[d].high;
    }
  });
}

extern "C" UPDRAFT_API int updraftOpPlace(updraftOpCall* call, const char* parameter, uint64_t index, void* data) {
  return with("updraftOpPlace", call, parameter, [&](OpCall& c) { c.place(parameter, index, data); });
}

extern "C" UPDRAFT_API int updraftOpRun(updraftOpCall* call, void* stream) {
  return guard("updraftOpRun", [&] { live(call).run(stream_of(stream)); });
}
