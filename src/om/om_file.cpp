#include "om/om_file.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "graph/proto/model_proto.h"

namespace updraft::om {
namespace {

using graph::Bytes;
using graph::Model;

constexpr int kParseModel = 100013;
constexpr uint32_t kMagic = 0x444F4D49;  // "IMOD" in memory
constexpr uint32_t kVersion = 0x20000000;

/// The first bytes of the file.
struct Header {
  uint32_t magic;
  uint32_t header_bytes;
  uint32_t version;
  uint8_t checksum[64];
  uint32_t length;  ///< of what follows, where 32 bits hold it
  uint8_t encrypted;
  uint8_t checksummed;
  uint8_t kind;  ///< 0: a graph of the IR
  uint8_t made_online;
  char name[32];
  uint32_t operators;
  uint8_t user[32];
  uint32_t ir_version;
  uint32_t models;
  char platform[20];
  uint8_t platform_kind;
  uint8_t pad[3];
  uint64_t model_length;
  uint8_t checks_os;
  uint8_t dynamic;
  uint8_t reserved[62];
};
static_assert(sizeof(Header) == 256);

struct Partition {
  uint64_t type, offset, bytes;  ///< the offset counts from the end of the table
};

enum Kind : uint64_t { kModelDef = 0, kWeights = 1 };

size_t aligned(size_t n) { return (n + graph::kWeightAlign - 1) / graph::kWeightAlign * graph::kWeightAlign; }

template <size_t N>
void set_text(char (&to)[N], const std::string& text) {
  std::memset(to, 0, N);
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}

[[noreturn]] void refuse(std::string text) { throw Error(kParseModel, std::move(text)); }

/// What a file that is no offline model seems to be.
const char* guess(std::span<const std::byte> bytes) {
  auto begins = [&](std::string_view with) {
    return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
  };
  if (begins("PK\x03\x04")) return "a PyTorch checkpoint: export it to ONNX, and convert that with atc --framework=5";
  if (begins("\x80\x02") || begins("\x80\x04"))
    return "a pickle of Python: export the model to ONNX, and convert that with atc";
  if (begins("\x08")) return "perhaps an ONNX model: convert it with atc --framework=5";
  if (begins("\n")) return "perhaps a TensorFlow graph: convert it with atc --framework=3";
  if (begins("\x89HDF")) return "an HDF5 file";
  return "something else: make one with atc";
}

}  // namespace

bool looks_like_om(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "IMOD", 4) == 0;
}

Bytes write(const Model& model) {
  graph::WeightBytes weights;
  const std::string message = graph::write_model(model, &weights);
  const auto* soc = graph::find<std::string>(model.attributes, "soc_version");
  Partition partitions[2] = {{kModelDef, 0, message.size()}, {kWeights, aligned(message.size()), weights.size}};
  const size_t table = 8 + sizeof partitions;
  const size_t body = table + partitions[1].offset + aligned(weights.size + 1);
  Header header{};
  header.magic = kMagic;
  header.header_bytes = sizeof(Header);
  header.version = kVersion;
  header.length = static_cast<uint32_t>(std::min<size_t>(body, UINT32_MAX));
  set_text(header.name, model.name);
  header.operators = static_cast<uint32_t>(model.graph->size());
  header.models = 1;
  set_text(header.platform, soc ? *soc : "");
  header.model_length = body;
  const auto inputs = model.graph->inputs();
  header.dynamic = std::ranges::any_of(inputs, [](const graph::Node* n) { return !n->output().desc.known(); });
  return Bytes::make(sizeof header + body, [&](std::byte* to) {
    std::memset(to, 0, sizeof header + table + partitions[1].offset);
    std::memcpy(to, &header, sizeof header);
    std::byte* at = to + sizeof header;
    const uint32_t count = 2;
    std::memcpy(at, &count, sizeof count);
    std::memcpy(at + 8, partitions, sizeof partitions);
    at += table;
    std::memcpy(at, message.data(), message.size());
    at += partitions[1].offset;
    for (const Bytes& part : weights.parts) {
      parallel_copy(at, part.data(), part.size());
      std::memset(at + part.size(), 0, aligned(part.size()) - part.size());
      at += aligned(part.size());
    }
    std::memset(at, 0, static_cast<size_t>(to + sizeof header + body - at));
  });
}

namespace {

const char* name_of(uint64_t type) {
  switch (type) {
    case 0: return "MODEL_DEF";
    case 1: return "WEIGHTS_DATA";
    case 2: return "TASK_INFO";
    case 3: return "TBE_KERNELS";
    case 8: return "MODEL_INOUT_INFO";
    case 12: return "TILING_DATA";
    default: return "another";
  }
}

}  // namespace

