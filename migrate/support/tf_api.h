// Which class of the migration guide a TensorFlow API is in: data/tf_api.tsv and data/tf_rules.tsv.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "migrate/support/table.h"

namespace updraft::migrate {

/// The classes of the guide's table 5-2, and names that make no operator.
/// The guide's TensorFlow, and the newer one that npu_device is installed beside.
inline constexpr std::string_view kTfVersions[] = {"2.6.5", "2.15.1"};
/// The nearest of them, as an index; the first for an empty text.
std::size_t nearest_tf(std::string_view version) noexcept;

enum class TfClass : uint8_t {
  supported,    ///< 支持（无需迁移）
  tool_api,     ///< 工具迁移后API功能支持
  tool_train,   ///< 工具迁移后训练功能打通
  no_harmless,  ///< 不支持（不影响迁移，无需干预）
  no_avoid,     ///< 不支持（无迁移方案，建议不使用）
  deprecated,   ///< 废弃类
  analysing,    ///< 分析中: nobody knows
  none,         ///< 不涉及
};

struct TfApi {
  bool listed = false;  ///< that TensorFlow has the name, or a rule is about it
  TfClass support = TfClass::analysing;
  std::string_view name;  ///< of the row: "tf.data.Dataset" for tensorflow.data.Dataset.batch
  Bilingual note;         ///< what becomes of it, where there is more to say than the class
  std::string_view source;
};

/// `name` is resolved: "tf.abs", "tensorflow.compat.v1.Session.run", "tf.compat.v2.abs", "hvd.allreduce" (or
/// horovod.tensorflow., horovod.keras. …). A member of a class is as its class; what lies below a module and is not
/// listed is under analysis.
/// `version` is an index of kTfVersions.
TfApi lookup_tf(std::string_view name, std::size_t version = 0);

/// The class in the reports' words: "支持（无需迁移）" and in English.
Bilingual describe(TfClass support);

/// The four counters of the brief report.
enum class TfCount : uint8_t { support, unsupport, no_operator, analysing };
TfCount count_as(TfClass support);

}  // namespace updraft::migrate
