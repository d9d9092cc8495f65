"""Operators of libupdraft.so by their names (include/updraft/op.h): what there is, and calls with values of numpy."""

import ctypes
import functools
import json
import os

from updraft import home, library_dir

# Names of data types, as samples and messages here spell them: the number of aclDataType and numpy's type. numpy has no
# bfloat16: its bits are uint16.
TYPES = {"f32": (0, "float32"), "f16": (1, "float16"), "i8": (2, "int8"), "i32": (3, "int32"), "u8": (4, "uint8"),
         "i16": (6, "int16"), "u16": (7, "uint16"), "u32": (8, "uint32"), "i64": (9, "int64"), "u64": (10, "uint64"),
         "f64": (11, "float64"), "bool": (12, "bool"), "c64": (16, "complex64"), "c128": (17, "complex128"),
         "bf16": (27, "uint16")}
NAMES = {number: name for name, (number, _) in TYPES.items()}
MOST_DIMS = 16

_CODES = {"aclInit": [ctypes.c_char_p], "aclrtSetDevice": [ctypes.c_int32],
          "aclrtMalloc": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], "aclrtFree": [ctypes.c_void_p],
          "aclrtMemcpy": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int],
          "aclrtSynchronizeStream": [ctypes.c_void_p]}
_ALREADY_INITIALIZED = 100002
_TO_DEVICE, _TO_HOST = 1, 2


class Refused(Exception):
    """What the library refused, or what failed, in its words."""


@functools.cache
def library():
    path = os.path.join(library_dir(), "libupdraft.so")
    try:
        lib = ctypes.CDLL(path)
    except OSError as error:
        raise Refused(str(error)) from None
    if not hasattr(lib, "updraftOpCount"):
        raise Refused("%s is of an older version: it has no updraftOpCount" % path)
    lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
    for name, types in _CODES.items():
        getattr(lib, name).argtypes = types
    for name in ("Destroy", "Infer"):
        getattr(lib, "updraftOp" + name).argtypes = [ctypes.c_void_p]
    return lib


def _text():
    """The sentence in the text of the latest error."""
    lines = (library().aclGetRecentErrMsg() or b"").decode(errors="replace").splitlines()
    first = lines[0] if lines else ""
    return first.split("): ", 1)[-1]


def _check(name, *arguments, allowed=0):
    code = getattr(library(), name)(*arguments)
    if code not in (0, allowed):
        raise Refused(_text() or "%s failed with %d" % (name, code))


def names(graph=False):
    """Of the operators of aclnn, or of those that graphs name."""
    count, name = ctypes.c_uint64(), ctypes.c_char_p()
    _check("updraftOpCount", int(graph), ctypes.byref(count))
    found = []
    for i in range(count.value):
        _check("updraftOpName", int(graph), ctypes.c_uint64(i), ctypes.byref(name))
        found.append(name.value.decode())
    return found


def describe(name):
    text = ctypes.c_char_p()
    _check("updraftOpDescribe", name.encode(), ctypes.byref(text))
    return json.loads(text.value)


