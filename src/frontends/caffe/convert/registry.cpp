#include <algorithm>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

constexpr const char* kLabels =
    "it wants labels, as training and its tests do: take the layer out of the prototxt, or name the outputs before it "
    "with --out_nodes";
constexpr const char* kData =
    "it reads a data set: put an Input layer in its place, as deploy.prototxt has it (layer { name: \"data\" type: "
    "\"Input\" top: \"data\" input_param { shape { dim: 1 dim: 3 dim: 224 dim: 224 } } })";
constexpr const char* kSequences =
    "recurrent layers are not converted: name the outputs before it with --out_nodes, and export the rest to ONNX";
constexpr const char* kBoxes =
    "it chooses boxes, which is not converted: name the outputs before it with --out_nodes, and choose the boxes in "
    "the "
    "program";

constexpr Remedy kRemedies[] = {
    {"Accuracy", kLabels},
    {"ContrastiveLoss", kLabels},
    {"EuclideanLoss", kLabels},
    {"HingeLoss", kLabels},
    {"InfogainLoss", kLabels},
    {"MultinomialLogisticLoss", kLabels},
    {"SigmoidCrossEntropyLoss", kLabels},
    {"SoftmaxWithLoss",
     "it wants labels, as training does: put a Softmax layer without the label in its place, or name the "
     "outputs before it with --out_nodes"},
    {"AnnotatedData", kData},
    {"Data", kData},
    {"DummyData", kData},
    {"HDF5Data", kData},
    {"ImageData", kData},
    {"MemoryData", kData},
    {"WindowData", kData},
    {"HDF5Output", "it writes a file: take the layer out of the prototxt"},
    {"LSTM", kSequences},
    {"LSTMUnit", kSequences},
    {"RNN", kSequences},
    {"Recurrent", kSequences},
    {"DetectionEvaluate", kLabels},
    {"DetectionOutput", kBoxes},
    {"MultiBoxLoss", kLabels},
    {"Proposal", kBoxes},
    {"BatchReindex",
     "the size of its result depends on values, which is not converted: name the outputs before it with --out_nodes"},
    {"Filter",
     "the size of its result depends on values, which is not converted: name the outputs before it with --out_nodes"},
    {"Im2col", "Caffe's own convolutions use it; write a Convolution layer"},
    {"Parameter", "weights that are a blob of their own are not converted: write the layer that has them"},
    {"Python", "its code cannot be read: write it as other layers, or name the outputs before it with --out_nodes"},
    {"SPP", "write it as Pooling, Flatten and Concat layers, which it is made of"},
    {"Upsample",
     "forks of Caffe mean different things by it: write a Deconvolution with group and num_output equal to "
     "the channels and a filter of ones (nearest) or a bilinear one"},
};

}  // namespace

std::span<const std::span<const Row>> families() {
  static const std::vector<std::span<const Row>> all = {
      activation_rows(), convolution_rows(),   detection_rows(), elementwise_rows(), image_rows(),
      matmul_rows(),     normalisation_rows(), pool_rows(),      reduction_rows(),   shape_rows(),
  };
  return all;
}

const Row* find_row(std::string_view type) {
  for (const std::span<const Row> rows : families())
    for (const Row& row : rows)
      if (type == row.type) return &row;
  return nullptr;
}

std::span<const Remedy> remedies() { return kRemedies; }

std::string refusal_of(std::string_view type) {
  const auto* found = std::ranges::find(kRemedies, type, [](const Remedy& r) { return std::string_view(r.type); });
  return fmt::format(
      "there is no converter for this layer ({})",
      found != std::end(kRemedies) ? found->text : "docs/reference/caffe-layers.md lists those that there are");
}

void same(Conversion& c) {
  std::vector<Operand> operands;
  for (const Endpoint e : c.all()) operands.emplace_back(e);
  c.result(c.row.ascend, operands);
}

void pass(Conversion& c) { c.give(c.in(0)); }

}  // namespace updraft::caffe
