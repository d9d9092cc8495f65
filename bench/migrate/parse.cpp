// Parses the files named on standard input, one a line, and prints CPU seconds, bytes and nodes. What is timed is what
// the tool does with a source: tree-sitter's parse and the flat tree that the rules walk.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "migrate/syntax/tree.h"

namespace {

double cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main() {
  std::vector<std::string> texts;
  std::size_t bytes = 0, nodes = 0;
  for (std::string name; std::getline(std::cin, name);) {
    std::ifstream file(name, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    bytes += texts.back().size();
  }
  const double start = cpu();
  for (const std::string& text : texts) nodes += updraft::migrate::syntax::Tree(text).size();
  std::printf("%.6f %zu %zu\n", cpu() - start, bytes, nodes);
}
