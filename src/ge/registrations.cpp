// What classes of operators of other headers say of their types when one is made: see graph/operator.h for why most of
// it is heard and nothing is done.
#include "graph/operator.h"

namespace ge {

class TensorTypeImpl {
 public:
  std::vector<DataType> types;
};
class PromoteImpl {
 public:
  std::vector<AscendString> names;
};

TensorType::TensorType(const std::initializer_list<DataType>& types)
    : impl_(std::make_shared<TensorTypeImpl>(TensorTypeImpl{types})) {}
Promote::Promote(const std::initializer_list<const char*>& names) : impl_(std::make_shared<PromoteImpl>()) {
  for (const char* name : names) impl_->names.emplace_back(name);
}

void Operator::DynamicInputRegister(const char* name, unsigned int count, const char*, bool is_push_back) {
  DynamicInputRegister(name, count, is_push_back);
}
void Operator::DynamicOutputRegister(const char* name, unsigned int count, const char*, bool is_push_back) {
  DynamicOutputRegister(name, count, is_push_back);
}
void Operator::InputRegister(const char*) {}
void Operator::InputRegister(const char*, const char*) {}
void Operator::OptionalInputRegister(const char*) {}
void Operator::OptionalInputRegister(const char*, const char*) {}
void Operator::OutputRegister(const char*) {}
void Operator::OutputRegister(const char*, const char*) {}
void Operator::DataTypeRegister(const char*, const TensorType&) {}
void Operator::DataTypeRegister(const char*, const Promote&) {}
void Operator::RequiredAttrRegister(const char*) {}
void Operator::RequiredAttrWithTypeRegister(const char*, const char*) {}
void Operator::AttrRegister(const char*, bool) {}
void Operator::AttrRegister(const char*, int64_t) {}
void Operator::AttrRegister(const char*, float) {}
void Operator::AttrRegister(const char*, const AscendString&) {}
void Operator::AttrRegister(const char*, const DataType&) {}
void Operator::AttrRegister(const char*, const Tensor&) {}
void Operator::AttrRegister(const char*, const std::vector<bool>&) {}
void Operator::AttrRegister(const char*, const std::vector<int64_t>&) {}
void Operator::AttrRegister(const char*, const std::vector<float>&) {}
void Operator::AttrRegister(const char*, const std::vector<AscendString>&) {}
void Operator::AttrRegister(const char*, const std::vector<DataType>&) {}
void Operator::AttrRegister(const char*, const std::vector<std::vector<int64_t>>&) {}

}  // namespace ge
