// Memory for the text and the file of a model.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace updraft::graph {

/// A client that builds a model for one size after the other wants its text and its file each time: pages that are
/// touched for the first time cost more than all else that is done with them. So what is given back is kept, once as
/// much was asked for more often than one build does; the system may have its pages meanwhile. For any number of
/// threads.
class LargeBlocks {
 public:
  /// Smaller blocks, of single constants most of all, the C library keeps by itself, or a build has many of.
  static constexpr size_t kLeast = size_t{16} << 20;
  struct Block {
    std::byte* data;
    size_t bytes;  ///< as many as were asked for, or some more
  };

  static LargeBlocks& get();
  /// `bytes` may hold anything. Throws std::bad_alloc.
  Block take(size_t bytes);
  void give_back(Block block);
  /// Bytes that are kept.
  size_t kept() const;

 private:
  static constexpr size_t kMost = size_t{1} << 30;  ///< of what is kept
  static constexpr int kOneBuild = 2;               ///< blocks of a size

  mutable std::mutex mutex_;
  std::vector<Block> idle_;
  std::map<size_t, int> asked_;  ///< how often, by size
  size_t kept_ = 0;
};

}  // namespace updraft::graph
