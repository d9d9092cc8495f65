#include "migrate/rules/builtin.h"

#include <iterator>
#include <string>
#include <utility>

namespace updraft::migrate::rules {

void add_builtin(RuleSet& rules, std::string_view framework) {
  std::vector<Rule> all;
  for (std::string_view name : embedded_names()) {
    if (!name.starts_with(framework) || !name.ends_with(".yaml")) continue;
    std::vector<Rule> some = load(embedded(name), std::string(name));
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  rules.add(std::move(all));
}

}  // namespace updraft::migrate::rules
