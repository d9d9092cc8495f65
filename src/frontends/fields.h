// The fields of a protobuf message, one after the other. Every access checks that the field is of the kind that is
// asked for, and says where it is not.
#pragma once
#include <protozero/pbf_reader.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace updraft::frontends {

/// Where in the message the reader is: "graph, node 12 (conv1), attribute 2".
class Where {
 public:
  /// `message`: what is read, "ONNX model".
  explicit Where(const char* message) : message_(message) {}
  class Step {
   public:
    Step(Where& where, const char* what, size_t index) : where_(where) { where_.steps_.push_back({what, index, {}}); }
    ~Step() { where_.steps_.pop_back(); }
    Step(const Step&) = delete;

   private:
    Where& where_;
  };
  /// The name of the innermost part, once it is known.
  void name(std::string_view text) {
    if (!steps_.empty()) steps_.back().name = text;
  }
  size_t depth() const { return steps_.size(); }
  std::string text() const;
  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> format, A&&... a) const {
    throw Error(code::kAclnnParamInvalid, "{}, {}: {}", message_, text(), fmt::format(format, std::forward<A>(a)...));
  }

 private:
  struct At {
    const char* what;
    size_t index;
    std::string_view name;
  };
  const char* message_;
  std::vector<At> steps_;
};

class Fields {
 public:
  Fields(std::string_view message, const Where& where) : reader_(message.data(), message.size()), where_(where) {}

  bool next() { return reader_.next(); }
  uint32_t tag() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  int64_t integer() {
    want(protozero::pbf_wire_type::varint);
    return reader_.get_int64();
  }
  float real() {
    want(protozero::pbf_wire_type::fixed32);
    return reader_.get_float();
  }
  /// A text, bytes or a message.
  std::string_view view() {
    want(protozero::pbf_wire_type::length_delimited);
    const auto v = reader_.get_view();
    return {v.data(), v.size()};
  }
  /// True for a list of numbers as one field.
  bool packed() const { return reader_.wire_type() == protozero::pbf_wire_type::length_delimited; }
  /// Repeated numbers, packed or one by one.
  void integers(std::vector<int64_t>& to) {
    if (!packed()) return to.push_back(integer());
    for (int64_t v : reader_.get_packed_int64()) to.push_back(v);
  }
  void reals(std::vector<float>& to) {
    if (!packed()) return to.push_back(real());
    for (float v : reader_.get_packed_float()) to.push_back(v);
  }
  void doubles(std::vector<double>& to) {
    if (packed()) {
      for (double v : reader_.get_packed_double()) to.push_back(v);
      return;
    }
    want(protozero::pbf_wire_type::fixed64);
    to.push_back(reader_.get_double());
  }

 private:
  void want(protozero::pbf_wire_type type) const {
    if (reader_.wire_type() != type)
      where_.refuse("field {} has wire type {}, want {}", reader_.tag(), static_cast<int>(reader_.wire_type()),
                    static_cast<int>(type));
  }

  protozero::pbf_reader reader_;
  const Where& where_;
};

}  // namespace updraft::frontends
