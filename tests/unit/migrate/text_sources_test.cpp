// CUDA sources, CMake, and what files are.
#include "migrate/text/file.h"
#include "migrate/text/readers.h"
#include "text_support.h"

namespace updraft::migrate::text {
namespace {

std::string list(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) {
    EXPECT_EQ(f.category, Category::CudaSource);
    EXPECT_TRUE(f.edits.empty());
    out += f.rule + ":" + f.api + "@" + std::to_string(f.from.line) + " ";
  }
  return out;
}
std::string cuda(std::string_view text) {
  const auto findings = cuda_source(text);
  expect_sound(text, findings);
  return list(findings);
}

TEST(MigrateCuda, KernelsAndLaunches) {
  EXPECT_EQ(cuda("template <class T>\n__global__ void __launch_bounds__(256, (2)) add(T* a) {}\nextern \"C\" "
                 "__global__ void\nscale(float*x);\nvoid f() { add<float><<<1, 2>>>(a); add<int> <<<1,2>>>(b);\n "
                 "scale<<<g, b, 0, s>>>(x); }\n"),
            "TX401:add@2 TX401:scale@3 TX404:add@5 TX404:scale@6 ");
  EXPECT_EQ(
      cuda("// __global__ void a();\n/* b<<<1,2>>>(); */\nconst char* s = \"__global__ void c()\";\nint x = a << 3;\n"),
      "");
}

TEST(MigrateCuda, Operators) {
  EXPECT_EQ(cuda("#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def(\"forward\", &fwd, "
                 "\"a (CUDA)\");\n  m.def(\n    \"backward\", &bwd);\n}\n"),
            "TX402:forward@3 TX402:backward@5 ");
  EXPECT_EQ(cuda("TORCH_LIBRARY(my_ops, m) {\n  m.def(\"nms(Tensor a) -> Tensor\");\n}\nTORCH_LIBRARY_IMPL(my_ops, "
                 "CUDA, m) { m.impl(\"nms\", &nms); }\nTORCH_LIBRARY_IMPL(my_ops, CPU, m) { m.impl(\"nms\", &c); }\n"),
            "TX402:my_ops::nms@2 TX402:my_ops::nms@4 ");
  EXPECT_EQ(cuda("TORCH_LIBRARY_FRAGMENT(o, m) { m.def(R\"(roll(Tensor a) -> Tensor)\"); }"), "TX402:o::roll@1 ");
  EXPECT_EQ(cuda("REGISTER_OP(\"MyAdd\").Input(\"a: T\");\n"), "TX402:MyAdd@1 ");
}

TEST(MigrateCuda, HeadersAndCalls) {
  EXPECT_EQ(cuda("#include <cub/cub.cuh>\n#  include <thrust/sort.h>\n#include \"cublas_v2.h\"\n#include "
                 "<cuda_runtime.h>\n#include <c10/cuda/CUDAGuard.h>\n#include <vector>\n#include \"cudalike.h\"\n"),
            "TX403:cub/cub.cuh@1 TX403:thrust/sort.h@2 TX403:cublas_v2.h@3 TX403:cuda_runtime.h@4 "
            "TX403:c10/cuda/CUDAGuard.h@5 ");
  EXPECT_EQ(cuda("auto s = at::cuda::getCurrentCUDAStream();\nTORCH_CHECK(x.is_cuda());\nx.is_cuda();"),
            "TX405:getCurrentCUDAStream@1 TX405:is_cuda@2 ");
  EXPECT_EQ(cuda("#include <vector>\nint main() { m.def(\"x\"); return 0; }\n"), "");
}

TEST(MigrateCuda, CMake) {
  EXPECT_EQ(list(cmake("project(a LANGUAGES CXX CUDA)\n# find_package(CUDA)\nfind_package(CUDAToolkit "
                       "REQUIRED)\nset(CMAKE_CUDA_ARCHITECTURES 80)\ncuda_add_library(x "
                       "a.cu)\nfind_package(Torch)\nmessage(\"CUDA\")\n")),
            "TX406:CUDA@1 TX406:CUDAToolkit@3 TX406:CMAKE_CUDA_ARCHITECTURES@4 TX406:cuda_add_library@5 ");
}

TEST(MigrateCuda, OddSourcesEnd) {
  for (const char* piece : {"__global__ ", "<<<", "a<", "/*", "R\"(", "\"", "'", "#include <", "TORCH_LIBRARY(",
                            "m.def(", "__global__ void __launch_bounds__(", ">>>", "(", "\\"}) {
    std::string text;
    while (text.size() < 300000) text += piece;
    cuda_source(text);
    cmake(text);
  }
}

TEST(MigrateClassify, KindsOfFiles) {
  const auto kind = [](std::string_view path, std::string_view head = "") { return name(kind_of(path, head)); };
  EXPECT_EQ(kind("a/b.py"), "python");
  EXPECT_EQ(kind("bin/train", "#!/usr/bin/env python3\n"), "python");
  EXPECT_EQ(kind("bin/train", "#!/usr/bin/env -S PYTHONPATH=. python -u"), "python");
  EXPECT_EQ(kind("run", "#!/bin/bash -e\r\n"), "shell");
  EXPECT_EQ(kind("run.SH"), "shell");
  EXPECT_EQ(kind("Makefile"), "shell");
  EXPECT_EQ(kind(".env"), "shell");
  EXPECT_EQ(kind("x.ipynb"), "notebook");
  EXPECT_EQ(kind("c/a.YML"), "config");
  EXPECT_EQ(kind("requirements/dev-requirements.txt"), "config");
  EXPECT_EQ(kind("requirements.txt"), "config");
  EXPECT_EQ(kind("Dockerfile.gpu"), "config");
  EXPECT_EQ(kind("Pipfile"), "config");
  EXPECT_EQ(kind("k.cuh"), "cuda");
  EXPECT_EQ(kind("CMakeLists.txt"), "cuda");
  EXPECT_EQ(kind("README.md"), "other");
  EXPECT_EQ(kind("notes.txt"), "other");
  EXPECT_EQ(kind(""), "other");
  EXPECT_EQ(kind("run", "#!"), "other");
  EXPECT_EQ(kind("a.json", std::string_view("{\0}", 3)), "other");
  EXPECT_EQ(kind("a.yaml", "\x1f\x8b"), "other");
  EXPECT_EQ(kind("a.py", std::string_view("x = 1\0", 6)), "python");
  EXPECT_EQ(kind("a.py",
                 "\x7f"
                 "ELF"),
            "other");
}

TEST(MigrateClassify, Folders) {
  for (const char* name : {".git", "__pycache__", "node_modules", ".venv", "a.egg-info"})
    EXPECT_TRUE(is_skipped_folder(name)) << name;
  for (const char* name : {"src", "git", "build", "venvs", "environment", ""})
    EXPECT_FALSE(is_skipped_folder(name)) << name;
  EXPECT_TRUE(is_binary(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_binary("\xe4\xb8\xad \xff"));
}

TEST(MigrateFile, GoesByTheName) {
  EXPECT_TRUE(has(file_findings("a.py", "x.cuda()", small_python), "PT1"));
  EXPECT_TRUE(has(file_findings("a.sh", "CUDA_VISIBLE_DEVICES=0 a", small_python), "TX311"));
  EXPECT_TRUE(has(file_findings("Makefile", "CUDA_VISIBLE_DEVICES := 0", small_python), "TX311"));
  EXPECT_TRUE(has(file_findings("a.toml", "device = 'cuda'", small_python), "TX201"));
  EXPECT_TRUE(file_findings("a.md", "device: cuda", small_python).empty());
  // texts in texts come to an end
  std::string text = "x.cuda()\n";
  for (int i = 0; i < 40; ++i) text = "bash <<E" + std::to_string(i) + "\n" + text + "E" + std::to_string(i) + "\n";
  file_findings("a.sh", text, small_python);
}

}  // namespace
}  // namespace updraft::migrate::text
