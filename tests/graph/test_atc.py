"""atc: ONNX files become om files that run as ONNX's reference says; console, errors, gears, types, AIPP, JSON, Netron."""

import json
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

from tests.graph.offline_model import OfflineModel, Refused, batch, dims, image
from updraft import home

ROOT = pathlib.Path(__file__).parents[2]
ONNX_PYTHON = ROOT / ".venv-onnxruntime" / "bin" / "python"
ATC = pathlib.Path(home()) / "bin" / "atc"
BEGIN = "ATC start working now, please wait for a moment."
DONE = "ATC run success, welcome to the next use."
FAILED = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"
SOC = "--soc_version=Ascend910B2"
EXACT = "--precision_mode=must_keep_origin_dtype"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("atc")
    subprocess.run([ONNX_PYTHON, pathlib.Path(__file__).with_name("atc_models.py"), made], check=True, timeout=300)
    return made


def atc(*arguments, cwd=None):
    return subprocess.run([ATC, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=cwd)


def compiled(folder, name, *arguments, output=None):
    """The path of the om that atc makes of NAME.onnx."""
    om = folder / (output or f"{name}-{abs(hash(arguments))}")
    done = atc("--framework=5", f"--model={folder / name}.onnx", f"--output={om}", SOC, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert BEGIN in done.stdout and DONE in done.stdout
    return pathlib.Path(f"{om}.om")


def refused(code, *arguments):
    """What atc says when it refuses."""
    done = atc(*arguments)
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout
    assert lines[:2] == [BEGIN, FAILED] and lines[2].startswith(code + ": "), done.stdout
    return done.stdout


def cases(folder, name):
    """(case, inputs, outputs) as the reference has them."""
    arrays = np.load(folder / f"{name}.npz")
    for case in sorted({key.split("/")[0] for key in arrays if "/" in key}):
        part = lambda side: {k.split("/")[2]: v for k, v in arrays.items() if k.startswith(f"{case}/{side}/")}
        yield case, part("in"), list(part("out").values())


def compare(got, want, tolerance):
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape, (g.shape, w.shape)
        assert np.abs(g.astype(np.float64) - w).max() <= tolerance * max(1, np.abs(w).max()), np.abs(g.astype(np.float64) - w).max()


# --- compiling and the console ------------------------------------------------------------------------------------------

def test_results_are_the_references(folder):
    om = compiled(folder, "convolutions", "--input_shape=image:1,3,16,16", EXACT)
    with OfflineModel(om) as model:
        for case, feeds, want in cases(folder, "convolutions"):
            if case == "1x16x16":
                compare(model.run(feeds), want, 1e-5)


def test_values_may_stand_apart(folder):
    done = atc("--framework", "5", "--model", folder / "dense.onnx", "--output", folder / "words.om", "--soc_version", "Ascend910B2")
    assert done.returncode == 0 and done.stdout.splitlines() == [BEGIN, DONE], done.stdout
    assert (folder / "words.om").read_bytes()[:4] == b"IMOD"


def test_omg_is_the_same_program(folder):
    done = subprocess.run([ATC.with_name("omg"), "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "--dynamic_batch_size=" in done.stdout and BEGIN not in done.stdout


def test_every_option_is_in_the_page():
    listed = {line.split("=")[0].strip() for line in atc("--help").stdout.splitlines() if line.startswith("  --")}
    assert len(listed) > 60
    for page in ("atc-options.md", "atc-options.zh.md"):
        text = (ROOT / "docs" / "reference" / page).read_text()
        assert {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| --")} == listed


def test_sizes_that_come_at_run_time(folder):
    om = compiled(folder, "convolutions", "--input_shape=image:1~4,3,-1,-1", EXACT)
    with OfflineModel(om) as model:
        assert model.dims("aclmdlGetInputDims", 0) == (-1, 3, -1, -1)
        for case, feeds, want in cases(folder, "convolutions"):
            compare(model.run(feeds, sizes={"image"}), want, 1e-5)
        with pytest.raises(Refused, match="1~4"):
            model.run({"image": np.zeros((5, 3, 16, 16), np.float32)}, sizes={"image"})


def test_outputs_that_are_asked_for(folder):
    om = compiled(folder, "convolutions", "--input_shape=image:1,3,16,16", EXACT, "--out_nodes=relu1:0;p1", "--output_type=relu1:0:FP16")
    with OfflineModel(om) as model:
        assert model.dims("aclmdlGetOutputDims", 0) == (1, 8, 16, 16) and model.output_type(0) == np.float16
        assert model.dims("aclmdlGetOutputDims", 1) == (1, 8, 8, 8) and model.output_type(1) == np.float32


def test_weights_beside_the_om(folder):
    (folder / "apart").mkdir()
    om = compiled(folder, "dense", EXACT, "--external_weight=1", output="apart/outside")
    _, feeds, want = next(cases(folder, "dense"))
    files = list((folder / "apart" / "weight").iterdir())
    assert [f.stat().st_size for f in files] == [64 * 32 * 4] and om.stat().st_size < 64 * 32 * 4
    with OfflineModel(om) as model:
        compare(model.run(feeds), want, 1e-5)
    files[0].unlink()
    with pytest.raises(Refused, match=files[0].name):
        OfflineModel(om)


def test_graphs_of_torchair(tmp_path):
    """--framework=1: what torch_npu's own exporter writes."""
    done = subprocess.run([sys.executable, "-W", "ignore", pathlib.Path(__file__).with_name("air_program.py"), tmp_path], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    done = atc("--framework=1", f"--model={tmp_path}/net.air.air", f"--output={tmp_path}/net", SOC, EXACT)
    assert done.returncode == 0, done.stdout
    arrays = np.load(tmp_path / "net.npz")
    with OfflineModel(tmp_path / "net.om") as model:
        compare(model.run({model.inputs[0]: arrays["x"]}), [arrays["y"]], 1e-5)
    done = atc("--mode=3", "--framework=1", f"--model={tmp_path}/net.air.air", f"--check_report={tmp_path}/report.json")
    assert done.returncode == 0, done.stdout


# --- refusals -----------------------------------------------------------------------------------------------------------

def test_nothing_given():
    assert "[--framework] is required" in refused("E10007")


def test_an_option_that_there_is_not(folder):
    text = refused("E10001", "--framework=5", f"--model={folder}/dense.onnx", "--input_shapes=x:1")
    assert "[--input_shapes]" in text and "--input_shape is meant" in text


@pytest.mark.parametrize("option, code, words", [
    ("--mode=2", "E10001", "0, 1, 3, 5, 6"),
    ("--precision_mode=half", "E10001", "force_fp16"),
    ("--allow_hf32=yes", "E10005", "must be true or false"),
    ("--weight=net.caffemodel", "E10001", "no such file"),
    (f"--weight={__file__}", "E10001", "its models hold their weights"),
    ("--soc_version=Ascend77", "E10001", "Ascend910B2"),
    ("--input_shape=y:4,64", "E10001", "its inputs: x"),
    ("--input_shape=x:4,a", "E10001", "'a' is no size"),
    ("--input_shape=x:9~2,64", "E10001", "smaller size first"),
    ("--dynamic_batch_size=1", "E10001", "there are 1 gears, want 2 to 100"),
    ("--dynamic_batch_size=1,2,1", "E10001", "gear 1 comes twice"),
    ("--dynamic_batch_size=1,2", "E10001", "no input has an unknown dimension"),
    ("--out_nodes=nobody:0", "E10001", "nobody:0"),
    ("--output_type=FP8", "E10001", "FP32, FP16, UINT8 or INT8"),
    ("--insert_op_conf=/nowhere.cfg", "E10001", "no such file"),
    ("--log=loud", "E10001", "debug, info"),
    ("--out_nodes=softmax:zero", "E10001", "softmax:zero is asked for"),
    ("--output_type=softmax:1:FP16", "E10001", "product:0"),
    ("--input_shape=x:4,64;x:4,64", "E10001", "input x is given twice"),
    ("--input_shape_range=x:[1~4,64", "E10001", "brackets are not in pairs"),
    ("--op_precision_mode=/nowhere.ini", "E10001", "no such file"),
    ("--op_debug_config=/nowhere.cfg", "E10001", "no such file"),
    ("--is_input_adjust_hw_layout=true", "E10001", "NC1HWC0"),
    ("--is_input_adjust_hw_layout=yes", "E10005", "must be true or false"),
    ("--sparsity=2", "E10001", "none of 0, 1"),
])
def test_values_that_options_cannot_have(folder, option, code, words):
    given = [] if option.startswith("--soc_version") else [SOC]
    text = refused(code, "--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/no", option, *given)
    assert words in text and f"parameter [{option.split('=')[0]}] is invalid" in text
    assert not (folder / "no.om").exists()


@pytest.mark.parametrize("option", ["--is_output_adjust_hw_layout=false", "--enable_compress_weight=false", "--sparsity=0", "--save_original_model=false"])
def test_what_is_not_done_may_be_left_undone(folder, option):
    compiled(folder, "dense", option, output="undone")


def test_options_that_contradict_each_other(folder):
    model = ["--framework=5", f"--model={folder}/convolutions.onnx", f"--output={folder}/no", SOC]
    text = refused("E10001", *model, "--input_shape=image:-1,3,16,16", "--dynamic_batch_size=1,2", "--dynamic_dims=1;2")
    assert "dynamic_batch_size is given, too" in text
    assert "precision_mode is given, too" in refused("E10001", *model, "--precision_mode=force_fp16", "--precision_mode_v2=origin")
    assert "already given" in refused("E10001", *model, "--log=info", "--log=error")
    many = ",".join(str(i) for i in range(1, 102))
    assert "there are 101 gears" in refused("E10001", *model, "--input_shape=image:-1,3,16,16", f"--dynamic_batch_size={many}")


def test_other_frameworks_are_told_the_way(folder):
    model = ["--framework=0", f"--model={folder}/dense.onnx", f"--output={folder}/no", SOC]
    assert "[--weight] is required" in refused("E10007", *model)
    assert "of the prototxt: a name or a value is wanted, there is the byte 0x" in refused("E10001", *model, f"--weight={folder}/dense.onnx")


def test_files_that_are_no_models(folder):
    common = ["--framework=5", f"--output={folder}/no", SOC]
    assert "no such file" in refused("E10001", f"--model={folder}/nowhere.onnx", *common)
    whole = (folder / "convolutions.onnx").read_bytes()
    for size in (3, 40, len(whole) // 2, len(whole) - 5):
        (folder / "cut.onnx").write_bytes(whole[:size])
        assert "cut.onnx" in refused("E10001", f"--model={folder}/cut.onnx", *common)
    (folder / "text.onnx").write_text("no model at all")
    assert "does not begin as an ONNX model" in refused("E10001", f"--model={folder}/text.onnx", *common)
    text = refused("E10001", "--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/nowhere/x", SOC)
    assert "nowhere/x" in text


def test_operators_that_there_are_not(folder):
    text = refused("E19010", "--framework=5", f"--model={folder}/unsupported.onnx", f"--output={folder}/no", SOC)
    assert "words (TfIdfVectorizer)" in text and "there is no converter" in text


def test_options_without_effect_say_so(folder):
    done = atc("--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/idle", SOC, "--buffer_optimize=l2_optimize")
    assert done.returncode == 0 and "--buffer_optimize has no effect" in done.stdout


def test_log_level(folder):
    done = atc("--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/logged", SOC, "--log=info")
    assert "DeadNodeRemovePass changed" in done.stdout


# --- other modes --------------------------------------------------------------------------------------------------------

def test_check_of_a_model(folder):
    report = folder / "report.json"
    text = refused("E19010", "--mode=3", "--framework=5", f"--model={folder}/unsupported.onnx", f"--check_report={report}")
    assert "1 of 2 nodes" in text and "words (TfIdfVectorizer)" in text
    found = json.loads(report.read_text())
    assert found["result"] == "failed"
    assert [(n["op_name"], n["result"]) for n in found["op"]] == [("relu", "success"), ("words", "failed")]
    done = atc("--mode=3", "--framework=5", f"--model={folder}/dense.onnx", f"--check_report={report}")
    assert done.returncode == 0 and json.loads(report.read_text())["result"] == "success"


def nodes_of(path):
    return {n["name"]: n for n in json.loads(path.read_text())["graph"][0]["op"]}


def attribute(node, name):
    return next(a["value"] for a in node["attr"] if a["key"] == name)


def test_om_to_json(folder):
    om = compiled(folder, "dense", EXACT, output="to_json")
    assert atc("--mode=1", f"--om={om}", f"--json={folder}/om.json").returncode == 0
    nodes = nodes_of(folder / "om.json")
    assert nodes["x"]["type"] == "Data" and nodes["x"]["output_desc"][0]["dtype"] == "DT_FLOAT"
    assert nodes["x"]["output_desc"][0]["shape"]["dim"] == [4, 64]
    assert nodes["softmax"]["input"] == ["product:0"] and attribute(nodes["softmax"], "axes")["list"]["i"] == [-1]
    assert attribute(nodes["w"], "value")["t"]["desc"]["weight_size"] == 64 * 32 * 4
    whole = json.loads((folder / "om.json").read_text())
    assert {"key": "soc_version", "value": {"s": "Ascend910B2"}} in whole["attr"] and whole["name"] == "to_json"
    assert "are no offline model (om): perhaps an ONNX model" in refused("E10001", "--mode=6", f"--om={folder}/dense.onnx")
    assert "[--json] is required" in refused("E10007", "--mode=1", f"--om={om}")
    assert "parameter [--json] is invalid" in refused("E10001", "--mode=1", f"--om={om}", f"--json={folder}/nowhere/x.json")


def test_model_to_json(folder):
    """Scripts for cards give the model itself, with its framework, to --om."""
    model = [f"--om={folder}/dense.onnx", f"--json={folder}/model.json"]
    assert atc("--mode=1", "--framework=5", *model).returncode == 0
    assert nodes_of(folder / "model.json")["softmax"]["output_desc"][0]["shape"]["dim"] == [4, 32]
    assert "with --framework also a model" in refused("E10001", "--mode=1", *model)
    assert "parameter [--om] is invalid" in refused("E10001", "--mode=1", "--framework=3", *model)


TEXT_DUMP = r'''
name: "ge_default_20260101"   # a dump by hand
graph {
  name: "part"
  op { name: "x" type: "Data" attr { key: "index" value { i: 0 } } output_desc { dtype: DT_FLOAT shape { dim: 2 dim: 3 } layout: "ND" } }
  op {
    name: "r\303\251lu" type: "Relu" input: "x:0" input: "x:-1"
    attr { key: "shape" value { list { i: [1, 2] val_type: VT_LIST_INT } } }
    attr { key: "unseen" value { new_field: 7 f: inf } }
    input_desc < dtype: DT_FLOAT shape { dim: [2, 3] } >
  }
}
'''


def test_text_dump_to_json(folder):
    dump = folder / "ge_proto_00005_Build.txt"
    dump.write_text(TEXT_DUMP)
    assert atc("--mode=5", f"--om={dump}", f"--json={folder}/dump.json").returncode == 0
    nodes = nodes_of(folder / "dump.json")
    relu = nodes["r\u00e9lu"]
    assert relu["input"] == ["x:0", "x:-1"] and relu["input_desc"][0] == {"dtype": "DT_FLOAT", "shape": {"dim": [2, 3]}}
    assert attribute(relu, "shape")["list"] == {"i": [1, 2], "val_type": "VT_LIST_INT"}
    assert attribute(relu, "unseen") == {"new_field": 7, "f": "inf"}
    dump.write_text(TEXT_DUMP.replace("DT_FLOAT", "DT_NOTHING"))
    assert "line 5" in refused("E10001", "--mode=5", f"--om={dump}", f"--json={folder}/dump.json")
    dump.write_text(TEXT_DUMP[:-4])
    assert "ends before" in refused("E10001", "--mode=5", f"--om={dump}", f"--json={folder}/dump.json")
    assert "gone.txt" in refused("E10001", "--mode=5", f"--om={folder}/gone.txt", f"--json={folder}/dump.json")


def test_what_an_om_holds(folder):
    om = compiled(folder, "dense", EXACT, output="info")
    text = atc("--mode=6", f"--om={om}").stdout
    parts = struct.unpack_from("<QQQQQQ", om.read_bytes(), 256 + 8)
    assert f"MODEL_DEF[{parts[2]} B]" in text and f"WEIGHTS_DATA[{parts[5]} B]" in text
    assert f"weight_size[{64 * 32 * 4} B]" in text and f"--output={folder / 'info'} {SOC}" in text
    assert "input  0: x, FLOAT[4, 64], ND" in text


def test_single_operators(folder):
    tensor = {"format": "ND", "shape": [2, 3], "type": "float"}
    (folder / "ops.json").write_text(json.dumps([
        {"op": "Add", "input_desc": [tensor, tensor], "output_desc": [tensor]},
        {"op": "ConcatD", "input_desc": [tensor, tensor], "output_desc": [{**tensor, "shape": [4, 3]}],
         "attr": [{"name": "concat_dim", "type": "int", "value": 0}, {"name": "N", "type": "int", "value": 2}]}]))
    done = atc(f"--singleop={folder}/ops.json", f"--output={folder}/ops", SOC)
    assert done.returncode == 0, done.stdout
    assert sorted(p.name for p in (folder / "ops").iterdir()) == ["0_Add_0_2_2_3_0_2_2_3_0_2_2_3.om", "1_ConcatD_0_2_2_3_0_2_2_3_0_2_4_3.om"]
    a, b = (np.arange(6, dtype=np.float32).reshape(2, 3) * k for k in (1, 10))
    with OfflineModel(folder / "ops" / "1_ConcatD_0_2_2_3_0_2_2_3_0_2_4_3.om") as model:
        assert (model.run({"x0": a, "x1": b})[0] == np.concatenate([a, b])).all()
    (folder / "ops.json").write_text('[{"op": "Nothing"}]')
    assert "Nothing" in refused("EZ3003", f"--singleop={folder}/ops.json", f"--output={folder}/ops", SOC)
    (folder / "ops.json").write_text("")
    text = refused("E10001", f"--singleop={folder}/ops.json", f"--output={folder}/ops", SOC)
    assert "--singleop" in text and "is empty" in text


# --- types --------------------------------------------------------------------------------------------------------------

def half(x):
    return x.astype(np.float16).astype(np.float32)


def bfloat16(x):
    bits = np.ascontiguousarray(x).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("option, reads, writes, softmax_type", [
    ("--precision_mode=must_keep_origin_dtype", None, None, "DT_FLOAT"),
    ("--precision_mode_v2=origin", None, None, "DT_FLOAT"),
    ("", half, half, "DT_FLOAT16"),
    ("--precision_mode_v2=fp16", half, half, "DT_FLOAT16"),
    ("--precision_mode=allow_fp32_to_fp16", half, half, "DT_FLOAT"),
    ("--precision_mode=force_fp32", half, None, "DT_FLOAT"),
    ("--precision_mode=allow_mix_precision", half, half, "DT_FLOAT"),
    ("--precision_mode_v2=mixed_bfloat16", bfloat16, bfloat16, "DT_FLOAT"),
])
def test_precision_modes(folder, option, reads, writes, softmax_type):
    """The product's bits say which numbers it read and wrote; outputs keep the model's type."""
    om = compiled(folder, "dense", *([option] if option else []))
    _, feeds, want = next(cases(folder, "dense"))
    x, w = feeds["x"].astype(np.float64), np.load(folder / "dense.npz")["w"].astype(np.float64)
    if reads:
        x, w = reads(x.astype(np.float32)).astype(np.float64), reads(w.astype(np.float32)).astype(np.float64)
    product = (x @ w).astype(np.float32)
    if writes:
        product = writes(product)
    with OfflineModel(om) as model:
        assert model.input_type(0) == model.output_type(0) == np.float32
        y, m = model.run(feeds)
    tolerance = 2e-6 * 30 if not writes else 2.0 ** (-8 if writes is bfloat16 else -11) * np.abs(product) * 1.001 + 1e-5
    assert (np.abs(m - product) <= tolerance).all()
    if writes:  # every number is one that the type has
        assert (writes(m) == m).all() and np.abs(m - want[1]).max() > 1e-4
    else:
        assert (half(m) != m).any()
    assert np.abs(y - softmax(m.astype(np.float64))).max() <= (2e-3 if softmax_type == "DT_FLOAT16" else 1e-5)
    assert atc("--mode=1", f"--om={om}", f"--json={folder}/types.json").returncode == 0
    assert nodes_of(folder / "types.json")["softmax"]["output_desc"][0]["dtype"] == softmax_type


def test_files_about_types(folder):
    def types(*options):
        om = compiled(folder, "dense", *options, output="types")
        assert atc("--mode=1", f"--om={om}", f"--json={folder}/types.json").returncode == 0
        nodes = nodes_of(folder / "types.json")
        return [nodes[n]["output_desc"][0]["dtype"] for n in ("product", "softmax")]

    lists = folder / "lists.json"
    mixed = "--precision_mode=allow_mix_precision"
    lists.write_text('{"black-list": {"to-remove": ["SoftmaxV2"], // follows the product\n "to-add": []}, }')
    assert types(mixed, f"--modify_mixlist={lists}") == ["DT_FLOAT16", "DT_FLOAT16"]
    lists.write_text('{"black-list": {"to-add": ["MatMul", "BatchMatMulV2", "MatMulV2", "BatchMatMul"]}}')
    assert types(mixed, f"--modify_mixlist={lists}") == ["DT_FLOAT", "DT_FLOAT"]
    lists.write_text('{"black-list": {"to-add": ["Add"]}, "white-list": {"to-add": ["Add"]}}')
    model = ["--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/no", SOC]
    assert "both lists" in refused("E10001", *model, mixed, f"--modify_mixlist={lists}")
    assert "both lists" in refused("E10001", *model, f"--modify_mixlist={lists}")  # of no use in this mode, but wrong still
    names = folder / "names.cfg"
    names.write_text("# these keep their type\nsoftmax\n")
    assert types(f"--keep_dtype={names}") == ["DT_FLOAT16", "DT_FLOAT"]
    names.write_text("OpType::SoftmaxV2:InputDtype:float16,OutputDtype:float16\nsoftmax::InputDtype:float32\n")
    assert types("--precision_mode=allow_fp32_to_fp16", f"--customize_dtypes={names}") == ["DT_FLOAT16", "DT_FLOAT"]
    names.write_text("softmax::InputDtype:float16\n")
    assert types(EXACT, f"--customize_dtypes={names}") == ["DT_FLOAT", "DT_FLOAT"]  # as the guide says
    names.write_text("softmax::InputDtype:float77\n")
    assert "float77" in refused("E10001", *model, f"--customize_dtypes={names}")


def test_nodes_that_a_pass_took_along_keep_their_type(folder):
    names = folder / "fused.cfg"
    names.write_text("conv1\n")  # one node stands for it and for relu1
    done = atc("--framework=5", f"--model={folder}/convolutions.onnx", f"--output={folder}/kept", SOC, f"--keep_dtype={names}")
    assert done.returncode == 0 and "no node is named" not in done.stdout
    assert atc("--mode=1", f"--om={folder}/kept.om", f"--json={folder}/kept.json").returncode == 0
    nodes = nodes_of(folder / "kept.json")
    fused = next(node for node in nodes.values() if node["type"] == "FusedConv2D")
    assert attribute(fused, "OriginOp")["list"]["s"] == ["conv1", "relu1"]
    assert fused["output_desc"][0]["dtype"] == "DT_FLOAT" and nodes["conv2"]["output_desc"][0]["dtype"] == "DT_FLOAT16"


def test_outputs_are_named_by_node_in_every_mode(folder):
    with OfflineModel(compiled(folder, "dense", "--output_type=softmax:0:FP16")) as model:  # a cast stands between them and the outputs
        assert sorted(str(model.output_type(i).__name__) for i in range(2)) == ["float16", "float32"]


def test_inputs_and_outputs_of_another_type(folder):
    om = compiled(folder, "dense", EXACT, "--input_fp16_nodes=x", "--output_type=FP16")
    _, feeds, want = next(cases(folder, "dense"))
    with OfflineModel(om) as model:
        assert model.input_type(0) == model.output_type(0) == model.output_type(1) == np.float16
        compare(model.run({"x": feeds["x"].astype(np.float16)}), want, 3e-3)


def test_passes_that_are_switched_off(folder):
    switches = folder / "switches.cfg"
    switches.write_text('{"Switch": {"GraphFusion": {"ALL": "off", "NobodysFusionPass": "on",}, "UBFusion": {"ALL": "off"}}}')
    done = atc("--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/off", SOC, f"--fusion_switch_file={switches}", "--log=info")
    assert "ConstantFoldingPass changed 0 places" in done.stdout and "there is no pass NobodysFusionPass" in done.stdout
    switches.write_text("ConstantFoldingPass:of")
    assert "want on or off" in refused("E10001", "--framework=5", f"--model={folder}/dense.onnx", f"--output={folder}/no", SOC,
                                       f"--fusion_switch_file={switches}")


# --- gears --------------------------------------------------------------------------------------------------------------

def test_gears_of_batches(folder):
    om = compiled(folder, "convolutions", "--input_shape=image:-1,3,16,16", "--dynamic_batch_size=1,2,4", EXACT)
    with OfflineModel(om) as model:
        assert model.inputs == ["image", "ascend_mbatch_shape_data"] and model.batches() == [1, 2, 4] and model.images() == []
        assert model.dims("aclmdlGetInputDims", 0) == (-1, 3, 16, 16)
        for case, feeds, want in cases(folder, "convolutions"):
            size = len(feeds["image"])
            if case.endswith("x16x16"):
                compare(model.run(feeds, batch(size)), want, 1e-5)
                assert model.dims("aclmdlGetCurOutputDims", 0) == (size, 10)
        with pytest.raises(Refused, match="no gear 3; it has 1, 2, 4") as caught:
            model.run(feeds, batch(3))
        assert caught.value.code == 145013
        with pytest.raises(Refused, match="choose one before"):
            model.run({"image": np.zeros((1, 3, 16, 16), np.float32)})
        with pytest.raises(Refused, match="dynamic_image_size"):
            model.run(feeds, image(16, 16))


def test_gears_of_images(folder):
    om = compiled(folder, "convolutions", "--input_shape=image:1,3,-1,-1", "--dynamic_image_size=16,16;32,24", EXACT)
    with OfflineModel(om) as model:
        assert model.images() == [(16, 16), (32, 24)] and model.batches() == []
        for case, feeds, want in cases(folder, "convolutions"):
            if case.startswith("1x"):
                compare(model.run(feeds, image(*feeds["image"].shape[2:])), want, 1e-5)


def test_gears_of_any_sizes(folder):
    om = compiled(folder, "tokens", "--input_shape=ids:-1,-1;mask:-1,-1", "--dynamic_dims=1,4,1,4;2,8,2,8;3,5,3,5")
    with OfflineModel(om) as model:
        assert model.gears() == [(1, 4, 1, 4), (2, 8, 2, 8), (3, 5, 3, 5)]
        for case, feeds, want in cases(folder, "tokens"):
            b, s = feeds["ids"].shape
            compare(model.run(feeds, dims(b, s, b, s)), want, 3e-3)
    text = refused("E10001", "--framework=5", f"--model={folder}/tokens.onnx", f"--output={folder}/no", SOC,
                   "--input_shape=ids:-1,-1;mask:-1,-1", "--dynamic_dims=1,4,1,4;2,8,2,9")
    assert "gear [2, 8, 2, 9]" in text and "keep (Mul)" in text


# --- AIPP ---------------------------------------------------------------------------------------------------------------

def with_aipp(folder, config, **options):
    (folder / "aipp.cfg").write_text("aipp_op {\n" + config + "\n}\n")
    return compiled(folder, "plain", f"--insert_op_conf={folder}/aipp.cfg", EXACT, output="aipp", **options)


def test_images_of_bytes(folder):
    """Crop, exchanged channels, mean and factor, padding, against numpy."""
    om = with_aipp(folder, """aipp_mode: static
      input_format: RGB888_U8  # rows of pixels
      src_image_size_w: 9
      src_image_size_h: 7
      crop: true
      load_start_pos_w: 2
      load_start_pos_h: 1
      crop_size_w: 5
      crop_size_h: 4
      rbuv_swap_switch: true
      mean_chn_0: 104 mean_chn_1: 117 mean_chn_2: 123
      min_chn_2: 0.5
      var_reci_chn_0: 0.5 var_reci_chn_1: 0.25
      padding: true
      left_padding_size: 2 right_padding_size: 1 top_padding_size: 1 bottom_padding_size: 1
      padding_value: 3""")
    pixels = np.random.default_rng(1).integers(0, 256, (2, 7, 9, 3)).astype(np.uint8)
    with OfflineModel(om) as model:
        assert model.dims("aclmdlGetInputDims", 0) == (2, 7, 9, 3) and model.input_type(0) == np.uint8
        got = model.run({"x": pixels})[0]
    part = pixels[:, 1:5, 2:7, ::-1].astype(np.float32)
    part = (part - np.float32([104, 117, 123.5])) * np.float32([0.5, 0.25, 1])
    want = np.pad(part, ((0, 0), (1, 1), (2, 1), (0, 0)), constant_values=3).transpose(0, 3, 1, 2)
    assert (got == want).all()


@pytest.mark.parametrize("swap", ["false", "true"])
def test_colours_of_jpeg(folder, swap):
    """NV12 (and NV21) to RGB by the documented matrix, in whole numbers."""
    om = with_aipp(folder, f"""input_format: YUV420SP_U8 csc_switch: true rbuv_swap_switch: {swap}
      matrix_r0c0: 256 matrix_r0c1: 0 matrix_r0c2: 359
      matrix_r1c0: 256 matrix_r1c1: -88 matrix_r1c2: -183
      matrix_r2c0: 256 matrix_r2c1: 454 matrix_r2c2: 0
      input_bias_0: 0 input_bias_1: 128 input_bias_2: 128""")
    planes = np.random.default_rng(2).integers(0, 256, (2, 9, 8, 1)).astype(np.uint8)
    with OfflineModel(om) as model:
        got = model.run({"x": planes})[0]
    y, uv = planes[:, :6, :, 0].astype(np.int64), planes[:, 6:, :, 0].reshape(2, 3, 4, 2).astype(np.int64)
    uv = uv[..., ::-1] if swap == "true" else uv
    u, v = (uv[..., k].repeat(2, 1).repeat(2, 2) - 128 for k in (0, 1))
    matrix = np.array([[256, 0, 359], [256, -88, -183], [256, 454, 0]])
    want = np.clip(np.einsum("rc,cnhw->nrhw", matrix, np.stack([y, u, v])) >> 8, 0, 255)
    assert (got == want).all()


def between(rows, count):
    """The first axis at `count` places between its rows, centres of pixels at halves."""
    at = np.clip((np.arange(count) + 0.5) * len(rows) / count - 0.5, 0, len(rows) - 1)
    low = np.floor(at).astype(int)
    part = (at - low).reshape(-1, *[1] * (rows.ndim - 1))
    return rows[low] * (1 - part) + rows[np.minimum(low + 1, len(rows) - 1)] * part


def test_images_that_are_resized(folder):
    """XRGB, the first byte of a pixel left out."""
    om = with_aipp(folder, "input_format: XRGB8888_U8 src_image_size_w: 17 src_image_size_h: 12 resize: true resize_output_w: 8 resize_output_h: 6")
    pixels = np.random.default_rng(3).integers(0, 256, (2, 12, 17, 4)).astype(np.uint8)
    with OfflineModel(om) as model:
        got = model.run({"x": pixels})[0]
    rows = between(pixels[..., 1:].astype(np.float64).transpose(1, 2, 0, 3), 6)
    want = between(rows.transpose(1, 0, 2, 3), 8).transpose(2, 3, 1, 0)
    compare([got], [want], 1e-6)


def test_aipp_that_does_not_fit(folder):
    common = ["--framework=5", f"--model={folder}/plain.onnx", f"--output={folder}/no", SOC, f"--insert_op_conf={folder}/bad.cfg"]
    for text, words in (("aipp_op { input_format: RGB888_U8 src_image_size_w: 9 src_image_size_h: 6 }", "9 columns"),
                        ("aipp_op { input_format: RGB888_U8 aipp_mode: dynamic max_src_image_size: 9 }", "no parameter input_format"),
                        ("aipp_op { input_format: RGB }", "want YUV420SP_U8"),
                        ("aipp_op { input_format: RGB888_U8 colour: 3 }", "no parameter colour"),
                        ("aipp_op { input_format: RGB888_U8 related_input_rank: 4 }", "the model has 1 inputs"),
                        ("aipp_op { input_format: ", "line 1"), ("nothing: 1", "aipp_op")):
        (folder / "bad.cfg").write_text(text)
        assert words in refused("E10001", *common), text


# --- Netron -------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not shutil.which("node"), reason="Netron's parser is JavaScript: apt-get install nodejs (./dev test all does)")
def test_netron_opens_the_file(folder):
    """The parser of Netron's own wheel, unmodified: it checks that both ends of each tensor say the same."""
    found = subprocess.run([ONNX_PYTHON, "-c", "import netron, pathlib; print(pathlib.Path(netron.__file__).parent)"], capture_output=True,
                           text=True, timeout=60, check=True).stdout.strip()
    netron = folder / "netron"
    shutil.copytree(found, netron, ignore=lambda _, names: [n for n in names if not n.endswith((".js", "om-metadata.json"))])
    (netron / "package.json").write_text('{"type": "module"}')
    for name, options in (("dense", []), ("convolutions", ["--input_shape=image:-1,3,16,16", "--dynamic_batch_size=1,2"])):
        om = compiled(folder, name, *options, output=f"netron_{name}")
        done = subprocess.run(["node", pathlib.Path(__file__).with_name("netron_open.mjs"), netron, om], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        graph = json.loads(done.stdout)
        assert graph["format"] == "DaVinci OM"
        assert atc("--mode=1", f"--om={om}", f"--json={folder}/netron.json").returncode == 0
        nodes = nodes_of(folder / "netron.json").values()
        assert {(n["name"], n["type"]) for n in graph["nodes"]} == {(n["name"], n["type"]) for n in nodes if n["type"] != "Const"}
        constants = [n for n in nodes if n["type"] == "Const"]
        assert sorted(w["bytes"] for w in graph["weights"]) == sorted(int(attribute(n, "value")["t"]["desc"]["weight_size"]) for n in constants)
