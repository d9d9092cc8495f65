#include "arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "migrate/run/registry.h"

namespace updraft::migrate {
namespace {

bool wants_chinese() {
  for (const char* name : {"UPDRAFT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"})
    if (const char* value = std::getenv(name); value && *value) return std::string_view(value).starts_with("zh");
  return false;
}

/// The folder's name, also of "." and "a/".
std::string name_of_input(const std::filesystem::path& input) {
  std::filesystem::path name = std::filesystem::absolute(input).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  return (std::filesystem::is_regular_file(name) ? name.stem() : name.filename()).string();
}

/// The options that every command has; then the command line is read and kept for the reports.
bool run_parser(CLI::App& app, int argc, char** argv, Arguments& a, int& status) {
  std::string lang;
  app.add_flag("-q,--quiet", a.quiet, a.chinese ? "不显示进度与汇总" : "no progress and no summary");
  app.add_option("--lang", lang, "en, zh")->check(CLI::IsMember({"en", "zh"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  if (!lang.empty()) a.chinese = lang == "zh";
  for (int i = 0; i < argc; ++i) a.options.command += (i ? " " : "") + std::string(argv[i]);
  return true;
}

}  // namespace

std::string entry_file(const std::filesystem::path& input, const std::filesystem::path& main, const char* option) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool one = fs::is_regular_file(input, error);
  const fs::path root = one ? fs::absolute(input, error).parent_path() : input;
  const fs::path found = fs::is_regular_file(main, error) ? main : root / main;
  const fs::path place = fs::weakly_canonical(found, error).lexically_relative(fs::weakly_canonical(root, error));
  const std::string name = place.generic_string();
  if (!fs::is_regular_file(found, error) || name.empty() || name.starts_with("..") ||
      (one && place != input.filename()))
    throw Error(code::kAclInvalidFile, "{} {}: {} is wanted{}", option, main.string(),
                one ? input.string() : "a file in " + input.string(),
                fs::exists(found, error) ? "" : "; there is nothing of that name");
  return name;
}

bool parse_analyse(int argc, char** argv, Arguments& a, int& status) {
  a.chinese = wants_chinese();
  const auto t = [&](const char* en, const char* zh) { return std::string(a.chinese ? zh : en); };
  CLI::App app(t("Says what a project uses of its framework, and what of that the NPU has. Nothing is rewritten.",
                 "分析工程使用的框架接口及其在 NPU 上的支持情况，不修改任何文件。"),
               "updraft analyse");
  std::string input;
  app.add_option("SRC", input, t("folder or file", "文件夹或文件"))->required();
  app.add_option(
      "-o,--output", a.destination,
      t("folder in which SRC_analysis is made (default: here)", "输出目录，其中生成 SRC_analysis（默认当前目录）"));
  app.add_option("-v,--version", a.options.version, t("version of the framework, any", "框架版本"));
  app.add_option("-p,--product", a.options.product,
                 t("product: A2, A3, 950 or training", "产品：A2、A3、950 或 training"));
  a.options.framework = "auto";
  app.add_option(
         "-f,--framework", a.options.framework,
         t("pytorch or tensorflow (default: what more sources import)", "pytorch 或 tensorflow（默认按导入情况判断）"))
      ->check(CLI::IsMember({"pytorch", "tensorflow"}));
  app.add_flag("--json", a.json, t("print the result as JSON, write nothing", "以 JSON 打印结果，不写文件"));
  app.add_flag("--force", a.force, t("write into a folder that is not empty", "输出目录非空时也写入"));
  app.add_option("-j,--threads", a.options.threads, t("threads", "线程数"))->check(CLI::Range(1U, 1024U));
  if (!run_parser(app, argc, argv, a, status)) return false;
  a.options.input = input;
  a.options.analysis = true;
  a.options.mode = run::Mode::Report;
  if (!a.json)
    a.reports =
        (a.destination.empty() ? std::filesystem::path(".") : a.destination) / (name_of_input(input) + "_analysis");
  return true;
}

bool parse(int argc, char** argv, Arguments& a, int& status) {
  a.chinese = wants_chinese();
  const auto t = [&](const char* en, const char* zh) { return std::string(a.chinese ? zh : en); };
  CLI::App app(
      t("Rewrites a GPU training project for the NPU, changes only what must change, and explains each change.",
        "将 GPU 训练工程迁移到 NPU：只修改必须修改之处，并逐条说明原因。"),
      "updraft migrate");
  std::string input, least = "likely";
  std::vector<std::string> rules;
  auto* src =
      app.add_option("SRC", input, t("folder, file, or - for standard input", "文件夹、文件，或 - 表示标准输入"))
          ->required();
  app.add_option("-o,--output", a.destination,
                 t("folder in which SRC_msft is made (default: here)", "输出目录，其中生成 SRC_msft（默认当前目录）"));
  app.add_option("-v,--version", a.options.version,
                 t("version of the framework, any; the nearest with facts is taken",
                   "原始脚本的框架版本，取最接近的有资料的版本"));
  app.add_option("-p,--product", a.options.product,
                 t("product: A2, A3, 950 or training", "产品：A2、A3、950 或 training"));
  a.options.framework = "auto";
  app.add_option(
         "-f,--framework", a.options.framework,
         t("pytorch or tensorflow (default: what more sources import)", "pytorch 或 tensorflow（默认按导入情况判断）"))
      ->check(CLI::IsMember({"pytorch", "tensorflow"}));
  app.add_option("-r,--rules", rules, t("a file of your own rules; may be given again", "自定义规则文件，可多次给出"));
  app.add_option(
         "--select", a.options.selection.select,
         t("only these rules: ids or beginnings of ids, PT101,TX2", "仅使用这些规则：编号或编号前缀，如 PT101,TX2"))
      ->delimiter(',');
  app.add_option("--ignore", a.options.selection.ignore, t("not these rules", "不使用这些规则"))->delimiter(',');
  std::string explained, checked;
  auto* explain =
      app.add_option("--explain", explained, t("say what a rule is about, with its examples", "说明某条规则及其示例"));
  auto* list = app.add_flag("--list-rules", a.list_rules, t("list all rules", "列出全部规则"));
  auto* check_rules = app.add_option("--check-rules", checked,
                                     t("run the examples of a file of your own rules", "运行自定义规则文件中的示例"));
  app.add_option("--min-confidence", least,
                 t("certain, likely (default) or review: changes below are only reported",
                   "certain、likely（默认）或 review：低于此可信度的只报告不修改"))
      ->check(CLI::IsMember({"certain", "likely", "review"}));
  app.add_flag(
      "--auto", a.options.automatic,
      t("only import torch_npu and transfer_to_npu in entry files", "仅在入口文件中导入 torch_npu 与 transfer_to_npu"));
  auto* in_place = app.add_flag("--in-place", a.in_place, t("change SRC itself", "直接修改 SRC"));
  auto* diff = app.add_flag("--diff", a.diff, t("print a unified diff, write nothing", "打印统一差异格式，不写文件"));
  auto* check =
      app.add_flag("--check", a.check,
                   t("exit with 1 where something is to change, write nothing", "有需要修改之处时以 1 退出，不写文件"));
  auto* json =
      app.add_flag("--json", a.json, t("print the findings as JSON, write nothing", "以 JSON 打印全部结果，不写文件"));
  for (auto* x : {diff, check, json}) in_place->excludes(x);
  app.add_flag("--specify-device", a.options.specify_device,
               t("the device is chosen by the variable DEVICE_ID", "由环境变量 DEVICE_ID 选择设备"));
  app.add_flag("--similar", a.options.similar,
               t("unsupported APIs become equivalent functions (ascend_function/)",
                 "将不支持的 API 替换为等价函数（ascend_function/）"));
  app.add_option("--affinity", a.options.affine_model,
                 t("name of the model: NPU-affine APIs that give the same result are taken",
                   "模型名称：将结果相同的 API 替换为昇腾亲和 API"));
  app.add_flag("--mixed-precision", a.options.mixed_precision,
               t("a plain training loop gets autocast and GradScaler", "为简单的训练循环添加 autocast 与 GradScaler"));
  auto* apex =
      app.add_option("--amp-model", a.options.amp_model,
                     t("variable that holds the model (several: by commas): its torch.cuda.amp becomes apex.amp",
                       "保存模型的变量（多个以逗号分隔）：其 torch.cuda.amp 改为 apex.amp"));
  app.add_flag("--modelarts", a.options.modelarts,
               t("entry files take --data_url and --train_url of a ModelArts job (ascend_modelarts_function/)",
                 "入口文件处理 ModelArts 作业的 --data_url 与 --train_url（ascend_modelarts_function/）"));
  std::string distributed, tensorflow_main, strategy;
  auto* several = app.add_option("--distributed", distributed,
                                 t("one card becomes several: the entry file; writes run_distributed_npu.sh too",
                                   "单卡改多卡：入口文件；并生成 run_distributed_npu.sh"));
  app.add_option("--target-model", a.options.distributed_model,
                 t("with --distributed: variable that holds the model (default model)",
                   "与 --distributed 同用：保存模型的变量（默认 model）"))
      ->default_val("model")
      ->needs(several);
  apex->excludes(several);  // amp.initialize has to stand before DistributedDataParallel
  auto* main_file = app.add_option(
      "--main", tensorflow_main,
      t("TensorFlow: entry file, where no script has a main function", "TensorFlow：没有 main 函数时的入口文件"));
  auto* devices = app.add_option("--strategy", strategy,
                                 t("TensorFlow: how the scripts train on several devices, tf_strategy or horovod",
                                   "TensorFlow：脚本多卡训练的方式，tf_strategy 或 horovod"))
                      ->check(CLI::IsMember({"tf_strategy", "horovod"}));
  auto* compat = app.add_flag("--compat", a.options.tensorflow.compat,
                              t("TensorFlow: tf.compat.v1 scripts that run as TensorFlow 1.x",
                                "TensorFlow：按 TensorFlow 1.x 运行的 tf.compat.v1 脚本"));
  auto* verify = app.add_option("--verify", a.verify,
                                t("run this command with SRC on the CPU and with the output on the virtual NPU, and "
                                  "compare the losses printed",
                                  "分别用 SRC 在 CPU 上、用输出在虚拟 NPU 上运行该命令，并比较打印的 loss"));
  for (auto* x : {in_place, diff, check, json}) verify->excludes(x);
  app.add_flag("--verify-twice", a.verify_twice,
               t("run SRC twice, to see whether it repeats itself", "将 SRC 运行两次以检查结果是否可复现"))
      ->needs(verify);
  app.add_option("--rtol", a.rtol, t("relative difference of losses (default 0.01)", "loss 的相对误差（默认 0.01）"))
      ->needs(verify)
      ->check(CLI::NonNegativeNumber);
  app.add_option("--verify-timeout", a.verify_timeout,
                 t("seconds for each run (default 1800)", "每次运行的秒数上限（默认 1800）"))
      ->needs(verify)
      ->check(CLI::PositiveNumber);
  app.add_option("--sarif", a.sarif, t("also write SARIF to this file", "另将 SARIF 写入该文件"));
  app.add_option("--html", a.html, t("also write the page to this file", "另将网页报告写入该文件"));
  app.add_flag("--force", a.force, t("write into an output folder that is not empty", "输出目录非空时也写入"));
  app.add_option("-j,--threads", a.options.threads, t("threads (default: processors)", "线程数（默认处理器数）"))
      ->check(CLI::Range(1U, 1024U));
  // these look at no project
  const std::vector<std::string> all(argv, argv + argc);
  const auto asks = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& word) {
      return word == name || word.starts_with(std::string(name) + "=");
    });
  };
  if (asks("--explain") || asks("--list-rules") || asks("--check-rules")) src->required(false);
  if (!run_parser(app, argc, argv, a, status)) return false;
  a.explain = explained;
  a.check_rules = checked;
  if (*explain || *list || *check_rules) return true;
  run::check_selection(a.options.selection.select);
  run::check_selection(a.options.selection.ignore);
  a.options.input = input;
  a.options.least = confidence_of(least);
  for (const std::string& file : rules) a.options.rules.emplace_back(file);
  a.from_stdin = input == "-";
  const bool of_tensorflow = *main_file || *devices || *compat;
  for (const CLI::Option* o : {several, main_file, devices, compat})
    if (*o && (a.from_stdin || (o == several) == (a.options.framework == "tensorflow" || of_tensorflow) ||
               (o != several && a.options.framework == "pytorch"))) {
      std::cerr << "updraft migrate: " << o->get_name()
                << (a.from_stdin
                        ? t(" needs a folder or a file, not standard input\n", " 需要文件夹或文件，不能是标准输入\n")
                    : o == several ? t(" is for PyTorch; for TensorFlow it is --strategy\n",
                                       " 用于 PyTorch；TensorFlow 请用 --strategy\n")
                                   : t(" is for TensorFlow\n", " 用于 TensorFlow\n"));
      status = 2;
      return false;
    }
  if (*several) {
    a.options.framework = "pytorch";
    a.options.distributed_main = entry_file(input, distributed, "--distributed");
  }
  if (of_tensorflow) a.options.framework = "tensorflow";
  if (*main_file) a.options.tensorflow.main_file = entry_file(input, tensorflow_main, "--main");
  if (*devices) a.options.tensorflow.strategy = strategy_of(strategy);
  if (a.from_stdin && !a.verify.empty()) {
    std::cerr << t("updraft migrate: --verify needs a folder or a file, not standard input\n",
                   "updraft migrate：--verify 需要文件夹或文件，不能是标准输入\n");
    status = 2;
    return false;
  }
  if (a.from_stdin) return true;
  if (a.in_place) {
    a.options.mode = run::Mode::InPlace;
  } else if (a.diff || a.check || a.json) {
    a.options.mode = run::Mode::Report;
  } else {
    a.options.mode = run::Mode::Copy;
    a.options.output = (a.destination.empty() ? std::filesystem::path(".") : a.destination) /
                       (name_of_input(input) + (*several ? "_msft_multi" : "_msft"));
  }
  return true;
}

}  // namespace updraft::migrate
