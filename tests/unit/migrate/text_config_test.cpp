// Configuration files: devices, backends and variables change under keys that mean them; the rest is said.
#include "migrate/text/config/config.h"

#include "text_support.h"

namespace updraft::migrate::text {
namespace {

std::string after(const char* path, std::string_view text, Confidence least = Confidence::Likely) {
  return migrated(
      text, [&](std::string_view t) { return config(path, t, small_python); }, least);
}
std::vector<Finding> found(const char* path, std::string_view text) {
  auto findings = config(path, text, small_python);
  expect_sound(text, findings);
  return findings;
}

struct Case {
  const char *path, *before, *after;
};
class ConfigChange : public testing::TestWithParam<Case> {};
TEST_P(ConfigChange, BecomesThat) { EXPECT_EQ(after(GetParam().path, GetParam().before), GetParam().after); }
INSTANTIATE_TEST_SUITE_P(
    Yaml, ConfigChange,
    testing::Values(
        Case{"a.yaml", "device: cuda # cuda\nname: cuda\n", "device: npu # cuda\nname: cuda\n"},
        Case{"a.yaml", "train:\n  device: \"cuda:0\"\n  dist_backend: 'nccl'\n",
             "train:\n  device: \"npu:0\"\n  dist_backend: 'hccl'\n"},
        Case{"a.yml", "d: &d\n  device: !!str cuda\ne:\n  <<: *d\n  map_location: &m cuda:1\n",
             "d: &d\n  device: !!str npu\ne:\n  <<: *d\n  map_location: &m npu:1\n"},
        Case{"a.yml", "devices:\n- cuda:0\n- cuda:1\nb:\n  - device: cuda\n    x: [1, {device: cuda, n: 'a'}]\n",
             "devices:\n- npu:0\n- npu:1\nb:\n  - device: npu\n    x: [1, {device: npu, n: 'a'}]\n"},
        Case{"a.yml", "? device\n: cuda\n\"device\": cuda\n'dist-backend' : nccl\n",
             "? device\n: cuda\n\"device\": npu\n'dist-backend' : hccl\n"},
        Case{"a.yml", "backend: cpu:gloo,cuda:nccl\ndevice: \"cuda:0,1\"\nddp_backend: nccl\r\n",
             "backend: cpu:gloo,npu:hccl\ndevice: \"npu:0,1\"\nddp_backend: hccl\r\n"},
        Case{"a.yml", "--- # x\ndevice: cuda\n...\n---\n- device: cuda\n",
             "--- # x\ndevice: npu\n...\n---\n- device: npu\n"},
        Case{"a.yml", "m: {device: cuda,\n  b: \"x\", # device: cuda\n  c: [cuda]}\ndevice: cuda\n",
             "m: {device: npu,\n  b: \"x\", # device: cuda\n  c: [cuda]}\ndevice: npu\n"},
        Case{"a.yml", "text: |\n  device: cuda\n\n  x\ndevice: cuda\n",
             "text: |\n  device: cuda\n\n  x\ndevice: npu\n"},
        Case{"a.yml", "text: a b\n  device: cuda\n  c\ndevice: cuda\n",
             "text: a b\n  device: cuda\n  c\ndevice: npu\n"},
        Case{"a.yml", "t: \"a\n  device: cuda\"\ndevice: cuda", "t: \"a\n  device: cuda\"\ndevice: npu"},
        Case{"a.yml", "device: ${oc.env:DEVICE,cuda}\ndevice_id: cuda:${rank}\n",
             "device: ${oc.env:DEVICE,npu}\ndevice_id: npu:${rank}\n"},
        Case{"c.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ngpu_ids: all\n",
             "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_NPU\ngpu_ids: all\n"},
        Case{"w.yml",
             "steps:\n  - run: |\n      export CUDA_VISIBLE_DEVICES=0\n      python t.py --device cuda\n  - run: "
             "python t.py --device cuda\n",
             "steps:\n  - run: |\n      export ASCEND_RT_VISIBLE_DEVICES=0\n      python t.py --device npu\n  - run: "
             "python t.py --device npu\n"},
        Case{"w.yml", "command: >-\n  python t.py\n  --device\n  cuda\nb: 1\n",
             "command: >-\n  python t.py\n  --device\n  npu\nb: 1\n"},
        Case{"w.yml", "command: python t.py\n  --device cuda\nb: 1\n", "command: python t.py\n  --device npu\nb: 1\n"},
        Case{"w.yml",
             "env:\n  CUDA_VISIBLE_DEVICES: '0'\n  NCCL_SOCKET_IFNAME: eth0\nenvironment:\n  - "
             "CUDA_VISIBLE_DEVICES=0\n  - name: NCCL_SOCKET_IFNAME\n    value: eth\n",
             "env:\n  ASCEND_RT_VISIBLE_DEVICES: '0'\n  HCCL_SOCKET_IFNAME: eth0\nenvironment:\n  - "
             "ASCEND_RT_VISIBLE_DEVICES=0\n  - name: HCCL_SOCKET_IFNAME\n    value: eth\n"},
        Case{"w.yml", "args: [\"t.py\", \"--device\", \"cuda\", \"--dist-backend=nccl\"]\n",
             "args: [\"t.py\", \"--device\", \"npu\", \"--dist-backend=hccl\"]\n"},
        Case{"w.yml", "data:\n  run.sh: |\n    CUDA_VISIBLE_DEVICES=0 a\n  t.py: |\n    x.cuda()\n",
             "data:\n  run.sh: |\n    ASCEND_RT_VISIBLE_DEVICES=0 a\n  t.py: |\n    x.npu()\n"},
        Case{"w.yml",
             "\xef\xbb\xbf"
             "device: cuda",
             "\xef\xbb\xbf"
             "device: npu"}));
INSTANTIATE_TEST_SUITE_P(
    Json, ConfigChange,
    testing::Values(
        Case{"a.json", "{\"device\" : \"cuda\", \"x\": {\"devices\": [\"cuda:0\", \"cpu\"], \"label\": \"cuda\"}}",
             "{\"device\" : \"npu\", \"x\": {\"devices\": [\"npu:0\", \"cpu\"], \"label\": \"cuda\"}}"},
        Case{"ds.json", "{\"optimizer\": {\"type\": \"OneBitAdam\", \"params\": {\"comm_backend_name\": \"nccl\"}}}",
             "{\"optimizer\": {\"type\": \"OneBitAdam\", \"params\": {\"comm_backend_name\": \"hccl\"}}}"},
        Case{".vscode/launch.json",
             "{ // cuda\n \"configurations\": [{\"env\": {\"CUDA_VISIBLE_DEVICES\": \"0\"}, \"args\": [\"--device\", "
             "\"cuda\",],},],\n}\n",
             "{ // cuda\n \"configurations\": [{\"env\": {\"ASCEND_RT_VISIBLE_DEVICES\": \"0\"}, \"args\": "
             "[\"--device\", \"npu\",],},],\n}\n"},
        Case{"package.json",
             "{\"scripts\": {\"train\": \"python t.py\"}, \"command\": \"python t.py --name \\\"a\\\" --device cuda\"}",
             "{\"scripts\": {\"train\": \"python t.py\"}, \"command\": \"python t.py --name \\\"a\\\" --device "
             "npu\"}"}));
INSTANTIATE_TEST_SUITE_P(
    TomlAndIni, ConfigChange,
    testing::Values(
        Case{"a.toml",
             "device = \"cuda\" # cuda\n[train]\ndist-backend = 'nccl'\nx = { device = \"cuda:0\", l = [\n \"cuda\", # "
             "device = \"cuda\"\n] }\n",
             "device = \"npu\" # cuda\n[train]\ndist-backend = 'hccl'\nx = { device = \"npu:0\", l = [\n \"cuda\", # "
             "device = \"cuda\"\n] }\n"},
        Case{"a.toml",
             "t = \"\"\"\ndevice = \"cuda\"\n\"\"\"\"\ndevice = \"cuda\"\n[[a.\"b.c\"]]\nd.device = 'cuda:1'\n",
             "t = \"\"\"\ndevice = \"cuda\"\n\"\"\"\"\ndevice = \"npu\"\n[[a.\"b.c\"]]\nd.device = 'npu:1'\n"},
        Case{"a.toml", "n = 1\nd = 1979-05-27T07:32:00Z\nf = [[1,2],[ ]]\r\ndevices = [\"cuda:0\", \"cuda:1\"]\r\n",
             "n = 1\nd = 1979-05-27T07:32:00Z\nf = [[1,2],[ ]]\r\ndevices = [\"npu:0\", \"npu:1\"]\r\n"},
        Case{"a.ini", "; device = cuda\n[t]\ndevice = cuda ; x\nbackend: nccl\r\nname=cuda\n",
             "; device = cuda\n[t]\ndevice = npu ; x\nbackend: hccl\r\nname=cuda\n"},
        Case{"tox.cfg", "[testenv]\nsetenv =\n  A=1\ndevice=\"cuda:0\"\n",
             "[testenv]\nsetenv =\n  A=1\ndevice=\"npu:0\"\n"}));
INSTANTIATE_TEST_SUITE_P(
    Docker, ConfigChange,
    testing::Values(
        Case{"Dockerfile",
             "FROM a\nENV CUDA_VISIBLE_DEVICES 0\nENV A=1 CUDA_VISIBLE_DEVICES=0\n# RUN x --device cuda\nRUN a && \\\n "
             "# comment\n python t.py --device cuda\nCMD [\"python\", \"t.py\", \"--device\", \"cuda\"]\n",
             "FROM a\nENV ASCEND_RT_VISIBLE_DEVICES 0\nENV A=1 ASCEND_RT_VISIBLE_DEVICES=0\n# RUN x --device cuda\nRUN "
             "a && \\\n # comment\n python t.py --device npu\nCMD [\"python\", \"t.py\", \"--device\", \"npu\"]\n"},
        Case{"train.Dockerfile",
             "entrypoint python t.py --backend nccl\nRUN <<EOF\npython t.py --device cuda\nEOF\nRUN "
             "CUDA_VISIBLE_DEVICES=0 a\n",
             "entrypoint python t.py --backend hccl\nRUN <<EOF\npython t.py --device npu\nEOF\nRUN "
             "ASCEND_RT_VISIBLE_DEVICES=0 a\n"}));

TEST(MigrateConfig, ReviewIsReportedOnly) {
  const char* yaml = "accelerator: gpu\nwhere: cuda:0\nhow: nccl\n";
  EXPECT_EQ(after("a.yaml", yaml), yaml);
  EXPECT_EQ(after("a.yaml", yaml, Confidence::Review), "accelerator: npu\nwhere: npu:0\nhow: hccl\n");
}

TEST(MigrateConfig, DockerfilesWithHereDocuments) {
  EXPECT_EQ(after("Dockerfile",
                  "RUN --mount=type=cache,target=/r \\\n bash -ex <<\"EOF\"\nCUDA_VISIBLE_DEVICES=0 a\nEOF\nRUN python "
                  "t.py --device cuda\n"),
            "RUN --mount=type=cache,target=/r \\\n bash -ex <<\"EOF\"\nASCEND_RT_VISIBLE_DEVICES=0 a\nEOF\nRUN python "
            "t.py --device npu\n");
  EXPECT_EQ(after("Dockerfile",
                  "RUN python3 <<E\nx.cuda()\nE\nRUN echo $((1<<2)) && a --device cuda\nENV CUDA_VISIBLE_DEVICES=1\n"),
            "RUN python3 <<E\nx.npu()\nE\nRUN echo $((1<<2)) && a --device npu\nENV ASCEND_RT_VISIBLE_DEVICES=1\n");
}

TEST(MigrateConfig, WorkflowsAreForReview) {
  EXPECT_EQ(after(".github/workflows/a.yml", "matrix:\n  device: cuda\n"), "matrix:\n  device: cuda\n");
  EXPECT_EQ(after(".github/workflows/a.yml", "run: python t.py --device cuda\n"), "run: python t.py --device npu\n");
}

TEST(MigrateConfig, Packages) {
  const auto rules = [](const char* path, std::string_view text) {
    std::string list;
    for (const Finding& f : found(path, text)) list += f.rule + ":" + f.api + "@" + std::to_string(f.from.line) + " ";
    return list;
  };
  EXPECT_EQ(rules("requirements.txt",
                  "# flash-attn\ntorch==2.1.0+cu118\nnumpy\n--extra-index-url "
                  "https://download.pytorch.org/whl/cu118\nFlash_Attn>=2 ; python_version>'3'\n-e "
                  "git+https://github.com/NVIDIA/apex.git@a#egg=apex\ncupy-cuda12x\n-r b.txt\n"),
            "TX231:torch@2 TX233:@4 TX232:Flash_Attn@5 TX232:apex@6 TX232:cupy-cuda12x@7 ");
  EXPECT_EQ(rules("environment.yml",
                  "name: a\nchannels: [pytorch, nvidia]\ndependencies:\n  - python=3.10\n  - pytorch-cuda=11.8\n  - "
                  "pytorch::pytorch=2.0=py3.10_cuda11.8_cudnn8\n  - pip:\n    - bitsandbytes\n    - --extra-index-url "
                  "https://download.pytorch.org/whl/cu118\n    - numpy\n"),
            "TX232:pytorch-cuda@5 TX231:pytorch@6 TX232:bitsandbytes@8 TX233:@9 ");
  EXPECT_EQ(rules("pyproject.toml",
                  "[project]\ndependencies = [\"numpy\", \"xformers>=0.0.20\"]\n[project.optional-dependencies]\ngpu = "
                  "[\"nvidia-cudnn-cu12\"]\n[tool.poetry.dependencies]\ntriton = \"*\"\nrequests = "
                  "\"*\"\n[[tool.uv.index]]\nurl = \"https://download.pytorch.org/whl/cu124\"\n"),
            "TX232:xformers@2 TX232:nvidia-cudnn-cu12@4 TX232:triton@6 TX233:@9 ");
  EXPECT_EQ(rules("setup.cfg", "[options]\ninstall_requires =\n  numpy\n  apex\n  torch==1.13.1+cu117\n"),
            "TX232:apex@4 TX231:torch@5 ");
  EXPECT_EQ(rules("requirements-dev.txt",
                  "https://download.pytorch.org/whl/cu118/torch-2.0.0%2Bcu118-cp310-cp310-linux_x86_64.whl\n"),
            "TX231:torch@1 ");
}

TEST(MigrateConfig, SaysWhatElseMatters) {
  EXPECT_TRUE(has(found("d.json", R"({"zero_optimization": {}, "optimizer": {"type": "Lamb"}})"), "TX223"));
  EXPECT_TRUE(has(found("d.json", R"({"zero_optimization": {}, "fp16": {"enabled": true}})"), "TX224"));
  EXPECT_FALSE(has(found("d.json", R"({"optimizer": {"type": "Lamb"}})"), "TX223"));
  EXPECT_TRUE(has(found("a.yaml", "optim: paged_adamw_8bit"), "TX221"));
  EXPECT_TRUE(has(found("a.yaml", "optim: adamw_torch"), "TX222"));
  EXPECT_TRUE(has(found("a.yaml", "load_in_4bit: true"), "TX225"));
  EXPECT_TRUE(has(found("a.yaml", "tf32: true"), "TX227"));
  EXPECT_TRUE(has(found("a.yaml", "cudnn_benchmark: true"), "TX228"));
  EXPECT_TRUE(has(found("a.yaml", "image: nvidia/cuda:12.1"), "TX242"));
  EXPECT_TRUE(has(found("a.yaml", "resources:\n  limits:\n    nvidia.com/gpu: 1"), "TX241"));
  EXPECT_TRUE(has(found("a.yaml", "mixed_precision: fp8"), "TX204"));
  EXPECT_TRUE(has(found("a.yaml", "NCCL_DEBUG: INFO"), "TX212"));
  EXPECT_TRUE(has(found("Dockerfile", "FROM --platform=x nvidia/cuda:12 AS b\n"), "TX251"));
  EXPECT_TRUE(found("a.yaml", "fp16: true\nlr: 1e-3\nmodel: cuda\ntags: [cuda, nccl-tests]\n").empty());
}

TEST(MigrateConfig, BrokenFilesFailWithTheirLine) {
  for (const auto& [path, text] :
       {std::pair("a.json", "{\n\"device\": \"cuda\",\n\"b\" 1}"),
        std::pair("a.yaml", "device: cuda\na: 1\nb: [1, 2\n"), std::pair("a.yaml", "device: cuda\n\nb: \"x\n"),
        std::pair("a.toml", "device = \"cuda\"\n\n= 1\n")}) {
    const auto findings = found(path, text);
    ASSERT_EQ(findings.size(), 2u) << text;
    EXPECT_EQ(findings[1].category, Category::Failure);
    EXPECT_EQ(findings[1].from.line, 3u) << text;
  }
  EXPECT_TRUE(found("a.json", " \n").empty());
}

TEST(MigrateConfig, DeepAndLong) {
  const std::string brackets = "a: " + std::string(300000, '[') + std::string(300000, ']') + "\ndevice: cuda\n";
  EXPECT_EQ(changes(config("a.yaml", brackets)), 1u);
  EXPECT_EQ(config("a.json", std::string(300000, '[')).size(), 1u);
  EXPECT_EQ(config("a.toml", "a = " + std::string(300000, '[')).size(), 1u);
  std::string nested;
  for (int i = 0; i < 2000; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(changes(config("a.yaml", nested + "device: cuda\n")), 1u);
  std::string dashes = "- ";
  while (dashes.size() < 400000) dashes += "- ";
  config("a.yaml", dashes + "\n" + dashes);
  std::string many;
  for (int i = 0; i < 50000; ++i) many += "- device: cuda\n";
  EXPECT_EQ(changes(config("a.yaml", many)), 50000u);
}

}  // namespace
}  // namespace updraft::migrate::text
