// Products with matrices of weights, and rows of them.
#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

using Size = Conversion::Size;

/// All dimensions from `axis` on are one, which the matrix takes to `num_output`.
void inner_product(Conversion& c) {
  const Endpoint x = c.in(0);
  for (const char* how : {"weight_filler", "bias_filler"}) c.param.ignore(how);
  const int64_t outputs = c.param.integer("num_output"), rank = c.rank(x), axis = c.axis_of(x, "axis", 1);
  const bool bias = c.param.flag("bias_term", true), turned = c.param.flag("transpose", false);
  Dims last;
  for (int64_t d = axis; d < rank; ++d) last.push_back(c.size(x, d, "the bottom"));
  const int64_t inputs = graph::count_of(last);
  c.require(outputs > 0, "inner_product_param.num_output is {}, want a positive number", outputs);
  const Endpoint rows = rank == 2 && axis == 1 ? x : c.reshape(x, Dims{-1, inputs});
  const Endpoint weights = c.blob(0, turned ? Dims{inputs, outputs} : Dims{outputs, inputs}, "weights");
  const Operand add = bias ? Operand(c.blob(1, {outputs}, "bias")) : Operand(nullptr);
  const std::vector<Operand> operands = {rows, weights, add};
  const Attributes attributes = {{"transpose_x1", false}, {"transpose_x2", !turned}};
  if (axis == 1) {
    c.result("MatMulV2", operands, attributes);
    return;
  }
  // What lies before the axis is one dimension of the product.
  const Dims own = c.dims(x);
  Dims to(own.begin(), own.begin() + axis);
  to.push_back(outputs);
  int unknown = 0;
  for (const int64_t d : to) unknown += d < 0;
  c.require(unknown <= 1, "bottom is {}: too many unknown sizes before axis {} (give the input's shape)", describe(own),
            axis);
  c.result("Reshape", {c.emit("MatMulV2", operands, attributes), c.ints(to)});
}

/// A row of the weights for each number.
void embed(Conversion& c) {
  for (const char* how : {"weight_filler", "bias_filler"}) c.param.ignore(how);
  const int64_t outputs = c.param.integer("num_output"), rows = c.param.integer("input_dim");
  c.require(outputs > 0 && rows > 0, "embed_param.num_output is {} and input_dim {}, want positive ones", outputs,
            rows);
  const std::vector<Operand> operands = {c.blob(0, {rows, outputs}, "weights"), c.cast(c.in(0), DType::Int32),
                                         c.integer_scalar(0)};
  if (!c.param.flag("bias_term", true)) {
    c.result("GatherV2", operands);
    return;
  }
  c.result("Add", {c.emit("GatherV2", operands), c.blob(1, {outputs}, "bias")});
}

constexpr Row kRows[] = {
    {"Embed", embed, "embed_param", "GatherV2, Add"},
    {"InnerProduct", inner_product, "inner_product_param", "MatMulV2"},
};

}  // namespace

std::span<const Row> matmul_rows() { return kRows; }

}  // namespace updraft::caffe
