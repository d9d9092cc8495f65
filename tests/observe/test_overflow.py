"""Overflow: the files of dump_debug in both modes, their readers, and `updraft run --find-nan`."""

import json
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import dump_runs as runs  # noqa: E402

FIND = pathlib.Path(__file__).with_name("find_nan_programs.py")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    made = tmp_path_factory.mktemp("ran")
    runs.program("several", made, "overflow", "atomic=overflow:atomic_overflow", "cores=overflow:aicore_overflow", "sane", "integers")
    return made


def status(path):
    """(part, status, stream, task) of an Opdebug file: 2048 bytes of u64."""
    words = np.frombuffer(runs.read_dump(path)["outputs"][0].tobytes(), np.uint64)
    assert len(words) == 256
    for part, info, at in (("AI Core", 32, 128 + 2), ("L2 Atomic Add", 16, 96), ("DHA Atomic Add", 0, 64)):
        if words[at]:
            return part, int(words[at]), int(words[info + 1]), int(words[info + 2])
    raise AssertionError("no status in %s" % path)


def found(folder):
    """Per operator that overflowed: (part, status), and its own dump."""
    made = {}
    for path in runs.files(folder):
        if not path.name.startswith("Opdebug.Node_OpDebug."):
            continue
        part, bits, stream, task = status(path)
        own = [p for p in runs.files(folder) if p.name.split(".")[2:4] == [str(task), str(stream)] and not p.name.startswith("Opdebug")]
        assert len(own) == 1, own
        assert path.name.split(".")[2] != str(task)  # the file has a task of its own
        made[own[0].name.split(".")[1]] = part, bits, runs.read_dump(own[0])
    return made


def test_operators_that_overflow(ran):
    by_name = found(ran / "overflow" / "dump")
    part, bits, dump = by_name["aclnnMatmul_1"]
    assert part == "AI Core" and bits & 0x20 and bits & 0x400
    assert dump["inputs"][0].max() == 300 and np.isinf(dump["outputs"][0]).all()
    part, bits, dump = by_name["aclnnLog_0"]
    assert (part, bits) == ("AI Core", 0x20) and dump["inputs"][0].tolist() == [0, 0, 0]
    cast, = (v for n, v in by_name.items() if "Cast" in n or "Copy" in n)
    assert cast[1] & 0x120 == 0x120 and cast[2]["inputs"][0].tolist() == [1e6] * 3
    in_place, = (v for n, v in by_name.items() if "Reciprocal" in n)
    assert in_place[2]["inputs"][0].tolist() == [0, 0] and np.isinf(in_place[2]["outputs"][0]).all()
    atomic, = (v for n, v in by_name.items() if "IndexAdd" in n)
    assert atomic[0] == "L2 Atomic Add" and atomic[1] >> 16 == 1
    assert len(by_name) == 5, by_name.keys()  # and nothing that had an infinity to begin with


def test_kinds_of_overflow(ran):
    """dump_debug_mode: atomic adds alone, or kernels alone."""
    atomic, cores = found(ran / "atomic" / "dump"), found(ran / "cores" / "dump")
    assert {part for part, _, _ in atomic.values()} == {"L2 Atomic Add"} and len(atomic) == 1
    assert {part for part, _, _ in cores.values()} == {"AI Core"} and len(cores) == 4


def test_saturation(folder):
    """INF_NAN off: results are clipped to 65504, and the same operators are found."""
    runs.program("overflow", folder, env={"INF_NAN_MODE_FORCE_DISABLE": "1"})
    by_name = found(folder)
    part, bits, dump = by_name["aclnnMatmul_1"]
    assert part == "AI Core" and bits & 0x20 and (dump["outputs"][0] == 65504).all()
    assert "aclnnMatmul_0" not in by_name


