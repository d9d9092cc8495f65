// Losses with their gradients.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

constexpr Row kRows[] = {
    {"SoftmaxCrossEntropyWithLogits", same, "SoftmaxCrossEntropyWithLogits"},
    {"SparseSoftmaxCrossEntropyWithLogits", same, "SparseSoftmaxCrossEntropyWithLogits"},
};

}  // namespace

std::span<const Row> loss_rows() { return kRows; }

}  // namespace updraft::tensorflow
