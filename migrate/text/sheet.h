// What the readers of text write findings on, and texts within texts, with the place of every byte.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

// A text inside another one, maybe escaped and in several pieces: a notebook's cells in JSON, a heredoc, python -c.

class Embedded {
 public:
  /// How new text is written at outer bytes [begin, end); nothing: it cannot be.
  using Encode =
      std::function<std::optional<std::string>(std::string_view text, std::uint32_t begin, std::uint32_t end)>;

  /// These bytes stand in the outer text as they are.
  void same(std::string_view bytes, std::size_t outer);
  /// These bytes are written as outer [begin, end), e.g. as an escape: never split.
  void unit(std::string_view bytes, std::size_t begin, std::size_t end);
  /// These bytes are not in the outer text: no edit touches them.
  void filler(std::string_view bytes);

  void encode_by(Encode encode) { encode_ = std::move(encode); }
  /// Edits may be dealt out to pieces that do not touch each other, as the lines of a notebook.
  void split_edits() { split_ = true; }

  const std::string& text() const noexcept { return text_; }
  std::string& text() noexcept { return text_; }  ///< bytes may be masked; the length stays

  /// The outer bytes from the first to the last byte of inner [begin, end).
  std::pair<std::uint32_t, std::uint32_t> outer(std::size_t begin, std::size_t end) const;
  /// An inner edit as edits of the outer text; nothing where that cannot be.
  std::optional<std::vector<Edit>> place(const Edit& edit) const;

 private:
  enum class Kind : std::uint8_t { Same, Unit, Filler };
  struct Run {
    std::uint32_t inner, begin, end;  ///< begin and end in the outer text
    Kind kind;
  };
  std::size_t run_at(std::size_t inner) const;  ///< index of the run that holds this byte
  std::size_t length(std::size_t run) const;
  std::optional<std::uint32_t> insertion(std::size_t inner) const;

  std::string text_;
  std::vector<Run> runs_;
  Encode encode_;
  bool split_ = false;
};

// The findings of one text while it is read. Lines and columns are counted once, at the end, so that any number of
// findings costs one pass.

class Embedded;

class Sheet {
 public:
  explicit Sheet(std::string_view text) : text_(text) {}

  std::string_view text() const noexcept { return text_; }

  /// Category and suggestion are the registry's, as are the words where none are given. The reference lasts until the
  /// next finding.
  Finding& add(std::string_view rule, std::size_t begin, std::size_t end, Text message = {});
  /// A change of exactly [begin, end).
  Finding& change(std::string_view rule, Confidence confidence, std::size_t begin, std::size_t end,
                  std::string replacement, Text message = {});
  /// The findings of a text that stands inside this one. Edits that cannot be carried over leave the finding for
  /// review.
  void adopt(std::vector<Finding> inner, const Embedded& embedded);

  /// By position, with lines and columns. Of edits that collide the later ones are left for review.
  std::vector<Finding> take();

 private:
  std::string_view text_;
  std::vector<Finding> findings_;
};

/// Offsets are 32 bits wide: a larger text is one Failure, else nothing.
std::vector<Finding> too_large(std::string_view text, std::string_view rule);
inline constexpr std::size_t kLargest = 0xffffffffu;

/// Carried out, as a report or a test does it: all edits of all findings with at least this confidence.
std::string applied(std::string_view text, const std::vector<Finding>& findings, Confidence least = Confidence::Review);

}  // namespace updraft::migrate::text
