#include <algorithm>
#include <charconv>
#include <cstring>

#include "frontends/emitter.h"
#include "frontends/fields.h"
#include "frontends/tensorflow/graph_def.h"

namespace updraft::tensorflow {

using frontends::Fields;
using frontends::Where;
using graph::describe;
using Kind = AttrValue::Kind;

std::string name_of(ElementType type) {
  static constexpr const char* kNames[] = {"nothing",    "float32", "float64",   "int32",   "uint8",   "int16",
                                           "int8",       "string",  "complex64", "int64",   "bool",    "qint8",
                                           "quint8",     "qint32",  "bfloat16",  "qint16",  "quint16", "uint16",
                                           "complex128", "float16", "resource",  "variant", "uint32",  "uint64"};
  const auto number = static_cast<int>(type);
  return number >= 0 && number < static_cast<int>(std::size(kNames)) ? kNames[number] : fmt::format("type {}", number);
}

DType dtype_of(ElementType type) {
  switch (type) {
    case ElementType::Float: return DType::Float;
    case ElementType::Double: return DType::Double;
    case ElementType::Int32: return DType::Int32;
    case ElementType::UInt8: return DType::UInt8;
    case ElementType::Int16: return DType::Int16;
    case ElementType::Int8: return DType::Int8;
    case ElementType::Complex64: return DType::Complex64;
    case ElementType::Int64: return DType::Int64;
    case ElementType::Bool: return DType::Bool;
    case ElementType::BFloat16: return DType::BFloat16;
    case ElementType::UInt16: return DType::UInt16;
    case ElementType::Complex128: return DType::Complex128;
    case ElementType::Half: return DType::Float16;
    case ElementType::UInt32: return DType::UInt32;
    case ElementType::UInt64: return DType::UInt64;
    default: return DType::Undefined;
  }
}

const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {"nothing",       "a text",     "an integer",   "a real number",
                                           "a truth value", "a type",     "a shape",      "a tensor",
                                           "a list",        "a function", "a placeholder"};
  return kNames[static_cast<size_t>(kind)];
}

Reference reference_of(std::string_view text) {
  Reference r;
  const size_t first = text.find(':'), last = text.rfind(':');
  r.node = text.substr(0, first);
  if (first == std::string_view::npos) return r;
  const std::string_view number = text.substr(last + 1);
  std::from_chars(number.data(), number.data() + number.size(), r.index);
  if (last != first) r.output = text.substr(first + 1, last - first - 1);
  return r;
}

namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kOne = SIZE_MAX;  ///< no index: there is only one
/// Constants that say one value for all of their elements may have any number of them in a few bytes of the file: as
/// many bytes as a file could have are enough for all of them together.
constexpr int64_t kMostBytes = int64_t{1} << 31;

class Reader {
 public:
  explicit Reader(graph::Bytes bytes) : message_(std::move(bytes)) {}

  GraphDef graph() {
    GraphDef g;
    g.bytes = message_;
    whole([&](Fields& f) {
      if (f.tag() == 1) {
        Where::Step step(where_, "node", g.nodes.size());
        g.nodes.push_back(node(f.view()));
      } else if (f.tag() == 2) {
        Where::Step step(where_, "library", kOne);
        each(f.view(), [&](Fields& l) {
          if (l.tag() != 1) return l.skip();
          Where::Step inner(where_, "function", g.functions.size());
          FunctionDef made = function(l.view());
          g.functions[made.name] = std::move(made);
        });
      } else {
        f.skip();
      }
    });
    return g;
  }

  FunctionDef function() {
    FunctionDef made;
    whole([&](Fields& f) { part_of_function(f, made); });
    return made;
  }

