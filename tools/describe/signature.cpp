#include "signature.h"

#include <cstring>

std::vector<Parameter> parse(const char* signature) {
  std::vector<Parameter> all;
  for (const char* p = signature; (p = std::strchr(p, '(')); ++p) {
    std::string inside(p + 1, std::strchr(p, ')'));
    auto comma = inside.find(',');
    auto name = inside.substr(comma + 1);
    name.erase(0, name.find_first_not_of(' '));
    Parameter parameter{inside.substr(0, comma), name};
    // As everywhere in CANN, what follows an output is an output too: lists have one type for both.
    const bool list = parameter.type == "Tensors" || parameter.type == "OptTensors";
    if (list && !all.empty() && all.back().written() && !all.back().read())
      parameter.type.insert(parameter.type.size() - std::strlen("Tensors"), "Out");
    all.push_back(parameter);
  }
  return all;
}

std::string file_in_ops(const char* path) {
  const std::string file = path;
  const auto at = file.rfind("ops/");
  return at == std::string::npos ? file : file.substr(at + std::strlen("ops/"));
}
