// What atc does, one function for each mode. They throw Refusal, or the Error of what they call.
#pragma once
#include <string>

#include "atc/arguments.h"
#include "atc/progress.h"
#include "graph/ir/graph.h"

namespace updraft::atc {

/// What --framework takes.
inline constexpr const char* kFrameworks = "5 (ONNX), 3 (TensorFlow), 0 (Caffe) or 1 (a graph of the Ascend IR, AIR)";
/// What --weight takes where the framework is 0.
inline constexpr const char* kWeights = "the path of the caffemodel that belongs to the prototxt";

/// Mode 0.
void compile_model(const Arguments& arguments, Progress& progress);
/// Mode 0 with --singleop.
void compile_operators(const Arguments& arguments, Progress& progress);
/// Modes 1 and 5.
void write_json(const Arguments& arguments, Progress& progress);
/// Mode 3.
void check_model(const Arguments& arguments, Progress& progress);
/// Mode 6.
void print_model(const std::string& om);

/// The graph of --model, or of the file that another option names, with the sizes and outputs that the options say.
graph::Model read_source(const Arguments& arguments, bool whole = true, const std::string& option = "model");
/// A file of that content, which the option names; a reader never sees half of it.
void write_file(const std::string& path, std::string_view content, const char* option = "output");

/// The whole program: the exit status.
int run(int argc, const char* const* argv);

}  // namespace updraft::atc
