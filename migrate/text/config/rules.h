// What is said about keys and values of configuration files, whatever format they are written in.
#pragma once
#include <string_view>

#include "migrate/text/config/reader.h"
#include "migrate/text/python_findings.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {

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
