// Tasks that work element by element on flat arrays, carried out together.
//
// An optimizer that is spelled out in operators goes over its large arrays once for each of them. Where several such
// tasks stand in a row on a stream, each array is better taken a piece at a time: all of them work on a piece while it
// is in the cache. Results do not change by a bit, since every element sees the same operations in the same order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace updraft {

/// An operand: elements without gaps, at increasing addresses.
struct FlatArray {
  const char* data;
  size_t bytes;
  /// Read by every element of the result, or by many (a number, a row that is added to all rows): element i of the
  /// result does not go with element i of this one.
  bool whole = false;
};

/// What a task does, as rows that do not depend on each other. Element i of a row's result depends on elements i of its
/// operands alone, and on arrays that are read as a whole.
class FlatWork {
 public:
  static constexpr int kMostArrays = 4;

  virtual size_t rows() const = 0;
  virtual int64_t elements(size_t row) const = 0;
  /// The arrays that a row reads or writes, each once or more; returns their number.
  virtual int arrays(size_t row, FlatArray* to) const = 0;
  /// Computes elements [begin, begin + n) of a row. Several threads may call it.
  virtual void run_piece(size_t row, int64_t begin, int64_t n) const = 0;

 protected:
  ~FlatWork() = default;
};

/// Works in the order of a stream.
class FlatChain {
 public:
  /// False: an array overlaps one of another work (or row) in another way than element by element, so the work cannot
  /// be done together with those before. The chain is as before then.
  bool add(const FlatWork& work);
  size_t works() const { return works_.size(); }
  int64_t elements() const { return elements_; }
  void run() const;

 private:
  struct Row {
    uint32_t work, row;
  };
  // Rows that share arrays, in the order of their works.
  struct Group {
    int64_t elements;
    std::vector<Row> rows;
  };
  struct Place {
    size_t bytes;
    size_t group;
  };
  using Places = std::map<const char*, Place>;
  /// Takes in an array that is read as a whole. False: somebody in the chain has it, or a part of it, element by
  /// element.
  bool add_whole(const FlatArray& array, std::vector<const char*>& added);
  /// Where an array stands that is known, or would stand. False: it overlaps others, or groups of another size know it.
  bool find(const FlatArray& array, int64_t elements, Places::iterator& at, bool& known);
  size_t root(size_t group);
  void join(size_t one, size_t other);

  std::vector<const FlatWork*> works_;
  std::vector<Group> groups_;
  std::vector<size_t> parents_;  // groups that were joined
  Places places_;
  std::map<const char*, size_t> wholes_;  ///< address and bytes of arrays that are read as a whole, apart from places_
  int64_t elements_ = 0;
};

}  // namespace updraft
