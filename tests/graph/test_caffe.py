"""atc --framework=0: nets of Caffe become om files that give what PyTorch's and NumPy's float64 say (caffe_models.py)."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

from tests.graph import caffe_models
from tests.graph.offline_model import OfflineModel, batch, image
from tests.graph.test_atc import DONE, EXACT, SOC, atc, refused
from updraft import home

ROOT = pathlib.Path(__file__).parents[2]
HEAD = 'input: "x" input_shape { dim: 2 dim: 4 dim: 5 dim: 5 }\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("caffe")
    for name, (f, form) in caffe_models.NETS.items():
        prototxt, weights, *_ = CASES[name]
        caffe_models.write(made, name, prototxt, weights, form)
    return made


CASES = {name: f() for name, (f, _) in caffe_models.NETS.items()}


def files(folder, name):
    return ["--framework=0", f"--model={folder / name}.prototxt", f"--weight={folder / name}.caffemodel"]


def compiled(folder, name, *arguments, output=None):
    om = folder / (output or name)
    done = atc(*files(folder, name), f"--output={om}", SOC, *arguments)
    assert done.returncode == 0 and DONE in done.stdout, done.stdout + done.stderr
    return pathlib.Path(f"{om}.om")


def compare(got, want, tolerance):
    assert len(got) == len(want)
    for i, (a, b) in enumerate(zip(got, want)):
        b = np.asarray(b)
        assert a.dtype == np.float32 and a.shape == b.shape, (i, a.dtype, a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(b).max()), err_msg=f"output {i}")


@pytest.mark.parametrize("name", CASES)
def test_results(folder, name):
    _, _, inputs, outputs = CASES[name]
    with OfflineModel(compiled(folder, name, EXACT)) as model:
        assert model.inputs == list(inputs)
        compare(model.run(inputs), outputs, 1e-5)


@pytest.mark.parametrize("name", ["lenet", "residual", "inception"])
def test_half_precision(folder, name):
    """atc's default computes in FP16; inputs and outputs keep their types."""
    _, _, inputs, outputs = CASES[name]
    with OfflineModel(compiled(folder, name, output=f"{name}-half")) as model:
        compare(model.run(inputs), outputs, 1e-2)


def test_places_beyond_what_fp16_counts(folder):
    """Places of largest elements are whole numbers also where all else is FP16."""
    x = np.zeros((2, 5000), np.float32)
    x[0, 4999] = x[1, 3001] = 1
    text = 'input: "x" input_shape { dim: 2 dim: 5000 }\n' + "".join(
        'layer { name: "top%d" type: "ArgMax" bottom: "x" top: "top%d" argmax_param { %s } }\n' % (i, i, p)
        for i, p in enumerate(("", "axis: 1", "out_max_val: true")))
    caffe_models.write(folder, "places", text, {})
    with OfflineModel(compiled(folder, "places")) as model:
        compare(model.run({"x": x}), [[[[4999]], [[3001]]], [[4999], [3001]], [[[4999], [1]], [[3001], [1]]]], 0)


def test_batches_and_sizes_of_images(folder):
    """A prototxt has one size; --input_shape asks for others."""
    text, weights, inputs, _ = CASES["lenet"]
    with OfflineModel(compiled(folder, "lenet", EXACT, "--input_shape=data:1,1,28,28", output="lenet-1")) as model:
        first = model.run({"data": inputs["data"][:1]})
        compare(first, [CASES["lenet"][3][0][:1]], 1e-5)
    with OfflineModel(compiled(folder, "lenet", EXACT, "--input_shape=data:-1,1,28,28", output="lenet-any")) as model:
        compare(model.run({"data": inputs["data"]}, sizes={"data"}), CASES["lenet"][3], 1e-5)
    gears = ("--input_shape=data:-1,1,28,28", "--dynamic_batch_size=1,2")
    with OfflineModel(compiled(folder, "lenet", EXACT, *gears, output="lenet-gears")) as model:
        compare(model.run({"data": inputs["data"]}, choose=batch(2)), CASES["lenet"][3], 1e-5)
    gears = ("--input_shape=data:1,3,-1,-1", "--dynamic_image_size=33,31;20,20", "--input_format=NCHW")
    with OfflineModel(compiled(folder, "inception", EXACT, *gears, output="inception-gears")) as model:
        compare(model.run(CASES["inception"][2], choose=image(33, 31)), CASES["inception"][3], 1e-5)


