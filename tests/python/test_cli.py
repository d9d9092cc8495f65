"""The updraft command and npu-smi, without a built library."""

import fcntl
import json
import os
import shlex
import subprocess
import sys

import pytest

from conftest import PACKAGE, clean_environment


def updraft(*args, **env):
    return subprocess.run([sys.executable, "-m", "updraft", *args], env=clean_environment(**env), text=True,
                          capture_output=True, timeout=120)


@pytest.fixture
def record(tmp_path):
    """record(device, pid, …): what a running process leaves, its lock held unless it is dead."""
    held = []

    def write(device, pid, used_bytes, alive=True):
        folder = tmp_path / "run" / "devices" / str(device)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / str(pid)
        path.write_text(json.dumps({"pid": pid, "name": "python", "device": device, "used_bytes": used_bytes}))
        if alive:
            held.append(open(path))
            fcntl.flock(held[-1], fcntl.LOCK_EX)

    write.run_dir = tmp_path / "run"
    yield write
    for file in held:
        file.close()


@pytest.mark.parametrize("command", [["-m", "updraft", "info"], ["-m", "updraft.npu_smi", "info"]])
def test_info_has_the_chip_where_ggml_looks(command):
    if command[1] == "updraft.npu_smi":
        command = ["-c", "import sys; from updraft.npu_smi import main; sys.exit(main())", "info"]
    run = subprocess.run([sys.executable, *command], env=clean_environment(), capture_output=True, text=True, timeout=60)
    chip = subprocess.run(["awk", "-F", " ", "NF > 0 && NR==7 {print $3}"], input=run.stdout, text=True, capture_output=True)
    assert chip.stdout == "910B2\n"
    assert len({len(line) for line in run.stdout.splitlines()}) == 1


def test_info_follows_the_variables():
    text = updraft("info", UPDRAFT_DEVICES=2, UPDRAFT_SOC="Ascend310P3", UPDRAFT_MEMORY="2G").stdout
    assert text.count("310P3") == 2 and text.count("/ 2048") == 2
    assert text.count("No running processes") == 2


def test_info_lists_living_processes_only(record):
    record(0, 4321, 300 << 20)
    record(0, 4322, 100 << 20, alive=False)
    record(1, 4323, 64 << 20)
    text = updraft("info", UPDRAFT_DEVICES=2, UPDRAFT_RUN_DIR=record.run_dir).stdout
    rows = [line.replace("|", " ").split() for line in text.splitlines() if "python" in line]
    assert rows == [["0", "0", "4321", "python", "300"], ["1", "0", "4323", "python", "64"]]
    assert "300  / " in text and "No running" not in text


def test_info_survives_a_torn_record(record):
    record(0, 99, 1)
    (record.run_dir / "devices" / "0" / "99").write_text("{")
    done = updraft("info", UPDRAFT_DEVICES=1, UPDRAFT_RUN_DIR=record.run_dir)
    assert done.returncode == 0 and "No running processes" in done.stdout


def test_board_listing_and_mapping():
    assert "Chip Name                      : 910B2" in updraft("info", "-t", "board", "-i", "0", "-c", "0").stdout
    assert "Total Count                    : 8" in updraft("info", "-l").stdout
    assert len(updraft("info", "-m", UPDRAFT_DEVICES=3).stdout.splitlines()) == 4
    assert updraft("info", "-t", "board", "-i", "8").returncode == 1


def test_env_can_be_evaluated(built_tree, tmp_path):
    home = tmp_path / "with space"
    os.symlink(built_tree, home)
    text = updraft("env", UPDRAFT_CANN_HOME=home).stdout
    shown = subprocess.run(["bash", "-c", text + 'printf "%s\\n" "$ASCEND_OPP_PATH" "$LD_LIBRARY_PATH"'],
                           env=clean_environment(), text=True, capture_output=True)
    assert shown.stdout.splitlines() == [str(home / "opp"), str(home / "lib64")]


def test_run_sets_the_environment_and_passes_options_on(built_tree):
    code = "import os, sys; print({k: v for k, v in os.environ.items() if 'UPDRAFT' in k}, sys.argv[1:])"
    done = updraft("run", "--devices", "4", "--memory", "8G", "--strict", "--cuda-as-npu", "--fidelity", "card",
                   sys.executable, "-c", code, "--devices", "9", UPDRAFT_CANN_HOME=built_tree, UPDRAFT_DISABLE=1)
    for part in ("'UPDRAFT_DEVICES': '4'", "'UPDRAFT_MEMORY': '8G'", "'UPDRAFT_STRICT': '1'", "'UPDRAFT_FIDELITY': 'card'",
                 "'UPDRAFT_CUDA_AS_NPU': '1'", "['--devices', '9']"):
        assert part in done.stdout
    assert "UPDRAFT_DISABLE" not in done.stdout


