// Writes small ONNX models for tests, field by field.
#pragma once
#include <protozero/pbf_writer.hpp>

#include <cctype>
#include <string>
#include <vector>

#include "graph/ir/bytes.h"

namespace updraft::onnx_test {

using Message = std::string;
inline constexpr int kFloat = 1, kInt8 = 3, kInt64 = 7, kText = 8, kBool = 9;

template <class F>
Message message(F&& fill) {
  Message data;
  protozero::pbf_writer writer(data);
  fill(writer);
  return data;
}

inline Message tensor_info(const std::string& name, int type, const std::vector<std::string>& dims) {
  return message([&](protozero::pbf_writer& info) {
    info.add_string(1, name);
    protozero::pbf_writer value(info, 2), tensor(value, 1);
    tensor.add_int32(1, type);
    protozero::pbf_writer shape(tensor, 2);
    for (const std::string& d : dims) {
      protozero::pbf_writer dim(shape, 1);
      if (!d.empty() && (std::isdigit(static_cast<unsigned char>(d[0])) || d[0] == '-'))
        dim.add_int64(1, std::stoll(d));
      else if (!d.empty()) dim.add_string(2, d);
    }
  });
}

template <class T>
Message tensor(const std::string& name, int type, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  return message([&](protozero::pbf_writer& t) {
    t.add_packed_int64(1, dims.begin(), dims.end());
    t.add_int32(2, type);
    t.add_string(8, name);
    t.add_bytes(9, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  });
}

struct Attribute {
  Message data;
  static Attribute integer(const std::string& name, int64_t v) {
    return {message([&](auto& a) { a.add_string(1, name), a.add_int64(3, v), a.add_int32(20, 2); })};
  }
  static Attribute real(const std::string& name, float v) {
    return {message([&](auto& a) { a.add_string(1, name), a.add_float(2, v), a.add_int32(20, 1); })};
  }
  static Attribute text(const std::string& name, const std::string& v) {
    return {message([&](auto& a) { a.add_string(1, name), a.add_bytes(4, v), a.add_int32(20, 3); })};
  }
  static Attribute integers(const std::string& name, const std::vector<int64_t>& v) {
    return {message([&](auto& a) {
      a.add_string(1, name), a.add_int32(20, 7);
      for (int64_t i : v) a.add_int64(8, i);
    })};
  }
  static Attribute tensor(const std::string& name, const Message& v) {
    return {message([&](auto& a) { a.add_string(1, name), a.add_message(5, v), a.add_int32(20, 4); })};
  }
  static Attribute body(const std::string& name, const Message& v) {
    return {message([&](auto& a) { a.add_string(1, name), a.add_message(6, v), a.add_int32(20, 5); })};
  }
  static Attribute reference(const std::string& name, const std::string& of, int type) {
    return {message([&](auto& a) { a.add_string(1, name), a.add_string(21, of), a.add_int32(20, type); })};
  }
};

inline Message node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Attribute>& attributes = {},
                    const std::string& name = "", const std::string& domain = "") {
  return message([&](protozero::pbf_writer& n) {
    for (const auto& i : inputs) n.add_string(1, i);
    for (const auto& o : outputs) n.add_string(2, o);
    if (!name.empty()) n.add_string(3, name);
    n.add_string(4, type);
    for (const auto& a : attributes) n.add_message(5, a.data);
    if (!domain.empty()) n.add_string(7, domain);
  });
}

struct GraphParts {
  std::vector<Message> nodes, inputs, outputs, initializers = {};
};
inline Message graph_message(const GraphParts& parts) {
  return message([&](protozero::pbf_writer& g) {
    for (const auto& n : parts.nodes) g.add_message(1, n);
    g.add_string(2, "g");
    for (const auto& i : parts.initializers) g.add_message(5, i);
    for (const auto& i : parts.inputs) g.add_message(11, i);
    for (const auto& o : parts.outputs) g.add_message(12, o);
  });
}

inline Message model_text(const Message& graph, int64_t opset = 17, const std::vector<Message>& functions = {}) {
  return message([&](protozero::pbf_writer& m) {
    m.add_int64(1, 8);
    m.add_message(7, graph);
    {
      protozero::pbf_writer set(m, 8);
      set.add_int64(2, opset);
    }
    for (const auto& f : functions) m.add_message(25, f);
  });
}
inline updraft::graph::Bytes model(const GraphParts& parts, int64_t opset = 17,
                                   const std::vector<Message>& functions = {}) {
  const Message text = model_text(graph_message(parts), opset, functions);
  return updraft::graph::Bytes::copy_of(text.data(), text.size());
}

}  // namespace updraft::onnx_test
