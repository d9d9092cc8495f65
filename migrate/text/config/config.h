// Configuration: YAML, JSON, TOML and INI files, lists of packages, Dockerfiles.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/python_findings.h"

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

}  // namespace updraft::migrate::text
