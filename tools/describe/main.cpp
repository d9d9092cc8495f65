// Writes what follows from the operators' own descriptors: the C headers of aclnnop/ and the tables of operators.
//   updraft_describe --headers DIR     one header for each operator and its in-place form
//   updraft_describe --table FILE      Markdown: operators by family, with summary, engine, parameters, source file
//   updraft_describe --table-zh FILE   the same in Chinese
//   updraft_describe --tensorflow FILE Markdown: the same of TensorFlow's; --tensorflow-zh: in Chinese
//   updraft_describe --caffe FILE      Markdown: the same of Caffe's layers; --caffe-zh: in Chinese
//   updraft_describe --onnx FILE       Markdown: ONNX operators and what they become; --onnx-zh: in Chinese
//   updraft_describe --atc FILE        Markdown: the options of atc; --atc-zh: in Chinese
//   updraft_describe --classes DIR     C++ classes of graph operators: all_ops.h and a header for each family
//   updraft_describe --json FILE       operators with parameters, what cards take, and the sample of a call
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "atc/option_table.h"
#include "describe_caffe.h"
#include "describe_card.h"
#include "describe_classes.h"
#include "describe_graph.h"
#include "describe_onnx.h"
#include "describe_tensorflow.h"
#include "ops/card.h"
#include "ops/op.h"
#include "sample.h"
#include "source_file.h"

namespace {

using updraft::Parameter;

const char* c_type(const Parameter& p) {
  using updraft::Kind;
  switch (p.kind) {
    case Kind::Tensor: return p.written() ? "aclTensor *" : "const aclTensor *";
    case Kind::Tensors: return p.written() ? "aclTensorList *" : "const aclTensorList *";
    case Kind::Scalar: return "const aclScalar *";
    case Kind::Scalars: return "const aclScalarList *";
    case Kind::Ints: return "const aclIntArray *";
    case Kind::Floats: return "const aclFloatArray *";
    case Kind::Bools: return "const aclBoolArray *";
    case Kind::Text: return "const char *";
    case Kind::Bool: return "bool ";
    case Kind::Int: return "int64_t ";
    case Kind::UInt: return "uint64_t ";
    case Kind::Int32: return "int32_t ";
    case Kind::Int8: return "int8_t ";
    case Kind::Double: return "double ";
    case Kind::Float: return "float ";
    case Kind::Type: return "aclDataType ";
    case Kind::Texts:
    case Kind::IntLists: break;  // of graph operators, which have no header
  }
  return "";
}

/// aclnnInplaceAddcmul -> addcmul; aclnnLayerNormBackward -> layer_norm_backward.
std::string header_of(std::string name) {
  name.erase(0, std::strlen("aclnn"));
  if (name.rfind("Inplace", 0) == 0) name.erase(0, std::strlen("Inplace"));
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    bool upper = std::isupper(static_cast<unsigned char>(name[i]));
    bool next_lower = i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1]));
    bool before_lower = i > 0 && !std::isupper(static_cast<unsigned char>(name[i - 1]));
    if (i > 0 && upper && (next_lower || before_lower)) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return "aclnn_" + snake;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ifstream old(path);
  std::stringstream now;
  now << old.rdbuf();
  if (old && now.str() == text) return;
  std::ofstream(path) << text;
}

std::string declaration(const updraft::OpInfo& op) {
  std::string name = op.name, parameters, comment = "\n/**\n";
  if (op.about) comment += std::string(" * ") + op.about->summary + "\n *\n";
  for (const Parameter& p : op.parameters) {
    parameters += std::string(c_type(p)) + p.name + ", ";
    comment += std::string(" * @param ") + p.name + " [" + (p.read() ? "in" : "") +
               (p.read() && p.written() ? ", " : "") + (p.written() ? "out" : "") + (p.optional ? ", optional" : "") +
               "]\n";
  }
  return comment +
         " * @param workspaceSize [out] bytes for the second phase\n"
         " * @param executor [out] what the second phase runs\n */\n"
         "aclnnStatus " +
         name + "GetWorkspaceSize(" + parameters +
         "uint64_t *workspaceSize, aclOpExecutor **executor);\n"
         "/** Second phase: puts the operator on the stream. */\naclnnStatus " +
         name + "(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);\n";
}

/// The words of a table, in one language.
struct Words {
  const char *title, *before_count, *after_count, *legend, *columns;
  std::map<std::string, const char*> families;
};