def test_unknown_sizes_on_the_way(folder):
    """Layers that cut, flatten and shuffle, for images of any size."""
    layers = """
layer { name: "flat" type: "Flatten" bottom: "x" top: "flat" }
layer { name: "shape" type: "Reshape" bottom: "x" top: "shape" reshape_param { shape { dim: 0 dim: 2 dim: 2 dim: -1 } } }
layer { name: "shuffled" type: "ShuffleChannel" bottom: "x" top: "shuffled" shuffle_channel_param { group: 2 } }
layer { name: "small" type: "Pooling" bottom: "x" top: "small" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "cut" type: "Crop" bottom: "x" bottom: "small" top: "cut" crop_param { offset: 1 } }
layer { name: "best" type: "ArgMax" bottom: "x" top: "best" }
"""
    caffe_models.write(folder, "sizes", HEAD + layers, {})
    x = caffe_models.normal(3, 4, 6, 7)
    want = [x.reshape(3, -1), x.reshape(3, 2, 2, -1), x.reshape(3, 2, 2, 6, 7).swapaxes(1, 2).reshape(x.shape), x[:, :, 1:4, 1:5],
            x.reshape(3, -1).argmax(1).reshape(3, 1, 1, 1)]
    with OfflineModel(compiled(folder, "sizes", EXACT, "--input_shape=x:-1,4,-1,-1")) as model:
        compare(model.run({"x": x}, sizes={"x"}), want, 1e-6)


def test_images_of_bytes(folder):
    """AIPP: bytes with the channels last become the net's input."""
    config = folder / "aipp.cfg"
    config.write_text("aipp_op { input_format: RGB888_U8 src_image_size_w: 31 src_image_size_h: 33 mean_chn_0: 100 mean_chn_1: 110 mean_chn_2: 120\n"
                      "var_reci_chn_0: 0.01 var_reci_chn_1: 0.02 var_reci_chn_2: 0.03 }")
    pixels = np.random.default_rng(1).integers(0, 256, (1, 33, 31, 3)).astype(np.uint8)
    floats = ((pixels - np.array([100, 110, 120])) * [0.01, 0.02, 0.03]).transpose(0, 3, 1, 2).astype(np.float32)
    with OfflineModel(compiled(folder, "inception", EXACT, f"--insert_op_conf={config}", output="inception-aipp")) as model:
        got = model.run({"data": pixels})
    with OfflineModel(compiled(folder, "inception", EXACT)) as model:
        compare(got, model.run({"data": floats}), 1e-5)


@pytest.mark.parametrize("asked, named", [
    ("relu_conv1/7x7_s2:0;prob:0", ["relu_conv1/7x7_s2:0:conv1/7x7_s2", "prob:0:prob"]), ("conv1/7x7_s2", ["relu_conv1/7x7_s2:0:conv1/7x7_s2"]),
    ("conv1/7x7_s2:0", ["conv1/7x7_s2:0:conv1/7x7_s2"]), ("prob:0:prob;pool5", ["prob:0:prob", "drop:0:pool5"])])
def test_outputs_that_are_named(folder, asked, named):
    """A layer with an output's number, what aclmdlGetOutputNameByIndex says, or a top: the last layer that gives it."""
    om = compiled(folder, "inception", EXACT, f"--out_nodes={asked}", output="inception-outputs")
    text = atc("--mode=6", f"--om={om}").stdout
    assert all(name in text for name in named), text
    with OfflineModel(om) as model:
        got = model.run(CASES["inception"][2])
        assert len(got) == len(named) and (asked != "conv1/7x7_s2" or got[0].min() == 0) and (asked != "conv1/7x7_s2:0" or got[0].min() < 0)


