"""Dump of tensors: what is written, where and by which rules; of single operators and of models."""

import csv
import json
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import dump_runs as runs  # noqa: E402

from . import programs  # noqa: E402

NAME = re.compile(r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.\d+\.\d+\.\d{16}$")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What the programs of one process left, by their names, and what it said."""
    made = tmp_path_factory.mktemp("ran")
    said = runs.program("several", made, "eager", "layers", "statistics", "unwritable", "callback", "full")
    return {"said": said, **{p.name: p / "dump" for p in made.iterdir()}}


def close(got, want, tolerance=1e-6):
    assert got.shape == want.shape
    assert np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0) <= tolerance


# --- single operators ---------------------------------------------------------------------------------------------------

def test_operators_of_pytorch(ran):
    folder = ran["eager"]
    want = np.load(folder.parent / "want.npz")
    paths = runs.by_operator(folder)
    for path in runs.files(folder):
        time, device = path.relative_to(folder).parts[:2]
        assert re.fullmatch(r"\d{14}", time) and device == "0" and NAME.match(path.name), path
    dumps = {name: runs.read_dump(path) for name, path in paths.items()}
    for name, path in paths.items():
        assert dumps[name]["op_name"] == name and dumps[name]["version"] == "2.0"
        assert name.startswith("aclnn" + path.name.split(".")[0])
    x, w = want["x"], want["w"]
    product = dumps["aclnnMatmul_0"]
    close(product["inputs"][0], x.T)  # a view is written as what it shows
    close(product["outputs"][0], x.T.astype(np.float64) @ x, 1e-4)
    assert all(a > 0 for a in product["addresses"])
    half = next(d for n, d in dumps.items() if n.startswith("aclnnMuls") and d["outputs"][0].dtype == np.float16)
    close(half["outputs"][0], (x.astype(np.float16) * np.float16(2)))
    assert any(d["outputs"][0].dtype == np.bool_ for d in dumps.values())
    joined = dumps["aclnnCat_0"]
    assert len(joined["inputs"]) == 2  # a list is an input for each tensor
    close(joined["outputs"][0], np.concatenate([x, x * np.float32(3)]))
    in_place = next(d for n, d in dumps.items() if n.startswith("aclnnInplaceMuls"))
    close(in_place["inputs"][0], x)  # as it was before
    close(in_place["outputs"][0], x * 4)
    large = dumps["aclnnAtan_0"]  # more than is kept in memory
    assert np.array_equal(large["inputs"][0], want["big"])
    close(large["outputs"][0], want["atan"], 1e-6)
    close(dumps["aclnnSin_0"]["inputs"][0], w.T[1:3])


def test_modes(ran):
    folder = ran["layers"]
    assert 'no operator that ran has the name of dump_list[0].layer "Nobody"' in ran["said"]
    names = [p.name.split(".")[1] for p in runs.files(folder)]
    assert names == ["aclnnSin_0", "aclnnCos_0", "aclnnSin_1"]  # layer: types and names; Exp is left out
    for path in runs.files(folder):
        dump = runs.read_dump(path)
        assert len(dump["inputs"]) == 1 and dump["outputs"] == []


def test_statistics(ran):
    folder = ran["statistics"]
    x = np.load(folder.parent / "x.npy")
    tables = [list(csv.DictReader(p.open())) for p in runs.files(folder) if ".aclnnNeg_" in p.name]
    assert all(p.suffix == ".csv" for p in runs.files(folder)) and len(tables) == 4
    by_name = {p.name.split(".")[1]: list(csv.DictReader(p.open())) for p in runs.files(folder)}
    for name, values in (("aclnnNeg_0", x), ("aclnnNeg_1", x.astype(np.float16))):
        read, written = by_name[name]
        assert [read["Input/Output"], read["Index"], read["Shape"], read["Count"]] == ["Input", "0", "5x7", "35"]
        assert [written["Input/Output"], written["Data Size"]] == ["Output", str(values.nbytes)]
        for row, array in ((read, values), (written, -values)):
            finite = array[np.isfinite(array)].astype(np.float64)
            for column, figure in (("Max Value", finite.max()), ("Min Value", finite.min()), ("Avg Value", finite.mean()),
                                   ("L2norm Value", np.sqrt((finite ** 2).sum()))):
                assert abs(float(row[column]) - figure) < 1e-6, (column, row)
            assert [row["Nan Count"], row["Negative Inf Count"], row["Positive Inf Count"]] == ["1", "1", "1"]
    nothing = by_name["aclnnNeg_2"][0]
    assert nothing["Max Value"] == "nan" and nothing["Nan Count"] == "2"
    assert by_name["aclnnNeg_3"][1]["Min Value"] == "-5" and by_name["aclnnNeg_3"][1]["Data Type"] == "INT64"


def test_a_folder_that_is_gone_loses_nothing_else(ran):
    assert re.search(r"updraft: 11 files of the dump could not be written; the first: .*the folder cannot be made", ran["said"]), ran["said"]
    assert [p.name.split(".")[1] for p in runs.files(ran["unwritable"])] == ["aclnnAdds_0"]