const Words kEnglish = {
    "Operators",
    "",
    " aclnn operators are implemented.",
    "Parameters stand in the order of the C functions: `name?` may be null, **name** is written. The engine is the "
    "part "
    "of an NPU\nthat the operator is counted to: Cube (matrix products), Vector, MixCube (both in one kernel), AICPU."
    "\nData types here: what Updraft takes in place of the sample's type (· where no sample tells). Data types of "
    "cards: "
    "what the\nproducts' public documents list for the operator's tensors (`name: types` for some of them); "
    "`UPDRAFT_FIDELITY=card`\nrefuses the rest. 910 and 310P have no bf16. Where it is not known nothing is refused. "
    "Sample: whether the operator's own\ndescriptor or its class says how a call looks, for tests and benchmarks.",
    "| operator | summary | engine | parameters | data types here | data types of cards | sample | source |\n",
    {{"activation", "Activations"},
     {"attention", "Attention"},
     {"convolution", "Convolutions"},
     {"create", "Creation and copies"},
     {"elementwise", "Elementwise"},
     {"foreach", "Tensor lists and optimizers"},
     {"index", "Indexing, sorting and rearranging"},
     {"linalg", "Linear algebra and distances"},
     {"loss", "Losses"},
     {"matmul", "Matrix products"},
     {"norm", "Normalisation and softmax"},
     {"pool", "Pooling"},
     {"random", "Random numbers"},
     {"reduction", "Reductions and scans"},
     {"resize", "Padding, resampling and patches"},
     {"rnn", "Recurrent networks"}}};

const Words kChinese = {
    "算子",
    "已实现 ",
    " 个 aclnn 算子。",
    "参数按 C 接口的顺序排列：`name?` 可以为空指针，**name** 会被写入。“引擎”为算子所归属的 NPU 计算单元：\n"
    "Cube（矩阵计算）、Vector（向量计算）、MixCube（同一核函数兼用两者）、AICPU。\n"
    "“支持的数据类型”为 Updraft 可用于替换样例类型的数据类型（· "
    "表示无样例可查）。\n“硬件数据类型”为产品公开文档列出的张量数据类型（`名称: 类型` 表示其中部分张量），设置 "
    "`UPDRAFT_FIDELITY=card` "
    "时拒绝其余类型。\n"
    "910 与 310P 不支持 bf16；未知时不做限制。“样例”表示调用样例来自算子自身描述还是同类算子，供测试与性能测量使用。",
    "| 算子 | 功能 | 引擎 | 参数 | 支持的数据类型 | 硬件数据类型 | 样例 | 源文件 |\n",
    {{"activation", "激活函数"},
     {"attention", "注意力"},
     {"convolution", "卷积"},
     {"create", "创建与拷贝"},
     {"elementwise", "逐元素计算"},
     {"foreach", "张量列表与优化器"},
     {"index", "索引、排序与重排"},
     {"linalg", "线性代数与距离"},
     {"loss", "损失函数"},
     {"matmul", "矩阵乘"},
     {"norm", "归一化与 Softmax"},
     {"pool", "池化"},
     {"random", "随机数"},
     {"reduction", "归约与扫描"},
     {"resize", "填充、重采样与图像块"},
     {"rnn", "循环神经网络"}}};

std::string source_of(const char* path) { return "src/ops/" + file_in_ops(path); }

