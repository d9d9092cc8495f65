// Compiled graphs on disk: a graph that the same library compiled with the same options is read instead of compiled.
//
//   ge.graph_compiler_cache_dir=DIR, ge.graph_key=KEY     DIR/KEY.idx says which DIR/KEY_HASH.om is which
//   op_compiler_cache_mode=enable, op_compiler_cache_dir  the same in DIR/kernel_cache, within a size
//   (DIR/op_cache.ini)
//
// Files are written beside and renamed, so a reader sees whole ones or none; who changes an index has the folder's
// lock. What is cut off, damaged, foreign, or of another library counts as not there.
#pragma once
#include "graph/compile/compile.h"

namespace updraft::om {

struct CompileCache {
  std::string folder;  ///< empty: there is no cache
  std::string key;     ///< a graph's name in it
  std::string limits;  ///< the folder of op_cache.ini; empty: it may grow
  bool clear = false;  ///< op_compiler_cache_mode=force: what is there goes first
  bool enabled() const { return !folder.empty(); }

  /// What the options ask for. Throws OptionError for a mode that is none.
  static CompileCache of(const graph::OptionTexts& options, const std::string& graph_name);
};

/// How much a cache may hold, and what of it stays when more comes.
struct CacheLimits {
  uint64_t megabytes = 500;
  unsigned remain_percent = 50;

  /// FOLDER/op_cache.ini, where both of its numbers are valid, else ASCEND_MAX_OP_CACHE_SIZE and
  /// ASCEND_REMAIN_CACHE_SIZE_RATIO.
  static CacheLimits of(const std::string& folder);
};

/// graph::compile(), or what it gave the last time. `hit` tells which. A cache that cannot be written is a note in the
/// report, not a failure.
graph::Model compile_cached(const graph::Model& model, const graph::OptionTexts& options,
                            graph::CompileReport* report = nullptr, uint32_t graph_id = 0, bool* hit = nullptr);

/// What the result of compiling depends on: the library, the graph with its weights, and the options, with what the
/// files hold that they name.
std::string compile_key(const graph::Model& model, const graph::OptionTexts& options);

}  // namespace updraft::om