def test_a_disk_that_is_full(ran):
    assert re.search(r"updraft: 1 file of the dump could not be written; the first: .*aclnnCos_0.*File too large", ran["said"]), ran["said"]
    assert [p.name.split(".")[1] for p in runs.files(ran["full"])] == ["aclnnSin_0", "aclnnTan_0"]  # no half file


def test_an_operator_that_fails(folder):
    said = runs.program("failing", folder)
    assert "failed:" in said
    paths = runs.files(folder / "extra-info")
    assert [p.relative_to(folder).parts[:3] for p in paths] == [("extra-info", "data-dump", "0")], said
    dump = runs.read_dump(paths[0])
    assert [a.shape for a in dump["inputs"]] == [(4, 3), (3,)] and dump["inputs"][1].tolist() == [0, 1, 7]


def test_callback(ran):
    assert runs.files(ran["callback"]) == []
    chunks = ran["callback"].parent / "chunks"
    dumps = {n: runs.read_dump(p) for n, p in runs.by_operator(chunks).items()}
    assert np.array_equal(dumps["aclnnSin_0"]["inputs"][0], np.arange(12 << 20, dtype=np.float32))
    close(dumps["aclnnCos_0"]["outputs"][0], np.cos(np.arange(5.0)), 1e-6)


# --- configurations -----------------------------------------------------------------------------------------------------

REFUSED = [  # what of it is wrong, and the text: key, value, what is allowed
    ({"dump_mode": "both"}, ["dump_mode", '"both"', '"input", "output", "all"']),
    ({"dump_op_switch": True}, ["dump_op_switch", "true", '"on", "off"']),
    ({"dump_debug": "yes"}, ["dump_debug", '"yes"', '"on", "off"']),
    ({"dump_data": "csv"}, ["dump_data", '"csv"', '"tensor", "stats"']),
    ({"dump_step": "5-3"}, ["dump_step", "5-3", "ends before it begins"]),
    ({"dump_step": "a"}, ["dump_step", '"a"', "no step"]),
    ({"dump_step": "-1"}, ["dump_step", "-1"]),
    ({"dump_step": 3}, ["dump_step", "3", "a text"]),
    ({"dump_step": "1|"}, ["dump_step", "empty|no step"]),
    ({"dump_list": {}}, ["dump_list", "an array"]),
    ({"dump_list": ["m"]}, ["dump_list[0]", '"m"', "an object"]),
    ({"dump_list": [{"layer": "x"}]}, ["dump_list[0].layer", '"x"', "an array"]),
    ({"dump_list": [{"model_name": "m"}, {"model_name": "m"}]}, ["dump_list[1].model_name", '"m"', "no other entry"]),
    ({"dump_list": [{"modle": "m"}]}, ["dump_list[0].modle", "no such key"]),
    ({"dump_list": [{"watcher_nodes": ["a"]}]}, ["watcher_nodes", "dump_scene"]),
    ({"dump_scene": "watcher"}, ["watcher", "layer", "watcher_nodes"]),
    ({"dump_scene": "everything"}, ["dump_scene", '"everything"', "lite_exception"]),
    ({"dump_scene": "lite_exception", "dump_op_switch": "on"}, ["dump_scene", "dump_op_switch"]),
    ({"dump_debug": "on", "dump_op_switch": "on"}, ["dump_debug", "dump_op_switch"]),
    ({"dump_data": "stats", "dump_stats": ["Median"], "dump_op_switch": "on"}, ["dump_stats", '"Median"', '"L2norm"']),
    ({"dump_stats": ["Max"]}, ["dump_stats", "dump_data"]),
    ({"dump_path": "/no/such/folder", "dump_op_switch": "on"}, ["dump_path", "/no/such/folder", "no such folder"]),
    ({"dump_path": None, "dump_op_switch": "on"}, ["dump_path", "null"]),
    ({"dump_path": "", "dump_op_switch": "on"}, ["dump_path", "empty"]),
    ({"dump_path": "case.json", "dump_op_switch": "on"}, ["dump_path", "no folder"]),
    ({}, ["dump_list", "dump_op_switch", "nothing would be written"]),
]


def test_wrong_configurations(tmp_path):
    cases = [{"dump_path": ".", **section} for section, _ in REFUSED]
    cases.append({"dump_op_switch": "on"})
    runs.write_json(tmp_path / "cases.json", cases)
    said = runs.program("refusals", tmp_path, cwd=tmp_path)
    answers = json.loads(said.split("@@")[1].splitlines()[0])
    for (section, texts), answer in zip(REFUSED, answers, strict=False):
        for code, text in answer:
            assert code == 100009, (section, code, text)
            for part in texts:
                assert re.search(part if "|" in part else re.escape(part), text), (section, part, text)
            assert "case.json" in text or "dump_step" in text
    assert answers[-1][0][0] == 100009 and "there is no dump_path" in answers[-1][0][1]