  std::map<std::string_view, OpDef> operators() {
    std::map<std::string_view, OpDef> all;
    whole([&](Fields& f) {
      if (f.tag() != 1) return f.skip();
      OpDef made;
      each(f.view(), [&](Fields& o) {
        switch (o.tag()) {
          case 1: made.name = o.view(); break;
          case 2: made.inputs.push_back(op_argument(o.view())); break;
          case 3: made.outputs.push_back(op_argument(o.view())); break;
          case 4: default_value(o.view(), made.defaults); break;
          case 17: made.stateful = o.integer() != 0; break;
          default: o.skip();
        }
      });
      all[made.name] = std::move(made);
    });
    return all;
  }

  Attrs attributes() {
    Attrs made;
    whole([&](Fields& f) {
      if (f.tag() == 2) named_attribute(f.view(), made);
      else f.skip();
    });
    return made;
  }

 private:
  template <class F>
  void whole(F&& f) {
    try {
      each(message_.text(), f);
    } catch (const protozero::exception& e) {
      where_.refuse("the bytes are no message of the format, or the file is cut off ({})", e.what());
    }
  }

  template <class F>
  void each(std::string_view message, F&& f) {
    if (where_.depth() > kDeepest) where_.refuse("parts lie deeper in each other than {}", kDeepest);
    Fields fields(message, where_);
    while (fields.next()) f(fields);
  }

  /// The entry of a map with texts as keys.
  template <class F>
  void entry(std::string_view message, F&& f) {
    std::string_view key, value;
    each(message, [&](Fields& e) {
      if (e.tag() == 1) key = e.view();
      else if (e.tag() == 2) value = e.view();
      else e.skip();
    });
    f(key, value);
  }

