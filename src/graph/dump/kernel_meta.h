// The folder kernel_meta: what was compiled, a JSON file for each kernel (op_debug_level, op_debug_config, debug_dir).
#pragma once
#include "graph/compile/compile.h"

namespace updraft::graph {

/// Which files the options ask for.
struct KernelMeta {
  bool kernels = false;   ///< KERNEL.json for each operator with its types and shapes
  bool computes = false;  ///< KERNEL_compute.json for each that passes made of several
  bool bounds = false;    ///< the word oom: accesses beyond buffers are to be found (UPDRAFT_STRICT=1 does it)
  std::string folder;     ///< debug_dir, else the working folder

  /// Throws OptionError for a level that is none, and for a word in op_debug_config's file that nobody knows.
  static KernelMeta parse(const OptionTexts& options);
  /// True where files or checks are wanted: compiled graphs are not taken from a cache then.
  bool debugging() const { return debugging_; }
  /// Makes the folder kernel_meta and its files. Throws OptionError where it cannot be made.
  void write(const Graph& graph) const;

 private:
  bool debugging_ = false;
};

}  // namespace updraft::graph
