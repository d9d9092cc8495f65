#include "atc/option_table.h"

#include <algorithm>
#include <iterator>

#include "base/spelling.h"

namespace updraft::atc {
namespace {

using enum Effect;
using enum Kind;

constexpr const char* kGeneral = "general";
constexpr const char* kInput = "input";
constexpr const char* kOutput = "output";
constexpr const char* kTarget = "target";
constexpr const char* kPrecision = "precision";
constexpr const char* kTuning = "tuning";
constexpr const char* kDebug = "debugging";

constexpr Option kOptions[] = {
    {"help", kGeneral, Boolean, "", "", Works, "Prints this list", "打印本列表"},
    {"mode", kGeneral, Choice, "0|1|3|5|6", "0", Works,
     "0 compile; 1 an om (or a text dump) to JSON; 3 check the model only; 5 a text dump of a graph to JSON; 6 print "
     "what an om holds",
     "0 编译；1 将 om（或文本 dump）转为 JSON；3 只检查模型；5 将图的文本 dump 转为 JSON；6 打印 om 的信息"},
    {"framework", kInput, Choice, "0|1|3|5", "", Works,
     "5 ONNX; 3 a frozen graph of TensorFlow (.pb); 0 a net of Caffe (.prototxt, with --weight); 1 a graph of the "
     "Ascend "
     "IR (AIR)",
     "5 ONNX；3 TensorFlow 冻结图（.pb）；0 Caffe 网络（.prototxt，须有 --weight）；1 Ascend IR 图（AIR）"},
    {"model", kInput, File, "path", "", Works, "The model", "模型文件"},
    {"weight", kInput, File, "path", "", Works, "The weights of a Caffe model (.caffemodel)",
     "Caffe 模型的权重（.caffemodel）"},
    {"om", kInput, File, "path", "", Works,
     "The om file of modes 1 and 6, the text dump of modes 1 and 5; in mode 1 with --framework a model",
     "模式 1、6 的 om 文件，或模式 1、5 的文本 dump；模式 1 加 --framework 时为模型"},
    {"singleop", kInput, File, "path", "", Works, "A JSON list of operators; --output is the folder for their om files",
     "算子描述 JSON；--output 为 om 文件的目录"},
    {"input_shape", kInput, Text, "name:1,3,224,224;…", "", Works,
     "Shapes of inputs. -1: known at run time; 1~10: with a range. Needed where the model does not say them",
     "输入的形状。-1：运行时才知道；1~10：带范围。模型未给出时必须指定"},
    {"input_shape_range", kInput, Text, "name:[1~10,3,224]", "", Works,
     "The older way of writing ranges: write them into input_shape", "旧的范围写法：请写入 input_shape"},
    {"input_format", kInput, Choice, "NCHW|NHWC|ND|NCDHW|NDHWC", "", Works,
     "Layout of the inputs as clients are told it; says where dynamic_image_size and AIPP find height and width (NCHW, "
     "NHWC)",
     "告知客户端的输入布局；也决定 dynamic_image_size 与 AIPP 的高、宽所在（NCHW、NHWC）"},
    {"input_fp16_nodes", kInput, Text, "name;…", "", Works, "Inputs that clients give as FP16",
     "由客户端以 FP16 提供的输入"},
    {"dynamic_batch_size", kInput, Text, "1,2,4", "", Works,
     "2 to 100 batch sizes, one of which is chosen before an execution; the inputs have -1 as their first size",
     "2 至 100 个 batch 档位，执行前选其一；输入首维为 -1"},
    {"dynamic_image_size", kInput, Text, "416,416;832,832", "", Works,
     "2 to 100 pairs of height and width; the input has -1 for both", "2 至 100 个“高,宽”档位；输入的高、宽为 -1"},
    {"dynamic_dims", kInput, Text, "1,16;8,64", "", Works,
     "2 to 100 sets of sizes, a number for each -1 of the inputs in their order",
     "2 至 100 组尺寸，按输入顺序每个 -1 一个数"},
    {"insert_op_conf", kInput, File, "path", "", Works,
     "AIPP: what is done to images of bytes before the model's input, as the file says (static) or the client "
     "(dynamic)",
     "AIPP：对字节图像输入做的预处理，参数来自文件（静态）或客户端（动态）"},
    {"is_input_adjust_hw_layout", kInput, Boolean, "", "false", Refused,
     "Inputs in NC1HWC0. Tensors are dense here; leave it out and give NCHW",
     "以 NC1HWC0 作为输入。此处张量按行排列；请去掉并给出 NCHW"},
    {"is_output_adjust_hw_layout", kInput, Boolean, "", "false", Refused,
     "Outputs in NC1HWC0. Tensors are dense here; leave it out and read NCHW",
     "以 NC1HWC0 作为输出。此处张量按行排列；请去掉并读取 NCHW"},
    {"input_hint_shape", kInput, Text, "…", "", Accepted, "Plans are made for the sizes that come",
     "按实际到来的尺寸规划"},
    {"output", kOutput, Text, "path", "", Works, "The om file, without .om; its name is the model's name",
     "om 文件（不含 .om）；文件名即模型名"},
    {"json", kOutput, Text, "path", "", Works, "The JSON file that modes 1 and 5 write", "模式 1、5 写出的 JSON 文件"},
    {"check_report", kOutput, Text, "path", "check_result.json", Works, "The report of mode 3", "模式 3 的报告"},
    {"out_nodes", kOutput, Text, "node:0;…", "", Works,
     "Outputs of the model: nodes with an output's number, or names of tensors",
     "模型输出：节点及其输出序号，或张量名"},
    {"output_type", kOutput, Text, "FP32|FP16|UINT8|INT8, or node:0:FP16;…", "", Works,
     "Type of the outputs, or of those that are named (their names, or node:index)",
     "全部输出或指定输出（名字或 节点:序号）的类型"},
    {"external_weight", kOutput, Choice, "0|1", "0", Works, "1: constants go into the folder weight beside the om",
     "1：常量写入 om 旁的 weight 目录"},
    {"save_original_model", kOutput, Boolean, "", "false", Refused, "Keep the ONNX file itself",
     "请自行保留 ONNX 文件"},
    {"display_model_info", kOutput, Choice, "0|1", "0", Works, "1: prints what mode 6 prints after compiling",
     "1：编译后打印模式 6 的内容"},
    {"dump_mode", kOutput, Choice, "0|1", "0", Works,
     "1: in mode 1, infers the shapes of --model and writes its graph to --json",
     "1：模式 1 下推断 --model 的形状，并将其图写入 --json"},
    {"soc_version", kTarget, Text, "Ascend910B2", "", Works,
     "The product; Ascend910B, Ascend310P3 and the like are families' names",
     "产品型号；Ascend910B、Ascend310P3 等为系列名"},
    {"core_type", kTarget, Choice, "AiCore|VectorCore", "AiCore", Accepted, "One kind of engine runs all here",
     "此处所有算子由同一种引擎执行"},
    {"aicore_num", kTarget, Text, "20", "", Accepted, "UPDRAFT_THREADS says how many cores work",
     "工作的核数由 UPDRAFT_THREADS 决定"},
    {"virtual_type", kTarget, Choice, "0|1", "0", Accepted, "All devices are virtual", "所有设备都是虚拟的"},
    {"host_env_os", kTarget, Text, "linux", "", Accepted, "An om runs on every host that Updraft runs on",
     "om 可在运行 Updraft 的任何主机上执行"},
    {"host_env_cpu", kTarget, Text, "x86_64", "", Accepted, "An om runs on every host that Updraft runs on",
     "om 可在运行 Updraft 的任何主机上执行"},
    {"precision_mode", kPrecision, Choice,
     "force_fp16|force_fp32|cube_fp16in_fp32out|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|"
     "allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16",
     "force_fp16", Works, "Types that operators compute in (docs/use/atc.md)",
     "算子计算所用的类型（docs/use/atc.zh.md）"},
    {"precision_mode_v2", kPrecision, Choice, "fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16", "", Works,
     "The same in newer words; never with precision_mode", "同上的新写法；不可与 precision_mode 同用"},
    {"modify_mixlist", kPrecision, File, "path", "", Works,
     "JSON: operator types to move between the lists of the mixed modes", "JSON：在混合精度名单之间移动算子类型"},
    {"keep_dtype", kPrecision, File, "path", "", Works,
     "Lines with names of nodes, or OpType::Type: they keep the model's type",
     "每行一个节点名或 OpType::类型：保持模型的类型"},
    {"customize_dtypes", kPrecision, File, "path", "", Works,
     "Types of single nodes or operator types: node::InputDtype:float16,OutputDtype:float32",
     "单个节点或算子类型的数据类型：node::InputDtype:float16,OutputDtype:float32"},
    {"op_precision_mode", kPrecision, File, "path", "", Accepted,
     "Every kernel is the exact one, and indices are always checked", "所有核都是精确实现，索引总被检查"},
    {"op_select_implmode", kPrecision, Choice,
     "high_precision|high_performance|high_precision_for_all|high_performance_for_all", "", Accepted,
     "Every kernel is the exact one", "所有核都是精确实现"},
    {"optypelist_for_implmode", kPrecision, Text, "Type,…", "", Accepted, "Every kernel is the exact one",
     "所有核都是精确实现"},
    {"allow_hf32", kPrecision, Boolean, "", "", Accepted, "FP32 products keep all bits", "FP32 乘加保留全部位"},
    {"deterministic", kPrecision, Choice, "0|1", "0", Accepted, "Results have the same bits from run to run",
     "多次运行结果逐位相同"},
    {"fusion_switch_file", kTuning, File, "path", "", Works,
     "Passes of the compiler on or off: JSON, or lines Pass:off", "编译 pass 的开关：JSON，或每行 Pass:off"},
    {"optimization_switch", kTuning, Text, "Pass:off;…", "", Works, "The same on the command line",
     "命令行上的同一开关"},
    {"oo_level", kTuning, Choice, "O1|O3", "O3", Accepted, "There is one level", "只有一个级别"},
    {"enable_scope_fusion_passes", kTuning, Text, "Pass,…", "", Accepted, "Scope passes are for TensorFlow's graphs",
     "Scope pass 用于 TensorFlow 图"},
    {"enable_small_channel", kTuning, Choice, "0|1", "0", Accepted, "Convolutions choose their kernel themselves",
     "卷积自行选择实现"},
    {"buffer_optimize", kTuning, Choice, "l1_optimize|l2_optimize|off_optimize|l1_and_l2_optimize", "", Accepted,
     "Caches of the host need no plan", "主机缓存无需规划"},
    {"enable_single_stream", kTuning, Boolean, "", "false", Accepted, "A model is one task of one stream",
     "模型是一个流上的一个任务"},
    {"ac_parallel_enable", kTuning, Choice, "0|1", "0", Accepted, "A model is one task of one stream",
     "模型是一个流上的一个任务"},
    {"tiling_schedule_optimize", kTuning, Choice, "0|1", "0", Accepted, "Nothing is tiled by hand", "无需手工切分"},
    {"atomic_clean_policy", kTuning, Choice, "0|1", "0", Accepted, "Results need no cleared memory",
     "结果不需要预清零的内存"},
    {"topo_sorting_mode", kTuning, Choice, "0|1|2|3", "", Accepted, "The order that the model has is kept",
     "保持模型的次序"},
    {"mdl_bank_path", kTuning, Text, "path", "", Accepted, "There is nothing tuned that a bank would keep",
     "没有需由知识库保存的调优结果"},
    {"op_bank_path", kTuning, Text, "path", "", Accepted, "There is nothing tuned that a bank would keep",
     "没有需由知识库保存的调优结果"},
    {"auto_tune_mode", kTuning, Text, "RL,GA", "", Refused, "Gone from atc; leave it out", "atc 已移除该参数；请去掉"},
    {"op_compiler_cache_mode", kTuning, Choice, "enable|disable|force", "disable", Works,
     "enable: compiled graphs are kept on disk and read the next time; force: what is kept goes first",
     "enable：编译好的图保存在磁盘上，下次直接读取；force：先清空"},
    {"op_compiler_cache_dir", kTuning, Text, "path", "", Works, "Where they are kept: kernel_cache below it",
     "保存目录：其下的 kernel_cache"},
    {"jit_compile", kTuning, Choice, "0|1|auto", "", Accepted, "Operators are compiled already", "算子已预先编译"},
    {"shape_generalized_build_mode", kTuning, Choice, "shape_generalized|shape_precise", "", Accepted,
     "Plans are made for the sizes that come", "按实际到来的尺寸规划"},
    {"enable_compress_weight", kTuning, Boolean, "", "false", Refused, "Weights are kept as they are; leave it out",
     "权重不压缩；请去掉"},
    {"compress_weight_conf", kTuning, Text, "path", "", Refused, "Weights are kept as they are; leave it out",
     "权重不压缩；请去掉"},
    {"compression_optimize_conf", kTuning, Text, "path", "", Refused,
     "Calibration is not here: quantise the ONNX model before", "不含量化校准：请先量化 ONNX 模型"},
    {"sparsity", kTuning, Choice, "0|1", "0", Refused, "There are no kernels for 4:2 sparsity; leave it out",
     "没有 4:2 稀疏实现；请去掉"},
    {"distributed_cluster_build", kTuning, Choice, "0|1", "0", Refused,
     "An om is for one device: split the model before, one om for each part",
     "om 面向单个设备：请先切分模型，各部分分别转换"},
    {"cluster_config", kTuning, Text, "path", "", Refused,
     "An om is for one device: split the model before, one om for each part",
     "om 面向单个设备：请先切分模型，各部分分别转换"},
    {"enable_graph_parallel", kTuning, Choice, "0|1", "0", Refused,
     "An om is for one device: split the model before, one om for each part",
     "om 面向单个设备：请先切分模型，各部分分别转换"},
    {"graph_parallel_option_path", kTuning, Text, "path", "", Refused,
     "An om is for one device: split the model before, one om for each part",
     "om 面向单个设备：请先切分模型，各部分分别转换"},
    {"model_relation_config", kTuning, Text, "path", "", Refused,
     "An om is for one device: split the model before, one om for each part",
     "om 面向单个设备：请先切分模型，各部分分别转换"},
    {"log", kDebug, Choice, "debug|info|warning|error|null", "null", Works, "Prints log lines of this level and above",
     "打印该级别及以上的日志"},
    {"op_debug_level", kDebug, Choice, "0|1|2|3|4", "0", Works,
     "1 to 4: kernel_meta gets a JSON file for each operator, 4: also what each fused one was made of; no compile "
     "cache",
     "1 至 4：kernel_meta 中每个算子一个 JSON 文件；4：另有融合算子的组成；不用编译缓存"},
    {"op_debug_config", kDebug, File, "path", "", Works,
     "A file with op_debug_config = words: dump_bin writes kernel_meta; oom wants UPDRAFT_STRICT=1; others have no "
     "files",
     "含 op_debug_config = 词 的文件：dump_bin 写出 kernel_meta；oom 需 UPDRAFT_STRICT=1；其余没有文件"},
    {"debug_dir", kDebug, Text, "path", "", Works, "The folder of kernel_meta, else the working folder",
     "kernel_meta 所在目录，默认为当前目录"},
    {"status_check", kDebug, Choice, "0|1", "0", Accepted, "Overflow is watched at run time", "溢出在运行时检查"},
    {"quant_dumpable", kDebug, Choice, "0|1", "0", Accepted,
     "Quantised operators are not fused, so that all can be dumped", "量化算子不融合，均可 dump"},
    {"export_compile_stat", kDebug, Choice, "0|1|2", "0", Accepted, "--log=info prints what the passes did",
     "--log=info 打印各 pass 的作用"},
};

}  // namespace

std::span<const Option> options() { return kOptions; }

const Option* find_option(std::string_view name) {
  const auto* found = std::ranges::find(kOptions, name, [](const Option& o) { return std::string_view(o.name); });
  return found == std::end(kOptions) ? nullptr : found;
}

std::string nearest_option(std::string_view name) { return std::string(nearest_name(name, kOptions, &Option::name)); }

}  // namespace updraft::atc