def test_only_what_named_outputs_need_is_converted(folder):
    """A detector's last layer is not converted; the layers before it are."""
    text, weights, inputs, _ = CASES["lenet"]
    text += 'layers { name: "loss" type: SOFTMAX_LOSS bottom: "ip2" bottom: "prob" top: "loss" }\n'
    caffe_models.write(folder, "trained", text, weights, "older")
    said = refused("E19010", *files(folder, "trained"), f"--output={folder / 'none'}", SOC)
    assert "loss (SoftmaxWithLoss): there is no converter for this layer (it wants labels" in said
    with OfflineModel(compiled(folder, "trained", EXACT, "--out_nodes=prob:0")) as model:
        compare(model.run(inputs), CASES["lenet"][3], 1e-5)


def test_batch_norm_and_scale_go_into_the_convolution(folder):
    graph = folder / "residual.json"
    done = atc("--mode=1", "--dump_mode=1", *files(folder, "residual"), f"--json={graph}")
    assert DONE in done.stdout, done.stdout
    types = [op["type"] for op in json.loads(graph.read_text())["graph"][0]["op"]]
    assert not {"BNInfer", "Mul"} & set(types) and sum("Conv2D" in t for t in types) == 4, types


def test_by_the_interface_of_cpp(folder):
    """A C++ program that parses and builds, linked as such programs are; the build asks for another size."""
    library, program = pathlib.Path(home()) / "lib64", folder / "om_of_caffe"
    subprocess.run(["c++", "-std=c++17", "-I", ROOT / "include", pathlib.Path(__file__).with_name("om_of_caffe.cpp"), "-o", program, "-L", library,
                    "-lfmk_parser", "-lge_compiler", "-lgraph", f"-Wl,-rpath-link,{library}", f"-Wl,-rpath,{library}"], check=True, timeout=300)
    _, _, inputs, outputs = CASES["lenet"]
    for shape, n in (("", 2), ("data:1,1,28,28", 1)):
        om = folder / f"cpp{n}"
        subprocess.run([program, folder / "lenet.prototxt", folder / "lenet.caffemodel", om] + [shape] * bool(shape), check=True, timeout=300)
        with OfflineModel(f"{om}.om") as model:
            compare(model.run({"data": inputs["data"][:n]}), [outputs[0][:n]], 1e-5)
    done = subprocess.run([program, folder / "lenet.caffemodel", folder / "lenet.prototxt", om], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "aclgrphParseCaffe" in done.stderr, done


# --- refusals ----------------------------------------------------------------------------------------------------------------------
LAYER = 'layer { name: "l" type: "%s" bottom: "x" top: "y" %s }'


@pytest.mark.parametrize("layers, code, words", [
    (LAYER % ("LSTM", ""), "E19010", "l (LSTM): there is no converter for this layer (recurrent layers"),
    (LAYER % ("SpaceToDepth", ""), "E19010", "caffe-layers.md lists those that there are"),
    (LAYER % ("Python", "python_param { module: 'm' }"), "E19010", "its code cannot be read"),
    ('layer { name: "l" type: "Data" top: "y" }', "E19010", "put an Input layer in its place"),
    (LAYER % ("Convolution", "convolution_param { num_output: 4 kernel_size: 3 }"), "E10001", "no layer of this name with blobs, want blob 0 (filter)"),
    (LAYER % ("Convolution", "convolution_param { kernel_size: 3 }"), "E10001", "convolution_param.num_output is missing"),
    (LAYER % ("Convolution", "convolution_param { num_output: 4 kernel_size: 3 axis: 2 }"), "E10001", "convolution_param.axis is 2, want 1"),
    (LAYER % ("Convolution", "convolution_param { num_output: 4 kernel_size: 3 kernel_h: 3 }"), "E10001", "kernel_size is given, and kernel_h"),
    (LAYER % ("Convolution", "convolution_param { num_output: 4 kernel_size: 'three' }"), "E10001", 'kernel_size is "three", want a whole number'),
    (LAYER % ("ReLU", "relu_param { slope: 1 }"), "E10001", "relu_param.slope is not known here"),
    (LAYER % ("ReLU", "lrn_param { alpha: 1 }"), "E10001", "lrn_param is not known here"),
    (LAYER % ("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }"), "E10001", "write AVE or MAX"),
    (LAYER % ("Pooling", "pooling_param { kernel_size: 1 stride: 3 }"), "E10001", "has a window outside of 5: write round_mode: FLOOR"),
    (LAYER % ("Pooling", "pooling_param { kernel_size: 2 pad: 2 }"), "E10001", "pads below the kernel's sizes"),
    (LAYER % ("Pooling", "top: 'mask' pooling_param { kernel_size: 2 }"), "E10001", "leave that top out"),
    (LAYER % ("Pooling", "pooling_param { pool: MEAN kernel_size: 2 }"), "E10001", "want MAX, AVE, STOCHASTIC"),
    (LAYER % ("BatchNorm", "batch_norm_param { use_global_stats: false }"), "E10001", "computes the statistics of its batch"),
    (LAYER % ("LRN", "lrn_param { local_size: 4 }"), "E10001", "want an odd number"),
    (LAYER % ("Eltwise", ""), "E10001", "there are 1 bottoms, want two or more"),
    (LAYER % ("Softmax", "softmax_param { axis: 4 }"), "E10001", "axis 4 of 4 dimensions"),
    (LAYER % ("Slice", "top: 'z' slice_param { slice_point: 4 }"), "E10001", "slice_point must rise from 0 to 4"),
    (LAYER % ("Concat", "concat_param { axis: 1 concat_dim: 1 }"), "E10001", "has axis and concat_dim"),
    (LAYER % ("Crop", "bottom: 'x' crop_param { offset: 1 }"), "E10001", "want 5 and the offset 1 at least"),
    (LAYER % ("Tile", ""), "E10001", "tile_param.tiles is missing"),
    (LAYER % ("ReLU", "top: 'z'"), "E10001", "the prototxt names 2 tops, the layer has 1"),
    ('layer { name: "l" type: "ReLU" bottom: "nobody" top: "y" }', "E10001", 'bottom "nobody" is given by no layer before it'),
    ('layer { name: "l" type: "Split" bottom: "x" top: "y" top: "x" }', "E10001", 'top "x" is given by a layer before it, too'),
    ('layers { name: "l" type: RELU bottom: "x" top: "y" } layer { name: "m" type: "ReLU" bottom: "x" top: "z" }', "E10001", "want one of these forms"),
    ('layers { layer { name: "l" type: "relu" } bottom: "x" top: "y" }', "E10001", "upgrade_net_proto_text"),
    ('layer { name: "l" type: "ReLU" bottom: "x" top: "y" include { phase: TEST } exclude { phase: TRAIN } }', "E10001", "want one kind"),
    ('layer { name: "l" type: "ReLU" bottom: "x" top: "y"', "E10001", "line 2 of the prototxt: it ends before a }"),
    ('layer { name: "l" type: "ReLU" bottom: "x" top: "y" } depth: 3', "E10001", "depth is not known"),
    ('layer { name: "l" type: "Silence" bottom: "x" }', "E10001", "the net has no outputs"),
    ('input: "z" ' + LAYER % ("ReLU", ""), "E10001", "2 inputs have 1 input_shape"),
])
def test_refusals(folder, layers, code, words):
    caffe_models.write(folder, "refused", HEAD + layers, {})
    said = refused(code, *files(folder, "refused"), f"--output={folder / 'none'}", SOC)
    assert words in said, said
    assert not (folder / "none.om").exists()


@pytest.mark.parametrize("blobs, words", [
    ([np.zeros((4, 4, 3, 2))], "blob 0 of the weights (filter) has shape [4, 4, 3, 2], want [4, 4, 3, 3]"),
    ([np.zeros((4, 4, 3, 3))], "the weights have 1 blobs of it, want blob 1 (bias) of shape [4]"),
    ([np.zeros((4, 4, 3, 3)), np.zeros(4), np.zeros(1)], "the weights have 3 blobs of it, the prototxt wants 2"),
])
def test_weights_that_do_not_fit(folder, blobs, words):
    caffe_models.write(folder, "unfit", HEAD + LAYER % ("Convolution", "convolution_param { num_output: 4 kernel_size: 3 }"), {"l": blobs})
    assert words in refused("E10001", *files(folder, "unfit"), f"--output={folder / 'none'}", SOC)


def test_files_that_are_something_else(folder):
    whole = (folder / "lenet.caffemodel").read_bytes()
    broken = folder / "broken.caffemodel"
    for content, words in ((whole[:len(whole) // 2], "the file is cut off"), (b"\x89HDF\r\n\x1a\n" + whole, "the file is HDF5"),
                           (caffe_models.message(1, b"net"), "there are no layers in it"),
                           (caffe_models.message(100, caffe_models.message(1, b"conv1") + caffe_models.message(7, caffe_models.message(7, b"\x0a\x01\x05"))),
                            "layer 0 (conv1), blob 0: there are 0 numbers for the shape [5], want 5")):
        broken.write_bytes(content)
        said = refused("E10001", "--framework=0", f"--model={folder / 'lenet'}.prototxt", f"--weight={broken}", f"--output={folder / 'none'}", SOC)
        assert words in said, said
    said = refused("E10001", "--framework=0", f"--model={broken}", f"--weight={broken}", f"--output={folder / 'none'}", SOC)
    assert "line 1 of the prototxt: a name or a value is wanted, there is the byte 0xa2" in said
    assert "[--weight] is required" in refused("E10007", "--framework=0", f"--model={folder / 'lenet'}.prototxt", f"--output={folder / 'none'}", SOC)


def test_wrong_names_and_shapes(folder):
    say = lambda *more: refused("E10001", *files(folder, "lenet"), f"--output={folder / 'none'}", SOC, *more)
    assert "picture, which is no input of the model (its inputs: data)" in say("--input_shape=picture:1,1,28,28")
    assert "output nowhere:0 is asked for" in say("--out_nodes=nowhere:0")
    assert "output conv1:1 is asked for" in say("--out_nodes=conv1:1")
    assert "blob 0 of the weights (weights) has shape [1, 1, 500, 800], want [500, 1250]" in say("--input_shape=data:1,1,32,32")
    caffe_models.write(folder, "bare", 'input: "x" layer { name: "l" type: "ReLU" bottom: "x" top: "y" }', {})
    assert "input x has no shape in the prototxt" in refused("E10001", *files(folder, "bare"), f"--output={folder / 'none'}", SOC)
    compiled(folder, "bare", "--input_shape=x:1,2")


def test_check_lists_every_layer(folder):
    report = folder / "report.json"
    caffe_models.write(folder, "checked", HEAD + LAYER % ("ReLU", "") + 'layer { name: "m" type: "LSTM" bottom: "y" top: "z" }', {})
    said = refused("E19010", "--mode=3", *files(folder, "checked"), f"--check_report={report}")
    assert "1 of 3 nodes" in said
    nodes = {n["op_type"]: n for n in json.loads(report.read_text())["op"]}
    assert nodes["LSTM"]["result"] == "failed" and nodes["Input"]["result"] == nodes["ReLU"]["result"] == "success"
    done = atc("--mode=3", *files(folder, "residual"), f"--check_report={report}")
    assert done.returncode == 0 and "nodes can be compiled" in done.stdout
