#include <string_view>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {

std::span<const Family> families() {
  static const std::vector<Family> all = {
      {"", activation_rows()},
      {"", attention_rows()},
      {"", constant_rows()},
      {"", control_rows()},
      {"", convolution_rows()},
      {"", elementwise_rows()},
      {"", image_rows()},
      {"", index_rows()},
      {"", loss_rows()},
      {"", matmul_rows()},
      {"", normalisation_rows()},
      {"", pool_rows()},
      {"", quantize_rows()},
      {"", random_rows()},
      {"", reduction_rows()},
      {"", rnn_rows()},
      {"", sequence_rows()},
      {"", shape_rows()},
      {"ai.onnx.ml", ml_rows()},
      {"com.microsoft", microsoft_rows()},
      {"com.microsoft", microsoft_attention_rows()},
      {"com.microsoft", microsoft_quantize_rows()},
  };
  return all;
}

const Row* find_row(std::string_view domain, std::string_view type, int64_t opset) {
  const Row* best = nullptr;
  for (const Family& family : families()) {
    if (family.domain != domain) continue;
    for (const Row& row : family.rows)
      if (type == row.type && row.since <= opset && (!best || row.since > best->since)) best = &row;
  }
  return best;
}

int first_version(std::string_view domain, std::string_view type) {
  int first = 0;
  for (const Family& family : families()) {
    if (family.domain != domain) continue;
    for (const Row& row : family.rows)
      if (type == row.type && (first == 0 || row.since < first)) first = row.since;
  }
  return first;
}

}  // namespace updraft::onnx
