// Device and backend names in string literals.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

/// Edits that make a literal name the NPU: "cuda", "cuda:0", f"cuda:{rank}", "cuda:%d". Empty where it is no device.
std::vector<Edit> device_edits(const syntax::Tree& tree, NodeId literal);
/// Likewise for "nccl" and "cpu:gloo,cuda:nccl".
std::vector<Edit> backend_edits(const syntax::Tree& tree, NodeId literal);
/// Likewise of a regular expression that devices are matched with: re.match(r"cuda(:\d+)?$", device). How sure that is.
std::vector<Edit> pattern_edits(const Sites& sites, NodeId literal, Confidence& sure);
/// Whether a literal goes on after the device's name: "cuda:0", f"cuda:{rank}".
bool has_index(const syntax::Tree& tree, NodeId literal);
/// Whether a name says that it holds a device (or a backend).
bool names_device(std::string_view name) noexcept;
bool names_backend(std::string_view name) noexcept;
/// A literal that stands alone as a statement.
bool is_docstring(const syntax::Tree& tree, NodeId literal);
/// A statement that is nothing but a literal: a docstring, where it is the first.
bool is_literal_statement(const syntax::Tree& tree, NodeId statement);

/// Whether the code around a place has a branch, or an entry, for the NPU already: ["cuda", "npu"], or an if whose
/// other branch asks for it.
bool npu_has_its_own(const syntax::Tree& tree, NodeId node);

/// Likewise for HCCL beside NCCL in a list: ["nccl", "gloo", "hccl"].
bool hccl_has_its_own(const syntax::Tree& tree, NodeId literal);

/// What surrounds a literal, as the rules on strings call it, and how sure that makes it.
struct Context {
  std::string_view name;  ///< comparison, named, option, conditional, format, attribute, call, other
  Confidence confidence = Confidence::Review;
};
Context context(const Sites& sites, NodeId literal, rules::Value value);

}  // namespace updraft::migrate::rewrite
