#include "device/argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

namespace updraft {
namespace {

std::string text_of(const ScalarArgument& scalar) {
  std::string text;
  const bool known = visit_type(scalar.dtype, [&]<class T>() {
    T v;
    std::memcpy(&v, scalar.bytes, sizeof v);
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
      text = fmt::format("({}{:+}j)", v.real(), v.imag());
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      text = fmt::format("{}", static_cast<float>(v));
    else text = fmt::format("{}", v);
  });
  return known ? text : fmt::format("({})", name_of(scalar.dtype));
}

struct Text {
  std::string operator()(AbsentArgument) const { return "none"; }
  std::string operator()(const TensorArgument& t) const { return describe(t.view); }
  std::string operator()(const ScalarArgument& s) const { return text_of(s); }
  std::string operator()(DType t) const { return name_of(t); }
  std::string operator()(const std::string& s) const { return fmt::format("\"{}\"", s); }
  std::string operator()(const std::vector<std::string>& list) const {
    return fmt::format("[\"{}\"]", fmt::join(list, "\",\""));
  }
  std::string operator()(const std::vector<DType>& list) const {
    std::vector<std::string> names;
    for (DType t : list) names.emplace_back(name_of(t));
    return fmt::format("[{}]", fmt::join(names, ","));
  }
  std::string operator()(const std::vector<std::vector<int64_t>>& lists) const {
    std::vector<std::string> texts;
    for (const auto& list : lists) texts.push_back((*this)(list));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    return fmt::format("[{}]", fmt::join(list, ","));
  }
  template <class T>
  std::string operator()(T value) const {
    return fmt::format("{}", value);
  }
};

}  // namespace

std::string describe(const Argument& argument) {
  const char* arrow = argument.direction == Direction::In ? "" : argument.direction == Direction::Out ? "->" : "<->";
  const std::string item = argument.item < 0 ? "" : fmt::format("[{}]", argument.item);
  return fmt::format("{}{}{}={}", arrow, argument.name, item, std::visit(Text{}, argument.value));
}

void ArgumentList::add_bytes(const char* name, Direction direction, const void* data, size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  add(name, direction, TensorArgument{TensorView::contiguous(const_cast<void*>(data), DType::UInt8, &size, 1)});
}

}  // namespace updraft
