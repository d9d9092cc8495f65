#include "atc/arguments.h"

#include <unistd.h>

#include <algorithm>

#include "atc/refusal.h"

namespace updraft::atc {
namespace {

std::string nothing_such(const std::string& name) {
  return fmt::format("Perhaps --{} is meant; atc --help lists the options.", nearest_option(name));
}

void check(const Option& option, const std::string& value) {
  if (value.empty())
    throw invalid(option.name, value, "it is empty",
                  fmt::format("Write --{}=VALUE, and quote values that have ; or spaces.", option.name));
  if (option.kind == Kind::Boolean && value != "true" && value != "false")
    throw Refusal(
        "E10005",
        fmt::format("Value [{}] for parameter [--{}] is invalid. The value must be true or false.", value, option.name),
        fmt::format("Write --{}=true or --{}=false.", option.name, option.name));
  if (option.kind == Kind::Choice) {
    const auto allowed = split(option.values, '|');
    if (std::ranges::find(allowed, value) == allowed.end())
      throw invalid(option.name, value, fmt::format("it is none of {}", fmt::join(allowed, ", ")),
                    "Take one of these values.");
  }
  if (option.kind == Kind::File && access(value.c_str(), R_OK) != 0)
    throw invalid(option.name, value, "there is no such file, or it cannot be read",
                  "Check the path and the file's rights.");
}

}  // namespace

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(at, begin), text.size());
    std::string part = text.substr(begin, end - begin);
    part.erase(0, part.find_first_not_of(" \t\n"));
    part.erase(part.find_last_not_of(" \t\n") + 1);
    if (!part.empty()) parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

Arguments Arguments::parse(int argc, const char* const* argv) {
  Arguments all;
  for (int i = 0; i < argc; ++i) all.line_ += (i ? " " : "") + std::string(i ? argv[i] : "atc");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-h" || word == "--help" || word == "-help") {
      all.given_["help"] = "true";
      continue;
    }
    if (!word.starts_with("-"))
      throw invalid(word, "", "it is no option",
                    "Options begin with --; quote values that have spaces, as in --out_nodes=\"a:0;b:0\".");
    const size_t begin = word.starts_with("--") ? 2 : 1, equals = word.find('=');
    const std::string name = word.substr(begin, equals == std::string::npos ? equals : equals - begin);
    const Option* option = find_option(name);
    if (!option)
      throw invalid(name, equals == std::string::npos ? "" : word.substr(equals + 1), "there is no option of that name",
                    nothing_such(name));
    if (equals != std::string::npos) {
      all.take(*option, word.substr(equals + 1));
    } else if (i + 1 < argc && !std::string(argv[i + 1]).starts_with("--")) {
      all.take(*option, argv[++i]);
    } else if (option->kind == Kind::Boolean) {
      all.take(*option, "true");
    } else {
      throw invalid(name, "", "it has no value", fmt::format("Write --{}=VALUE.", name));
    }
  }
  return all;
}

void Arguments::take(const Option& option, std::string value) {
  check(option, value);
  if (option.effect == Effect::Refused && value != option.standard)
    throw invalid(option.name, value, "this is not implemented", fmt::format("{}.", option.about));
  if (const auto before = given_.find(option.name); before != given_.end() && before->second != value)
    throw invalid(option.name, value, fmt::format("the option was already given as {}", before->second),
                  "Give it once.");
  if (option.effect == Effect::Accepted) idle_.push_back(&option);
  given_[option.name] = std::move(value);
}

std::string Arguments::get(const std::string& name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? find_option(name)->standard : found->second;
}

const std::string& Arguments::need(const std::string& name, const std::string& wanted) const {
  const auto found = given_.find(name);
  if (found == given_.end()) throw missing(name, wanted);
  return found->second;
}

}  // namespace updraft::atc
