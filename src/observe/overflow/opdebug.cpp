#include "observe/overflow/opdebug.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/json_text.h"
#include "observe/dump/dump_file.h"
#include "observe/dump/names.h"

namespace updraft::overflow {
namespace {

// Where the blocks begin: what ran (DHA, L2, AI Core), then how it went in the same order.
constexpr size_t kL2Info = 128, kCoreInfo = 256, kDhaStatus = 512, kL2Status = 768, kCoreStatus = 1024, kSize = 2048;

struct Info {
  uint64_t model, stream, task, task_type, pc_start, para_base;
};
struct CoreStatus {
  uint64_t kernel, block, status;
};

template <class T>
T at(std::span<const std::byte> bytes, size_t place) {
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

void check(std::span<const std::byte> bytes) {
  if (bytes.size() != kSize)
    throw Error(code::kAclParseFile, "the overflow information has {} bytes, want {}", bytes.size(), kSize);
}

}  // namespace

DebugInfo read_opdebug(std::span<const std::byte> bytes) {
  check(bytes);
  DebugInfo made;
  auto look = [&](const char* part, size_t info_at, uint64_t status) {
    if (!status || !made.part.empty()) return;
    const auto info = at<Info>(bytes, info_at);
    made = {part, info.model, info.stream, info.task, status};
  };
  look("AI Core", kCoreInfo, at<CoreStatus>(bytes, kCoreStatus).status);
  look("L2 Atomic Add", kL2Info, at<uint64_t>(bytes, kL2Status));
  look("DHA Atomic Add", 0, at<uint64_t>(bytes, kDhaStatus));
  return made;
}

std::string opdebug_json(std::span<const std::byte> bytes) {
  check(bytes);
  using Json = nlohmann::ordered_json;
  auto info = [&](size_t place) {
    const auto i = at<Info>(bytes, place);
    return Json{{"model_id", i.model},
                {"stream_id", i.stream},
                {"task_id", i.task},
                {"task_type", i.task_type},
                {"pc_start", fmt::format("{:#x}", i.pc_start)},
                {"para_base", fmt::format("{:#x}", i.para_base)}};
  };
  Json dha = info(0), l2 = info(kL2Info), core = info(kCoreInfo);
  dha["status"] = at<uint64_t>(bytes, kDhaStatus);
  l2["status"] = at<uint64_t>(bytes, kL2Status);
  const auto status = at<CoreStatus>(bytes, kCoreStatus);
  core["kernel_code"] = fmt::format("{:#x}", status.kernel);
  core["block_idx"] = status.block;
  core["status"] = status.status;
  return json_text(Json{{"DHA Atomic Add", dha}, {"L2 Atomic Add", l2}, {"AI Core", core}}, 4) + "\n";
}

std::string opdebug_file(const TaskEvent& task, const Finding& finding, uint64_t time) {
  std::array<std::byte, kSize> bytes{};
  const Info info = {task.model, dump::stream_number(task.stream), task.id, 0, 0, 0};
  if (finding.part == Part::AiCore) {
    const CoreStatus status = {0, 0, finding.status};
    std::memcpy(bytes.data() + kCoreInfo, &info, sizeof info);
    std::memcpy(bytes.data() + kCoreStatus, &status, sizeof status);
  } else {
    std::memcpy(bytes.data() + kL2Info, &info, sizeof info);
    std::memcpy(bytes.data() + kL2Status, &finding.status, sizeof finding.status);
  }
  dump::FileHeader header;
  header.time = time;
  header.op_name = "Node_OpDebug";
  dump::FileTensor& output = header.outputs.emplace_back();
  output.type = dump::type_number(DType::UInt8);
  output.dims = output.original_dims = {static_cast<int64_t>(kSize)};
  output.size = kSize;
  std::string file = dump::write_header(header);
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

}  // namespace updraft::overflow
