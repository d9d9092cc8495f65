// Which passes run: fusion_switch_file and optimization_switch.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::graph {

class PassSwitches {
 public:
  /// {"Switch":{"GraphFusion":{"ALL":"off","XPass":"on"},"UBFusion":{…}}}, with // comments and commas at ends; or
  /// lines "XPass:off". Throws OptionError.
  static PassSwitches of_file(const std::string& path);
  /// "XPass:off;YPass:on".
  static PassSwitches of_text(const std::string& option, const std::string& text);

  /// True where nobody switched it off; passes that results depend on are always on.
  bool on(std::string_view pass) const;
  void add(const PassSwitches& other);
  /// Names that were switched and that no pass has.
  std::vector<std::string> unknown() const;
  bool empty() const { return switches_.empty(); }

 private:
  void set(const std::string& option, const std::string& where, const std::string& name, const std::string& state);

  std::map<std::string, bool, std::less<>> switches_;
};

}  // namespace updraft::graph
