// New import lines beside an existing one.
#pragma once
#include <string>
#include <string_view>

#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

/// Whether an import statement imports a package or something in it.
bool imports(const syntax::Tree& tree, NodeId statement, std::string_view package);

/// The first import of a package that is carried out: at module level, else in a function; kNone without any.
NodeId first_import(const Sites& sites, std::string_view package);

/// Whether a source imports a package outside of functions.
bool imported_by_module(const Sites& sites, std::string_view package);

/// An insertion of one line (`import x`, several joined by '\n') after a statement, or before it, with its indentation
/// and the source's line ends. Statements that share a line are joined by "; ".
Edit insert_line(const syntax::Tree& tree, NodeId statement, std::string_view line, bool before);

/// Lines that append the project's folder to sys.path, for a source at `path` in it: a script in a folder is started
/// with that folder there. Empty for a source that stands in the project's folder itself.
std::string on_path(std::string_view path);

/// The first statement of a module that is neither its docstring nor an import of __future__; kNone in an empty one.
NodeId first_statement(const syntax::Tree& tree);

}  // namespace updraft::migrate::rewrite
