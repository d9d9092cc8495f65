"""Calls of operators as their descriptors describe them (SAMPLE, tools/describe/sample.h): arguments on npu:0 and, as
float64, for a reference on the CPU."""
import functools
import json
import os
import re
from pathlib import Path

import torch

from aclnn import accepts, call

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8,
         "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "bool": torch.bool,
         "c64": torch.complex64, "c128": torch.complex128}
SMALL = {"N": 4, "M": 6}
LISTS = ("Tensors", "OutTensors", "InOutTensors")


@functools.cache
def operators():
    """Descriptors of the tree that runs, by name."""
    path = Path(os.environ["ASCEND_HOME_PATH"], "opp", "updraft", "operators.json")
    return {entry["name"]: entry for entry in json.loads(path.read_text())}


def sampled():
    return [name for name, entry in operators().items() if "sample" in entry]


def integer(text, sizes):
    sign, digits, letter = re.fullmatch(r"(-?)(\d*)([NM]?)", text).groups()
    value = int(digits or 1) * (sizes[letter] if letter else 1)
    return -value if sign else value


def number(text):
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-6, -3.0, float("inf"), -float("inf"), float("nan")]


def signed(dtype, shape, generator, corners=SPECIAL[:-3]):
    """Numbers of both signs, and every few of them one where functions have corners."""
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -5, 6, shape, generator=generator).to(dtype)
    x = torch.rand(shape, dtype=torch.float64, generator=generator) * 6 - 3
    corners = torch.tensor(corners, dtype=torch.float64)[torch.randint(len(corners), shape, generator=generator)]
    return torch.where(torch.rand(shape, generator=generator) < 0.3, corners, x).to(dtype)


def special(dtype, shape, generator):
    """With infinities and NaN among them."""
    return signed(dtype, shape, generator, SPECIAL)


# Integer tensors that are numbers to compute with; others are indices, counts and classes.
NUMBERS = {"self", "other", "selfRef", "x", "x1", "x2"}


def tensor(text, sizes, generator, draw=None, name=""):
    """draw(dtype, shape, generator): instead of the usual numbers, where the sample gives no range."""
    dtype, shape, low, high = re.fullmatch(r"(\w+)\[([^]]*)\](?::(.+)\.\.(.+?))?!?", text).groups()
    dtype, shape = TYPES[dtype], [integer(n, sizes) for n in shape.split(",") if n]
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if draw and not low and not dtype.is_complex and (dtype.is_floating_point or name in NUMBERS):
        return draw(dtype, shape, generator)
    if dtype.is_floating_point or dtype.is_complex:
        low, high = float(low or 0.1), float(high or 0.9)
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return (torch.rand(shape, dtype=wide, generator=generator) * (high - low) + low).to(dtype)
    low, high = (float(low), float(high)) if low else (0, 4)
    return torch.randint(int(low), int(high), shape, generator=generator).to(dtype)


def value(kind, text, sizes, generator, draw=None, name=""):
    kind = kind.removeprefix("Opt")
    if text == "null":
        return None
    if kind in ("In", "Out", "InOut"):
        return tensor(text, sizes, generator, draw, name)
    if kind in LISTS:
        return [None if t == "null" else tensor(t, sizes, generator, draw, name) for t in text.split(";") if t != "[]"]
    if kind == "Ints":
        return [] if text == "[]" else [integer(t, sizes) for t in text.split(",")]
    if kind in ("Scalars", "Bools"):
        return [number(t) for t in text.split(",")]
    if kind == "Text":
        return text
    if kind == "Type":
        return TYPES[text]
    if kind in ("Scalar", "Bool", "Float", "Double"):
        return float(text) if kind in ("Float", "Double") else number(text)
    return integer(text, sizes)


def each(function, v):
    """function of a tensor or of each tensor of a list; other values as they are."""
    if isinstance(v, list):
        return [each(function, x) for x in v]
    return function(v) if isinstance(v, torch.Tensor) else v


def apart(t):
    """The same numbers, not side by side: dimensions in reverse order and a gap after every element."""
    if t.dim() == 0:
        return t
    wide = torch.empty([*reversed(t.shape), 2], dtype=t.dtype, device=t.device)
    view = wide[..., 0].permute(*reversed(range(t.dim())))
    view.copy_(t)
    return view


class Case:
    """One call: values by parameter, drawn alike for the same seed."""

    def __init__(self, name, sizes=None, seed=0, dtype=None, draw=None):
        """dtype: instead of the one that the sample's first tensor has, wherever the sample has that. draw: of tensor()."""
        entry = operators()[name]
        generator = torch.Generator().manual_seed(seed)
        self.name, self.parameters = name, entry["parameters"]
        self.contiguous = {p for p, text in entry["sample"].items() if text.endswith("!")}
        texts = [entry["sample"][p["name"]] for p in self.parameters]
        if dtype and (first := next(iter(re.findall(r"(\w+)\[", " ".join(texts))), None)):
            texts = [re.sub(rf"\b{first}(?=\[|$)", dtype, text) for text in texts]
        self.values = [value(p["type"], text, sizes or SMALL, generator, draw, p["name"]) for p, text in zip(self.parameters, texts)]

    def run(self, strided=False):
        """What the operator wrote, by parameter, on the CPU. What it should write holds something else before, not the same
        for either kind of strides."""
        def before(p, t):
            return t if p["read"] else torch.full_like(t, 3 if strided else 2)

        arguments = [each(lambda t, p=p: before(p, t).to("npu"), v) for p, v in zip(self.parameters, self.values)]
        if strided:
            arguments = [v if p["name"] in self.contiguous else each(apart, v) for p, v in zip(self.parameters, arguments)]
        call(self.name, *arguments)
        return {p["name"]: each(lambda t: t.cpu(), v)
                for p, v in zip(self.parameters, arguments) if p["written"] and v is not None}

    def accepted(self):
        """Whether the operator takes these arguments, as far as it says so before it computes."""
        return accepts(self.name, *(each(lambda t: t.to("npu"), v) for v in self.values))

    def call(self):
        """Returns a function that calls the operator over and over on the same tensors."""
        arguments = [each(lambda t: t.to("npu"), v) for v in self.values]
        return lambda: call(self.name, *arguments)

    def read(self, widen=True):
        """What a reference computes with: everything that is read, numbers as float64 or as they are."""
        def wide(t):
            if not widen:
                return t
            return t.double() if t.is_floating_point() else t.to(torch.complex128) if t.is_complex() else t.clone()

        def of_lists(p, v):  # a tensor that holds one number for each tensor of the lists
            return list(v) if p["name"] == "scalars" and isinstance(v, torch.Tensor) else v

        return [of_lists(p, each(wide, v)) for p, v in zip(self.parameters, self.values) if p["read"]]
