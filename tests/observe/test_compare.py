"""msaccucmp: the measures against NumPy in float64, the ways of pairing, conversions, refusals, and msaccucmp.py itself over
the same dumps."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import dump_runs as runs  # noqa: E402
from dump_writer import write_dump  # noqa: E402

MEASURES = ["CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance",
            "KullbackLeiblerDivergence", "StandardDeviation", "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError",
            "MeanRelativeError"]
EPS = 2.220446049250313e-16
TIME = 1700000000000000


def table(folder):
    path, = pathlib.Path(folder).glob("result_*.csv")
    return list(csv.DictReader(path.open(newline="")))


def save(folder, name, array, index=0, kind="npy"):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.{index}.{TIME}.{kind}"
    if kind == "pt":
        import torch

        torch.save(torch.from_numpy(np.ascontiguousarray(array)), path)
    else:
        np.save(path, array)
    return path


def reference(x, y):
    """The measures in float64 of what float32 holds of both."""
    x, y = (np.asarray(a).astype(np.float32).astype(np.float64).ravel() for a in (x, y))
    seen = np.abs(y) > EPS
    relative = np.where(seen, np.abs(x / np.where(seen, y, 1) - 1), 0)

    def spread(a):
        scaled = (a - a.min()) / (a.max() - a.min()) if a.max() != a.min() else a
        scaled = np.maximum(scaled, np.finfo(np.float32).eps)
        return scaled / scaled.sum()

    p, q = spread(x), spread(y)
    d = x - y
    return {"CosineSimilarity": (x * y).sum() / np.linalg.norm(x) / np.linalg.norm(y), "MaxAbsoluteError": np.abs(d).max(),
            "AccumulatedRelativeError": relative.sum(), "RelativeEuclideanDistance": np.linalg.norm(d) / np.linalg.norm(y),
            "KullbackLeiblerDivergence": (p * np.log(p / q)).sum(), "MeanAbsoluteError": np.abs(d).mean(),
            "RootMeanSquareError": np.sqrt((d ** 2).mean()), "MaxRelativeError": relative.max(), "MeanRelativeError": relative.mean()}


def numbers(text):
    return [float(n) for n in re.fullmatch(r"\((.*);(.*)\),\((.*);(.*)\)", text).groups()]


def check(row, x, y, tolerance=2e-5):
    for name, want in reference(x, y).items():
        got = float(row[name])
        # relative errors are of float32 quotients: each is exact to 6e-8
        slack = 1e-6 + tolerance * abs(want) + (1.2e-7 * np.size(x) if name.startswith("Accumulated") else 0)
        assert abs(got - want) <= slack, (name, got, want)
    x, y = (np.asarray(a).astype(np.float32).astype(np.float64) for a in (x, y))
    shown = ["%.3f" % (0 if abs(v) < 0.001 else v) for v in (x.mean(), x.std(), y.mean(), y.std())]
    assert numbers(row["StandardDeviation"]) == pytest.approx([float(v) for v in shown], rel=1e-6, abs=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "int32", "int64", "uint8", "bool"])
def test_measures(tmp_path, dtype):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(17, 33)) * 10
    y = x + rng.normal(size=x.shape) * 0.5
    x, y = (np.abs(a).astype(dtype) if dtype.startswith("u") else a.astype(dtype) for a in (x, y))
    save(tmp_path / "m", "op", x)
    save(tmp_path / "g", "op", y)
    runs.msaccucmp("compare", "-m", tmp_path / "m", "-g", tmp_path / "g", "-out", tmp_path / "out")
    row, = table(tmp_path / "out")
    assert [row["NPUDump"], row["GroundTruth"], row["TensorIndex"], row["Shape"]] == ["op", "op", "op:output:0", "[17,33]"]
    check(row, x, y)


def test_large_arrays_take_all_threads(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=5_000_003).astype(np.float32)
    y = x + rng.normal(size=x.shape).astype(np.float32) * np.float32(1e-3)
    save(tmp_path / "m", "op", x)
    save(tmp_path / "g", "op", y)
    runs.msaccucmp("compare", "-m", tmp_path / "m", "-g", tmp_path / "g", "-out", tmp_path / "out", "-threads", "3")
    check(table(tmp_path / "out")[0], x, y, 1e-4)


def test_special_values(tmp_path):
    zero, one = np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)
    some = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    nan = some.copy()
    nan[0, 1] = np.nan
    pairs = {"both_zero": (zero, zero), "mine_zero": (zero, some), "golden_zero": (some, zero), "nan": (nan, some),
             "scalar": (np.float32(3).reshape(1), np.float32(4).reshape(1)), "no_rank": (np.float32(3), np.float32(3)),
             "other_shape": (some, some.reshape(3, 2)), "other_size": (some, some[:1]), "empty": (some[:0], some[:0]),
             "same": (one, one)}
    for name, (x, y) in pairs.items():
        save(tmp_path / "m", name, x)
        save(tmp_path / "g", name, y)
    runs.msaccucmp("compare", "-m", tmp_path / "m", "-g", tmp_path / "g", "-out", tmp_path / "out")
    rows = {r["NPUDump"]: r for r in table(tmp_path / "out")}
    assert rows["both_zero"]["CosineSimilarity"] == "1.0" and rows["both_zero"]["RelativeEuclideanDistance"] == "0.000000"
    for name, side in (("mine_zero", "/m/"), ("golden_zero", "/g/")):
        assert rows[name]["CosineSimilarity"] == "NaN" and side in rows[name]["CompareFailReason"]
    assert rows["golden_zero"]["MaxRelativeError"] == "0.000000" and rows["golden_zero"]["RelativeEuclideanDistance"] == "0.000000"
    assert {rows["nan"][m] for m in MEASURES if m != "StandardDeviation"} == {"nan"}
    for name in ("scalar", "no_rank"):
        assert rows[name]["CosineSimilarity"] == "1.000000" and "This tensor is scalar." in rows[name]["CompareFailReason"]
    assert rows["other_shape"]["CosineSimilarity"] == "1.000000"  # as msaccucmp: the elements count
    assert "[2,3]" in rows["other_size"]["CompareFailReason"] and rows["other_size"]["CosineSimilarity"] == "NaN"
    assert rows["empty"]["MaxAbsoluteError"] == "NaN" and "no elements" in rows["empty"]["CompareFailReason"]
    assert rows["same"]["CosineSimilarity"] == "1.000000" and rows["same"]["KullbackLeiblerDivergence"] == "0.000000"


def test_one_side_alone_and_mixed_files(tmp_path):
    x = np.random.default_rng(5).normal(size=(3, 4)).astype(np.float32)
    for name, kinds in (("a", ("npy", "pt")), ("b", ("pt", "npy")), ("only_mine", ("npy", None)), ("only_golden", (None, "npy"))):
        for side, kind in zip("mg", kinds, strict=True):
            if kind:
                save(tmp_path / side, name, x, kind=kind)
    (tmp_path / "m" / f"T.c.1.2.{TIME}.output.0.3_4.float32.ND.bin").write_bytes(x.tobytes())
    save(tmp_path / "g", "c", x * 2)
    (tmp_path / "m" / "notes.txt").write_text("not a tensor")
    runs.msaccucmp("compare", "-m", tmp_path / "m", "-g", tmp_path / "g", "-out", tmp_path / "out")
    rows = {r["NPUDump"] + r["GroundTruth"]: r for r in table(tmp_path / "out")}
    assert set(rows) == {"aa", "bb", "cc", "only_mine*", "*only_golden"}
    assert rows["aa"]["MaxAbsoluteError"] == rows["bb"]["MaxAbsoluteError"] == "0.000000"
    assert rows["cc"]["OpType"] == "T" and abs(float(rows["cc"]["MaxRelativeError"]) - 0.5) < 1e-6
    assert "only_mine" in rows["only_mine*"]["CompareFailReason"]


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """Two dumps of a program; in the second an operator in the middle gives something else."""
    made = tmp_path_factory.mktemp("pair")
    runs.program("several", made, "mine=pair:0", "golden=pair:-9", "overflow")
    return {"base": made, **{name: next((made / name / "dump").glob("*/0")) for name in ("mine", "golden")}}


def test_dumps_of_two_runs(dumps, tmp_path):
    said = runs.msaccucmp("compare", "-m", dumps["mine"], "-g", dumps["golden"], "-out", tmp_path, "-overflow_detection")
    rows = table(tmp_path)
    header = next(csv.reader(next(tmp_path.glob("result_*.csv")).open(newline="")))
    assert header == ["Index", "OpType", "NPUDump", "DataType", "Address", "GroundTruth", "DataType", "Address", "TensorIndex", "Shape",
                      "OverFlow", *MEASURES, "CompareFailReason"]
    mine, golden = (runs.by_operator(dumps[side]) for side in ("mine", "golden"))
    compared = 0
    for row in rows:
        name, side, index = row["TensorIndex"].split(":")
        x, y = (runs.read_dump(paths[name])[side + "s"][int(index)] for paths in (mine, golden))
        assert row["Shape"] == "[%s]" % ",".join(map(str, x.shape))
        if x.dtype.kind == "c" or x.size == 1 or not x.any() or not y.any():
            continue
        check(row, x, y, 1e-4)
        compared += 1
        assert row["OverFlow"] == ("NaN" if x.dtype != np.float16 else "NO")
    assert compared > 15
    assert "first divergence: aclnnAdds_0 (Adds), aclnnAdds_0:output:0" in said
    page = next(tmp_path.glob("result_*.html")).read_text()
    assert "First divergence: aclnnAdds_0" in page and "What it reads agrees" in page
    assert not re.search(r'(src|href)="?https?:', page)  # opens without a network


def test_a_run_against_itself(dumps, tmp_path):
    said = runs.msaccucmp("compare", "-m", dumps["mine"], "-g", dumps["mine"], "-out", tmp_path, "-advisor")
    assert "no tensor differs" in said and "Detection Type: Global Consistency\nOperator Index: NA" in said
    assert (tmp_path / "advisor_summary.txt").read_text() in said


@pytest.mark.parametrize("kind", ["npy", "pt", "bin", "msnpy"])
def test_convert(dumps, tmp_path, kind):
    said = runs.msaccucmp("convert", "-d", dumps["mine"], "-out", tmp_path, "-t", kind)
    count = len(runs.files(dumps["mine"]))
    assert f"{count} of {count} files converted" in said
    seen = 0
    for path in runs.files(dumps["mine"]):
        dump = runs.read_dump(path)
        for side in ("input", "output"):
            for i, want in enumerate(dump[side + "s"]):
                if kind == "bin":
                    found, = tmp_path.glob(f"{path.name}.{side}.{i}.*.bin")
                    shape, dtype, layout = found.name.split(".")[-4:-1]
                    assert [int(d) for d in shape.split("_") if d] == list(want.shape) and layout == "ND"
                    got = found.read_bytes()
                    assert len(got) == want.size * (2 if dtype == "bfloat16" else want.itemsize)
                    continue
                name = f"{path.name}.{side}.{i}" + (".ND" if kind == "msnpy" else "")
                if kind == "pt":
                    import torch

                    got = torch.load(tmp_path / f"{name}.pt", weights_only=True)
                    got = (got.float() if got.dtype == torch.bfloat16 else got).numpy()
                else:
                    got = np.load(tmp_path / f"{name}.npy")
                assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
                seen += 1
    assert seen > 20 or kind == "bin"
    if kind != "msnpy":  # and what was converted compares with where it came from
        runs.msaccucmp("compare", "-m", dumps["mine"], "-g", tmp_path, "-out", tmp_path / "out")
        assert {r["MaxAbsoluteError"] for r in table(tmp_path / "out")} == {"0.000000"}


def test_layouts(tmp_path):
    x = np.arange(2 * 5 * 3 * 4, dtype=np.float32).reshape(2, 5, 3, 4)
    padded = np.zeros((2, 16, 3, 4), np.float32)
    padded[:, :5] = x
    blocks = padded.reshape(2, 1, 16, 3, 4).transpose(0, 1, 3, 4, 2).copy()
    path = tmp_path / f"T.op.1.2.{TIME}"
    write_dump(path, blocks, 3, x.shape)
    for name, want in (("NCHW", x), ("NHWC", x.transpose(0, 2, 3, 1)), ("HWCN", x.transpose(2, 3, 1, 0))):
        runs.msaccucmp("convert", "-d", path, "-f", name, "-out", tmp_path / name, "-o", "0")
        found, = (tmp_path / name).glob("*.npy")
        assert found.name == f"{path.name}.output.0.{'_'.join(map(str, want.shape))}.{name}.npy"
        assert np.array_equal(np.load(found), want)
    m = np.arange(20 * 35, dtype=np.float32).reshape(20, 35)
    square = np.zeros((32, 48), np.float32)
    square[:20, :35] = m
    write_dump(path, square.reshape(2, 16, 3, 16).transpose(2, 0, 1, 3).copy(), 29, m.shape)
    runs.msaccucmp("convert", "-d", path, "-f", "ND", "-out", tmp_path / "nz")
    assert np.array_equal(np.load(next((tmp_path / "nz").glob("*.npy"))), m)
    volume = np.arange(1 * 2 * 3 * 2 * 2 * 16, dtype=np.float32).reshape(1, 2, 3, 2, 2, 16)  # N D C1 H W C0
    write_dump(path, volume, 32, (1, 40, 2, 2, 2))
    runs.msaccucmp("convert", "-d", path, "-f", "NCDHW", "-out", tmp_path / "volume")
    want = volume.transpose(0, 2, 5, 1, 3, 4).reshape(1, 48, 2, 2, 2)[:, :40]
    assert np.array_equal(np.load(next((tmp_path / "volume").glob("*.npy"))), want)
    assert "want" in runs.msaccucmp("convert", "-d", path, "-f", "NOWHERE", "-out", tmp_path / "volume", status=1)


# --- whole models -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = tmp_path_factory.mktemp("models")
    runs.run(sys.executable, pathlib.Path(__file__).with_name("dump_models.py"), made)
    section = json.dumps({"dump_mode": "all", "dump_list": [{}]})
    for name in ("small", "small_off"):
        runs.run(runs.UPDRAFT, "run", sys.executable, runs.PROGRAMS, "model", made / f"{name}.om", made / f"dump_{name}", section, "1")
    return made


def step(models, name):
    return next((models / f"dump_{name}").glob("*/0/small/*/0"))


def test_a_model_against_a_reference(models, tmp_path):
    said = runs.msaccucmp("compare", "-m", step(models, "small"), "-g", models / "reference", "-f", models / "small.json", "-out", tmp_path)
    header = next(csv.reader(next(tmp_path.glob("result_*.csv")).open(newline="")))
    assert header[:10] == ["Index", "OpType", "NPUDump", "DataType", "Address", "GroundTruth", "DataType", "TensorIndex", "Shape",
                           "CosineSimilarity"]  # the reference has no addresses
    outputs = {r["NPUDump"]: r for r in table(tmp_path) if ":output:" in r["TensorIndex"]}
    fused = outputs["net/relu_1"]
    assert fused["GroundTruth"] == "net/conv.1,net/bn,net/relu" and fused["OpType"] == "FusedConv2D"
    for name in ("net/relu_1", "net/matmul", "net/softmax"):
        assert float(outputs[name]["CosineSimilarity"]) > 0.9999, outputs[name]
    inputs = {r["TensorIndex"]: r for r in table(tmp_path)}
    assert float(inputs["net/matmul:input:0"]["CosineSimilarity"]) > 0.9999  # of the operator before, through a view
    assert "no tensor differs" in said


def sides_of_fusion(models, mine, golden, fused, unfused, out):
    said = runs.msaccucmp("compare", "-m", mine, "-g", golden, "-f", fused, "-cf", unfused, "-out", out)
    return said, {r["NPUDump"]: r for r in table(out) if ":output:" in r["TensorIndex"]}


def test_fused_against_unfused(models, tmp_path):
    said, outputs = sides_of_fusion(models, step(models, "small"), step(models, "small_off"), models / "small.json", models / "small_off.json", tmp_path)
    assert "exchanged" not in said
    for name in ("net/relu_1", "net/softmax"):
        assert float(outputs[name]["CosineSimilarity"]) > 0.9999


def test_each_graph_goes_to_its_side(models, tmp_path):
    """By the operators, where both graphs have one name; by the name of the graph, where the folders have it."""
    fused, unfused = models / "small.json", models / "small_off.json"
    said, outputs = sides_of_fusion(models, step(models, "small_off"), step(models, "small"), fused, unfused, tmp_path / "swapped")
    assert "-f and -cf were exchanged: the dump of -m has the operators of the graph of -cf" in said
    assert float(outputs["net/relu"]["CosineSimilarity"]) > 0.9999 and outputs["net/relu"]["GroundTruth"] == "net/relu_1"
    assert float(outputs["net/softmax"]["CosineSimilarity"]) > 0.9999
    named = {}
    for name, path in (("small", fused), ("small_off", unfused)):
        graph = json.loads(path.read_text())
        graph["graph"][0]["name"] = name + "_graph"
        named[name] = tmp_path / (name + ".json")
        named[name].write_text(json.dumps(graph))
        shutil.copytree(step(models, name), tmp_path / "dumps" / (name + "_graph") / "0")
    mine, golden = (tmp_path / "dumps" / name / "0" for name in ("small_graph", "small_off_graph"))
    said, outputs = sides_of_fusion(models, mine, golden, named["small_off"], named["small"], tmp_path / "named")
    assert "-f and -cf were exchanged: the dump of -m is of the graph small_graph" in said
    assert float(outputs["net/relu_1"]["CosineSimilarity"]) > 0.9999


def test_the_planted_fault_is_first(models, tmp_path):
    reference = tmp_path / "reference"
    reference.mkdir()
    for path in (models / "reference").glob("*.npy"):
        array = np.load(path)
        if path.name.startswith("net_matmul."):
            array = array[:, ::-1].copy()
        np.save(reference / path.name, array)
    said = runs.msaccucmp("compare", "-m", step(models, "small"), "-g", reference, "-f", models / "small.json", "-out", tmp_path / "out")
    assert "first divergence: net/matmul (MatMulV2), net/matmul:output:0" in said


def test_ranges_and_selection(models, tmp_path):
    graph = json.loads((models / "small.json").read_text())
    ids = {op["name"]: op["id"] for g in graph["graph"] for op in g["op"]}
    sides = ("-m", step(models, "small"), "-g", models / "reference", "-f", models / "small.json")
    runs.msaccucmp("compare", *sides, "-s", f"{ids['net/matmul']},{ids['net/softmax']}", "-out", tmp_path / "s")
    rows = table(tmp_path / "s")
    assert {(r["NPUDump"], r["OpSequence"]) for r in rows} == {(n, str(ids[n])) for n in ("net/matmul", "net/softmax")}
    runs.msaccucmp("compare", *sides, "-r", f"{ids['net/matmul']},-1,1", "-out", tmp_path / "r")
    assert min(int(r["OpSequence"]) for r in table(tmp_path / "r")) == ids["net/matmul"]
    for wrong, text in ((("-r", "1,2,1", "-s", "1"), "want one of them"), (("-r", "0,2,1"), "start is 0"), (("-s", "999"), "999"),
                        (("-r", "x"), "start,end,step")):
        assert text in runs.msaccucmp("compare", *sides, *wrong, "-out", tmp_path / "w", status=1)


def test_one_operator(models, tmp_path):
    said = runs.msaccucmp("compare", "-m", step(models, "small"), "-g", models / "reference", "-f", models / "small.json", "-out", tmp_path,
                          "-op", "net/matmul", "-o", "0", "-n", "3")
    x = runs.read_dump(next(step(models, "small").glob("MatMulV2.*")))["outputs"][0].astype(np.float32).ravel()
    y = np.load(next((models / "reference").glob("net_matmul.*"))).ravel()
    rows = list(csv.DictReader((tmp_path / "net_matmul_output_0_0.csv").open()))
    assert len(rows) == 10
    for i, row in enumerate(rows):
        assert [float(row["NPUDump"]), float(row["GroundTruth"])] == pytest.approx([x[i], y[i]], abs=1e-6)
        assert float(row["AbsoluteError"]) == pytest.approx(abs(x[i] - y[i]), abs=2e-6)
    top = list(csv.DictReader((tmp_path / "net_matmul_output_0_absolute_error_topn.csv").open()))
    assert [int(r["Index"]) for r in top] == list(np.argsort(-np.abs(x - y), kind="stable")[:3])
    assert (tmp_path / "net_matmul_output_0_summary.txt").read_text() in said


def test_mapping(models, tmp_path):
    runs.msaccucmp("compare", "-m", step(models, "small"), "-g", models / "reference", "-f", models / "small.json", "-out", tmp_path, "-map")
    path, = tmp_path.glob("mapping*.csv")
    rows = {r["TensorIndex"]: r for r in csv.DictReader(path.open(newline=""))}
    assert rows["net/softmax:output:0"]["GroundTruthPath"].endswith("net_softmax.0.1700000000000006.npy")


# --- files, refusals ----------------------------------------------------------------------------------------------------

def test_two_files(tmp_path):
    x = np.random.default_rng(6).normal(size=(4, 4)).astype(np.float32)
    a, b = save(tmp_path / "m", "a", x), save(tmp_path / "g", "a", x * np.float32(1.5), kind="pt")
    said = runs.msaccucmp("file_compare", "-m", a, "-g", b, "-out", tmp_path / "out")
    kept, = (tmp_path / "out").glob("file_result_*.txt")
    assert kept.read_text() in said and "CosineSimilarity: 1.000000" in said and "MaxRelativeError: 0.333333" in said
    said = runs.msaccucmp("compare", "-m", a, "-g", b, "-alg", "1,RootMeanSquareError", "-out", tmp_path / "out")
    assert re.fullmatch(r"MaxAbsoluteError: \d\.\d{6}\nRootMeanSquareError: \d\.\d{6}\n", said)


def test_refusals(tmp_path):
    good = save(tmp_path / "m", "a", np.ones(3, np.float32)).parent
    (tmp_path / "none").mkdir()
    for arguments, text in (
            (["compare", "-m", good], "-g is missing"), (["compare", "-m", good, "-g", tmp_path / "no"], "no such folder"),
            (["compare", "-m", good, "-g", tmp_path / "none"], "no file in it is a dump"), (["compare", "-x"], "-x is not known"),
            (["compare", "-m", good, "-g", good, "-alg", "11"], "-alg has \"11\""), (["compare", "-m", good, "-g", good, "-o", "0"], "-op"),
            (["compare", "-m", good, "-g", good, "-op", "b"], "there is no such operator"),
            (["compare", "-m", good, "-g", good, "-r", "1,2,1"], "-f"), (["compare", "-m", good, "-g", good, "-c", "x"], "there is no folder algorithm"), (["compare", "-m", good, "-g", good, "-p", "x"], "-p is not implemented"),
            (["compare", "-m", good, "-g", good, "-f", good / f"a.0.{TIME}.npy"], "no graph in JSON"),
            (["convert", "-d", good, "-t", "hdf5"], "-t is hdf5"), (["convert", "-d", tmp_path / "no"], "no such file"),
            (["overflow", "-d", good, "-out", tmp_path, "-n", "6"], "want 1 to 5"), (["convert", "-d", good, "-out", tmp_path / "o"], "not converted")):
        assert text in runs.msaccucmp(*arguments, status=1), arguments
    said = runs.msaccucmp("compare", "-m", good, "-g", save(tmp_path / "g", "b", np.ones(3, np.float32)).parent, "-out", tmp_path / "o", status=1)
    assert "no operator is on both sides" in said
    assert "usage:" in runs.msaccucmp("-h") and "usage:" in runs.msaccucmp(status=2)
    damaged = tmp_path / "m" / f"T.x.1.2.{TIME}"
    damaged.write_bytes(b"\xff" * 40)
    runs.msaccucmp("compare", "-m", good, "-g", good, "-out", tmp_path / "d")
    assert "no dump" in {r["NPUDump"]: r for r in table(tmp_path / "d")}["x"]["CompareFailReason"]


def test_command_line_of_updraft(tmp_path):
    good = save(tmp_path / "m", "a", np.ones((2, 3), np.float32)).parent
    runs.run(runs.UPDRAFT, "compare", "-m", good, "-g", good, "-out", tmp_path / "o")
    assert len(table(tmp_path / "o")) == 1
    script = runs.tree() / "tools" / "operator_cmp" / "compare" / "msaccucmp.py"
    runs.run(sys.executable, script, "compare", "-m", good, "-g", good, "-out", tmp_path / "p")
    assert len(table(tmp_path / "p")) == 1


CUSTOM = """
import numpy as np