def test_pytorch_is_told_of_a_wrong_configuration(tmp_path):
    """torch_npu takes no notice of the code: the program goes on, and stderr says why nothing is dumped."""
    runs.write_json(tmp_path / "dump.json", {"dump": {"dump_path": str(tmp_path), "dump_op_switch": "on", "dump_mode": "both"}})
    said = programs.python("""
        import sys, torch, torch_npu
        torch_npu.npu.init_dump()
        torch_npu.npu.set_dump(sys.argv[1])
        print((torch.ones(3).npu() + 1).sum().item())
        torch_npu.npu.finalize_dump()
    """, tmp_path / "dump.json")
    assert "6.0" in said and "nothing is dumped" in said and "dump_mode" in said and "input" in said and "all" in said


def test_order_of_calls(folder):
    said = runs.program("order", folder)
    codes, paths = json.loads(said.split("@@")[1].splitlines()[0])
    #               init dump, aclInit, set, finalize, init, again, no path, no file, set, set again
    assert codes == [100001, 0, 100045, 100045, 0, 100044, 107000, 100003, 0, 0,
                     0, 100045, 0, 0, 100044, 0]  # finalize, again, aclFinalize, aclInit with a dump, init beside it, end
    assert paths == [str(folder), None, None]


# --- models -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("rows", "inline"), [("4", "1"), ("30000", "0")])
def test_the_message_of_a_failure_says_what_it_was_called_with(rows, inline):
    """Small operators run while the client's handles are there; of large ones the arguments are kept."""
    said = runs.program("message", rows, env={"UPDRAFT_INLINE": inline})
    count, most = int(rows) * 3, int(rows) + 5
    assert "called with:" in said, said
    assert re.search(r"self=FLOAT\[%s,3\]: min 0, max %g, mean" % (rows, count - 1), said), said
    assert re.search(r"index=INT64\[%d\]: min 0, max %d, mean" % (count, most), said), said


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """small.om, and small_off.om without fusions; their graphs as JSON; what PyTorch gives in reference/."""
    made = tmp_path_factory.mktemp("models")
    runs.run(sys.executable, pathlib.Path(__file__).with_name("dump_models.py"), made)
    return made


def model(models, folder, section, om="small", **options):
    runs.run(runs.UPDRAFT, "run", sys.executable, runs.PROGRAMS, "model", models / f"{om}.om", folder, json.dumps(section), **options)


def test_folders_of_a_model(models, folder):
    model(models, folder, {"dump_mode": "all", "dump_list": [{}]})
    parts = {p.relative_to(folder).parts[1:5] for p in runs.files(folder)}
    assert parts == {("0", "small", "1", str(step)) for step in range(3)}
    step = next(folder.iterdir()) / "0" / "small" / "1" / "0"
    types = sorted(p.name.split(".")[0] for p in step.iterdir())
    assert types == ["Cast", "Cast", "FusedConv2D", "MatMulV2", "SoftmaxV2"]
    softmax = runs.read_dump(next(step.glob("SoftmaxV2.net_softmax.*")))
    assert softmax["op_name"] == "net/softmax"
    assert abs(softmax["outputs"][0].astype(np.float64).sum() - 1) < 1e-2


def test_steps_and_layers(models, folder):
    section = {"dump_mode": "output", "dump_step": "1|3-4", "dump_list": [{"model_name": "small", "layer": ["net/matmul", "SoftmaxV2", "net/none"]}]}
    said = runs.run(runs.UPDRAFT, "run", sys.executable, runs.PROGRAMS, "model", models / "small.om", folder, json.dumps(section), "6")
    assert 'the name of dump_list[0].layer "net/none": nothing' in said  # and of no other
    seen = {(p.parent.name, p.name.split(".")[1]) for p in runs.files(folder)}
    assert seen == {(s, n) for s in "134" for n in ("net_matmul", "net_softmax")}
    assert all(runs.read_dump(p)["inputs"] == [] for p in runs.files(folder))


def test_another_model_is_left_alone(models, folder):
    model(models, folder, {"dump_list": [{"model_name": "other"}]})
    assert runs.files(folder) == []


def test_watchers(models, folder):
    section = {"dump_scene": "watcher", "dump_list": [{"model_name": "small", "layer": ["net/matmul"], "watcher_nodes": ["net/relu_1"]}]}
    runs.run(runs.UPDRAFT, "run", sys.executable, runs.PROGRAMS, "model", models / "small.om", folder, json.dumps(section), "1")
    looked, = runs.files(folder)
    assert looked.name.startswith("FusedConv2D.net_relu_1_after_net_matmul.")
    assert runs.read_dump(looked)["outputs"][0].shape == (1, 4, 8, 8)


def test_model_and_operators_cost_nothing_when_off(models, folder):
    """Nothing is written, and no observer listens, with a dump that only asks for messages."""
    model(models, folder, {"dump_scene": "lite_exception"})
    assert runs.files(folder) == []