def test_run_finds_tools_and_wins_over_another_cann(built_tree):
    done = updraft("run", "sh", "-c", 'echo $ASCEND_HOME_PATH; command -v npu-smi; echo "$LD_LIBRARY_PATH"',
                   UPDRAFT_CANN_HOME=built_tree, ASCEND_HOME_PATH="/usr", LD_LIBRARY_PATH="/x")
    assert done.stdout.splitlines() == [str(built_tree), str(built_tree / "bin" / "npu-smi"), "%s/lib64:/x" % built_tree]


@pytest.mark.parametrize("args", [["--devices", "0"], ["--memory", "many"], ["--soc", "x"], ["--threads", "-1"], []])
def test_run_refuses_nonsense(args):
    assert updraft("run", *args).returncode == 2


def test_run_passes_the_status_on(tmp_path):
    assert updraft("run", "sh", "-c", "exit 7").returncode == 7
    assert updraft("run", str(tmp_path / "absent")).returncode == 127


def test_chinese():
    assert "用法" in updraft("info", "-x", UPDRAFT_LANG="zh").stderr
    assert "在虚拟 NPU 上运行命令" in updraft("--help", UPDRAFT_LANG="", LANG="zh_CN.UTF-8", LC_ALL="").stdout


def test_a_tool_that_was_not_built_is_told(built_tree):
    done = updraft("migrate", "project", UPDRAFT_CANN_HOME=built_tree)
    assert done.returncode == 127 and "no %s" % (built_tree / "bin" / "updraft-migrate") in done.stderr and "./dev setup" in done.stderr


def test_doctor_names_what_is_wrong_and_what_to_do(tmp_path):
    done = updraft("doctor", "--quick", UPDRAFT_CANN_HOME=tmp_path, ASCEND_HOME_PATH="/usr", UPDRAFT_DEVICE=2)
    assert done.returncode == 1
    for part in ("no libupdraft.so", "ASCEND_HOME_PATH=/usr is another CANN", "UPDRAFT_DEVICES?", "-> "):
        assert part in done.stdout


def test_doctor_sees_that_libraries_load(built_tree):
    done = updraft("doctor", "--quick", UPDRAFT_CANN_HOME=built_tree)
    assert "libupdraft.so loads, with 3 libraries" in done.stdout


def test_doctor_tells_a_library_that_does_not_load(built_tree, tmp_path):
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libupdraft.so").write_text("not a library")
    done = updraft("doctor", "--quick", UPDRAFT_CANN_HOME=tmp_path)
    assert done.returncode == 1 and "libraries do not load" in done.stdout


@pytest.fixture
def packages(tmp_path):
    """packages(torch="…", …): what doctor --quick says of these versions. Importing one of them would end in an error."""
    def doctor(cuda=None, requires=None, **versions):
        for name, version in versions.items():
            folder = tmp_path / name
            folder.mkdir()
            (folder / "__init__.py").write_text("raise SystemExit('doctor imports %s')\n" % name)
            (folder / "version.py").write_text("from typing import Optional\n__version__ = '%s'\ncuda: Optional[str] = %r\n" % (version, cuda))
            info = tmp_path / ("%s-0.dist-info" % name)
            info.mkdir()
            said = version if name == "torch" else version.split("+")[0]  # as PyPI's wheels say it
            needs = "Requires-Dist: numpy\nRequires-Dist: torch (%s)\n" % requires if requires and name != "torch" else ""
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s" % (name.replace("_", "-"), said, needs))
        done = updraft("doctor", "--quick", PYTHONPATH=os.pathsep.join([str(tmp_path), str(PACKAGE.parent)]))
        assert "doctor imports" not in done.stdout + done.stderr
        return done.stdout

    return doctor


@pytest.mark.parametrize("version, good", [("2.15.1", True), ("2.16.1", False), ("2.6.5", False)])
def test_doctor_knows_tensorflow(packages, version, good):
    said = packages(tensorflow=version)
    assert ("ok    tensorflow " + version in said) == good, said
    assert ("npu_bridge are for TensorFlow 2.15, this is tensorflow " + version in said) != good


def test_doctor_says_nothing_of_tensorflow_where_there_is_none(packages):
    assert "ensor" not in packages(torch="2.13.0").replace(os.sep, "")


