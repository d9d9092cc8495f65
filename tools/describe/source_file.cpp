#include "source_file.h"

#include <cstring>

std::string file_in_ops(const char* path) {
  const std::string file = path;
  const auto at = file.rfind("ops/");
  return at == std::string::npos ? file : file.substr(at + std::strlen("ops/"));
}
