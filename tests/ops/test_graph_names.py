"""Names and defaults of graph operators are those of torch_npu's own table of the IR."""
import re
from pathlib import Path

import pytest

from graph import operators

# Attributes that ONNX, op-plugin or atc has and the IR has not.
BEYOND = {"Resize": {"antialias", "axes", "keep_aspect_ratio_policy"}, "RotatedNMS": {"max_output_size", "mode", "score_threshold"},
          "UniqueWithCountsExt2": {"sorted", "return_inverse"}, "OutfeedEnqueueOpV2": {"texts"},
          "AttentionWorkerCombine": {"need_schedule"}, "DequantRopeQuantKvcache": {"cache_mode"},  # TorchAir gives them
          # what atc has read of insert_op_conf
          "Aipp": {"aipp_mode", "input_format", "size", "data_format", "max_src_image_size"}}
# Clients leave out an input or an attribute, ask for an output more, give a list for a tensor, or never ask for the gradients of peepholes.
LENIENT = {"AsStrided", "ForeachLerpList", "IndexPutV2", "NPUClearFloatStatus", "NPUClearFloatStatusV2", "NPUGetFloatStatus", "DynamicRNNGrad", "DynamicRNNV2Grad", "UniqueWithCountsExt2",
           "AddLora", "ScatterList",  # the results are tensors of their own
           "MoeDistributeCombineAddRmsNorm",  # the table leaves out residual_x and gamma, which its function takes
           "MoeUpdateExpert"}  # the table has one name for both results


def table_of_the_client():
    """torch_npu's descriptions of the IR: {type: (inputs, outputs, {attribute: default or None})}."""
    import torch_npu
    path = Path(torch_npu.__file__).parent / "dynamo/torchair/_ge_concrete_graph/auto_generated_ge_raw_ops.py"
    if not path.exists():
        pytest.skip("this torch_npu has no torchair")
    found = {}
    for kind, body in re.findall(r'REG_OP\((\w+)\)(.*?)"""', path.read_text(), re.S):
        inputs, outputs, attributes = [], [], {}
        for word, name, rest in re.findall(r"\.(\w+)\((\w+),?\s*(.*)\)(?:\\n|\s*$)", body.replace(".ATRR(", ".ATTR(")):  # with its slips
            if word.endswith("INPUT"):
                inputs.append(name + {"O": "?", "D": "*"}.get(word[0] if word != "INPUT" else "", ""))
            elif word.endswith("OUTPUT"):
                outputs.append(name + ("*" if word[0] == "D" else ""))
            elif word in ("ATTR", "REQUIRED_ATTR"):
                attributes[name] = rest.partition(",")[2].strip() if word == "ATTR" else None
        if inputs or outputs:
            found[kind] = inputs, outputs, attributes
    return found


def number(text):
    try:
        return float(f"{float(text.rstrip('f')):.6g}")
    except ValueError:
        return {"true": 1.0, "false": 0.0, "False": 0.0, "DT_FLOAT": 0.0, "DT_INT8": 2.0, "DT_INT32": 3.0, "DT_INT64": 9.0, "DT_FLOAT16": 1.0, "DT_BOOL": 12.0, "DT_FLOAT8_E5M2": 35.0, "DT_COMPLEX64": 16.0,
                "DT_UNDEFINED": None}.get(text, text.strip("\"'"))


def plain(default):
    """A default of either table in one form; undefined types have several numbers."""
    if default is None or not default.startswith(("{", "[")):
        return None if default is None else [number(default)]
    return [number(v.strip()) for v in default.strip("{}[]").split(",") if v.strip()]


def test_names_and_defaults_are_those_of_the_ir():
    ours, theirs, wrong = operators(), table_of_the_client(), []
    # Outputs that are optional here may be left out by clients; the IR has no word for that.
    for kind in sorted(set(ours) & set(theirs)):
        inputs, outputs, attributes = theirs[kind]
        mine = ours[kind]
        if [i.replace("*?", "*") for i in mine["inputs"]] != inputs and kind not in LENIENT:
            wrong.append(f"{kind}: inputs {mine['inputs']}, the IR has {inputs}")
        if kind not in LENIENT and [o.rstrip("?") for o in mine["outputs"]] != outputs and set(
                o.rstrip("?") for o in mine["outputs"]) - set(mine["inputs"]) != set(outputs) - set(inputs):
            wrong.append(f"{kind}: outputs {mine['outputs']}, the IR has {outputs}")
        if set(mine["attributes"]) - BEYOND.get(kind, set()) != set(attributes):
            wrong.append(f"{kind}: attributes {sorted(mine['attributes'])}, the IR has {sorted(attributes)}")
            continue
        for name, default in attributes.items():
            lenient = default == "DT_UNDEFINED" or (default is None and kind in LENIENT)
            if plain(mine["attributes"][name][1]) != plain(default) and not lenient:
                wrong.append(f"{kind}: {name} is {mine['attributes'][name]}, the IR has {default}")
    assert not wrong, "\n".join(wrong)
