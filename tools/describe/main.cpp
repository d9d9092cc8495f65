// Writes what follows from the operators' own descriptors: the C headers of aclnnop/ and the table of operators.
//   updraft_describe --headers DIR     one header for each operator and its in-place form
//   updraft_describe --table FILE      Markdown: operator, parameters, source file
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ops/op.h"

namespace {

struct Parameter {
  std::string type, name;
};

/// "(In, self), (Scalar, alpha)" as ACLNN keeps it.
std::vector<Parameter> parse(const char* signature) {
  std::vector<Parameter> all;
  for (const char* p = signature; (p = std::strchr(p, '(')); ++p) {
    std::string inside(p + 1, std::strchr(p, ')'));
    auto comma = inside.find(',');
    auto name = inside.substr(comma + 1);
    name.erase(0, name.find_first_not_of(' '));
    all.push_back({inside.substr(0, comma), name});
  }
  return all;
}

std::string c_type(const std::string& type) {
  static const std::map<std::string, std::string> types = {{"In", "const aclTensor *"},
                                                           {"OptIn", "const aclTensor *"},
                                                           {"Out", "aclTensor *"},
                                                           {"OptOut", "aclTensor *"},
                                                           {"Scalar", "const aclScalar *"},
                                                           {"OptScalar", "const aclScalar *"},
                                                           {"Ints", "const aclIntArray *"},
                                                           {"OptInts", "const aclIntArray *"},
                                                           {"Bools", "const aclBoolArray *"},
                                                           {"Tensors", "const aclTensorList *"},
                                                           {"OptTensors", "const aclTensorList *"},
                                                           {"Scalars", "const aclScalarList *"},
                                                           {"OptScalars", "const aclScalarList *"},
                                                           {"Floats", "const aclFloatArray *"},
                                                           {"OptFloats", "const aclFloatArray *"},
                                                           {"OptBools", "const aclBoolArray *"},
                                                           {"Text", "const char *"},
                                                           {"Bool", "bool "},
                                                           {"Int", "int64_t "},
                                                           {"UInt", "uint64_t "},
                                                           {"Int32", "int32_t "},
                                                           {"Int8", "int8_t "},
                                                           {"Double", "double "},
                                                           {"Float", "float "},
                                                           {"Type", "aclDataType "}};
  auto it = types.find(type);
  if (it == types.end()) throw std::runtime_error("no C type is known for parameter type " + type);
  return it->second;
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
      for (const auto* op : ops) {
        std::string parameters;
        for (const Parameter& p : parse(op->signature)) parameters += c_type(p.type) + p.name + ", ";
        headers[header_of(op->name)] +=
            "\n/** First phase of " + std::string(op->name) + ": checks the arguments and plans. */\naclnnStatus " +
            op->name + "GetWorkspaceSize(" + parameters + "uint64_t *workspaceSize, aclOpExecutor **executor);\n" +
            "/** Second phase: puts the operator on the stream. */\naclnnStatus " + op->name +
            "(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);\n";
      }
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
    } else if (what == "--table") {
      std::string text = "<!-- Generated by updraft_describe; do not edit. -->\n# Operators\n\n" +
                         std::to_string(ops.size()) +
                         " aclnn operators are implemented.\n\n| operator | parameters | source |\n|---|---|---|\n";
      for (const auto* op : ops) {
        std::string parameters, file = op->file;
        for (const Parameter& p : parse(op->signature)) parameters += (parameters.empty() ? "" : ", ") + p.name;
        auto at = file.find("ops/");
        text += "| " + std::string(op->name) + " | " + parameters + " | src/" +
                (at == std::string::npos ? file : file.substr(at)) + " |\n";
      }
      write(to, text);
    } else {
      std::fprintf(stderr, "updraft_describe: unknown option %s; want --headers DIR or --table FILE\n", what.c_str());
      return 1;
    }
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "updraft_describe: %s\n", e.what());
  return 1;
}