  NodeDef node(std::string_view message) {
    NodeDef n;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1: where_.name(n.name = f.view()); break;
        case 2: n.type = f.view(); break;
        case 3: n.inputs.push_back(f.view()); break;
        case 5: named_attribute(f.view(), n.attributes); break;
        default: f.skip();
      }
    });
    return n;
  }

  void named_attribute(std::string_view message, Attrs& attributes) {
    entry(message, [&](std::string_view key, std::string_view value) {
      Where::Step step(where_, "attribute", attributes.size());
      where_.name(key);
      attributes[key] = attribute(value);
      attributes[key].message = value;
    });
  }

  void default_value(std::string_view message, Attrs& defaults) {
    std::string_view name, value;
    each(message, [&](Fields& f) {
      if (f.tag() == 1) name = f.view();
      else if (f.tag() == 3) value = f.view();
      else f.skip();
    });
    if (value.empty()) return;
    defaults[name] = attribute(value);
    defaults[name].message = value;
  }

  OpArg op_argument(std::string_view message) {
    OpArg a;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1: a.name = f.view(); break;
        case 3: a.type = static_cast<ElementType>(f.integer()); break;
        case 4: a.type_attribute = f.view(); break;
        case 5: a.number_attribute = f.view(); break;
        case 6: a.types_attribute = f.view(); break;
        default: f.skip();
      }
    });
    return a;
  }

  ArgDef argument(std::string_view message) {
    ArgDef a;
    each(message, [&](Fields& f) {
      if (f.tag() == 1) a.name = f.view();
      else if (f.tag() == 3) a.type = static_cast<ElementType>(f.integer());
      else f.skip();
    });
    return a;
  }

  FunctionDef function(std::string_view message) {
    FunctionDef made;
    each(message, [&](Fields& f) { part_of_function(f, made); });
    return made;
  }

  void part_of_function(Fields& f, FunctionDef& made) {
    if (f.tag() == 1) {
      each(f.view(), [&](Fields& s) {
        switch (s.tag()) {
          case 1: where_.name(made.name = s.view()); break;
          case 2: made.inputs.push_back(argument(s.view())); break;
          case 3: made.outputs.push_back(argument(s.view())); break;
          default: s.skip();
        }
      });
    } else if (f.tag() == 3) {
      Where::Step step(where_, "node", made.nodes.size());
      made.nodes.push_back(node(f.view()));
    } else if (f.tag() == 4) {
      entry(f.view(), [&](std::string_view key, std::string_view value) { made.results[key] = value; });
    } else if (f.tag() == 5) {
      named_attribute(f.view(), made.attributes);
    } else if (f.tag() == 6) {
      entry(f.view(), [&](std::string_view, std::string_view value) { made.effects.push_back(value); });
    } else {
      f.skip();
    }
  }

  Shape shape(std::string_view message) {
    Shape s;
    each(message, [&](Fields& f) {
      if (f.tag() == 2) {
        int64_t size = 0;
        each(f.view(), [&](Fields& d) {
          if (d.tag() == 1) size = d.integer();
          else d.skip();
        });
        if (size < -1) where_.refuse("a shape has a dimension of {}", size);
        s.dims.push_back(size);
      } else if (f.tag() == 3) {
        s.rank_known = f.integer() == 0;
      } else {
        f.skip();
      }
    });
    return s;
  }

  std::string_view function_name(std::string_view message) {
    std::string_view name;
    each(message, [&](Fields& f) {
      if (f.tag() == 1) name = f.view();
      else f.skip();
    });
    return name;
  }

  AttrValue attribute(std::string_view message) {
    AttrValue a;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1: a.kind = Kind::List, list(f.view(), a); break;
        case 2: a.kind = Kind::Text, a.text = f.view(); break;
        case 3: a.kind = Kind::Integer, a.integer = f.integer(); break;
        case 4: a.kind = Kind::Real, a.real = f.real(); break;
        case 5: a.kind = Kind::Flag, a.flag = f.integer() != 0; break;
        case 6: a.kind = Kind::Type, a.type = static_cast<ElementType>(f.integer()); break;
        case 7: a.kind = Kind::Shape, a.shape = shape(f.view()); break;
        case 8: a.kind = Kind::Tensor, a.tensor = std::make_shared<TensorValue>(tensor(f.view())); break;
        case 9: a.kind = Kind::Placeholder, a.text = f.view(); break;
        case 10: a.kind = Kind::Function, a.text = function_name(f.view()); break;
        default: f.skip();
      }
    });
    return a;
  }

  void list(std::string_view message, AttrValue& a) {
    each(message, [&](Fields& f) {
      std::vector<int64_t> numbers;
      switch (f.tag()) {
        case 2: a.texts.push_back(f.view()); break;
        case 3: f.integers(a.integers); break;
        case 4: f.reals(a.reals); break;
        case 5:
          f.integers(numbers);
          for (int64_t n : numbers) a.flags.push_back(n != 0);
          break;
        case 6:
          f.integers(numbers);
          for (int64_t n : numbers) a.types.push_back(static_cast<ElementType>(n));
          break;
        case 7: a.shapes.push_back(shape(f.view())); break;
        case 9: a.functions.push_back(function_name(f.view())); break;
        default: f.skip();
      }
    });
  }

  TensorValue tensor(std::string_view message) {
    TensorValue t;
    Shape s;
    std::string_view content;
    std::vector<double> reals;      // all floating types, and the parts of complex ones
    std::vector<int64_t> integers;  // all others
    std::vector<float> floats;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1: t.type = static_cast<ElementType>(f.integer()); break;
        case 2: s = shape(f.view()); break;
        case 4: content = f.view(); break;
        case 5:
        case 9: f.reals(floats); break;
        case 6:
        case 12: f.doubles(reals); break;
        case 7:
        case 10:
        case 11:
        case 13:
        case 16:
        case 17: f.integers(integers); break;
        case 8: f.skip(), ++t.texts; break;
        default: f.skip();
      }
    });
    if (t.type == ElementType::String) return t;
    const DType type = dtype_of(t.type);
    if (type == DType::Undefined) return t;  // whoever uses it says so
    if (!s.rank_known || std::ranges::any_of(s.dims, [](int64_t d) { return d < 0; }))
      where_.refuse("a constant has the shape {}, want known sizes", describe(s.dims));
    const auto each_bytes = static_cast<int64_t>(size_of(type));
    const int64_t count = graph::count_of(s.dims);
    if (count > kMostBytes / each_bytes)
      where_.refuse("a constant has the shape {}: {} bytes are the most", describe(s.dims), kMostBytes);
    t.value.dtype = type;
    t.value.dims = s.dims;
    if (!content.empty() || count == 0) {
      if (static_cast<int64_t>(content.size()) != count * each_bytes)
        where_.refuse("a constant of {} {} has {} bytes, want {}", name_of(t.type), describe(s.dims), content.size(),
                      count * each_bytes);
      t.value.data =
          content.empty()
              ? graph::Bytes::make(0, [](std::byte*) {})
              : message_.part(static_cast<size_t>(content.data() - message_.text().data()), content.size()).aligned();
      return t;
    }
    reals.insert(reals.end(), floats.begin(), floats.end());
    fill(t, count, reals, integers);
    return t;
  }

  /// Values one by one; the last one stands for all that follow, none for zero.
  void fill(TensorValue& t, int64_t count, const std::vector<double>& reals, const std::vector<int64_t>& integers) {
    const DType type = t.value.dtype;
    const bool complex = type == DType::Complex64 || type == DType::Complex128;
    const bool halves = type == DType::Float16 || type == DType::BFloat16;
    const bool real = is_floating(type) || complex;
    const size_t given = halves || !real ? integers.size() : reals.size() / (complex ? 2 : 1);
    if (given > static_cast<size_t>(count))
      where_.refuse("a constant of shape {} has {} values", describe(t.value.dims), given);
    const size_t width = size_of(type);
    filled_ += count * static_cast<int64_t>(width);
    if (filled_ > kMostBytes)
      where_.refuse("constants that do not write out their elements have more than {} bytes together", kMostBytes);
    t.value.data = graph::Bytes::make(static_cast<size_t>(count) * width, [&](std::byte* to) {
      std::memset(to, 0, static_cast<size_t>(count) * width);
      if (given == 0) return;
      auto put = [&](size_t i, std::byte* at) {
        auto as = [&]<class T>(T v) { std::memcpy(at, &v, sizeof v); };
        switch (type) {
          case DType::Float: as(static_cast<float>(reals[i])); break;
          case DType::Double: as(reals[i]); break;
          case DType::Complex64:
            as(static_cast<float>(reals[2 * i]));
            at += 4;
            as(static_cast<float>(reals[2 * i + 1]));
            break;
          case DType::Complex128:
            as(reals[2 * i]);
            at += 8;
            as(reals[2 * i + 1]);
            break;
          default: std::memcpy(at, &integers[i], width);  // little-endian; halves are their bits
        }
      };
      for (size_t i = 0; i < given; ++i) put(i, to + i * width);
      // in blocks: there may be many
      constexpr size_t kBlock = size_t{1} << 16;
      std::byte* last = to + (given - 1) * width;
      const auto size = static_cast<size_t>(to + static_cast<size_t>(count) * width - last);
      for (size_t have = width; have < size;) {
        const size_t more = std::min({have, kBlock, size - have});
        std::memcpy(last + have, last, more);
        have += more;
      }
    });
  }

  Where where_{"TensorFlow graph"};
  graph::Bytes message_;
  int64_t filled_ = 0;  ///< bytes of constants that are in memory alone
};

}  // namespace

GraphDef read_graph(graph::Bytes bytes) { return Reader(std::move(bytes)).graph(); }
FunctionDef read_function(const graph::Bytes& bytes) { return Reader(bytes).function(); }
std::map<std::string_view, OpDef> read_operators(const graph::Bytes& bytes) { return Reader(bytes).operators(); }
Attrs read_attributes(const graph::Bytes& bytes) { return Reader(bytes).attributes(); }

}  // namespace updraft::tensorflow
