// A text inside another one, maybe escaped and in several pieces: a notebook's cells in JSON, a heredoc, python -c.
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

}  // namespace updraft::migrate::text
