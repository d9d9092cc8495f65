// Device strings ("cuda:0") and names of distributed backends ("cpu:gloo,cuda:nccl") as values of options, keys and
// variables: which words change, and how sure that is by what the key is called.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

struct Word {
  std::size_t begin, end;  ///< in the value
  std::string_view replacement;
};

enum class Meaning : std::uint8_t { Device, Backend, Accelerator };

struct Judgement {
  Meaning meaning;
  Confidence confidence;
  std::vector<Word> words;
};

/// Lower case, _ for -, without leading dashes and pluses and without what stands before the last dot.
std::string plain_key(std::string_view key);

/// The words to change where the whole value is a device string or a list of them; empty where it is none.
std::vector<Word> device_words(std::string_view value);
std::vector<Word> backend_words(std::string_view value);

/// What `value` under `key` means; nothing where nothing changes. An unknown key is for review, and only where the
/// value can hardly be anything else (cuda:0, nccl).
std::optional<Judgement> judge(std::string_view key, std::string_view value);

/// The sentence for a judgement.
Text reason(const Judgement& judgement, std::string_view key);
/// What is added to it where the project has something of its own under the name of a backend.
void says_registered(Text& message);

}  // namespace updraft::migrate::text
