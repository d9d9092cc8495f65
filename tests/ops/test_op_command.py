"""`updraft op`: every sample through it, shapes without values, files, and what it says when something is wrong."""
import os
import subprocess
import sys

import numpy as np
import pytest
import torch  # noqa: F401
import torch_npu  # noqa: F401  the library of the tree is loaded and has a device

from samples import SMALL, integer, operators, sampled
from updraft import cli, op_command
from updraft import operators as library


def listed(text):
    return [] if text == "[]" else text.split(";")


def tensors(name):
    """(parameter, type, shape) of everything that a call of the sample writes."""
    entry = operators()[name]
    for p in entry["parameters"]:
        text = entry["sample"][p["name"]]
        if not p["written"] or text in ("null", "[]"):
            continue
        items = listed(text)
        for i, item in enumerate(items):
            match = op_command._TENSOR.fullmatch(item.removesuffix("!"))
            shape = [integer(n, SMALL) for n in match[2].split(",")] if match[2] else []
            yield p["name"] if len(items) == 1 else f"{p['name']}.{i}", match[1], shape


@pytest.mark.parametrize("name", sampled())
def test_every_sample_runs(name):
    texts = {}
    if name in uninferred():
        entry = operators()[name]
        texts = {p["name"]: entry["sample"][p["name"]] for p in entry["parameters"] if p["written"] and not p["read"]}
    results = op_command.Invocation(name, texts, use_sample=True).run()
    wanted = {label: (dtype, shape) for label, dtype, shape in tensors(name)}
    assert {label for label, *_ in results} == set(wanted)
    for label, dtype, array, _ in results:
        assert dtype == wanted[label][0]
        assert list(array.shape) == wanted[label][1]


def uninferred():
    path = os.path.join(os.path.dirname(__file__), "uninferred.txt")
    return {line.split()[0] for line in open(path) if line.strip() and not line.startswith("#")}


def run(capsys, *args):
    status = cli.main(["op", *args])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_files_in_and_out(tmp_path, capsys):
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.array([10, 20, 30], "float32")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    status, out, _ = run(capsys, "aclnnAdd", f"self={tmp_path}/a.npy", f"other={tmp_path}/b.npy", "alpha=2",
                         f"out={tmp_path}/out.npy")
    assert status == 0 and "out f32[2,3] -> " in out
    assert np.array_equal(np.load(tmp_path / "out.npy"), a + 2 * b)


def test_bfloat16_is_its_bits(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.array([0x3F80, 0xC000], "uint16"))  # 1, -2
    status, out, _ = run(capsys, "Abs", f"self={tmp_path}/a.npy:bf16")
    assert status == 0 and out == "out bf16[2]\n[1. 2.]\n"
    run(capsys, "Abs", f"self={tmp_path}/a.npy:bf16", f"--save={tmp_path}")
    assert np.load(tmp_path / "out.npy").tolist() == [0x3F80, 0x4000]


def test_values_on_the_command_line(capsys):
    status, out, _ = run(capsys, "aclnnMuls", "self=i32[3]:1,2,3", "other=4")
    assert status == 0 and out == "out i32[3]\n[ 4  8 12]\n"
    status, out, _ = run(capsys, "aclnnNonzero", "self=f32[2,2]:0,1,0,2")
    assert status == 0 and out == "out i64[2,2]\n[[0 1]\n [1 1]]\n"


def test_shapes_alone(capsys):
    assert run(capsys, "aclnnMatmul", "self=f16[-1,3]", "mat2=f16[3,5]", "cubeMathType=0", "--infer") == (0, "out f16[-1,5]\n", "")
    assert run(capsys, "aclnnNonzero", "self=f32[2,3]", "--infer") == (0, "out i64[0..6,2]\n", "")
    assert run(capsys, "aclnnTopk", "self=f32[-1,9]", "k=4", "dim=-1", "largest=true", "sorted=true", "--infer") == (
        0, "values f32[-1,4]\nindices i64[-1,4]\n", "")


def test_lists_and_shows(capsys):
    status, out, _ = run(capsys, "softmax", "backward")
    assert status == 0 and "aclnnSoftmaxBackward" in out and "aclnnSoftmax " not in out
    status, out, _ = run(capsys)
    assert len(out.splitlines()) == len(library.names())
    status, out, _ = run(capsys, "aclnnTopk")
    assert status == 0 and "values" in out and "out" in out and "updraft op aclnnTopk 'self=f32[N,M]'" in out
    status, out, _ = run(capsys, "--graph")
    assert len(out.splitlines()) == len(library.names(graph=True))


@pytest.mark.parametrize("args, status, words", [
    (["aclnnAddd", "self=f32[2]"], 1, ["no operator aclnnAddd", "aclnnAdd"]),
    (["aclnnAdd", "self=f32[2]", "beta=1"], 2, ["no parameter beta", "self, other, alpha, out"]),
    (["aclnnAdd", "self=f32[2]", "other=f32[3]", "alpha=1"], 1, ["broadcast"]),
    (["aclnnAdd", "self=f32[2]"], 1, ["wants other"]),
    (["aclnnAdd", "self=nothing.npy", "other=f32[2]", "alpha=1"], 2, ["nothing.npy"]),
    (["aclnnAdd", "self=f23[2]", "other=f32[2]", "alpha=1"], 2, ["self=f23[2]", "f32[2,3]"]),
    (["aclnnAdd", "self=f32[-1]", "other=f32[2]", "alpha=1"], 2, ["--infer"]),
    (["aclnnAdd", "self=f32[3]:1,2", "other=f32[3]", "alpha=1"], 2, ["2 values", "1 or 3"]),
    (["aclnnAdd", "self=f32[2]", "other=f32[2]", "alpha=x"], 2, ["x is no number"]),
    (["aclnnBincount", "self=i32[3]", "minlength=2"], 1, ["no rule for the shape of out"]),
    (["aclnnSplitWithSize", "self=f32[4]", "splitSize=2,2", "dim=0"], 2, ["out=?;?"]),
    (["no", "such", "words"], 1, ["no such words"]),
])
def test_refusals(args, status, words, capsys):
    got, _, err = run(capsys, *args)
    assert got == status
    for word in words:
        assert word in err


def test_as_a_command():
    """In a process that has nothing loaded."""
    result = subprocess.run([sys.executable, "-m", "updraft", "op", "aclnnAbs", "self=f32[2]:-1,2"], text=True,
                            capture_output=True, timeout=120)
    assert (result.returncode, result.stdout) == (0, "out f32[2]\n[1. 2.]\n"), result.stderr
