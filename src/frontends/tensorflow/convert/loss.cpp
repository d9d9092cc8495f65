// Losses with their gradients.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

/// The blank is behind all classes.
void greedy(Conversion& c) {
  c.require(c.integer("blank_index", -1) == -1, "attribute blank_index is {}, want -1", c.integer("blank_index", -1));
  c.result(c.row.ascend, c.operands(), {{"merge_repeated", c.flag("merge_repeated")}}, 4);
}
void temporal(Conversion& c) {
  c.result(c.row.ascend, c.operands(),
           {{"preprocess_collapse_repeated", c.flag("preprocess_collapse_repeated")},
            {"ctc_merge_repeated", c.flag("ctc_merge_repeated", true)},
            {"ignore_longer_outputs_than_inputs", c.flag("ignore_longer_outputs_than_inputs")}},
           2);
}
void edit_distance(Conversion& c) { same_inputs(c, {{"normalize", c.flag("normalize", true)}}); }

constexpr Row kRows[] = {
    {"CTCGreedyDecoder", greedy, "CTCGreedyDecoder", "the last class is the blank", "末类须为空白符"},
    {"CTCLoss", temporal, "CTCLoss"},
    {"EditDistance", edit_distance, "EditDistance"},
    {"SoftmaxCrossEntropyWithLogits", same, "SoftmaxCrossEntropyWithLogits"},
    {"SparseSoftmaxCrossEntropyWithLogits", same, "SparseSoftmaxCrossEntropyWithLogits"},
};

}  // namespace

std::span<const Row> loss_rows() { return kRows; }

}  // namespace updraft::tensorflow
