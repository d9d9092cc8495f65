"""Calls graph operators by their types through the aclop C ABI, as a C program does.

    y, = call("ReduceSum", x, const([1]), keep_dims=True)

takes CPU tensors, `const(...)` for inputs whose values stay on the host, None for absent ones, and attributes by name. The
shapes of the outputs are asked of aclopInferShape first. Returns the outputs on the CPU."""
import ctypes
import functools
import json
import math
import os
from pathlib import Path

import torch
import torch_npu  # noqa: F401

from aclnn import TYPES, error_text

ND, NCHW, NHWC = 2, 0, 1
HOST = 1
KINDS = {number: t for t, number in TYPES.items()}


class const:
    """Values of an input that a plan may read."""

    def __init__(self, values, dtype=torch.int64):
        self.tensor = torch.as_tensor(values, dtype=dtype)


@functools.cache
def operators():
    home = Path(os.environ.get("ASCEND_HOME_PATH", ""))
    places = [home / "opp" / "updraft" / "graph_operators.json", home.parent / "graph_operators.json"]
    return json.loads(next(p for p in places if p.exists()).read_text())


@functools.cache
def library(name="libacl_op_compiler.so"):
    loaded = ctypes.CDLL(name)
    for create in ("aclCreateTensorDesc", "aclCreateDataBuffer", "aclopCreateAttr"):
        if hasattr(loaded, create):
            getattr(loaded, create).restype = ctypes.c_void_p
    return loaded


def acl():
    return library("libascendcl.so")


def check(code):
    if code:
        raise RuntimeError(error_text()().decode())


def array(ctype, values):
    return (ctype * max(len(values), 1))(*values)


class Description:
    """A tensor description and its data."""

    def __init__(self, tensor=None, host=False, form=ND):
        self.tensor, self.host = tensor, host
        dims = array(ctypes.c_int64, list(tensor.shape) if tensor is not None else [])
        rank = tensor.dim() if tensor is not None else 0
        kind = TYPES[tensor.dtype] if tensor is not None else -1
        self.handle = acl().aclCreateTensorDesc(kind, rank, dims, form)
        assert self.handle
        if host:
            check(acl().aclSetTensorPlaceMent(ctypes.c_void_p(self.handle), HOST))
        data = tensor.data_ptr() if tensor is not None else 0
        size = tensor.numel() * tensor.element_size() if tensor is not None else 0
        self.buffer = acl().aclCreateDataBuffer(ctypes.c_void_p(data), ctypes.c_size_t(size))

    def shape(self):
        f = acl().aclGetTensorDescDimV2
        rank, size = acl().aclGetTensorDescNumDims, ctypes.c_int64()
        rank.restype = ctypes.c_size_t
        dims = []
        for i in range(rank(ctypes.c_void_p(self.handle))):
            check(f(ctypes.c_void_p(self.handle), ctypes.c_size_t(i), ctypes.byref(size)))
            dims.append(size.value)
        return dims, KINDS[acl().aclGetTensorDescType(ctypes.c_void_p(self.handle))]

    def close(self):
        acl().aclDestroyTensorDesc(ctypes.c_void_p(self.handle))
        acl().aclDestroyDataBuffer(ctypes.c_void_p(self.buffer))


def attributes(kind, given):
    known = operators()[kind]["attributes"]
    attr = ctypes.c_void_p(acl().aclopCreateAttr())
    for name, value in given.items():
        word, key = known[name][0], name.encode()
        if word == "Bool":
            check(acl().aclopSetAttrBool(attr, key, ctypes.c_uint8(bool(value))))
        elif word == "Int":
            check(acl().aclopSetAttrInt(attr, key, ctypes.c_int64(TYPES.get(value, value))))
        elif word == "Type":
            check(acl().aclopSetAttrDataType(attr, key, TYPES[value]))
        elif word == "Float":
            check(acl().aclopSetAttrFloat(attr, key, ctypes.c_float(value)))
        elif word == "Text":
            check(acl().aclopSetAttrString(attr, key, value.encode()))
        elif word == "Ints":
            check(acl().aclopSetAttrListInt(attr, key, len(value), array(ctypes.c_int64, value)))
        elif word == "Floats":
            check(acl().aclopSetAttrListFloat(attr, key, len(value), array(ctypes.c_float, value)))
        elif word == "Texts":
            check(acl().aclopSetAttrListString(attr, key, len(value), array(ctypes.c_char_p, [v.encode() for v in value])))
        elif word == "IntLists":
            rows = [array(ctypes.c_int64, v) for v in value]
            counts = array(ctypes.c_int, [len(v) for v in value])
            pointers = array(ctypes.c_void_p, [ctypes.addressof(r) for r in rows])
            check(acl().aclopSetAttrListListInt(attr, key, len(value), counts, pointers))
        else:
            raise TypeError(f"{kind}: attribute {name} is {word}")
    return attr


def call(kind, *inputs, outputs=None, results=None, counted=False, shapes=None, **attrs):
    """`counted`: values decide the sizes of the outputs, so they are asked for when it has run. `outputs` is how many there are when the last is a list; `results` their types where inference has no say; `shapes` are the dims and types of outputs that the inputs do not decide."""
    names = operators()[kind]
    updated = [n for n in names["outputs"] if n in names["inputs"]]
    given, tensors = [], {}
    for i, v in enumerate(inputs):
        if isinstance(v, const):
            given.append(Description(v.tensor, host=True))
        elif v is None:
            given.append(Description())
        else:
            given.append(Description(v.npu()))
        tensors[names["inputs"][min(i, len(names["inputs"]) - 1)].rstrip("?*")] = given[-1].tensor
    wanted = list(names["outputs"])
    if outputs:
        wanted = wanted[:-1] + [wanted[-1]] * (outputs - len(wanted) + 1)
    made = [Description(tensors[n]) if n in updated else Description(torch.empty(0)) for n in wanted]
    attr = attributes(kind, attrs)
    handles = lambda all, what: array(ctypes.c_void_p, [getattr(d, what) for d in all])  # noqa: E731
    try:
        lists = (kind.encode(), len(given), handles(given, "handle"), handles(given, "buffer"), len(made))
        if not shapes:
            check(acl().aclopInferShape(*lists, handles(made, "handle"), attr))
            shapes = [d.shape() for d in made]
        for d in made:
            d.close()
        made = [Description(tensors[n] if n in updated else torch.empty(dims, dtype=t, device="npu"))
                for n, (dims, t) in zip(wanted, shapes)]
        for n, d, (dims, t) in zip(wanted, made, shapes):
            assert list(d.tensor.shape) == dims and d.tensor.dtype == t, f"{kind}: {n}"
        stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
        execute = library().aclopCompileAndExecuteV2 if counted else library().aclopCompileAndExecute
        check(execute(*lists, handles(made, "handle"), handles(made, "buffer"), attr, 0, 0, None, stream))
        torch.npu.synchronize()
        if not counted:
            return [d.tensor.cpu() for d in made]
        return [d.tensor.cpu().flatten()[:math.prod(d.shape()[0])].reshape(d.shape()[0]) for d in made]
    finally:
        for d in given + made:
            d.close()
        acl().aclopDestroyAttr(attr)
