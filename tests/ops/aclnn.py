"""Calls aclnn operators through the C ABI, as a C program does: for those that no path of torch_npu reaches.

    call("aclnnDeepNorm", x, gx, beta, gamma, 0.3, 1e-5, mean, rstd, y)

takes npu tensors, Python values and None in the order of the operator's header, which gives their types."""
import ctypes
import functools
import os
import re
from pathlib import Path

import torch
import torch_npu  # noqa: F401

TYPES = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.uint8: 4, torch.int16: 6, torch.uint16: 7,
         torch.int64: 9, torch.float64: 11, torch.bool: 12, torch.complex64: 16, torch.complex128: 17,
         torch.bfloat16: 27, torch.complex32: 33}
NUMBERS = {"bool": ctypes.c_bool, "double": ctypes.c_double, "float": ctypes.c_float, "int64_t": ctypes.c_int64,
           "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32, "int8_t": ctypes.c_int8}
ND = 2


@functools.cache
def library():
    loaded = ctypes.CDLL("libopapi.so")  # the one that torch_npu has loaded
    for name in ("Tensor", "Scalar", "IntArray", "BoolArray", "TensorList", "ScalarList"):
        getattr(loaded, "aclCreate" + name).restype = ctypes.c_void_p
        getattr(loaded, "aclDestroy" + name).argtypes = [ctypes.c_void_p]
    return loaded


@functools.cache
def error_text():
    f = ctypes.CDLL("libascendcl.so").aclGetRecentErrMsg
    f.restype = ctypes.c_char_p
    return f


@functools.cache
def prototypes():
    """Parameter types of every operator, by name, from the headers of the tree that runs."""
    found = {}
    for header in Path(os.environ["ASCEND_HOME_PATH"], "include", "aclnnop").glob("*.h"):
        for name, parameters in re.findall(r"(acl\w+)GetWorkspaceSize\(([^)]*)\)", header.read_text()):
            types = [re.sub(r"\s*\w+$", "", p.strip()).removeprefix("const ").replace(" ", "") for p in parameters.split(",")]
            found[name] = types[:-2]
    return found


class FourBits:
    """A tensor of packed words that is given as INT4: eight elements for each INT32."""

    def __init__(self, words):
        self.words = words


class Arguments:
    """Handles of one call; they are destroyed when it has been made."""

    def __init__(self):
        self.made = []

    def keep(self, kind, handle):
        assert handle, f"aclCreate{kind} failed: {error_text()()}"
        self.made.append((kind, handle))
        return ctypes.c_void_p(handle)

    def tensor(self, t):
        if isinstance(t, FourBits):
            return self.four_bits(t.words)
        assert t.device.type == "npu"
        shape, strides = ((ctypes.c_int64 * t.dim())(*v) for v in (t.shape, t.stride()))
        storage = (ctypes.c_int64 * 1)(t.untyped_storage().nbytes() // t.element_size())
        return library().aclCreateTensor(shape, ctypes.c_uint64(t.dim()), TYPES[t.dtype], strides,
                                         ctypes.c_int64(t.storage_offset()), ND, storage, ctypes.c_uint64(1),
                                         ctypes.c_void_p(t.untyped_storage().data_ptr()))

    @staticmethod
    def four_bits(t):
        shape = [n * 8 if stride == 1 else n for n, stride in zip(t.shape, t.stride())]
        strides = [1 if stride == 1 else 8 * stride for stride in t.stride()]
        dims = [(ctypes.c_int64 * t.dim())(*v) for v in (shape, strides)]
        return library().aclCreateTensor(dims[0], ctypes.c_uint64(t.dim()), 29, dims[1], ctypes.c_int64(8 * t.storage_offset()), ND, dims[0],
                                         ctypes.c_uint64(t.dim()), ctypes.c_void_p(t.untyped_storage().data_ptr()))

    @staticmethod
    def scalar(v):
        kind, number = (12, ctypes.c_bool) if isinstance(v, bool) else (9, ctypes.c_int64) if isinstance(v, int) else (
            11, ctypes.c_double)
        return library().aclCreateScalar(ctypes.byref(number(v)), kind)

    def convert(self, kind, v):
        if kind in NUMBERS:
            return NUMBERS[kind](v)
        if kind == "aclDataType":
            return ctypes.c_int32(TYPES[v])
        if kind == "char*":
            return ctypes.c_char_p(None if v is None else v.encode())
        if v is None:
            return ctypes.c_void_p()
        if kind == "aclTensor*":
            return self.keep("Tensor", self.tensor(v))
        if kind == "aclScalar*":
            return self.keep("Scalar", self.scalar(v))
        if kind in ("aclIntArray*", "aclBoolArray*"):
            number = ctypes.c_int64 if kind == "aclIntArray*" else ctypes.c_bool
            create = library().aclCreateIntArray if kind == "aclIntArray*" else library().aclCreateBoolArray
            return self.keep(kind[3:-1], create((number * len(v))(*v), ctypes.c_uint64(len(v))))
        if kind in ("aclTensorList*", "aclScalarList*"):  # the list owns its elements
            items = [self.tensor(x) if kind == "aclTensorList*" else self.scalar(x) for x in v]
            create = library().aclCreateTensorList if kind == "aclTensorList*" else library().aclCreateScalarList
            return self.keep(kind[3:-1], create((ctypes.c_void_p * len(v))(*items), ctypes.c_uint64(len(v))))
        raise TypeError(f"{kind} is not a type that tests pass")

    def destroy(self):
        for kind, handle in self.made:
            getattr(library(), "aclDestroy" + kind)(handle)


def plan(name, values, size, executor):
    """The first phase: its code, and what it says about the workspace and the executor."""
    types = prototypes()[name]
    assert len(types) == len(values), f"{name} takes {len(types)} arguments: {types}"
    arguments = Arguments()
    try:
        converted = [arguments.convert(kind, v) for kind, v in zip(types, values)]
        return getattr(library(), name + "GetWorkspaceSize")(*converted, ctypes.byref(size), ctypes.byref(executor))
    finally:
        arguments.destroy()


def accepts(name, *values):
    """Whether the first phase takes these arguments; nothing is computed."""
    executor = ctypes.c_void_p()
    if plan(name, values, ctypes.c_uint64(), executor):
        return False
    library().aclDestroyAclOpExecutor(executor)
    return True


def call(name, *values):
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    torch.npu.synchronize()  # what torch_npu still has in its queue comes first
    code = plan(name, values, size, executor)
    if code:
        raise RuntimeError(f"{name}: {code}: {error_text()().decode()}")
    workspace = torch.empty(size.value, dtype=torch.uint8, device="npu")
    code = getattr(library(), name)(ctypes.c_void_p(workspace.data_ptr()), size, executor,
                                    ctypes.c_void_p(torch.npu.current_stream().npu_stream))
    if code:
        raise RuntimeError(f"{name}: {code}: {error_text()().decode()}")
    torch.npu.synchronize()
