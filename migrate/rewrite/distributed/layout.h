// Where new statements go in a source, and how they look there: its indentation and line endings.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/rewrite/distributed/program.h"

namespace updraft::migrate::rewrite::distributed {

using Lines = std::vector<std::string>;

/// "\n" or "\r\n", as the file has it.
std::string newline(std::string_view text);
/// One step of indentation, as the file has it.
std::string unit(const syntax::Tree& tree);
/// The white space before the node on its line.
std::string indent(const syntax::Tree& tree, NodeId node);
/// Whether nothing but white space and a comment shares the statement's lines.
bool alone(const syntax::Tree& tree, NodeId statement);
/// Statements before (after) one, in its block. Comment lines are left out where the statement shares its line.
Edit before(const syntax::Tree& tree, NodeId statement, const Lines& lines);
Edit after(const syntax::Tree& tree, NodeId statement, const Lines& lines);
/// Before the first statement of a block or module that is no docstring.
Edit at_start(const syntax::Tree& tree, NodeId block, const Lines& lines);
/// The last statement of a block; kNone where it has none.
NodeId last_of(const syntax::Tree& tree, NodeId block);
/// Puts neighbouring statements of a block under one condition.
std::vector<Edit> under(const syntax::Tree& tree, const std::vector<NodeId>& statements, const std::string& condition);
/// Takes a statement away with its line; `pass` stays where its block would be empty.
Edit remove(const syntax::Tree& tree, NodeId statement);
/// One more keyword at the end of a call's arguments.
Edit keyword(const syntax::Tree& tree, NodeId call, const std::string& text);
/// An argument of a call, by keyword or, where position >= 0, by position; kNone also where stars hide it.
struct Argument {
  NodeId whole = kNone, value = kNone;
  bool hidden = false;  ///< a star stands where it may be
  explicit operator bool() const noexcept { return value != kNone; }
};
Argument argument(const syntax::Tree& tree, NodeId call, std::string_view name, int position);

}  // namespace updraft::migrate::rewrite::distributed
