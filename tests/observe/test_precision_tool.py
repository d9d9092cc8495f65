"""precision_tool, copied beside a script as its users do: overflow, two runs against each other, single operators and arrays."""
import csv
import os
import pty
import re
import shutil
import subprocess
import sys
import textwrap
import unicodedata
from pathlib import Path

import numpy as np
import pytest

HOME = Path(subprocess.run([sys.executable, "-c", "import updraft; print(updraft.home())"], text=True, capture_output=True, check=True).stdout.strip())
SCRIPT = """
    import sys
    import torch, torch_npu, torchair
    import precision_tool.tf_config as tool
    from torchair.configs.compiler_config import CompilerConfig

    action, fault = sys.argv[1], "fault" in sys.argv
    end = tool.torch_dump_config(action)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).npu()
    if fault:
        with torch.no_grad():
            net[2].weight[::2] *= -1
    net = torch.compile(net, backend=torchair.get_npu_backend(compiler_config=CompilerConfig()), dynamic=False)
    with torch.no_grad():
        y = net(torch.randn(2, 8).npu())
        if action == "overflow":
            ((y.half() * 60000) * 8).cpu()
    end()
"""


def run(folder, *command, status=0, stdin=None, **env):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PRECISION_TOOL", "DUMP_"))}
    done = subprocess.run([sys.executable, *map(str, command)], cwd=folder, text=True, capture_output=True, timeout=150, input=stdin,
                          env=dict(environment, ASCEND_HOME_PATH=str(HOME), COLUMNS="200", **env))
    assert done.returncode == status, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A training folder: the script, the copied tool, an overflow run, an older run (debug_1) and a later one (debug_0) with a planted fault."""
    folder = tmp_path_factory.mktemp("training")
    (folder / "train.py").write_text(textwrap.dedent(SCRIPT))
    shutil.copytree(HOME / "tools" / "precision_tool", folder / "precision_tool", ignore=shutil.ignore_patterns("__pycache__"))
    run(folder, "train.py", "overflow")
    run(folder, "train.py", "dump")
    (folder / "precision_data/npu/debug_0").rename(folder / "precision_data/npu/debug_1")
    run(folder, "train.py", "dump", "fault")
    return folder


PANELS = """
import sys
sys.path[:0] = [sys.argv[1]]
from precision_tool.lib import panel
path = "/home/somebody/a training of long names/precision_data/npu/debug_0/dump/20261128171512/0/net/1/0"
panel.box("Add " + path, ["input 0: " + path + "/Add.add.3.1.1764350112.input.0.npy", "  误差 " + "很大的误差" * 12, "short"])
panel.table("files", ("index", "path", "max"), [(1, path + "/x.npy", 0.5), (22, "y.npy", 1.25)])
"""


@pytest.mark.parametrize("columns", [50, 100])
def test_panels_keep_their_frame_on_a_narrow_terminal(columns):
    leader, follower = pty.openpty()
    done = subprocess.run([sys.executable, "-c", PANELS, HOME / "tools"], stdout=follower, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": str(columns)})
    os.close(follower)
    assert done.returncode == 0, done.stderr
    said = os.read(leader, 1 << 16).decode()
    os.close(leader)
    lines = said.splitlines()
    wide = [sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) for line in lines]
    assert max(wide) <= columns and {line[0] + line[-1] for line in lines} == {"╭╮", "││", "╰╯"}, said
    assert len({n for n, line in zip(wide, lines) if line[0] == "│"}) <= 2, said  # one for each box
    text = re.sub(r"[ │╭╮╰╯─]", "", "".join(lines))
    assert "Add.add.3.1.1764350112.input.0.npy" in text and text.count("很大的误差") == 12, said
    assert [line for line in lines if re.fullmatch(r"│ 22 +y\.npy +1\.25 *│", line)], said


def tool(work, *words, **more):
    return run(work, "precision_tool/cli.py", *words, **more)


def step_of(work, debug):
    return next(p for p in (work / "precision_data/npu" / debug / "dump").rglob("*") if p.is_dir() and any(f.name.startswith("MatMulV2.") for f in p.iterdir()))


def test_overflow_the_first_first(work):
    said = tool(work, "ac", "-l", "1")
    assert re.search(r"Find \[[12]\] overflow entries", said)
    box = said[said.index("╭─ [Muls]"):]
    assert re.search(r"- \[AI Core\]\[Status:32\]\[TaskId:\d+\] \['浮点计算有溢出'\]", box) and "First overflow file timestamp" in box
    assert re.search(r"Muls\.aclnnMuls_\d+\..*input\.0\.npy", box) and "[Dtype: float16] [Max: " in box and "inf" in box
    assert "MatMulBiasAddFusionPass" in said  # what fused


def test_two_runs(work):
    said = tool(work, "vc", "-lt", step_of(work, "debug_0"), "-rt", step_of(work, "debug_1"))
    assert "first divergence: MatMulV2_1" in said
    said = tool(work, "vcs")
    assert "Sub path num:[1]" in said and "Find 1 ops less then 0.98" in said
    box = said[said.index("MatMulV2_1 ─"):]
    assert "Left:  ['MatMulV2_1']" in box and "Right: ['MatMulV2_1']" in box and re.search(r"- \[0\]-?0\.\d+", box[box.index("Output:"):])
    assert "Find 0 ops" in tool(work, "vcs", "-c", "-2")
    result = next((work / "precision_data/temp/vector_compare").rglob("result_*.csv"))
    assert "Find 1 ops" in tool(work, "vcs", "-f", result, "-l", "1")
    with open(result, newline="") as file:
        rows = {r["TensorIndex"]: r for r in csv.DictReader(file)}
    assert float(rows["MatMulV2:output:0"]["CosineSimilarity"]) == pytest.approx(1)


@pytest.fixture()
def beside(work, tmp_path):
    """Another training folder with the same runs and a tool of its own."""
    shutil.copytree(work / "precision_tool", tmp_path / "precision_tool")
    (tmp_path / "precision_data").mkdir()
    for name in ("npu", "overflow"):
        (tmp_path / "precision_data" / name).symlink_to(work / "precision_data" / name)
    return tmp_path


def test_overflow_and_the_whole_network(beside):
    said = tool(beside, "ac", "-c")
    assert "overflow entries" in said and "first divergence: MatMulV2_1" in said
    assert len(list((beside / "precision_data/temp/vector_compare").rglob("result_*.csv"))) == 1
    assert "Find 1 ops less then 0.98" in tool(beside, "vcs")


def test_where_the_toolkit_is(beside):
    config = beside / "precision_tool/lib/config/config.py"
    usual = config.read_text()

    def said(root, **more):
        config.write_text(usual.replace("'/usr/local/Ascend'", repr(str(root))))
        return tool(beside, "vc", "-lt", step_of(beside, "debug_0"), "-rt", step_of(beside, "debug_1"), **more)

    assert "WARNING" not in said(HOME)
    text = said("/no/such/root")  # the toolkit of ASCEND_HOME_PATH serves, and the wrong folder is named
    assert re.search(r"WARNING.*CMD_ROOT_PATH = '/no/such/root' .*is no folder; taken is %s" % re.escape(str(HOME)), text), text
    (beside / "empty").mkdir()
    assert "/empty' (lib/config/config.py) has no msaccucmp.py below it" in said(beside / "empty")
    environment = dict(os.environ, PATH="/usr/bin:/bin", COLUMNS="200")
    environment.pop("ASCEND_HOME_PATH", None)
    done = subprocess.run([sys.executable, "precision_tool/cli.py", "vc", "-lt", str(step_of(beside, "debug_0")), "-rt", str(step_of(beside, "debug_1"))],
                          cwd=beside, text=True, capture_output=True, env=environment)
    assert done.returncode == 1 and "msaccucmp.py is not found below CMD_ROOT_PATH = '%s'" % (beside / "empty") in done.stdout + done.stderr


def test_actions_of_fusion(beside):
    """Scripts of TensorFlow get the file of switches by the option of their device."""
    said = run(beside, "-c", textwrap.dedent("""
        import types
        import precision_tool.tf_config as tool
        for action in ("fusion_off", "fusion_switch", "fusion_switch|overflow"):
            options = types.SimpleNamespace(fusion_switch_file=None, dump_config=types.SimpleNamespace(enable_dump=False, enable_dump_debug=False))
            tool.npu_device_dump_config(types.SimpleNamespace(global_options=lambda: options), action=action)
            print(action, options.fusion_switch_file, options.dump_config.enable_dump_debug)
    """))
    folder = beside / "precision_tool/lib/config"
    assert said.split("\n")[:3] == ["fusion_off %s/fusion_off.cfg False" % folder, "fusion_switch %s/fusion_switch.cfg False" % folder,
                                    "fusion_switch|overflow %s/fusion_switch.cfg True" % folder]


def test_listing(work):
    assert "[MatMulV2][MatMulBiasAddFusionPass] MatMulV2_1" in tool(work, "ls")
    assert tool(work, "ls", "-t", "relu").split() == ["[Relu][]", "Relu"]
    assert "Relu" not in tool(work, "ls", "-f", "MatMulBias") and tool(work, "ls", "-n", "nobody") == ""


def test_one_operator_in_both_runs(work):
    said = tool(work, "ni", "-n", "MatMulV2_1", "-d")
    for words in ("[debug_0]MatMulV2_1", "[debug_1]MatMulV2_1", "PassName: MatMulBiasAddFusionPass", "OriginOp: ['MatMulV2_1', 'Add_1']",
                  "-[0][DT_FLOAT][ND][2, 16] Relu:0", "-[0][DT_FLOAT][ND][2, 4] ['NetOutput']", "NpuDumpOutput:", "transpose_x2"):
        assert words in said, said
    tool(work, "ni", "Relu", "-s", "1")
    picture = next((work / "precision_data/temp/op_graph/debug_0").glob("Relu.dot")).read_text()
    assert '"Relu" -> "MatMulV2_1"' in picture and '"MatMulV2" -> "Relu"' in picture
    assert "no operator nobody" in tool(work, "ni", "nobody")


def test_arrays(work):
    left, right = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(12, dtype=np.float32).reshape(3, 4)
    right[1, 2] = 9
    np.save(work / "l.npy", left)
    np.save(work / "r.npy", right)
    np.save(work / "short.npy", left[:2])
    said = tool(work, "pt", "l.npy")
    assert "Shape: (3, 4)" in said and "Dtype: float32" in said and "Max: 11.0" in said and "Mean: 5.5" in said
    assert np.loadtxt(work / "l.npy.txt").shape == (3, 4)
    said = tool(work, "cp", "l.npy", "r.npy", "-p", "2")
    errors = said[said.index("Error Item Table"):said.index("Top Item Table")]
    assert re.search(r"6 +6\.0 +9\.0 +3\.0", errors) and errors.count("│\n") == 2
    assert "NumCnt: 12" in said and "AllClose: False" in said and "ErrorPer: %s" % (1 / 12) in said
    assert "AllClose: True" in tool(work, "cp", "l.npy", "r.npy", "-al", "3")
    said = tool(work, "cp", "l.npy", "short.npy")  # the first eight of them
    assert "only the first 8 elements of both are compared" in said and "NumCnt: 8" in said and "ErrorPer: 0.0" in said and "AllClose: False" in said


def test_prompt(work):
    said = tool(work, stdin="ls -t relu\necho from the shell\nrun echo forced\nls -z\npt\nhelp\npt nothing.npy\n'\nexit\nls\n")
    assert "[Relu][] Relu" in said and "from the shell" in said and "forced" in said and said.count("[Relu]") == 1
    assert "unrecognized arguments: -z" in said and "a name is missing" in said and "commands: ac, run, ls" in said
    assert "nothing.npy cannot be read as npy" in said and "No closing quotation" in said


def test_wrong_words(work):
    assert "there is no folder /nobody" in tool(work, "vc", "-lt", "/nobody", "-rt", "/nobody", status=1)
    assert "there is no file nobody.csv" in tool(work, "vcs", "-f", "nobody.csv", status=1)
    assert "is no command; there are: ac" in tool(work, "nobody", status=1)


@pytest.mark.parametrize("action, said", [("dump|overflow", "one after the other"), ("dunp", "want dump, overflow"),
                                          ("fusion_off|fusion_switch", "take one")])
def test_wrong_actions(work, action, said):
    assert said in run(work, "-c", f"import precision_tool.tf_config as t; t.torch_dump_config({action!r})", status=1)


def training(work, folder, *changes):
    """A training folder with the tool and a script that differs from SCRIPT."""
    shutil.copytree(work / "precision_tool", folder / "precision_tool")
    script = textwrap.dedent(SCRIPT)
    for old, new in changes:
        assert old in script
        script = script.replace(old, new)
    (folder / "train.py").write_text(script)
    return folder


def test_a_random_kernel_is_found(work, tmp_path):
    """The same script twice: the first operator that differs has the same inputs in both runs."""
    folder = training(work, tmp_path, ("net = torch.compile(", "net.insert(2, torch.nn.Dropout(0.5))\ntorch.npu.manual_seed(int(sys.argv[2]))\nnet = torch.compile("))
    for seed in (1, 2):
        run(folder, "train.py", "dump", seed)
        if seed == 1:
            (folder / "precision_data/npu/debug_0").rename(folder / "precision_data/npu/debug_1")
    said = tool(folder, "vc", "-lt", step_of(folder, "debug_0"), "-rt", step_of(folder, "debug_1"))
    assert "first divergence: StatelessDropOutGenMask" in said
    said = tool(folder, "vcs")
    box = said[said.index("StatelessDropOutGenMask ─"):said.index("DropOutDoMask ─")]
    inputs, outputs = box[box.index("Input:"):].split("Output:")
    assert all(value.startswith("1.0") for value in re.findall(r"\[\d\]([\d.-]+)", inputs)) and float(re.search(r"\[0\]([\d.-]+)", outputs)[1]) < 0.98
    said = tool(folder, "ni", "StatelessDropOutGenMask")
    assert "[debug_0]StatelessDropOutGenMask" in said and "[debug_1]StatelessDropOutGenMask" in said and "NpuDumpOutput:" in said


def test_a_wrong_fusion_is_found(work, tmp_path):
    """The walk from wrong results to the one pass that is switched off. The script plays the wrong pass: where it is on, a product is wrong."""
    wrong = """switches = sys.argv[2]
    settings = CompilerConfig()
    settings.fusion_config.fusion_switch_file = switches
    with open(switches) as file:
        if '"off"' not in file.read():
            with torch.no_grad():
                net[2].weight[::2] *= -1
    net = torch.compile(""".replace("\n    ", "\n")
    folder = training(work, tmp_path, ("net = torch.compile(", wrong), ("compiler_config=CompilerConfig()", "compiler_config=settings"))
    off = folder / "precision_tool/lib/config/fusion_off.cfg"
    on, one = folder / "on.cfg", folder / "one.cfg"
    on.write_text('{"Switch": {"GraphFusion": {"ALL": "on"}}}')
    npu = folder / "precision_data/npu"

    def dumped(switches):
        run(folder, "train.py", "dump", switches)
        graph = next((npu / "debug_0/graph").rglob("ge_proto_*_Build.txt"))
        done = subprocess.run([HOME / "bin/atc", "--mode=5", f"--om={graph}", f"--json={npu}/debug_0/graph.json"], text=True, capture_output=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr

    dumped(on)
    (npu / "debug_0").rename(npu / "debug_1")
    dumped(off)
    compare = [sys.executable, HOME / "tools/operator_cmp/compare/msaccucmp.py", "compare"]
    done = subprocess.run([*compare, "-m", step_of(folder, "debug_1"), "-g", step_of(folder, "debug_0"), "-f", npu / "debug_1/graph.json",
                           "-cf", npu / "debug_0/graph.json", "-out", folder / "compared"], text=True, capture_output=True, timeout=100)
    assert "first divergence: MatMulV2_1 (MatMulV2)" in done.stdout + done.stderr, done.stdout + done.stderr
    with open(next((folder / "compared").glob("result_*.csv")), newline="") as file:
        outputs = {r["NPUDump"]: r for r in csv.DictReader(file) if ":output:" in r["TensorIndex"]}
    assert outputs["MatMulV2_1"]["GroundTruth"] == "MatMulV2_1,Add_1" and float(outputs["MatMulV2_1"]["CosineSimilarity"]) < 0.98
    assert float(outputs["MatMulV2"]["CosineSimilarity"]) > 0.9999  # the same pass has fused it, and is right there
    name = re.search(r"PassName: (\w+)", tool(folder, "ni", "-n", "MatMulV2_1"))[1]
    assert name == "MatMulBiasAddFusionPass"
    one.write_text('{"Switch": {"GraphFusion": {"%s": "off"}}}' % name)
    shutil.rmtree(npu / "debug_1")
    (npu / "debug_0").rename(npu / "debug_1")
    dumped(one)
    said = tool(folder, "vc", "-lt", step_of(folder, "debug_0"), "-rt", step_of(folder, "debug_1"))
    assert "no tensor differs" in said and "Find 0 ops" in tool(folder, "vcs"), said


def test_single_command_mode(work, tmp_path):
    folder = tmp_path / "training"
    shutil.copytree(work / "precision_tool", folder / "precision_tool")
    (folder / "train.py").write_text(textwrap.dedent(SCRIPT).replace("action, fault = sys.argv[1]", "action, fault = None"))
    command = f"{sys.executable} train.py"
    tool(folder, "npu_dump", command)
    tool(folder, "npu_dump", command)
    assert sorted(p.name for p in (folder / "precision_data/npu").iterdir()) == ["debug_0", "debug_1"]
    said = tool(folder, "compare", step_of(folder, "debug_0"), step_of(folder, "debug_1"))
    assert "no tensor differs" in said and "Find 0 ops" in said
    assert "ended with status 3" in tool(folder, "npu_overflow", f"{sys.executable} -c 'raise SystemExit(3)'", status=1)
