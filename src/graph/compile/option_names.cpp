#include "graph/compile/option_names.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "base/spelling.h"

namespace updraft::graph {
namespace {

// clang-format off
/// Those of sessions and graphs, as clients' libraries have them (torch_npu, MindSpore and onnxruntime of PyPI), and those
/// of offline builds. Not all of them have an effect here.
constexpr std::string_view kNames[] = {
    "ge.aicoreNum", "ge.aoe_config_file", "ge.autoMultistreamParallelMode", "ge.autoTuneMode", "ge.bufferOptimize",
    "ge.build_inner_model", "ge.calibrationConfFile", "ge.certFile", "ge.cluster_config", "ge.cmChiefIp",
    "ge.cmChiefPort", "ge.cmChiefWorkerDevice", "ge.cmWorkerIp", "ge.cmWorkerSize", "ge.compressFlag",
    "ge.compressionOptimizeConf", "ge.constLifecycle", "ge.customizeDtypes", "ge.DDK_version", "ge.debugDir",
    "ge.deterministic", "ge.deterministicLevel", "ge.disableOptimizations", "ge.display_model_info",
    "ge.distributed_cluster_build", "ge.dynamicBatchSize", "ge.dynamicDims", "ge.dynamicImageSize",
    "ge.dynamicNodeType", "ge.ekFile", "ge.enableCompressWeight", "ge.enabledLocalFmkop", "ge.enableGraphParallel",
    "ge.enablePrintOpPass", "ge.enableSingleStream", "ge.enableSmallChannel", "ge.enableSparseMatrixWeight",
    "ge.encryptMode", "ge.engineType", "ge.exec.allow_hf32", "ge.exec.allTensorNotEmpty", "ge.exec.atomicCleanPolicy",
    "ge.exec.dataInputsShapeRange", "ge.exec.deviceId", "ge.exec.disableReuseMemory", "ge.exec.dumpData",
    "ge.exec.dumpDebugMode", "ge.exec.dumpLayer", "ge.exec.dumpMode", "ge.exec.dumpPath",
    "ge.exec.dumpStep", "ge.exec.enableDump", "ge.exec.dynamicGraphExecuteMode", "ge.exec.enableDumpDebug",
    "ge.exec.enableEngineParallel", "ge.exec.exclude_engines", "ge.exec.exec_device_config_path", "ge.exec.formatMode",
    "ge.exec.frozenInputIndexes", "ge.exec.hostInputIndexes", "ge.exec.hostSchedulingMaxThreshold",
    "ge.exec.inputReuseMemIndexes", "ge.exec.isUseHcom", "ge.exec.jobId", "ge.exec.keep_dtype",
    "ge.exec.memoryOptimizationPolicy", "ge.exec.modify_mixlist", "ge.exec.op_precision_mode",
    "ge.exec.opExecuteTimeout", "ge.exec.opWaitTimeout", "ge.exec.outputReuseInputMemIndexes",
    "ge.exec.outputReuseMemIndexes", "ge.exec.overflow", "ge.exec.podName", "ge.exec.precision_mode",
    "ge.exec.precision_mode_v2", "ge.exec.profilingMode", "ge.exec.profilingOptions", "ge.exec.rankId",
    "ge.exec.rankTableFile", "ge.exec.reuseZeroCopyMemory", "ge.exec.single_op",
    "ge.exec.static_model_ops_lower_limit", "ge.exec.staticMemoryPolicy", "ge.exec.tuneDeviceIds",
    "ge.exec.variable_acc", "ge.experiment.quant_bias_optimize", "ge.exportCompileStat", "ge.externalWeight",
    "ge.featureBaseRefreshable", "ge.feFlag", "ge.frameworkType", "ge.fusionSwitchFile", "ge.fusionTensorSize",
    "ge.graph_compiler_cache_dir", "ge.graph_key", "ge.graphMaxParallelModelNum", "ge.graphMemoryMaxSize",
    "ge.graphParallelOptionPath", "ge.graphRunMode", "ge.hccl_sub_comm_config", "ge.hcomMultiMode", "ge.hcomParallel",
    "ge.headStream", "ge.hwKeyFile", "ge.INPUT_NODES_SET_FP16", "ge.inputHintShape", "ge.inputShape",
    "ge.insertOpFile", "ge.jit_compile", "ge.l1Fusion", "ge.mdl_bank_path", "ge.modelFileNamePrefix",
    "ge.offline_hccl_compile", "ge.offline_model_relation", "ge.offlineMode", "ge.oo.constantFolding",
    "ge.oo.deadCodeElimination", "ge.oo.level", "ge.op_bank_path", "ge.op_bank_update", "ge.op_compiler_cache_dir",
    "ge.op_compiler_cache_mode", "ge.op_debug_config", "ge.op_dependency_in_om", "ge.opDebugLevel",
    "ge.opSelectImplmode", "ge.opsProtoLibPath", "ge.optimizationSwitch", "ge.optionNameMap",
    "ge.optypelistForImplmode", "ge.originalModelFile", "ge.outputDatatype", "ge.outputMaxSize", "ge.outputNodeName",
    "ge.perfLevel", "ge.performance_mode", "ge.privateKeyFile", "ge.quant_dumpable", "ge.runFlag",
    "ge.saveOriginalModel", "ge.session_device_id", "ge.shape_generalized_build_mode", "ge.socVersion",
    "ge.streamMaxParallelNum", "ge.streamNum", "ge.TBE_plugin_path", "ge.tiling_schedule_optimize",
    "ge.topoSortingMode", "ge.trainFlag", "ge.variableMemoryMaxSize", "ge.virtual_type",
    // offline builds
    "buffer_optimize", "compress_weight_conf", "core_type", "customize_dtypes", "debug_dir", "deterministic",
    "dynamic_batch_size", "dynamic_dims", "dynamic_image_size", "enable_small_channel", "fusion_switch_file",
    "input_format", "input_fp16_nodes", "input_shape", "input_shape_range", "insert_op_conf", "is_dynamic_input",
    "keep_dtype", "log", "modify_mixlist", "op_debug_level", "op_name_map", "op_select_implmode",
    "optimization_switch", "optypelist_for_implmode", "out_nodes", "output_type", "precision_mode",
    "precision_mode_v2", "soc_version"};
// clang-format on
constexpr size_t kMostLetters = 128;  // of a name that is compared with all others

/// Two letters, or a quarter of a short name.
bool is_near(std::string_view name, std::string_view other) {
  return edit_distance(name, other) <= std::clamp<size_t>(other.size() / 4, 1, 2);
}

}  // namespace

void tell_unknown_options(const OptionTexts& options, std::string_view door) {
  static std::mutex mutex;
  static auto* told = new std::set<std::string>;
  for (const auto& [name, value] : options) {
    if (std::ranges::find(kNames, std::string_view(name)) != std::end(kNames)) continue;
    {
      std::lock_guard lock(mutex);
      if (!told->insert(name).second) continue;
    }
    const std::string_view begin = std::string_view(name).substr(0, kMostLetters), near = nearest_name(begin, kNames);
    if (is_near(begin, near)) {
      const std::string text =
          fmt::format("{}: there is no option {}, it has no effect; is it {} that you mean?", door, begin, near);
      std::fprintf(stderr, "updraft: %s\n", text.c_str());
      UPDRAFT_LOG(kWarning, "GE", "{}", text);
    } else {
      UPDRAFT_LOG(kWarning, "GE", "{}: the option {} is not known here and has no effect", door, begin);
    }
  }
}

}  // namespace updraft::graph