ABORTS = "aborts (\"Duplicated key 'pinned_reserve_segment_size_mb'"
FAILS = {"torchvision": "operator torchvision::nms does not exist", "torchaudio": "Could not load this library: …/_torchaudio.abi3.so"}


@pytest.mark.parametrize("torch, cuda, aborts", [
    ("2.14.0", "13.0", True), ("2.14.0+cu130", "13.0", True), ("2.10.0", "12.8", True), ("2.14.0+cpu", None, False),
    ("2.13.0+cpu", None, False), ("2.9.1", "12.8", False)])
def test_doctor_knows_which_builds_for_cuda_abort(packages, torch, cuda, aborts):
    numbers = torch.split("+")[0]
    said = packages(cuda, torch=torch, torch_npu=numbers)
    assert "torch %s and torch-npu %s match" % (torch, numbers) in said
    assert (ABORTS in said) == aborts, said
    if aborts:
        assert "torch %s is built for CUDA %s" % (torch, cuda) in said
        assert "torch==%s --index-url https://download.pytorch.org/whl/cpu" % numbers in said


@pytest.mark.parametrize("mindspore, numpy, said_of_it", [
    ("2.10.0", "1.26.4", "ok    mindspore 2.10.0"), ("2.10.0", "2.4.6", "is built for numpy 1 and does not import"), ("2.7.0", "1.26.4", "tested is 2.10.0")])
def test_doctor_knows_mindspore(packages, mindspore, numpy, said_of_it):
    said = packages(mindspore=mindspore, numpy=numpy)
    assert said_of_it in said, said
    assert ("pip install 'numpy<2'" in said) == numpy.startswith("2"), said


MINDSPORE = """
import sys, types
from updraft import doctor
said = []
report = types.SimpleNamespace(ok=lambda *x: said.append(("ok", *x)), note=lambda *x: said.append(("note", *x)), bad=lambda *x: said.append(("bad", *x)))
doctor._version = {"mindspore": "2.10.0", "numpy": "1.26.4"}.get
doctor.sys = types.SimpleNamespace(version_info=eval(sys.argv[1]), executable=sys.executable)
doctor.check_mindspore(report, sys.argv[2] == "quick")
print(said)
"""


