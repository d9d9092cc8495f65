#include <algorithm>

#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {

std::span<const std::span<const Row>> families() {
  static const std::vector<std::span<const Row>> all = {
      activation_rows(),    collective_rows(), constant_rows(),  control_rows(), convolution_rows(), diagonal_rows(),
      elementwise_rows(),   image_rows(),      index_rows(),     loss_rows(),    matmul_rows(),      pool_rows(),
      normalisation_rows(), recurrent_rows(),  reduction_rows(), segment_rows(), shape_rows(),
  };
  return all;
}

const Row* find_row(std::string_view type) {
  for (const std::span<const Row> rows : families())
    for (const Row& row : rows)
      if (type == row.type) return &row;
  return nullptr;
}

void same(Conversion& c) { same_inputs(c, {}); }
void same_inputs(Conversion& c, Attributes attributes) { c.result(c.row.ascend, c.operands(), std::move(attributes)); }

void pass(Conversion& c) { c.give(c.in(0)); }

}  // namespace updraft::tensorflow
