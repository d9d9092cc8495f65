#include "observe/profiling/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "observe/profiling/record.h"

namespace updraft::profiling {
namespace {

const char* format_name(int32_t format) {
  switch (format) {
    case 0: return "NCHW";
    case 1: return "NHWC";
    case 2: return "ND";
    case 3: return "NC1HWC0";
    case 4: return "FRACTAL_Z";
    case 12: return "NC1HWC0_C04";
    case 16: return "HWCN";
    case 27: return "NDHWC";
    case 29: return "FRACTAL_NZ";
    case 30: return "NCDHW";
    case 32: return "NDC1HWC0";
    case 33: return "FRACTAL_Z_3D";
    case 35: return "NC";
    case 47: return "NCL";
    default: return "UNDEFINED";
  }
}

struct Side {
  std::string shapes, types, formats;
  bool any = false;

  void add(const TensorArgument& tensor) {
    const char* between = any ? ";" : "";
    any = true;
    shapes += between;
    for (int i = 0; i < tensor.view.rank; ++i)
      fmt::format_to(std::back_inserter(shapes), "{}{}", i ? "," : "", tensor.view.dims[i]);
    fmt::format_to(std::back_inserter(types), "{}{}", between, name_of(tensor.view.dtype));
    fmt::format_to(std::back_inserter(formats), "{}{}", between, format_name(tensor.format));
  }
};

const Argument* find(std::span<const Argument> arguments, const char* name) {
  for (const Argument& a : arguments)
    if (!std::strcmp(a.name, name)) return &a;
  return nullptr;
}

int64_t integer(std::span<const Argument> arguments, const char* name, int64_t absent) {
  const Argument* a = find(arguments, name);
  const int64_t* value = a ? std::get_if<int64_t>(&a->value) : nullptr;
  return value ? *value : absent;
}

std::string text(std::span<const Argument> arguments, const char* name) {
  const Argument* a = find(arguments, name);
  const std::string* value = a ? std::get_if<std::string>(&a->value) : nullptr;
  return value ? *value : "";
}

}  // namespace

bool is_collective(const TaskEvent& task) {
  return task.kind == TaskKind::Control && !std::strncmp(task.name, "Hccl", 4);
}

uint64_t hash_tensors(std::span<const Argument> arguments) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  const auto mix = [&](uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
  };
  for (const Argument& a : arguments) {
    const TensorArgument* tensor = a.tensor();
    if (!tensor) continue;
    mix(static_cast<uint64_t>(a.direction) << 48 | static_cast<uint64_t>(tensor->view.dtype) << 32 |
        static_cast<uint64_t>(static_cast<uint16_t>(tensor->format)) << 16 | static_cast<uint64_t>(tensor->view.rank));
    for (int i = 0; i < tensor->view.rank; ++i) mix(static_cast<uint64_t>(tensor->view.dims[i]));
  }
  return h;
}

std::string describe_tensor_task(std::span<const Argument> arguments, bool attributes) {
  Side in, out;
  std::string others;
  for (const Argument& a : arguments) {
    const TensorArgument* tensor = a.tensor();
    if (!tensor) {
      if (attributes && !a.absent()) {
        std::string one = describe(a);
        std::replace(one.begin(), one.end(), '\n', ' ');
        others += (others.empty() ? "" : ";") + one;
      }
      continue;
    }
    if (is_read(a.direction)) in.add(*tensor);
    if (is_written(a.direction)) out.add(*tensor);
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}{}{}", kTensors, in.shapes, in.types, in.formats, out.shapes, out.types,
                     out.formats, others.empty() ? "" : "\n", others);
}

std::string describe_collective_task(std::span<const Argument> arguments) {
  const char* type = "";
  std::string peers;
  for (const Argument& a : arguments) {
    if (const TensorArgument* tensor = a.tensor()) type = name_of(tensor->view.dtype);
    if (!std::strcmp(a.name, "remoteRank"))
      if (const int64_t* peer = std::get_if<int64_t>(&a.value))
        peers += (peers.empty() ? "" : ";") + std::to_string(*peer);
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", kCollective, text(arguments, "comm"),
                     integer(arguments, "rank", 0), integer(arguments, "ranks", 1), type,
                     integer(arguments, "count", 0), text(arguments, "op"), integer(arguments, "root", -1), peers);
}

}  // namespace updraft::profiling
