// The files that options of atc name, and its command line. The first byte of the input says which; the rest is the
// file (AIPP, switches of passes, lists of types for mixed precision, types of nodes, nodes that keep theirs) or one
// argument a line.
#include <sys/mman.h>

#include "atc/arguments.h"
#include "atc/refusal.h"
#include "graph/compile/aipp.h"
#include "graph/compile/option_error.h"
#include "graph/passes/precision.h"
#include "graph/passes/switches.h"
#include "input.h"

using namespace updraft;

namespace {

/// What is refused names the option, and is refused as such.
template <class F>
void refused_or_done(F&& f) {
  try {
    f();
  } catch (const atc::Refusal& e) {
    if (e.text().empty()) fuzz::wrong("a refusal without a text", 0);
  } catch (const graph::OptionError& e) {
    if (e.option.empty() || e.reason.empty()) fuzz::wrong(e.what(), e.code());
  } catch (const Error& e) { fuzz::wrong(e.what(), e.code()); }
}

void parse_line(const std::string& text) {
  std::vector<std::string> words = {"atc"};
  for (size_t begin = 0; begin < text.size() && words.size() < 64;) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    std::erase(words.back(), '\0');  // arguments end there
    begin = end + 1;
  }
  std::vector<const char*> line;
  for (const std::string& word : words) line.push_back(word.c_str());
  refused_or_done([&] {
    const auto arguments = atc::Arguments::parse(static_cast<int>(line.size()), line.data());
    arguments.get("mode");
    for (const atc::Option* option : arguments.idle()) arguments.get(option->name);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'c') {
    parse_line(text);
    return 0;
  }
  static const int fd = memfd_create("option", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return 0;
  refused_or_done([&] {
    switch (data[0]) {
      case 'a': graph::read_aipp(path); break;
      case 's': graph::PassSwitches::of_file(path).unknown(); break;
      case 't': graph::PassSwitches::of_text("optimization_switch", text).unknown(); break;
      case 'm': graph::Precision::parse({{"precision_mode", "allow_mix_precision"}, {"modify_mixlist", path}}); break;
      case 'd': graph::Precision::parse({{"precision_mode", "force_fp16"}, {"customize_dtypes", path}}); break;
      case 'k': graph::Precision::parse({{"keep_dtype", path}}); break;
      default: break;
    }
  });
  return 0;
}