def compare(mine, golden, args):
    print("said on the way")
    assert mine.dtype == golden.dtype == np.float32 and mine.ndim == 1
    return "%.6f" % (np.abs(mine - golden).max() * float(getattr(args, "scale", 1))), ""
"""


def custom(folder, **files):
    (folder / "algorithm").mkdir(parents=True)
    for name, text in files.items():
        (folder / "algorithm" / (name + ".py")).write_text(text)
    return folder


def test_measures_of_the_users_own(tmp_path):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((3, 4)).astype(np.float32) for _ in range(2))
    for side, array in (("m", x), ("g", y)):
        save(tmp_path / side, "one", array)
        save(tmp_path / side, "two", array.astype(np.float16))
        save(tmp_path / side, "flags", array > 0)
    scripts = custom(tmp_path / "scripts", alg_Largest=CUSTOM, alg_Broken="def compare(a, b, c):\n    raise RuntimeError('it is broken')\n")
    sides = ("compare", "-m", tmp_path / "m", "-g", tmp_path / "g", "-c", scripts)
    runs.msaccucmp(*sides, "-a", "Largest:scale=2", "-alg", "MaxAbsoluteError,Largest,Broken", "-out", tmp_path / "out")
    rows = {r["NPUDump"]: r for r in table(tmp_path / "out")}
    assert list(rows["one"])[-4:] == ["MaxAbsoluteError", "Largest", "Broken", "CompareFailReason"]
    assert float(rows["one"]["Largest"]) == pytest.approx(2 * np.abs(x - y).max(), rel=1e-6)
    assert float(rows["two"]["Largest"]) == pytest.approx(2 * np.abs(x.astype(np.float16).astype(np.float32) - y.astype(np.float16).astype(np.float32)).max(), rel=1e-6)
    assert rows["one"]["Broken"] == "NaN" and "it is broken" in rows["one"]["CompareFailReason"]
    assert rows["flags"]["Largest"] == "NaN" and "Boolean" in rows["flags"]["CompareFailReason"]
    runs.msaccucmp(*sides, "-out", tmp_path / "all")
    assert set(MEASURES) | {"Largest", "Broken"} <= set(table(tmp_path / "all")[0])
    said = runs.msaccucmp("compare", "-m", tmp_path / "m" / f"one.0.{TIME}.npy", "-g", tmp_path / "g" / f"one.0.{TIME}.npy", "-c", scripts, "-alg", "Largest")
    assert "Largest: %.6f" % np.abs(x - y).max() in said


@pytest.mark.parametrize("files, options, said", [
    ({}, [], "there is no file alg_NAME.py"),
    ({"alg_One": "def compare(a, b): pass"}, [], "want a function compare"),
    ({"alg_One": "import nothing_of_that_name"}, [], "nothing_of_that_name"),
    ({"alg_One": CUSTOM}, ["-a", "One:scale"], "want NAME:key=value"),
    ({"alg_One": CUSTOM}, ["-alg", "Two"], 'has "Two"'),
])
def test_custom_measures_that_are_refused(tmp_path, files, options, said):
    save(tmp_path / "m", "one", np.ones(3, np.float32))
    scripts = custom(tmp_path / "scripts", **files)
    got = runs.msaccucmp("compare", "-m", tmp_path / "m", "-g", tmp_path / "m", "-c", scripts, *options, "-out", tmp_path, status=1)
    assert said in got


# --- msaccucmp.py of mindstudio-probe -----------------------------------------------------------------------------------

def original(*arguments, status=(0,)):
    folder = runs.PROBE / "msprobe" / "msaccucmp"
    if not folder.exists():
        pytest.skip("no mindstudio-probe: ./dev test observe installs it")
    environment = {**os.environ, "ASCEND_TOOLKIT_HOME": str(runs.tree()), "LD_LIBRARY_PATH": ""}
    done = subprocess.run([sys.executable, "msaccucmp.py", *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=240)
    said = done.stdout + done.stderr
    assert done.returncode in status, said[-4000:]
    return said


def same_tables(ours, theirs):
    """Cell by cell; numbers to their last digit or two, since theirs are sums of float32."""
    ours, theirs = (list(csv.reader(next(p.glob("result_*.csv")).open(newline=""))) for p in (ours, theirs))
    assert ours[0] == theirs[0] and len(ours) == len(theirs)
    count = 0
    for a, b in zip(ours[1:], theirs[1:], strict=True):
        for name, x, y in zip(ours[0], a, b, strict=True):
            if name == "CompareFailReason":
                assert bool(x) == bool(y), (a, b)
            elif x != y:
                assert name in MEASURES, (name, x, y)
                if name == "StandardDeviation":
                    assert numbers(x) == pytest.approx(numbers(y), rel=1e-6, abs=2e-3)
                    continue
                assert abs(float(x) - float(y)) <= 3e-6 + 2e-5 * abs(float(y)), (name, x, y, a)
            count += name in MEASURES and x not in ("NaN", "nan")
    assert count > 30


def test_client_compares_our_dumps(dumps, tmp_path):
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    sides = ("compare", "-m", dumps["mine"], "-g", dumps["golden"], "-out")
    original(*sides, tmp_path / "theirs")
    runs.msaccucmp(*sides, tmp_path / "ours")
    same_tables(tmp_path / "ours", tmp_path / "theirs")


def test_client_gives_the_same_custom_measure(dumps, tmp_path):
    scripts = custom(tmp_path / "scripts", alg_Largest=CUSTOM)
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    sides = ("compare", "-m", dumps["mine"], "-g", dumps["golden"], "-c", scripts, "-a", "Largest:scale=3", "-alg", "MaxAbsoluteError,Largest", "-out")
    original(*sides, tmp_path / "theirs")
    runs.msaccucmp(*sides, tmp_path / "ours")
    ours, theirs = ([r["Largest"] for r in table(tmp_path / name)] for name in ("ours", "theirs"))
    assert ours == theirs and sum(x not in ("NaN", "nan") for x in ours) > 10


def test_client_compares_a_model(models, tmp_path):
    (tmp_path / "theirs").mkdir()
    original("compare", "-m", step(models, "small"), "-g", models / "reference", "-f", models / "small.json", "-out", tmp_path / "theirs",
             status=(0, 2))  # 2: some operators, such as those of views, have no file
    outputs = {r["NPUDump"]: r for r in table(tmp_path / "theirs") if ":output:" in r["TensorIndex"]}
    assert outputs["net/relu_1"]["GroundTruth"] == "net/conv.1,net/bn,net/relu"
    runs.msaccucmp("compare", "-m", step(models, "small"), "-g", models / "reference", "-f", models / "small.json", "-out", tmp_path / "ours")
    ours = {r["NPUDump"]: r for r in table(tmp_path / "ours") if ":output:" in r["TensorIndex"]}
    for name in ("net/relu_1", "net/matmul", "net/softmax"):
        for measure in ("CosineSimilarity", "MaxAbsoluteError", "RelativeEuclideanDistance", "StandardDeviation"):
            x, y = outputs[name][measure], ours[name][measure]
            close = numbers(x) == pytest.approx(numbers(y), abs=2e-3) if ";" in x else abs(float(x) - float(y)) <= 3e-6
            assert close, (name, measure, x, y)


def test_client_converts_and_reads_overflows(dumps, tmp_path):
    (tmp_path / "npy").mkdir()
    path = next(p for p in runs.files(dumps["mine"]) if p.name.startswith("Matmul."))
    original("convert", "-d", path, "-out", tmp_path / "npy")
    assert np.array_equal(np.load(tmp_path / "npy" / f"{path.name}.output.0.npy"), runs.read_dump(path)["outputs"][0])
    (tmp_path / "out").mkdir()
    original("overflow", "-d", next((dumps["base"] / "overflow" / "dump").glob("*/0")), "-out", tmp_path / "out", "-n", "1")
    said = next((tmp_path / "out").glob("overflow_summary_*.txt")).read_text()
    assert "[Matmul] aclnnMatmul_1" in said and "[AI Core]" in said and "[Status:1056]" in said, said


@pytest.mark.long  # tensorboard and pandas are large
def test_client_precision_debugger(tmp_path):
    """PrecisionDebugger of msprobe, unmodified, over two steps of training."""
    runs.write_json(tmp_path / "config.json", {"task": "statistics", "dump_path": str(tmp_path / "out"), "rank": [], "step": [], "level": "L1",
                                               "async_dump": False, "statistics": {"scope": [], "list": [], "data_mode": ["all"],
                                                                                   "summary_mode": "statistics"}})
    script = tmp_path / "train.py"
    script.write_text("""
import sys, torch, torch_npu
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(config_path=sys.argv[1])
net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).npu()
for _ in range(2):
    debugger.start(net)
    net(torch.randn(3, 8).npu()).sum().backward()
    debugger.stop()
    debugger.step()
""")
    runs.run(sys.executable, script, tmp_path / "config.json", env={"PYTHONPATH": str(runs.PROBE)})
    for step_folder in ("step0", "step1"):
        dump, = (tmp_path / "out" / step_folder).rglob("dump.json")
        data = json.loads(dump.read_text())["data"]
        assert any(name.startswith("Functional.linear.0.forward") for name in data) and any("backward" in name for name in data)
