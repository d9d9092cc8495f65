// Shell scripts: what changes, what is only said, and what must not be touched.
#include "migrate/text/shell/rules.h"

#include "text_support.h"

namespace updraft::migrate::text {
namespace {

std::string shell_after(std::string_view text, Confidence least = Confidence::Likely) {
  return migrated(
      text, [](std::string_view t) { return shell(t, small_python); }, least);
}
std::string make_after(std::string_view text) {
  ShellOptions options;
  options.makefile = true;
  return migrated(text, [&](std::string_view t) { return shell(t, small_python, options); });
}

struct Case {
  const char *before, *after;
};

class ShellChange : public testing::TestWithParam<Case> {};
TEST_P(ShellChange, BecomesThat) { EXPECT_EQ(shell_after(GetParam().before), GetParam().after); }
INSTANTIATE_TEST_SUITE_P(
    Commands, ShellChange,
    testing::Values(
        // CUDA_VISIBLE_DEVICES
        Case{"CUDA_VISIBLE_DEVICES=0,1 python t.py\n", "ASCEND_RT_VISIBLE_DEVICES=0,1 python t.py\n"},
        Case{"export CUDA_VISIBLE_DEVICES=\"0,1\"", "export ASCEND_RT_VISIBLE_DEVICES=\"0,1\""},
        Case{"export CUDA_VISIBLE_DEVICES", "export ASCEND_RT_VISIBLE_DEVICES"},
        Case{"unset CUDA_VISIBLE_DEVICES # cuda", "unset ASCEND_RT_VISIBLE_DEVICES # cuda"},
        Case{"env A=1 CUDA_VISIBLE_DEVICES=$GPU python t.py", "env A=1 ASCEND_RT_VISIBLE_DEVICES=$GPU python t.py"},
        Case{"echo \"on ${CUDA_VISIBLE_DEVICES:-none} $CUDA_VISIBLE_DEVICES\"",
             "echo \"on ${ASCEND_RT_VISIBLE_DEVICES:-none} $ASCEND_RT_VISIBLE_DEVICES\""},
        Case{"N=$(echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | wc -l)",
             "N=$(echo $ASCEND_RT_VISIBLE_DEVICES | tr , '\\n' | wc -l)"},
        Case{"if [ -z ${CUDA_VISIBLE_DEVICES+x} ]; then CUDA_VISIBLE_DEVICES=0; fi",
             "if [ -z ${ASCEND_RT_VISIBLE_DEVICES+x} ]; then ASCEND_RT_VISIBLE_DEVICES=0; fi"},
        Case{"IFS=',' read -ra G <<< \"$CUDA_VISIBLE_DEVICES\"",
             "IFS=',' read -ra G <<< \"$ASCEND_RT_VISIBLE_DEVICES\""},
        Case{"docker run -e CUDA_VISIBLE_DEVICES=0 -e CUDA_VISIBLE_DEVICES img",
             "docker run -e ASCEND_RT_VISIBLE_DEVICES=0 -e ASCEND_RT_VISIBLE_DEVICES img"},
        Case{"bash -c 'CUDA_VISIBLE_DEVICES=0 python t.py --device cuda'",
             "bash -c 'ASCEND_RT_VISIBLE_DEVICES=0 python t.py --device npu'"},
        Case{"bash -lc \"python t.py --device \\\"cuda\\\" $CUDA_VISIBLE_DEVICES\"",
             "bash -lc \"python t.py --device \\\"npu\\\" $ASCEND_RT_VISIBLE_DEVICES\""},
        // NCCL and PyTorch
        Case{"export NCCL_SOCKET_IFNAME=^docker0,lo", "export HCCL_SOCKET_IFNAME=^docker0,lo"},
        Case{"NCCL_IB_TIMEOUT=18 TORCH_NCCL_BLOCKING_WAIT=1 torchrun t.py",
             "HCCL_RDMA_TIMEOUT=18 TORCH_HCCL_BLOCKING_WAIT=1 torchrun t.py"},
        Case{"srun --export=ALL,NCCL_SOCKET_IFNAME=ib0 ./t.sh", "srun --export=ALL,HCCL_SOCKET_IFNAME=ib0 ./t.sh"},
        Case{"mpirun -x NCCL_SOCKET_IFNAME -x CUDA_LAUNCH_BLOCKING=1 ./t",
             "mpirun -x HCCL_SOCKET_IFNAME -x ASCEND_LAUNCH_BLOCKING=1 ./t"},
        Case{"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128",
             "export PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:128"},
        // arguments
        Case{"python t.py --device cuda --other 1", "python t.py --device npu --other 1"},
        Case{"python t.py --device=cuda:0 --dist-backend 'nccl'", "python t.py --device=npu:0 --dist-backend 'hccl'"},
        Case{"python t.py --device \"cuda:$RANK\"", "python t.py --device \"npu:$RANK\""},
        // the launcher's accelerator stays, the script's device does not
        Case{"fabric run --accelerator=cuda --devices 2 t.py --device cuda",
             "fabric run --accelerator=cuda --devices 2 t.py --device npu"},
        Case{"lightning run model --accelerator cuda t.py cuda:0", "lightning run model --accelerator cuda t.py npu:0"},
        Case{"python t.py \\\n  --device \\\n  cuda \\\n  --backend=nccl\n",
             "python t.py \\\n  --device \\\n  npu \\\n  --backend=hccl\n"},
        Case{"python t.py --backend cpu:gloo,cuda:nccl", "python t.py --backend cpu:gloo,npu:hccl"},
        Case{"python t.py trainer.device=cuda +model.device=cuda:1",
             "python t.py trainer.device=npu +model.device=npu:1"},
        Case{"python t.py cuda:1 -d cuda", "python t.py npu:1 -d npu"},
        Case{"python t.py --device ${DEVICE:-cuda}", "python t.py --device ${DEVICE:-npu}"},
        Case{"DEVICE=${1:-cuda}", "DEVICE=${1:-npu}"},
        Case{"DEVICE=cuda; if [ \"$DEVICE\" = \"cuda\" ]; then :; fi",
             "DEVICE=npu; if [ \"$DEVICE\" = \"npu\" ]; then :; fi"},
        Case{"[[ $device == cuda* ]] && x=1", "[[ $device == npu* ]] && x=1"},
        Case{"case $DEVICE in\n cuda|cuda:*) a;;\n (cpu) b;;\nesac\nD=cuda",
             "case $DEVICE in\n npu|npu:*) a;;\n (cpu) b;;\nesac\nD=cuda"},
        Case{"ARGS=(--device cuda --lr 1)", "ARGS=(--device npu --lr 1)"},
        Case{"ARGS=\"--device cuda\"", "ARGS=\"--device npu\""},
        Case{"ARGS+=\" --backend nccl $CUDA_VISIBLE_DEVICES\"", "ARGS+=\" --backend hccl $ASCEND_RT_VISIBLE_DEVICES\""},
        Case{"CMD='CUDA_VISIBLE_DEVICES=0 python t.py --device cuda'",
             "CMD='ASCEND_RT_VISIBLE_DEVICES=0 python t.py --device npu'"},
        Case{"torchrun --nproc_per_node=gpu t.py", "torchrun --nproc_per_node=npu t.py"},
        Case{"torchrun --nproc-per-node gpu t.py", "torchrun --nproc-per-node npu t.py"},
        Case{"x=$((1<<4)); python t.py --device cuda", "x=$((1<<4)); python t.py --device npu"},
        Case{"export CUDA_VISIBLE_DEVICES=0\r\npython t.py --device cuda\r\n",
             "export ASCEND_RT_VISIBLE_DEVICES=0\r\npython t.py --device npu\r\n"},
        Case{"\xef\xbb\xbf"
             "CUDA_VISIBLE_DEVICES=0 a",
             "\xef\xbb\xbf"
             "ASCEND_RT_VISIBLE_DEVICES=0 a"}));

INSTANTIATE_TEST_SUITE_P(
    Inside, ShellChange,
    testing::Values(
        Case{"python - <<'EOF'\nimport torch\nx.cuda()\nEOF\nCUDA_VISIBLE_DEVICES=1 a\n",
             "python - <<'EOF'\nimport torch\nimport torch_npu\nx.npu()\nEOF\nASCEND_RT_VISIBLE_DEVICES=1 a\n"},
        Case{"python3 <<-EOF\n\tx.cuda()\n\tprint('$CUDA_VISIBLE_DEVICES')\n\tEOF\nb\n",
             "python3 <<-EOF\n\tx.npu()\n\tprint('$ASCEND_RT_VISIBLE_DEVICES')\n\tEOF\nb\n"},
        Case{"python -c 'x.cuda(); y(\"cuda\")'", "python -c 'x.npu(); y(\"npu\")'"},
        Case{"python -c \"x.cuda(); y('cuda')\"", "python -c \"x.npu(); y('npu')\""},
        Case{"cat > r.sh <<EOF\nexport CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES\npython t.py --device cuda\nEOF\n",
             "cat > r.sh <<EOF\nexport ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES\npython t.py --device "
             "npu\nEOF\n"},
        Case{"cat <<EOF > c.yaml\ndevice: cuda\nname: $CUDA_VISIBLE_DEVICES\nEOF\n",
             "cat <<EOF > c.yaml\ndevice: npu\nname: $ASCEND_RT_VISIBLE_DEVICES\nEOF\n"},
        Case{"cat > c.py <<'A' && python c.py --device cuda\nx.cuda()\nA\n",
             "cat > c.py <<'A' && python c.py --device npu\nx.npu()\nA\n"}));

class ShellKept : public testing::TestWithParam<const char*> {};
TEST_P(ShellKept, IsLeftAlone) { EXPECT_EQ(shell_after(GetParam()), GetParam()); }
INSTANTIATE_TEST_SUITE_P(
    Commands, ShellKept,
    testing::Values("# CUDA_VISIBLE_DEVICES=0 python t.py --device cuda\n", "echo 'CUDA_VISIBLE_DEVICES --device cuda'",
                    "echo use --device cuda", "awk '/--device cuda/ {print $CUDA_VISIBLE_DEVICES}' f",
                    "sed -i 's/CUDA_VISIBLE_DEVICES=0/x/' f", "grep nccl log", "printf '%s' cuda:0",
                    "MY_CUDA_VISIBLE_DEVICES=0 a", "python t.py --name cuda --tag=nccl_run", "mkdir -p /data/cuda:0/x",
                    "cd /usr/local/cuda", "python tools/cuda.py", "cat <<'EOF'\n$CUDA_VISIBLE_DEVICES\nEOF\n",
                    "python t.py --device cpu", "case $x in cuda) a;; esac", "git commit -m \"cuda:0 nccl\"",
                    "export CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c", "python t.py --device mycuda"));

TEST(MigrateShell, ChangesForReviewAreReported) {
  EXPECT_EQ(shell_after("nvidia-smi\n", Confidence::Review), "npu-smi info\n");
  EXPECT_EQ(shell_after("N=$(nvidia-smi -L | wc -l)\n", Confidence::Review),
            "N=$(npu-smi info -l | grep -c \"NPU ID\")\n");
  EXPECT_EQ(shell_after("N=`nvidia-smi --list-gpus | wc -l`\n", Confidence::Review),
            "N=`npu-smi info -l | grep -c \"NPU ID\"`\n");
  EXPECT_EQ(shell_after("export CUDA_VISIBLE_DEVICES=GPU-89\n", Confidence::Review),
            "export ASCEND_RT_VISIBLE_DEVICES=GPU-89\n");
  EXPECT_EQ(shell_after("python t.py cuda\n", Confidence::Review), "python t.py npu\n");
  EXPECT_EQ(shell_after("NCCL_IB_TC=106 t\n"), "NCCL_IB_TC=106 t\n");  // 106 is no multiple of 4
}

TEST(MigrateShell, SaysWhatHasNoEffect) {
  const auto rules = [](std::string_view text) { return shell(text, small_python); };
  EXPECT_TRUE(has(rules("export NCCL_P2P_DISABLE=1"), "TX312"));
  EXPECT_TRUE(has(rules("export NCCL_DEBUG=INFO"), "TX312"));
  EXPECT_TRUE(has(rules("nvcc -o a a.cu"), "TX331"));
  EXPECT_TRUE(has(rules("nsys profile python t.py"), "TX332"));
  EXPECT_TRUE(has(rules("python -m torch.distributed.launch --nproc_per_node=8 t.py"), "TX324"));
  EXPECT_TRUE(has(rules("docker run --gpus all img"), "TX335"));
  EXPECT_TRUE(has(rules("#SBATCH --gres=gpu:8\n"), "TX333"));
  EXPECT_TRUE(has(rules("srun --gres=gpu:v100:1 a"), "TX333"));
  EXPECT_TRUE(has(rules("module load cuda/12.1 gcc"), "TX334"));
  EXPECT_TRUE(has(rules("export PATH=/usr/local/cuda/bin:$PATH"), "TX334"));
  EXPECT_TRUE(has(rules("pip install torch==2.1.0+cu118 flash-attn"), "TX231"));
  EXPECT_TRUE(has(rules("pip3 install 'flash-attn>=2'"), "TX232"));
  EXPECT_TRUE(has(rules("python -m pip install torch --index-url https://download.pytorch.org/whl/cu121"), "TX233"));
  EXPECT_TRUE(has(rules("conda install pytorch-cuda=11.8 -c pytorch"), "TX232"));
  EXPECT_TRUE(has(rules("nvidia-smi --query-gpu=memory.used --format=csv"), "TX323"));
  EXPECT_TRUE(rules("pip install numpy torch -i https://download.pytorch.org/whl/cpu").empty());
  EXPECT_TRUE(rules("docker run --device /dev/davinci0 img").empty());
}

TEST(MigrateShell, OneLineOfPythonStaysOneLine) {
  const auto python = [](std::string_view source) {
    std::vector<Finding> found;
    if (source.find("torch_npu") != std::string_view::npos) return found;
    Finding& f = found.emplace_back();
    f.rule = "PT1";
    f.category = Category::Change;
    f.message = {"en", "zh"};
    f.begin = f.end = static_cast<std::uint32_t>(source.size());
    f.edits.push_back({f.begin, f.end, "\nimport torch_npu"});
    return found;
  };
  EXPECT_EQ(migrated("python -c \"import torch; print(1)\"\n", [&](std::string_view t) { return shell(t, python); }),
            "python -c \"import torch_npu; import torch; print(1)\"\n");
  EXPECT_EQ(migrated("python -c 'import torch\nprint(1)'\n", [&](std::string_view t) { return shell(t, python); }),
            "python -c 'import torch\nprint(1)\nimport torch_npu'\n");
}

TEST(MigrateShell, Makefiles) {
  EXPECT_EQ(make_after("CUDA_VISIBLE_DEVICES ?= 0\nexport CUDA_VISIBLE_DEVICES\nDEVICE := cuda\n"),
            "ASCEND_RT_VISIBLE_DEVICES ?= 0\nexport ASCEND_RT_VISIBLE_DEVICES\nDEVICE := npu\n");
  EXPECT_EQ(
      make_after("t: d\n\t@echo $(CUDA_VISIBLE_DEVICES) it is $$CUDA_VISIBLE_DEVICES\n\tCUDA_VISIBLE_DEVICES=0 python "
                 "t.py --device $(DEVICE)\n\tpython t.py --device cuda\n"),
      "t: d\n\t@echo $(ASCEND_RT_VISIBLE_DEVICES) it is $$ASCEND_RT_VISIBLE_DEVICES\n\tASCEND_RT_VISIBLE_DEVICES=0 "
      "python t.py --device $(DEVICE)\n\tpython t.py --device npu\n");
  EXPECT_EQ(make_after("export CUDA_VISIBLE_DEVICES := 0,1\n"), "export ASCEND_RT_VISIBLE_DEVICES := 0,1\n");
}

TEST(MigrateShell, StaysLinearWhateverComes) {
  for (const char* piece : {"(", "$(", "\"$(", "`", "${a", "<<A ", "<<A;", "'", "case x in ", "\\", "a|",
                            "x=", "[ $a = ", "((", "A=B,", "\n<<-B\n", "nvidia-smi -L |"}) {
    std::string text;
    while (text.size() < 400000) text += piece;
    const std::vector<Finding> found = shell(text, small_python);
    expect_sound(
        text, std::vector<Finding>(
                  found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(found.size(), 20))));
  }
}

}  // namespace
}  // namespace updraft::migrate::text