/// Text as a Markdown table takes it.
std::string cell(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string sample_column(const updraft::OpInfo& op, bool chinese) {
  const auto sample = sample_of(op);
  if (!sample) return chinese ? "无" : "none";
  return sample->own ? (chinese ? "自身" : "own") : (chinese ? "同类" : "class");
}

/// Operators for tests and other tools, one a line.
std::string json(const std::vector<const updraft::OpInfo*>& ops) {
  std::string text = "[\n";
  for (const auto* op : ops) {
    nlohmann::ordered_json entry;
    entry["name"] = op->name;
    entry["source"] = source_of(op->file);
    entry["unit"] = op->about ? updraft::name_of(op->about->unit) : "";
    entry["parameters"] = nlohmann::json::array();
    for (const Parameter& p : op->parameters)
      entry["parameters"].push_back(
          {{"name", p.name}, {"type", p.type}, {"read", p.read()}, {"written", p.written()}, {"optional", p.optional}});
    entry["card"] = card_json(*op);
    if (const auto sample = sample_of(*op)) {
      for (const auto& [name, value] : sample->values) entry["sample"][name] = value;
      entry["sample_of"] = sample->own ? "operator" : "class";
    }
    text += entry.dump() + (op == ops.back() ? "\n" : ",\n");
  }
  return text + "]\n";
}

std::string table(const std::vector<const updraft::OpInfo*>& ops, const Words& words, bool chinese) {
  std::map<std::string, std::string> families;
  for (const auto* op : ops) {
    std::string parameters;
    const std::string file = source_of(op->file);
    for (const Parameter& p : op->parameters) {
      parameters += parameters.empty() ? "" : ", ";
      const std::string name = std::string(p.name) + (p.optional ? "?" : "");
      parameters += p.written() ? "**" + name + "**" : name;
    }
    const size_t folder = std::strlen("src/ops/"), end = file.find('/', folder);
    const std::string family = end == std::string::npos ? "" : file.substr(folder, end - folder);
    const updraft::OpAbout* about = op->about;
    families[family] += "| " + std::string(op->name) + " | " +
                        (about ? cell(chinese ? about->summary_zh : about->summary) : "") + " | " +
                        (about ? updraft::name_of(about->unit) : "") + " | " + parameters + " | · | " +
                        card_column(*op, chinese) + " | " + sample_column(*op, chinese) + " | " + file + " |\n";
  }
  std::string text = std::string("<!-- Generated by updraft_describe; do not edit. -->\n# ") + words.title + "\n\n" +
                     words.before_count + std::to_string(ops.size()) + words.after_count + "\n" + words.legend + "\n";
  for (const auto& [family, rows] : families) {
    auto title = words.families.find(family);
    text += "\n## " + (title == words.families.end() ? family : std::string(title->second)) + "\n\n" + words.columns +
            "|---|---|---|---|---|---|---|---|\n" + rows;
  }
  text += graph_table(chinese);
  return text;
}

}  // namespace

int main(int count, char** arguments) try {
  std::vector<const updraft::OpInfo*> ops;
  for (const auto* op = updraft::first_op(); op; op = op->next) ops.push_back(op);
  std::sort(ops.begin(), ops.end(), [](auto* a, auto* b) { return std::strcmp(a->name, b->name) < 0; });

  for (int i = 1; i + 1 < count; i += 2) {
    std::string what = arguments[i];
    std::filesystem::path to = arguments[i + 1];
    if (what == "--headers") {
      std::filesystem::create_directories(to);
      std::map<std::string, std::string> headers;
      for (const auto* op : ops) headers[header_of(op->name)] += declaration(*op);
      for (const auto& [name, text] : headers) {
        std::string guard = name + "_h_";
        std::transform(guard.begin(), guard.end(), guard.begin(),
                       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        write(to / (name + ".h"),
              "/* Generated from the operator's descriptor (updraft_describe); do not edit. */\n#ifndef " + guard +
                  "\n#define " + guard +
                  "\n\n#include \"aclnn/aclnn_base.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n" + text +
                  "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
      }
    } else if (what == "--classes") {
      for (const auto& [name, text] : class_headers()) {
        std::filesystem::create_directories((to / name).parent_path());
        write(to / name, text);
      }
    } else if (what == "--table" || what == "--table-zh") {
      const bool chinese = what == "--table-zh";
      write(to, table(ops, chinese ? kChinese : kEnglish, chinese));
    } else if (what == "--onnx" || what == "--onnx-zh") {
      write(to, onnx_table(what == "--onnx-zh"));
    } else if (what == "--tensorflow" || what == "--tensorflow-zh") {
      write(to, tensorflow_table(what == "--tensorflow-zh"));
    } else if (what == "--caffe" || what == "--caffe-zh") {
      write(to, caffe_table(what == "--caffe-zh"));
    } else if (what == "--atc" || what == "--atc-zh") {
      write(to, updraft::atc::options_page(what == "--atc-zh"));
    } else if (what == "--json") {
      write(to, json(ops));
    } else if (what == "--graph-json") {
      write(to, graph_json());
    } else {
      std::fprintf(stderr,
                   "updraft_describe: unknown option %s; want --headers DIR, --classes DIR, --table FILE, --table-zh "
                   "FILE, --onnx FILE, "
                   "--onnx-zh FILE, --tensorflow FILE, --tensorflow-zh FILE, --caffe FILE, --caffe-zh FILE, --atc "
                   "FILE, --atc-zh FILE, --json FILE or "
                   "--graph-json FILE\n",
                   what.c_str());
      return 1;
    }
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "updraft_describe: %s\n", e.what());
  return 1;
}
