// Keys and values of a configuration file, with their places: what the readers of YAML, JSON, TOML and INI have in
// common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/file.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {

/// The keys that lead to a value, "[]" for elements of lists. Levels below the 64th are counted, not kept.
class KeyPath {
 public:
  void push(std::string_view key) {
    if (depth_++ < kKept) keys_.emplace_back(key);
  }
  void pop() {
    if (depth_-- <= kKept) keys_.pop_back();
  }
  void replace(std::string_view key) {
    if (depth_ > 0 && depth_ <= kKept) keys_.back() = key;
  }
  std::size_t depth() const noexcept { return depth_; }
  const std::vector<std::string>& keys() const noexcept { return keys_; }

  /// The innermost name: of an element that of its list.
  std::string_view name() const {
    for (std::size_t i = keys_.size(); i-- > 0;)
      if (keys_[i] != "[]") return keys_[i];
    return {};
  }
  /// Is it this path? "*" is any one key, "[]" an element.
  bool is(std::initializer_list<std::string_view> path) const {
    if (path.size() != depth_ || depth_ > kKept) return false;
    std::size_t i = 0;
    for (const std::string_view key : path)
      if (const std::string& own = keys_[i++]; key != "*" && key != own) return false;
    return true;
  }
  bool begins(std::initializer_list<std::string_view> path) const {
    if (path.size() > keys_.size()) return false;
    std::size_t i = 0;
    for (const std::string_view key : path)
      if (const std::string& own = keys_[i++]; key != "*" && key != own) return false;
    return true;
  }

 private:
  static constexpr std::size_t kKept = 64;
  std::vector<std::string> keys_;
  std::size_t depth_ = 0;
};

/// A key or a value. [begin, end) is what stands between its quotes.
struct Scalar {
  enum class Style : unsigned char { Plain, Quoted, Json, Block, Folded };
  std::size_t begin = 0, end = 0;
  std::string_view raw;
  Style style = Style::Plain;
  bool direct = true;  ///< the raw text is the value: no escapes, one line
};

class ConfigHandler {
 public:
  virtual ~ConfigHandler() = default;
  /// The path ends in this key.
  virtual void key(const KeyPath& path, const Scalar& key) = 0;
  virtual void value(const KeyPath& path, const Scalar& value) = 0;
};

/// What is wrong, and where.
struct ConfigError {
  std::size_t at;
  Text message;
};

std::optional<ConfigError> read_json(std::string_view text, bool comments, ConfigHandler& handler);
std::optional<ConfigError> read_yaml(std::string_view text, ConfigHandler& handler);
std::optional<ConfigError> read_toml(std::string_view text, ConfigHandler& handler);
void read_ini(std::string_view text, ConfigHandler& handler);

// Configuration: YAML, JSON, TOML and INI files, lists of packages, Dockerfiles.

enum class ConfigForm : std::uint8_t { None, Json, JsonWithComments, Yaml, Toml, Ini, Requirements, Dockerfile };

/// By the name; None: no configuration that is known here.
ConfigForm config_form(std::string_view path);

/// A file that cannot be read to its end has a Failure with the line, and findings of what stands before it.
std::vector<Finding> config(std::string_view path, std::string_view text, const PythonFindings& python = {},
                            int depth = 0);
/// `most`: no device string is surer than that.
std::vector<Finding> config(ConfigForm form, std::string_view text, const PythonFindings& python = {}, int depth = 0,
                            Confidence most = Confidence::Certain);

// What is said about keys and values of configuration files, whatever format they are written in.

class Embedded;

class ConfigRules : public ConfigHandler {
 public:
  /// `most`: no device string is surer than that.
  ConfigRules(Sheet& sheet, const PythonFindings& python, int depth, Confidence most);

  void key(const KeyPath& path, const Scalar& key) override;
  void value(const KeyPath& path, const Scalar& value) override;

 private:
  bool variable_name(const Scalar& scalar, std::size_t size, std::string_view value);
  bool packages(const KeyPath& path, const Scalar& value);
  bool command(const KeyPath& path, const Scalar& value);
  bool device(std::string_view key, const Scalar& value, std::size_t offset);
  bool object(std::string_view key, const Scalar& value);
  bool arguments(const KeyPath& path, const Scalar& value);
  void frameworks(const KeyPath& path, const Scalar& value);
  bool stands(std::string_view where, const KeyPath& path) const;
  void containers(std::string_view key, const Scalar& value);

  Sheet& sheet_;
  const PythonFindings& python_;
  int depth_;
  Confidence most_;
  bool deepspeed_;           ///< the text looks like a configuration of DeepSpeed
  std::string_view option_;  ///< the element before, if it is an option: ["--device", "cuda"]
  std::size_t option_depth_ = 0;
  std::string_view named_;  ///< the value of the last key `name`
  std::size_t named_depth_ = 0;
};

}  // namespace updraft::migrate::text