@functools.cache
def _documented():
    """What the tree says of the operators of aclnn: samples, and the types that products take."""
    path = os.path.join(home(), "opp", "updraft", "operators.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {entry["name"]: entry for entry in json.load(file)}


def sample(name):
    """Texts of the values of a sample call by parameter; None where there is no sample."""
    return _documented().get(name, {}).get("sample")


def card(name):
    """Data types by product and parameter; None where it is not known."""
    return _documented().get(name, {}).get("card")


@functools.cache
def _device():
    _check("aclInit", None, allowed=_ALREADY_INITIALIZED)
    _check("aclrtSetDevice", 0)


class Call:
    """A call of one operator; tensors are (type name, array) on their way in and out."""

    def __init__(self, name):
        self.name, self.handle, self.memory = name, ctypes.c_void_p(), []
        _check("updraftOpCreate", name.encode(), ctypes.byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for memory in self.memory:
            library().aclrtFree(memory)
        library().updraftOpDestroy(self.handle)

    def _set(self, what, parameter, *values):
        _check("updraftOp" + what, self.handle, parameter.encode(), *values)

    def _allocate(self, size):
        memory = ctypes.c_void_p()
        _device()
        _check("aclrtMalloc", ctypes.byref(memory), max(size, 64), 0)
        self.memory.append(memory)
        return memory

    def shape(self, parameter, dtype, dims):
        """A tensor without values; -1: the size is not known."""
        self._set("SetTensor", parameter, TYPES[dtype][0], ctypes.c_uint64(len(dims)),
                  (ctypes.c_int64 * len(dims))(*dims), None, None, 0)

    def tensor(self, parameter, dtype, array, on_host=False):
        """The values of an array. Returns the memory of the device, None where the values stay on the host."""
        size = array.nbytes
        if on_host:
            data = ctypes.create_string_buffer(array.tobytes(), max(size, 1))
            self.memory_of_host = getattr(self, "memory_of_host", []) + [data]
            pointer = ctypes.cast(data, ctypes.c_void_p)
        else:
            pointer = self._allocate(size)
            if size:
                _check("aclrtMemcpy", pointer, size, array.ctypes.data, size, _TO_DEVICE)
        self._set("SetTensor", parameter, TYPES[dtype][0], ctypes.c_uint64(array.ndim),
                  (ctypes.c_int64 * array.ndim)(*array.shape), None, pointer, int(on_host))
        return None if on_host else pointer

    def absent(self, parameter):
        self._set("SetAbsent", parameter)

    def empty(self, parameter):
        self._set("SetEmpty", parameter)

    def ask(self, parameter):
        self._set("Ask", parameter)

    def value(self, parameter, value):
        """A number, a bool, a text, or a list of them."""
        if isinstance(value, bool):
            return self._set("SetBool", parameter, int(value))
        if isinstance(value, int):
            return self._set("SetInteger", parameter, ctypes.c_int64(value))
        if isinstance(value, float):
            return self._set("SetNumber", parameter, ctypes.c_double(value))
        if isinstance(value, str):
            return self._set("SetText", parameter, value.encode())
        count = ctypes.c_uint64(len(value))
        if any(isinstance(v, str) for v in value):
            return self._set("SetTexts", parameter, (ctypes.c_char_p * len(value))(*(v.encode() for v in value)), count)
        if any(isinstance(v, float) for v in value):
            return self._set("SetNumbers", parameter, (ctypes.c_double * len(value))(*value), count)
        return self._set("SetIntegers", parameter, (ctypes.c_int64 * len(value))(*value), count)

    def infer(self):
        _check("updraftOpInfer", self.handle)

    def count(self, parameter):
        count = ctypes.c_uint64()
        self._set("TensorCount", parameter, ctypes.byref(count))
        return count.value

    def sizes(self, parameter, index=0):
        """The type of a tensor and its sizes as pairs (least, most); most is -1 where there is no bound."""
        dtype, rank = ctypes.c_int32(), ctypes.c_uint64()
        low, high = (ctypes.c_int64 * MOST_DIMS)(), (ctypes.c_int64 * MOST_DIMS)()
        self._set("GetTensor", parameter, ctypes.c_uint64(index), ctypes.byref(dtype), ctypes.byref(rank), low, high)
        return NAMES.get(dtype.value, str(dtype.value)), list(zip(low[:rank.value], high[:rank.value]))

    def place(self, parameter, index=0):
        """Memory for a result of the largest size that it may have."""
        import numpy

        dtype, sizes = self.sizes(parameter, index)
        size = numpy.dtype(TYPES[dtype][1]).itemsize
        for _, most in sizes:
            size *= most
        memory = self._allocate(size)
        self._set("Place", parameter, ctypes.c_uint64(index), memory)
        return memory

    def run(self):
        _device()
        _check("updraftOpRun", self.handle, None)
        _check("aclrtSynchronizeStream", None)

    def read(self, parameter, index, memory):
        """What lies in a result: its type and an array."""
        import numpy

        dtype, sizes = self.sizes(parameter, index)
        array = numpy.empty([most for _, most in sizes], TYPES[dtype][1])
        if array.nbytes:
            _check("aclrtMemcpy", array.ctypes.data, array.nbytes, memory, array.nbytes, _TO_HOST)
        return dtype, array
