// Results as an engine would hand them to the reports.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/diff.h"

namespace updraft::migrate::report {

struct About {
  const char* rule = "PT101";
  Category category = Category::Change;
  Confidence confidence = Confidence::Certain;
  const char* api = "";
  const char* suggestion = "";
  Text message = {"CUDA becomes NPU", "CUDA 改为 NPU"};
};

/// A file that is put together finding by finding.
class Build {
 public:
  Build(std::string path, std::string before) : before_(std::move(before)) { file_.path = std::move(path); }

  /// The next place (from the last one on) where `wanted` stands.
  Build& tell(std::string_view wanted, const About& about) {
    Finding finding = at(before_.find(wanted, from_), wanted.size(), about);
    file_.findings.push_back(std::move(finding));
    return *this;
  }
  Build& replace(std::string_view wanted, std::string text, const About& about = {}, bool applied = true) {
    tell(wanted, about);
    Finding& finding = file_.findings.back();
    finding.edits.push_back({finding.begin, finding.end, std::move(text)});
    finding.applied = applied;
    return *this;
  }
  Build& insert(std::size_t byte, std::string text, const About& about = {}) {
    Finding finding = at(byte, 0, about);
    finding.edits.push_back({finding.begin, finding.begin, std::move(text)});
    finding.applied = true;
    file_.findings.push_back(std::move(finding));
    return *this;
  }

  FileResult done(FileKind kind = FileKind::Python) {
    file_.kind = kind;
    std::size_t read = 0;
    for (const Finding& finding : file_.findings)
      for (const Edit& edit : finding.edits) {
        if (!finding.applied) continue;
        file_.after += before_.substr(read, edit.begin - read) + edit.text;
        read = edit.end;
        file_.changed = true;
      }
    if (file_.changed) {
      file_.after += before_.substr(read);
      file_.before = before_;
    }
    return file_;
  }

 private:
  Finding at(std::size_t begin, std::size_t length, const About& about) {
    from_ = begin + length;
    Finding finding;
    finding.rule = about.rule;
    finding.category = about.category;
    finding.confidence = about.confidence;
    finding.api = about.api;
    finding.suggestion = about.suggestion;
    finding.message = about.message;
    finding.begin = static_cast<std::uint32_t>(begin);
    finding.end = static_cast<std::uint32_t>(begin + length);
    const Lines lines(before_);
    finding.from = lines.position_of(finding.begin);
    finding.to = lines.position_of(finding.end);
    return finding;
  }

  std::string before_;
  std::size_t from_ = 0;
  FileResult file_;
};

/// Five files: one that is ready, one that a person has to look at, and what blocks.
inline ProjectResult sample() {
  ProjectResult result;
  result.request = {
      "updraft migrate train --product A2", "pytorch", "/data/train", "/data/out", "2.6.0", "2.7.1", "A2"};
  result.seen = 120;
  result.python = 40;
  result.bytes = 1234567;
  result.seconds = 0.25;
  const std::string train =
      "import torch\nimport argparse\nfrom model import Net\n\n\ndef main():\n    # 设备\n"
      "    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\n    net = Net().to(device)\n"
      "    name = '🚀'; net = net.cuda()\n    torch.cuda.synchronize()\n    return net\n\n\n# the end\nmain()\n";
  result.files.push_back(
      Build("train.py", train)
          .insert(13, "import torch_npu\n",
                  {"PT001",
                   Category::Change,
                   Confidence::Certain,
                   "",
                   "",
                   {"torch_npu must be imported before NPU devices are used", "使用 NPU 设备前须导入 torch_npu"}})
          .replace(
              "'cuda:0'", "'npu:0'",
              {"PT120", Category::Change, Confidence::Certain, "torch.device", "", {"a device string", "设备字符串"}})
          .replace(
              "torch.cuda.is_available", "torch.npu.is_available",
              {"PT101", Category::Change, Confidence::Certain, "torch.cuda.is_available", "torch.npu.is_available"})
          .replace("cuda", "npu",
                   {"PT110",
                    Category::Change,
                    Confidence::Likely,
                    "torch.nn.Module.cuda",
                    "",
                    {"moves the module to the NPU", "将模块移到 NPU"}})
          .replace("torch.cuda.synchronize", "torch.npu.synchronize",
                   {"PT101", Category::Change, Confidence::Certain, "torch.cuda.synchronize", "torch.npu.synchronize"})
          .done());
  result.files.push_back(
      Build("src/model net.py",
            "import apex\r\nimport bitsandbytes as bnb\r\nx = obj.cuda()\r\nopt = bnb.optim.Adam8bit(p)\r\n"
            "y = torch.cuda.nvtx.range_push('a')\r\nz = torch._foo(x)\r\nloss = fused(x)\r\nend = 1")
          .tell("bitsandbytes", {"PT301",
                                 Category::ThirdParty,
                                 Confidence::Certain,
                                 "bitsandbytes",
                                 "torch_npu.optim.NpuFusedAdam",
                                 {"bitsandbytes needs CUDA", "bitsandbytes 依赖 CUDA"}})
          .replace("cuda", "npu",
                   {"PT110",
                    Category::Change,
                    Confidence::Review,
                    "",
                    "",
                    {"obj may be an object of yours", "obj 可能是自定义对象"}},
                   false)
          .replace("torch.cuda.nvtx", "torch.npu.mstx",
                   {"PT101", Category::Change, Confidence::Likely, "torch.cuda.nvtx.range_push",
                    "torch.npu.mstx.range_start"})
          .tell("torch._foo",
                {"PT402",
                 Category::Unknown,
                 Confidence::Certain,
                 "torch._foo",
                 "",
                 {"nothing is known (https://example.org/x/list.md)", "情况未知（https://example.org/x/list.md）"}})
          .replace("end = 1", "end = 2", {"PT199", Category::Change, Confidence::Certain})
          .done());
  result.files.push_back(
      Build("ops/kernel.cu", "__global__ void f() {}\n")
          .tell("f()", {"PT501", Category::CudaSource, Confidence::Certain, "f", "", {"a CUDA kernel", "CUDA 核函数"}})
          .done(FileKind::CudaSource));
  result.files.push_back(
      Build("=cmd|' /C calc'!A0.py", "a = torch.linalg.eig(b)\nc = torch.nonzero(d)\ne = torch.optim.Adam(f)\n")
          .tell("torch.linalg.eig", {"PT401",
                                     Category::Unsupported,
                                     Confidence::Certain,
                                     "torch.linalg.eig",
                                     "",
                                     {"=not on A2, \"never\"", "A2 不支持"}})
          .tell(
              "torch.nonzero",
              {"PT601", Category::Performance, Confidence::Likely, "torch.nonzero", "", {"dynamic shape", "动态形状"}})
          .tell("torch.optim.Adam", {"PT701",
                                     Category::Affinity,
                                     Confidence::Likely,
                                     "torch.optim.Adam",
                                     "torch_npu.optim.NpuFusedAdam",
                                     {"a fused optimizer", "融合优化器"}})
          .done());
  FileResult broken =
      Build("broken\n.py", "def (:\n")
          .tell("(:", {"PT000", Category::Failure, Confidence::Certain, "", "", {"does not parse", "无法解析"}})
          .done();
  broken.failed = true;
  result.files.push_back(broken);
  return result;
}

}  // namespace updraft::migrate::report
