#include "ops/observed_arguments.h"

#include <cstring>

namespace updraft {
namespace {

void add(Observed& to, const char* name, Direction direction, Argument::Value value, int32_t item = -1) {
  to.push_back({name, direction, item, std::move(value)});
}

template <class Handle, class F>
void add_present(Observed& to, const char* name, const Handle* handle, F&& value_of) {
  add(to, name, Direction::In, handle ? Argument::Value(value_of(*handle)) : AbsentArgument{});
}

}  // namespace

void observe_argument(Observed& to, const char* name, Direction direction, const aclTensor* tensor, int32_t item) {
  if (!tensor) return add(to, name, direction, AbsentArgument{}, item);
  add(to, name, direction, TensorArgument{tensor->view, tensor->format, tensor->storage, tensor->offset, false}, item);
}

void observe_argument(Observed& to, const char* name, Direction direction, const aclTensorList* list) {
  if (!list || list->items.empty()) return add(to, name, direction, AbsentArgument{});
  int32_t item = 0;
  for (const aclTensor* tensor : list->items) observe_argument(to, name, direction, tensor, item++);
}

void observe_argument(Observed& to, const char* name, const aclScalar* scalar, int32_t item) {
  if (!scalar) return add(to, name, Direction::In, AbsentArgument{}, item);
  ScalarArgument value{scalar->dtype, {}};
  std::memcpy(value.bytes, scalar->bytes, sizeof value.bytes);
  add(to, name, Direction::In, value, item);
}

void observe_argument(Observed& to, const char* name, const aclScalarList* list) {
  if (!list || list->items.empty()) return add(to, name, Direction::In, AbsentArgument{});
  int32_t item = 0;
  for (const aclScalar* scalar : list->items) observe_argument(to, name, scalar, item++);
}

void observe_argument(Observed& to, const char* name, const aclIntArray* array) {
  add_present(to, name, array, [](const aclIntArray& a) { return a.values; });
}
void observe_argument(Observed& to, const char* name, const aclFloatArray* array) {
  add_present(to, name, array,
              [](const aclFloatArray& a) { return std::vector<double>(a.values.begin(), a.values.end()); });
}
void observe_argument(Observed& to, const char* name, const aclBoolArray* array) {
  add_present(to, name, array, [](const aclBoolArray& a) {
    std::vector<bool> values;
    for (const uint8_t v : a.values) values.push_back(v != 0);
    return values;
  });
}
void observe_argument(Observed& to, const char* name, const char* text) {
  add(to, name, Direction::In, text ? Argument::Value(std::string(text)) : AbsentArgument{});
}
void observe_argument(Observed& to, const char* name, bool value) { add(to, name, Direction::In, value); }
void observe_argument(Observed& to, const char* name, int64_t value) { add(to, name, Direction::In, value); }
void observe_argument(Observed& to, const char* name, double value) { add(to, name, Direction::In, value); }
void observe_argument(Observed& to, const char* name, DType value) { add(to, name, Direction::In, value); }

}  // namespace updraft