@pytest.fixture
def mindspore(tmp_path):
    """mindspore(version of Python, words): what the doctor says of mindspore 2.10.0. words: what its import ends with."""
    def doctor(python, words=None):
        (tmp_path / "mindspore.py").write_text("raise RuntimeError(%r)\n" % words)
        environment = clean_environment(PYTHONPATH=os.pathsep.join([str(tmp_path), str(PACKAGE.parent)]), UPDRAFT_LANG="en")
        done = subprocess.run([sys.executable, "-c", MINDSPORE, repr(python), "quick" if words is None else "whole"], env=environment,
                              text=True, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return doctor


@pytest.mark.parametrize("python, good", [((3, 8, 19), False), ((3, 9, 2), True), ((3, 12, 1), True), ((3, 13, 0), False)])
def test_doctor_knows_mindspores_pythons(mindspore, python, good):
    said = mindspore(python)
    assert ("mindspore has no build for Python %d.%d" % python[:2] in said) != good, said
    assert ("use Python 3.9 to 3.12" in said) != good, said


def test_doctor_gives_the_reason_of_mindspores_plugin(mindspore):
    said = mindspore((3, 11, 7), "Load dynamic library libmindspore_ascend.so.2 failed\n  libascendcl.so: undefined symbol: aclrtFoo\nmore")
    assert "mindspore has no device Ascend: " in said and "undefined symbol: aclrtFoo" in said and "GLOG_v=2" in said, said
    said = mindspore((3, 11, 7), "device 0 is busy")
    assert "RuntimeError: device 0 is busy" in said, said


@pytest.mark.parametrize("package, build, cuda, fails", [
    ("torchvision", "0.28.0+cu130", None, True), ("torchvision", "0.28.0+cpu", None, False), ("torchvision", "0.28.0+cu130", "13.0", False),
    ("torchaudio", "2.11.0+cu130", None, True), ("torchaudio", "2.11.0+cpu", None, False), ("torchaudio", "2.11.0+cu130", "13.0", False)])
def test_doctor_knows_a_companion_for_cuda_beside_a_torch_without(packages, package, build, cuda, fails):
    said = packages(cuda, torch="2.13.0" + ("" if cuda else "+cpu"), **{package: build})
    assert ("%s %s is built for CUDA and torch 2.13.0+cpu is not" % (package, build) in said) == fails, said
    assert ("`import %s` fails (\"%s\")" % (package, FAILS[package]) in said) == fails, said
    assert ("%s==%s --index-url https://download.pytorch.org/whl/cpu" % (package, build.split("+")[0]) in said) == fails, said
    assert ("%s %s fits torch" % (package, build) in said) != fails, said


@pytest.mark.parametrize("torch, package, build, needs, advice", [
    ("2.13.0", "torchvision", "0.29.2+cpu", ">=2.14.0", "torchvision==0.28.0"), ("2.7.1", "torchvision", "0.22.0+cpu", "==2.7.0", "torchvision==0.22.1"),
    ("2.7.1", "torchaudio", "2.8.0+cpu", "==2.8.0", "torchaudio==2.7.1"), ("2.13.0", "torchaudio", "2.8.0+cpu", "==2.8.0", "torchaudio==2.11.0"),
    ("2.13.0", "torchvision", "0.28.0+cpu", "==2.13.0", None), ("2.14.1", "torchvision", "0.29.0+cpu", ">=2.14.0", None)])
def test_doctor_knows_a_companion_of_another_torch(packages, torch, package, build, needs, advice):
    said = packages(torch=torch + "+cpu", requires=needs, **{package: build})
    assert ("%s %s needs torch%s and this is torch %s" % (package, build, needs, torch) in said) == (advice is not None), said
    assert advice is None or "--no-deps %s --index-url" % advice in said, said


def test_tree_has_what_torch_npu_asks_for():
    tree = PACKAGE / "tree"
    assert [p.name for p in tree.rglob("ascend_*_install.info")] == ["ascend_toolkit_install.info"]
    lines = (tree / "ascend_toolkit_install.info").read_text().splitlines()
    assert next(line for line in lines if "version" in line).split("=")[-1] == "9.1.0"
    for folder in [p for p in tree.rglob("*") if p.is_dir()]:
        assert any(p.is_file() for p in folder.rglob("*")), "%s would be lost in a wheel" % folder


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_set_env(built_tree, shell):
    script = '. %s; . %s; echo "$ASCEND_HOME_PATH $LD_LIBRARY_PATH"' % ((shlex.quote(str(built_tree / "set_env.sh")),) * 2)
    env = clean_environment(**({} if shell == "bash" else {"UPDRAFT_CANN_HOME": built_tree}))
    done = subprocess.run([shell, "-c", script], env=env, text=True, capture_output=True)
    assert done.stdout == "{0} {0}/lib64\n".format(built_tree), done.stderr


def test_npu_smi_of_the_tree_runs_by_any_python(tmp_path):
    package = tmp_path / "lib" / "updraft"
    package.mkdir(parents=True)
    for path in PACKAGE.glob("*.py"):
        (package / path.name).write_text(path.read_text())
    import shutil

    shutil.copytree(PACKAGE / "tree", package / "cann")
    done = subprocess.run([str(package / "cann" / "bin" / "npu-smi"), "info"], env=clean_environment(PYTHONPATH=""),
                          text=True, capture_output=True)
    assert done.returncode == 0 and "910B2" in done.stdout, done.stderr


def test_op_says_what_it_needs_of_the_library(tmp_path, built_tree):
    missing = updraft("op", "aclnnAdd", UPDRAFT_CANN_HOME=tmp_path)
    assert missing.returncode == 1 and "libupdraft.so" in missing.stderr
    older = updraft("op", "aclnnAdd", UPDRAFT_CANN_HOME=built_tree)
    assert older.returncode == 1 and "has no updraftOpCount" in older.stderr


def test_op_reads_tensors_of_the_command_line():
    sys.path.insert(0, str(PACKAGE.parent))
    try:
        from updraft import op_command
    finally:
        sys.path.pop(0)
    tensor = op_command.Tensor("f32[N,2M]:-1..0.5!", "self")
    assert (tensor.dtype, tensor.dims, tensor.values) == ("f32", [4, 12], "-1..0.5")
    assert op_command.Tensor("i64[]", "self").dims == []
    assert op_command.Tensor("f16[-1,3]", "self").dims == [-1, 3]
    named = op_command.Tensor("a.npy:bf16", "self")
    assert (named.file, named.dtype, named.dims) == ("a.npy", "bf16", None)
    both = op_command.Tensor("f32[2]:b.npy", "out")
    assert (both.file, both.dims, both.values) == ("b.npy", [2], None)
    assert op_command.Tensor("?", "out").asked and op_command.Tensor("null", "out").absent
    for text in ("f23[2]", "f32[2", "a.txt", "a.npy:f23", ""):
        with pytest.raises(op_command.Usage, match="self="):
            op_command.Tensor(text, "self")
