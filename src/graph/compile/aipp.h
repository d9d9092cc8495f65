// Static AIPP: what is done to images of bytes before a model's input (insert_op_conf).
#pragma once
#include <array>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

struct Aipp {
  enum class Source : uint8_t { Yuv420sp, Rgb, Xrgb, Yuv400 };
  Source source = Source::Rgb;
  size_t input = 0;                             ///< of the model
  int64_t source_width = 0, source_height = 0;  ///< 0: what the model's input needs
  bool crop = false, resize = false, padding = false;
  bool csc = false, swap_rb = false, alpha_last = false;
  int64_t crop_left = 0, crop_top = 0, crop_width = 0, crop_height = 0;
  int64_t resize_width = 0, resize_height = 0;
  int64_t left = 0, right = 0, top = 0, bottom = 0;
  float padding_value = 0;
  std::array<std::array<float, 3>, 3> matrix{};
  std::array<float, 3> input_bias{}, output_bias{};
  std::array<float, 4> mean{}, minimum{}, factor{1, 1, 1, 1};
};

/// The file's aipp_op blocks. Throws OptionError with what is wrong.
std::vector<Aipp> read_aipp(const std::string& path);

/// The graph's inputs take images, and these steps stand before what read them. Throws OptionError where sizes do not
/// fit.
void insert_aipp(Graph& graph, const std::vector<Aipp>& all, const std::string& path);

/// Nodes with this attribute keep their types, whatever the precision mode says.
inline constexpr const char* kKeepsType = "_keep_dtype";

}  // namespace updraft::graph
