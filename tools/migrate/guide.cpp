#include "guide.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "base/error.h"

namespace updraft::migrate {
namespace {

namespace fs = std::filesystem;

/// -sim is one option to the original's users, -s -i -m to a parser.
std::vector<std::string> words(int argc, char** argv) {
  std::vector<std::string> list;
  for (int i = argc - 1; i > 0; --i) list.emplace_back(std::string_view(argv[i]) == "-sim" ? "--similar" : argv[i]);
  return list;
}

bool finish(CLI::App& app, std::vector<std::string> list, int& status) {
  try {
    app.parse(std::move(list));
    return true;
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
}

void common(Arguments& a, int argc, char** argv, const fs::path& input, const fs::path& output,
            const std::string& suffix) {
  for (int i = 0; i < argc; ++i) a.options.command += (i ? " " : "") + std::string(argv[i]);
  if (!fs::is_directory(input) && !fs::is_regular_file(input))
    throw Error(code::kAclInvalidFile, "-i {}: a folder or a file is wanted{}", input.string(),
                fs::exists(input) ? "" : "; there is nothing of that name");
  a.options.input = input;
  fs::path name = fs::absolute(input).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  a.options.output = output / ((fs::is_regular_file(input) ? name.stem() : name.filename()).string() + suffix);
}

}  // namespace

bool parse_gpu2npu(int argc, char** argv, Arguments& a, int& status) {
  CLI::App app("Migrates a PyTorch GPU project to the NPU: the guide's command line. `updraft migrate` can do more.",
               "pytorch_gpu2npu.sh");
  fs::path input, output;
  std::string rules;
  app.add_option("-i,--input", input, "folder of the scripts, or one script")->required();
  app.add_option("-o,--output", output, "folder in which NAME_msft is made")->required();
  app.add_option("-v,--version", a.options.version, "version of PyTorch, any")->required();
  app.add_option("-r,--rules", rules, "your own rules: our YAML or JSON, or the original's rules.json");
  app.add_flag("-s,--specify-device", a.options.specify_device, "the device is chosen by the variable DEVICE_ID");
  app.add_flag("--similar", a.options.similar, "-sim: unsupported APIs become equivalent functions (ascend_function/)");
  app.add_option("-a,--amp_model", a.options.amp_model,
                 "variable that holds the model (several: by commas): its torch.cuda.amp becomes apex.amp");
  app.add_flag("-m,--modelarts", a.options.modelarts,
               "the scripts take --data_url and --train_url of a ModelArts job (ascend_modelarts_function/)");
  app.add_option("--affinity", a.options.affine_model,
                 "name of the model: NPU-affine APIs known to be equal are taken");
  app.add_flag("--mixed-precision", a.options.mixed_precision, "a plain training loop gets autocast and GradScaler");
  CLI::App* distributed = app.add_subcommand("distributed", "one card becomes several");
  distributed->add_option("-t,--target-model", a.options.distributed_model, "variable that holds the model")
      ->default_val("model");
  distributed->add_option("-m,--main", a.options.distributed_main, "the entry file")->required();
  if (!finish(app, words(argc, argv), status)) return false;
  if (!a.options.amp_model.empty() && distributed->parsed())
    throw Error(code::kAclInvalidParam,
                "-a {} and distributed exclude each other: apex's amp.initialize has to stand before "
                "DistributedDataParallel. Leave out -a: mixed precision by torch.npu.amp works on several cards",
                a.options.amp_model);
  common(a, argc, argv, input, output, distributed->parsed() ? "_msft_multi" : "_msft");
  if (distributed->parsed())
    a.options.distributed_main = entry_file(input, a.options.distributed_main, "distributed -m");
  if (!rules.empty()) a.options.rules.emplace_back(rules);
  return true;
}

bool parse_pytorch_analyse(int argc, char** argv, Arguments& a, int& status) {
  CLI::App app("Says what a PyTorch project uses and what of it the NPU has: the guide's command line.",
               "pytorch_analyse.sh");
  fs::path input, output;
  std::string mode = "torch_apis";
  app.add_option("-i,--input", input, "folder of the scripts")->required();
  app.add_option("-o,--output", output, "folder in which NAME_analysis is made")->required();
  app.add_option("-v,--version", a.options.version, "version of PyTorch, any")->required();
  app.add_option("-m,--mode", mode, "what is looked at: the tables of the other modes are not written")
      ->check(CLI::IsMember({"torch_apis", "third_party", "affinity_apis", "dynamic_shape"}));
  std::string environment, api_files;
  app.add_option("-e,--env-path", environment,
                 "-env: where third-party packages are looked for; the tables know them here");
  app.add_option("--api-files", api_files, "-api: lists of supported APIs; those of torch_npu are built in");
  std::vector<std::string> list = words(argc, argv);
  for (std::string& word : list) {
    if (word == "-env") word = "--env-path";
    if (word == "-api") word = "--api-files";
  }
  if (!finish(app, std::move(list), status)) return false;
  if (!environment.empty())
    std::cerr << "pytorch_analyse.sh: -env " << environment
              << ": packages are not read: support/data/third_party.tsv says what of them works\n";
  if (!api_files.empty())
    std::cerr << "pytorch_analyse.sh: -api " << api_files << ": not read: torch_npu's own lists are built in\n";
  common(a, argc, argv, input, output, "_analysis");
  a.mode = mode;
  a.options.analysis = true;
  a.options.mode = run::Mode::Report;
  a.reports = a.options.output;
  return true;
}

bool parse_tf2npu(int argc, char** argv, Arguments& a, int& status) {
  CLI::App app("Migrates a TensorFlow 2.6 GPU project to the NPU: the guide's command line.", "convert_tf2npu/main.py");
  fs::path input, output, report, main_file;
  std::string strategy;
  app.add_option("-i", input, "folder of the scripts")->required();
  app.add_option("-o", output, "folder of the migrated scripts, not within -i (default: output_npu_TIME)");
  app.add_option("-r", report, "folder of the reports, not within -i (default: report_npu_TIME)");
  app.add_option("-m", main_file, "entry file, where no script has a main function");
  app.add_option("-d", strategy, "how the scripts train on several devices")
      ->check(CLI::IsMember({"tf_strategy", "horovod"}));
  app.add_flag("-c,--compat", a.options.tensorflow.compat, "tf.compat.v1 scripts that run as TensorFlow 1.x");
  if (!finish(app, words(argc, argv), status)) return false;
  for (int i = 0; i < argc; ++i) a.options.command += (i ? " " : "") + std::string(argv[i]);
  a.options.framework = "tensorflow";
  if (!strategy.empty()) a.options.tensorflow.strategy = strategy_of(strategy);
  check_tensorflow(input, output, report, main_file, a.options.tensorflow);
  const TensorFlowFolders folders = tensorflow_folders(input, output, report, std::time(nullptr));
  a.options.input = input;
  a.options.output = folders.output;
  a.reports = folders.report;
  a.guide_words = true;
  a.last_line = tensorflow_finish(folders);
  return true;
}

}  // namespace updraft::migrate
