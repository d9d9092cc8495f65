// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Text in the graph engine's C++ interface. No std::string crosses it, so that clients of either ABI of std::string
 * work.
 */
#ifndef UPDRAFT_GRAPH_ASCEND_STRING_H_
#define UPDRAFT_GRAPH_ASCEND_STRING_H_

#include <memory>

#if defined(__GNUC__)
#define GE_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define GE_FUNC_VISIBILITY
#endif

namespace ge {

class AscendStringImpl;

/** A text that copies share. */
class GE_FUNC_VISIBILITY AscendString {
 public:
  AscendString() = default;
  /** A copy of `name`, which ends with a zero byte; null is "". */
  AscendString(const char* name);
  ~AscendString() = default;

  /** The text; "" when there is none. It lives as long as the object. */
  const char* GetString() const;
  bool operator<(const AscendString& other) const;
  bool operator==(const AscendString& other) const;

 private:
  std::shared_ptr<const AscendStringImpl> impl_;
};

}  // namespace ge

#endif  // UPDRAFT_GRAPH_ASCEND_STRING_H_
