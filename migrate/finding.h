// What a migration says: findings (what stands where, what is done about it and why) and the results of files and of
// the project. Every report is written from a ProjectResult and from nothing else.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::migrate {

/// A sentence in both languages.
struct Text {
  std::string en, zh;

  bool empty() const noexcept { return en.empty() && zh.empty(); }
  bool operator==(const Text&) const = default;
  Text& operator+=(const Text& more) {
    en += more.en;
    zh += more.zh;
    return *this;
  }
};

/// How sure a change is. Changes below the chosen confidence (--min-confidence, default likely) are only reported.
enum class Confidence : std::uint8_t {
  Review,  ///< a person must look: the site may mean something else
  Likely,  ///< what it nearly always means
  Certain  ///< names were resolved to the framework's own
};

/// What a finding is about.
enum class Category : std::uint8_t {
  Change,       ///< the source is to change: `edits` says how
  Unsupported,  ///< an API that the product or torch_npu does not have
  Unknown,      ///< an API of the framework about which nobody knows
  ThirdParty,   ///< a package that does not work on NPU, or works by another one
  CudaSource,   ///< a custom CUDA operator, extension or .cu file
  Affinity,     ///< an NPU API does the same faster
  Precision,    ///< numbers may differ
  Performance,  ///< slow on NPU: dynamic shapes, synchronisation, …
  Note,         ///< has no effect on NPU, or is to be known
  Failure       ///< a file, or part of it, that could not be read or understood
};

std::string_view name(Confidence confidence) noexcept;
std::string_view name(Category category) noexcept;
/// certain, likely or review; throws Error with the wanted names else
Confidence confidence_of(std::string_view name);
Category category_of(std::string_view name);

/// Replace bytes [begin, end) of the original file by `text`; begin == end inserts.
struct Edit {
  std::uint32_t begin = 0, end = 0;
  std::string text;

  bool operator==(const Edit&) const = default;
};

/// Lines from 1; columns in bytes from 0.
struct Position {
  std::uint32_t line = 1, column = 0;
};

struct Finding {
  std::string rule;  ///< id of the rule, e.g. PT101
  Category category = Category::Note;
  Confidence confidence = Confidence::Certain;
  std::uint32_t begin = 0, end = 0;  ///< bytes of the original file
  Position from, to;
  std::string api;          ///< resolved name, e.g. torch.cuda.is_available; empty where it is about no API
  std::string suggestion;   ///< the name to take instead, e.g. torch_npu.npu_fusion_attention; empty: none
  Text message;             ///< what and why
  std::vector<Edit> edits;  ///< all of them or none
  bool applied = false;     ///< the output has them
};

/// One place where a framework's API is used (analysis only).
struct ApiUse {
  std::string api;  ///< resolved: torch.nn.Linear
  std::uint32_t line = 1;
  bool called = false;
};

enum class FileKind : std::uint8_t { Python, Notebook, Config, Shell, CudaSource, Other };
std::string_view name(FileKind kind) noexcept;

struct FileResult {
  std::string path;  ///< relative to the input, with '/'
  FileKind kind = FileKind::Other;
  std::vector<Finding> findings;  ///< by position
  bool changed = false;
  bool failed = false;        ///< not understood at all: copied as it is
  std::string before, after;  ///< whole texts: before where there are findings, after where it changed
  std::vector<ApiUse> uses;   ///< analysis: by position
};

/// What the user asked for, as reports show it.
struct Request {
  std::string command;    ///< the command line
  std::string framework;  ///< pytorch or tensorflow
  std::string input, output;
  std::string version;  ///< of the framework, as asked
  std::string facts;    ///< the version whose facts are used
  std::string product;  ///< A2, A3, 950 or training
  Confidence least = Confidence::Likely;
  bool analysis = false;  ///< nothing is rewritten
  bool partial = false;   ///< of a large project: advice was looked for only in files that had to be parsed
};

/// What the findings of a rule have in common.
struct RuleText {
  std::string id;
  Text what;
};

struct ProjectResult {
  Request request;
  std::vector<FileResult> files;  ///< only files with findings, sorted by path
  std::vector<RuleText> rules;    ///< by id: those of the findings that have a text
  std::uint64_t seen = 0;         ///< files walked
  std::uint64_t python = 0;       ///< of them Python sources
  std::uint64_t bytes = 0;        ///< read
  std::uint64_t parsed = 0;       ///< Python sources that had to be parsed
  std::uint64_t parsed_bytes = 0;
  double seconds = 0;  ///< wall time
};

}  // namespace updraft::migrate
