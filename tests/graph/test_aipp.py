"""Images of bytes (AIPP), static and dynamic, alone and with gears, through pyACL; what atc says of files that do not fit."""

import pathlib
import re
import sys

import onnx
import pytest
from onnx import TensorProto, helper

from tests.graph.test_pyacl import good, run

SCRIPT = pathlib.Path(__file__).parent / "aipp_programs.py"
NAMES = re.findall(r"^@program\ndef (\w+)", SCRIPT.read_text(), re.M)
EXACT = "--precision_mode=must_keep_origin_dtype"
JPEG = """csc_switch: true matrix_r0c0: 256 matrix_r0c2: 359 matrix_r1c0: 256 matrix_r1c1: -88 matrix_r1c2: -183
  matrix_r2c0: 256 matrix_r2c1: 454 input_bias_1: 128 input_bias_2: 128"""
DYNAMIC = "aipp_mode: dynamic max_src_image_size: %d"
# om: (onnx, options, blocks)
MODELS = {
    "plain": ("any", ["--input_shape=x:2,3,12,16"], []),
    "dynamic": ("any", ["--input_shape=x:2,3,12,16"], [DYNAMIC % 10000]),
    "grey": ("one", ["--input_shape=x:1,1,12,16"], [DYNAMIC % 600 + " related_input_name: \"x\""]),
    "last": ("last", ["--input_shape=x:1,12,16,3", "--input_format=NHWC"], [DYNAMIC % 1000]),
    "two": ("three", [], [DYNAMIC % 600, DYNAMIC % 3072 + " related_input_rank: 2"]),
    "batch": ("any", ["--input_shape=x:-1,3,12,16", "--dynamic_batch_size=1,2,4"], [DYNAMIC % 8000]),
    "image": ("any", ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=12,16;24,30"], [DYNAMIC % 3000]),
    "dims": ("any", ["--input_shape=x:-1,3,-1,-1", "--dynamic_dims=1,12,16;2,24,30"], [DYNAMIC % 8000]),
    "gear_batch": ("any", ["--input_shape=x:-1,3,12,16", "--dynamic_batch_size=1,2,4"], []),
    "gear_image": ("any", ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=12,16;24,30"], []),
    "gear_dims": ("any", ["--input_shape=x:-1,3,-1,-1", "--dynamic_dims=1,12,16;2,24,30"], []),
    "static_batch": ("any", ["--input_shape=x:-1,3,12,16", "--dynamic_batch_size=1,2,4"],
                     ["input_format: RGB888_U8 src_image_size_w: 20 src_image_size_h: 18 crop: true load_start_pos_w: 2 load_start_pos_h: 3 "
                      "crop_size_w: 16 crop_size_h: 12 mean_chn_0: 9 mean_chn_1: 8 mean_chn_2: 7"]),
    "static_image": ("any", ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=12,16;24,30"],
                     ["input_format: YUV420SP_U8 var_reci_chn_0: 0.5 var_reci_chn_1: 0.5 var_reci_chn_2: 0.5 " + JPEG]),
    "static_dims": ("any", ["--input_shape=x:-1,3,-1,-1", "--dynamic_dims=1,12,16;2,24,30"], ["input_format: YUV420SP_U8"]),
    "static": ("any", ["--input_shape=x:2,3,12,16"],
               ["input_format: YUV420SP_U8 src_image_size_w: 40 src_image_size_h: 20 crop: true load_start_pos_w: 2 load_start_pos_h: 4 "
                "crop_size_w: 20 crop_size_h: 14 resize: true resize_output_w: 15 resize_output_h: 10 padding: true left_padding_size: 1 "
                "top_padding_size: 2 padding_value: -1 rbuv_swap_switch: true output_bias_2: 3 mean_chn_0: 9 min_chn_1: 0.5 "
                "var_reci_chn_2: 0.25 " + JPEG]),
}


def write(path, inputs, *nodes):
    """What its inputs are, or their sums and differences."""
    made = helper.make_graph([helper.make_node(kind, names, [to]) for kind, names, to in nodes], "net",
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
                             [helper.make_tensor_value_info("y", TensorProto.FLOAT, next(iter(inputs.values())))])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("aipp")
    write(made / "any.onnx", {"x": ["N", 3, "H", "W"]}, ("Relu", ["x"], "r"), ("Neg", ["x"], "n"), ("Relu", ["n"], "m"), ("Sub", ["r", "m"], "y"))
    write(made / "one.onnx", {"x": ["N", 1, "H", "W"]}, ("Identity", ["x"], "y"))
    write(made / "last.onnx", {"x": ["N", "H", "W", 3]}, ("Abs", ["x"], "a"), ("Sub", ["x", "a"], "s"), ("Add", ["s", "a"], "y"))
    write(made / "three.onnx", {n: [1, 3, 12, 16] for n in ("first", "second", "third")}, ("Add", ["first", "second"], "s"),
          ("Sub", ["s", "third"], "y"))
    return made


def atc(folder, om, model, *options, blocks=()):
    if blocks:
        (folder / (om + ".cfg")).write_text("".join("aipp_op { %s }\n" % b for b in blocks))
        options += ("--insert_op_conf=%s" % (folder / (om + ".cfg")),)
    return run("atc", "--framework=5", "--model=%s" % (folder / (model + ".onnx")), "--output=%s" % (folder / om), "--soc_version=Ascend910B2",
               *options)


@pytest.fixture(scope="module")
def models(folder):
    for om, (model, options, blocks) in MODELS.items():
        good(atc(folder, om, model, EXACT, *options, blocks=blocks))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_program(models, name):
    assert good(run(sys.executable, SCRIPT, models, name)).endswith("good\n")


@pytest.mark.parametrize("model, options, block, words", [
    ("any", ["--input_shape=x:1,3,12,16"], "aipp_mode: dynamic", "want max_src_image_size"),
    ("any", ["--input_shape=x:1,3,12,16"], "aipp_mode: dynamic max_src_image_size: -1", "max_src_image_size is -1"),
    ("any", ["--input_shape=x:1,3,12,16"], DYNAMIC % 9 + " csc_switch: true", "no parameter csc_switch of dynamic AIPP"),
    ("any", ["--input_shape=x:1,3,12,16"], DYNAMIC % 9 + " support_rotation: true", "not rotated"),
    ("any", ["--input_shape=x:1,3,12,16"], DYNAMIC % 9 + " related_input_name: \"z\"", "related_input_name is z"),
    ("any", ["--input_shape=x:1,3,12,16"], "aipp_mode: sometimes", "want static or dynamic"),
    ("any", ["--input_shape=x:-1,3,12,16"], DYNAMIC % 9, "or gears"),
    ("any", ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=12,16;24,30"], "input_format: RGB888_U8 src_image_size_w: 16", "leave out"),
    ("any", ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=12,16;24,30"], "input_format: YUV400_U8", "YUV400_U8 has 1 channels"),
    ("any", ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=12,16;11,30"], "input_format: YUV420SP_U8", "even number of rows"),
])
def test_files_that_do_not_fit(folder, model, options, block, words):
    done = atc(folder, "no", model, *options, blocks=[block])
    assert done.returncode == 1 and "E10001" in done.stdout and words in done.stdout, done.stdout


def test_half_precision_reads_what_aipp_gives(folder, models):
    """The default of atc: AIPP is computed in FLOAT, and the model reads it as FLOAT16."""
    good(atc(folder, "half", "any", "--input_shape=x:2,3,12,16", blocks=[DYNAMIC % 10000]))
    (folder / "half").mkdir()
    (folder / "half" / "dynamic.om").write_bytes((folder / "half.om").read_bytes())
    done = run(sys.executable, SCRIPT, folder / "half", "parameters_are_read_when_the_stream_comes_to_them")
    assert good(done).endswith("good\n")  # whole numbers of bytes less whole numbers: FLOAT16 has them all
