// Memory of the parser. tree-sitter makes and frees many small pieces; a pool for each thread does that faster than
// malloc, and gives everything back when the thread ends.
#pragma once

namespace updraft::migrate::syntax {

/// From now on tree-sitter allocates here. Called before its first use; what a thread makes it also frees.
void use_pool();

}  // namespace updraft::migrate::syntax
