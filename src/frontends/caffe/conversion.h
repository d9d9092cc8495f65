// One layer of Caffe on its way into the graph: what converters read of it and give for it.
//
//   void elu(Conversion& c) { c.result("Elu", {c.in(0)}, {{"alpha", c.param.real("alpha", 1)}}); }
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/caffe/net.h"
#include "frontends/emitter.h"

namespace updraft::caffe {

using graph::Attributes;
using graph::describe;
using graph::Dims;
using graph::Endpoint;
using graph::Operand;
using graph::Tensor;

class Conversion;

/// A row of the table of layers.
struct Row {
  const char* type;
  void (*convert)(Conversion&);
  const char* param;      ///< the message with its parameters
  const char* ascend;     ///< the graph operator, for tables; where there are several, the ones that matter
  const char* note = "";  ///< what is refused
  const char* note_zh = "";
};
std::span<const std::span<const Row>> families();
/// Null for a layer without a converter.
const Row* find_row(std::string_view type);

/// Layers that no converter can take, and what to do about them.
struct Remedy {
  const char* type;
  const char* text;
};
std::span<const Remedy> remedies();
/// Why there is no converter of that type.
std::string refusal_of(std::string_view type);

class Conversion : public frontends::Emitter {
 public:
  /// `blobs`: null where the weights have no layer of that name.
  Conversion(const Layer& layer, const Row& row, const Blobs* blobs, graph::Builder& builder,
             std::vector<Endpoint> inputs)
      : Emitter(builder, layer.name, layer.type),
        layer(layer),
        row(row),
        param(*row.param ? layer.message.message(row.param) : Message()),
        inputs_(std::move(inputs)),
        blobs_(blobs) {}

  const Layer& layer;
  const Row& row;
  const Message param;

  // --- inputs -------------------------------------------------------------------------------------------------------
  size_t inputs() const { return inputs_.size(); }
  Endpoint in(size_t i) const {
    require(i < inputs_.size(), "bottom {} is absent", i);
    return inputs_[i];
  }
  const std::vector<Endpoint>& all() const { return inputs_; }
  size_t tops() const { return layer.tops.size(); }
  /// An axis of a tensor, counted from 0.
  int64_t axis_of(Endpoint e, std::string_view field, int64_t other) const {
    return axis(param.integer(field, other), rank(e));
  }

  // --- weights ------------------------------------------------------------------------------------------------------
  size_t blobs() const { return blobs_ ? blobs_->size() : 0; }
  /// A blob of the layer; dimensions of 1 may be more or fewer than in `dims`. `what` it is.
  Tensor weights(size_t i, const Dims& dims, const char* what);
  Endpoint blob(size_t i, const Dims& dims, const char* what) { return constant(weights(i, dims, what), what); }

  // --- outputs ------------------------------------------------------------------------------------------------------
  void give(Endpoint e) { outputs_.push_back(e); }
  const std::vector<Endpoint>& given() const { return outputs_; }
  /// The node itself, under the layer's name, and all of its outputs.
  graph::Node& result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes = {},
                      size_t outputs = 1);
  /// A dimension of a tensor in another shape: a product of dimensions that it had, a number, or what is left.
  struct Size {
    int64_t first, last;  ///< without the last
    int64_t number;

    static Size product(int64_t first, int64_t last) { return {first, last, 0}; }
    static Size same(int64_t d) { return product(d, d + 1); }
    static Size of(int64_t number) { return {0, 0, number}; }
    static Size rest() { return of(-1); }
  };
  /// What Reshape takes to give `e` these dimensions.
  Dims shape_by(Endpoint e, const std::vector<Size>& sizes) const;
  void result_reshaped(Endpoint e, const std::vector<Size>& sizes) { result("Reshape", {e, ints(shape_by(e, sizes))}); }

  /// Parameters that nobody asked for are refused, and so are weights that nobody read and tops that nobody gave.
  void check() const;

 private:
  const std::vector<Endpoint> inputs_;
  const Blobs* blobs_;
  size_t blobs_read_ = 0;
  std::vector<Endpoint> outputs_;
};

}  // namespace updraft::caffe