namespace {

/// The header, checked.
Header header_of(const Bytes& file) {
  if (!looks_like_om(file.span()))
    refuse(fmt::format("the {} bytes are no offline model (om): {}", file.size(), guess(file.span())));
  Header header;
  if (file.size() < sizeof header)
    refuse(fmt::format("the offline model is cut off: {} bytes, its header alone has {}", file.size(), sizeof header));
  std::memcpy(&header, file.data(), sizeof header);
  if (header.encrypted) refuse("the offline model is encrypted: make it without encryption");
  if (header.header_bytes < sizeof header || header.header_bytes > file.size())
    refuse(fmt::format("the offline model says that its header has {} bytes, want {}", header.header_bytes,
                       sizeof header));
  const size_t after = file.size() - header.header_bytes;
  if (header.version >= kVersion && header.model_length > after)
    refuse(fmt::format("the offline model is cut off: its header says {} bytes, {} follow it", header.model_length,
                       after));
  return header;
}

}  // namespace

std::vector<Part> parts(const Bytes& file) {
  const Header header = header_of(file);
  const size_t after = file.size() - header.header_bytes;
  uint32_t count = 0;
  if (after < 8) refuse("the offline model is cut off before its partitions");
  std::memcpy(&count, file.data() + header.header_bytes, sizeof count);
  if (count == 0 || count > 64 || after < 8 + count * sizeof(Partition))
    refuse(fmt::format("the offline model says that it has {} partitions", count));
  const size_t table = 8 + count * sizeof(Partition), begin = header.header_bytes + table;
  std::vector<Part> all;
  for (uint32_t i = 0; i < count; ++i) {
    Partition p;
    std::memcpy(&p, file.data() + header.header_bytes + 8 + i * sizeof p, sizeof p);
    if (p.offset > after - table || p.bytes > after - table - p.offset)
      refuse(fmt::format("partition {} of the offline model lies at {} with {} bytes: the file ends before", p.type,
                         p.offset, p.bytes));
    all.push_back({p.type, begin + p.offset, p.bytes, name_of(p.type)});
  }
  return all;
}

Model read_member(const Bytes& file) {
  Bytes message, weights;
  for (const Part& p : parts(file)) {
    if (p.type == kModelDef) message = Bytes::copy_of(file.data() + p.offset, p.bytes);
    if (p.type == kWeights) weights = file.part(p.offset, p.bytes);
  }
  if (message.empty()) refuse("the offline model has no graph");
  try {
    return graph::read_model(message, weights);
  } catch (const Error& e) { refuse("the offline model is damaged: " + e.text()); }
}

Model read(const Bytes& file) {
  if (const uint32_t models = header_of(file).models; models > 1)
    refuse(
        fmt::format("the file is a bundle of {} models: load it with aclmdlBundleLoadFromFile or "
                    "aclmdlBundleLoadFromMem",
                    models));
  return read_member(file);
}

Bytes write_bundle(const std::vector<Model>& models) {
  std::vector<Bytes> members;
  size_t size = 0;
  for (const Model& model : models) size += aligned(members.emplace_back(write(model)).size());
  return Bytes::make(size, [&](std::byte* to) {
    std::memset(to, 0, size);
    size_t at = 0;
    for (const Bytes& member : members) {
      std::memcpy(to + at, member.data(), member.size());
      at += aligned(member.size());
    }
    Header first;
    std::memcpy(&first, to, sizeof first);
    first.models = static_cast<uint32_t>(models.size());
    std::memcpy(to, &first, sizeof first);
  });
}

std::vector<Bytes> bundle_members(const Bytes& file) {
  const uint32_t count = header_of(file).models;
  if (count < 2)
    refuse(
        "the file has one model and is no bundle: load it with aclmdlLoadFromFile, or build a bundle with "
        "aclgrphBundleBuildModel");
  std::vector<Bytes> members;
  size_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (at >= file.size()) refuse(fmt::format("the bundle says that it has {} models, and ends behind {}", count, i));
    const Bytes rest = file.part(at, file.size() - at);
    try {
      const Header header = header_of(rest);
      // header_of() asks this of headers that have this version only; without the length there is no next model.
      if (header.model_length > rest.size() - header.header_bytes)
        refuse(fmt::format("its header says {} bytes, {} follow it", header.model_length,
                           rest.size() - header.header_bytes));
      members.push_back(rest.part(0, header.header_bytes + static_cast<size_t>(header.model_length)));
    } catch (const Error& e) { refuse(fmt::format("model {} of the bundle: {}", i, e.text())); }
    at += aligned(members.back().size());
  }
  return members;
}

}  // namespace updraft::om