def test_integers(ran):
    """Sums, differences, products and negations that their type cannot hold, and negative floats that become unsigned."""
    seen = sorted((bits, dump["inputs"][0].dtype.name, int(dump["inputs"][0].flat[0])) for _, bits, dump in found(ran / "integers" / "dump").values())
    assert seen == sorted([
        (0x10, "int8", 100), (0x10, "int32", -(2**31)), (0x10, "int64", 2**62), (0x10, "int64", 2**40), (0x10, "int16", 300), (0x8, "int8", -128),
        (0x10, "int32", 2**31 - 1), (0x10, "uint8", 3), (0x80, "float32", -1)])


def test_no_overflow_no_folder(ran):
    assert list((ran / "sane" / "dump").iterdir()) == []


def test_our_readers(ran, tmp_path):
    folder = ran / "overflow" / "dump"
    said = runs.msaccucmp("overflow", "-d", folder, "-out", tmp_path / "out", "-n", "2")
    assert "5 operators overflowed" in said
    assert re.search(r"\[Matmul\] aclnnMatmul_1\n \[AI Core\]\[TaskId:\d+\]\[StreamId:\d+\]\[Status:1056\]\n \[timestamp:\d{16}\]", said), said
    assert re.search(r"-\[Format: ND\] \[Shape: \(16, 16\)\] \[Dtype: float16\] \[Max: inf\]", said), said
    summary, = (tmp_path / "out").glob("overflow_summary_*.txt")
    assert summary.read_text() in said
    first = next(p for p in runs.files(folder) if p.name.startswith("Opdebug"))
    runs.msaccucmp("convert", "-d", first, "-out", tmp_path / "json")
    info = json.loads((tmp_path / "json" / f"{first.name}.output.0.json").read_text())
    assert info["AI Core"]["status"] == status(first)[1] and info["L2 Atomic Add"]["status"] == 0
    assert runs.msaccucmp("overflow", "-d", tmp_path / "json", "-out", tmp_path / "none").startswith("No operator overflowed")


# --- find-nan -----------------------------------------------------------------------------------------------------------

def find(name, code, **options):
    return runs.run(runs.UPDRAFT, "run", "--find-nan", sys.executable, FIND, name, status=code, **options)


def line_of(text):
    for number, line in enumerate(FIND.read_text().splitlines(), 1):
        if text in line:
            return number
    raise AssertionError(text)


def test_training_without_a_fault_goes_on():
    """Masks of minus infinity, softmax over them and an optimizer are no faults."""
    assert "the end" in find("sane", 0)


def test_the_first_in_a_forward():
    said = find("forward", 1)
    assert "aclnnLog," in said and "makes 3 Inf out of finite inputs" in said and "the end" not in said
    assert "self=FLOAT[3]: min 0, max 0, mean 0" in said
    lines = re.findall(r'File "(.*)", line (\d+), in (\w+)\n      (.*)', said)
    assert lines[-1] == (str(FIND), str(line_of("# the fault of forward")), "inner", "return torch.log(x)  # the fault of forward")
    assert lines[-2][2] == "forward"


def test_the_first_in_a_backward():
    """Autograd's thread has no Python lines: the forward's and those that wait for it are shown."""
    said = find("backward", 1)
    assert "the backward of SqrtBackward0" in said
    forward, main = said.split("while the main thread is in:")
    assert re.search(r'File ".*", line %d, in root' % line_of("# the fault of backward"), forward), said
    assert re.search(r'line %d, in backward\n\s*y.backward\(\)' % line_of("y.backward()"), main), said


def test_an_operator_that_an_engine_runs():
    said = find("large", 1, env={"UPDRAFT_INLINE": "0"})
    assert "aclnnMatmul," in said and "FLOAT16[512,512]: min 300, max 300, mean 300" in said
    assert re.search(r'line %d, in large' % line_of("# the fault of large"), said), said
    assert "the end" not in said


def test_in_place():
    said = find("in_place", 1)
    assert "before it min 0, max 4, mean 2" in said and "aclnnInplaceReciprocal" in said, said


def test_off_there_is_no_trace():
    said = runs.run(runs.UPDRAFT, "run", sys.executable, FIND, "forward")
    assert "find-nan" not in said and "the end" in said
