#include <algorithm>
#include <cstring>

#include "frontends/caffe/net.h"
#include "frontends/fields.h"

namespace updraft::caffe {
namespace {

using frontends::Fields;
using frontends::Where;

/// Numbers of a blob in all forms that they have in files.
struct Numbers {
  std::string_view packed;  ///< floats as they lie in the message
  std::vector<float> floats;
  std::vector<double> doubles;

  void add(Fields& field) {
    if (field.packed() && packed.empty() && floats.empty()) {
      packed = field.view();
      return;
    }
    const size_t count = packed.size() / sizeof(float);  // a list in several parts
    floats.resize(floats.size() + count);
    if (count) std::memcpy(floats.data(), packed.data(), count * sizeof(float));
    packed = {};
    field.reals(floats);
  }
};

class Reader {
 public:
  Weights weights(graph::Bytes bytes) {
    Weights all;
    all.bytes = std::move(bytes);
    message_ = all.bytes;
    if (message_.text().starts_with("\x89HDF"))
      where_.refuse("the file is HDF5: save the weights as a caffemodel (snapshot_format: BINARYPROTO)");
    size_t layers = 0;
    try {
      each(message_.text(), [&](Fields& f) {
        if (f.tag() != 100 && f.tag() != 2) return f.skip();
        Where::Step step(where_, "layer", layers++);
        const bool older = f.tag() == 2;  // before view(), which forgets the number
        layer(f.view(), older, all);
      });
    } catch (const protozero::exception& e) {
      where_.refuse("the bytes are no message of the format, or the file is cut off ({})", e.what());
    }
    if (layers == 0) where_.refuse("there are no layers in it");
    return all;
  }

 private:
  template <class F>
  void each(std::string_view message, F&& f) {
    Fields fields(message, where_);
    while (fields.next()) f(fields);
  }

  /// Layers of the older form have other numbers for their fields.
  void layer(std::string_view message, bool older, Weights& all) {
    const uint32_t name_field = older ? 4 : 1, blobs_field = older ? 6 : 7;
    std::string_view name;
    Blobs blobs;
    each(message, [&](Fields& f) {
      if (f.tag() == name_field) {
        where_.name(name = f.view());
      } else if (f.tag() == blobs_field) {
        Where::Step step(where_, "blob", blobs.size());
        blobs.push_back(blob(f.view()));
      } else if (older && f.tag() == 1) {
        where_.refuse("it has Caffe's form before 2014: convert the file with its upgrade_net_proto_binary");
      } else {
        f.skip();
      }
    });
    all.layers[name] = std::move(blobs);
  }

  graph::Tensor blob(std::string_view message) {
    graph::Dims older(4, 0), dims;
    bool shaped = false;
    Numbers numbers;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1:
        case 2:
        case 3:
        case 4: older[f.tag() - 1] = f.integer(); break;
        case 5: numbers.add(f); break;
        case 7:
          shaped = true;
          each(f.view(), [&](Fields& s) {
            if (s.tag() == 1) s.integers(dims);
            else s.skip();
          });
          break;
        case 8: f.doubles(numbers.doubles); break;
        default: f.skip();
      }
    });
    return tensor(shaped ? dims : older, numbers);
  }

  graph::Tensor tensor(const graph::Dims& dims, const Numbers& numbers) {
    if (std::ranges::any_of(dims, [](int64_t d) { return d < 0; }))
      where_.refuse("the shape is {}, want sizes of 0 or more", graph::describe(dims));
    const auto wanted = static_cast<size_t>(graph::count_of(dims));
    const bool doubles = !numbers.doubles.empty();
    const size_t given = doubles                   ? numbers.doubles.size()
                         : !numbers.packed.empty() ? numbers.packed.size() / sizeof(float)
                                                   : numbers.floats.size();
    if (given != wanted || numbers.packed.size() % sizeof(float) != 0)
      where_.refuse(
          "there are {} numbers for the shape {}, want {} (numbers in fields of Caffe's forks, as raw_data, are not "
          "read)",
          given, graph::describe(dims), wanted);
    graph::Tensor made{DType::Float, dims, {}};
    if (!numbers.packed.empty()) {
      const auto offset = static_cast<size_t>(numbers.packed.data() - message_.text().data());
      made.data = message_.part(offset, numbers.packed.size()).aligned();
      return made;
    }
    made.data = graph::Bytes::make(given * sizeof(float), [&](std::byte* to) {
      for (size_t i = 0; i < given; ++i) {
        const float v = doubles ? static_cast<float>(numbers.doubles[i]) : numbers.floats[i];
        std::memcpy(to + i * sizeof v, &v, sizeof v);
      }
    });
    return made;
  }

  Where where_{"Caffe weights"};
  graph::Bytes message_;
};

}  // namespace

Weights read_weights(graph::Bytes bytes) { return Reader().weights(std::move(bytes)); }

}  // namespace updraft::caffe
