// The rules that come with the program: rules/FRAMEWORK/*.yaml, embedded.
#pragma once
#include <span>
#include <string_view>

#include "migrate/rules/rule.h"

namespace updraft::migrate::rules {

std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();

/// Adds the rules of a framework (pytorch or tensorflow).
void add_builtin(RuleSet& rules, std::string_view framework);

}  // namespace updraft::migrate::rules
