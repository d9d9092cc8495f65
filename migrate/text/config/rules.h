// Configuration: YAML, JSON, TOML and INI files, lists of packages, Dockerfiles.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/config/reader.h"
#include "migrate/text/file.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {

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
  bool arguments(const KeyPath& path, const Scalar& value);
  void frameworks(const KeyPath& path, const Scalar& value);
  bool stands(std::string_view where, const KeyPath& path) const;
  void containers(std::string_view key, const Scalar& value);
  void note(std::string_view rule, Category category, const Scalar& at, Text message, std::string_view suggestion = {});

  Sheet& sheet_;
  const PythonFindings& python_;
  int depth_;
  Confidence most_;
  bool deepspeed_;           ///< the text looks like a configuration of DeepSpeed
  std::string_view option_;  ///< the element before, if it is an option: ["--device", "cuda"]
  std::size_t option_depth_ = 0;
};

}  // namespace updraft::migrate::text
