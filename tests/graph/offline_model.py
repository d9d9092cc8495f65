"""Offline models through the C interface, as an inference program uses it."""

import ctypes
import os

import numpy as np
from updraft import home

TYPES = {0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 9: np.int64, 12: np.bool_}
TO_DEVICE, TO_HOST = 1, 2


class Dims(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 128), ("count", ctypes.c_size_t), ("sizes", ctypes.c_int64 * 128)]

    def shape(self):
        return tuple(self.sizes[:self.count])


class Batch(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("sizes", ctypes.c_uint64 * 128)]


class Image(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("sizes", ctypes.c_uint64 * 2 * 128)]


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


def library():
    found = ctypes.CDLL(os.path.join(home(), "lib64", "libascendcl.so"))
    for name in ("aclmdlCreateDesc", "aclmdlCreateDataset", "aclCreateDataBuffer", "aclCreateTensorDesc", "aclmdlGetDatasetTensorDesc"):
        getattr(found, name).restype = ctypes.c_void_p
    for name in ("aclmdlGetNumInputs", "aclmdlGetNumOutputs", "aclmdlGetInputSizeByIndex", "aclmdlGetOutputSizeByIndex",
                 "aclGetTensorDescNumDims"):
        getattr(found, name).restype = ctypes.c_size_t
    for name in ("aclmdlGetInputNameByIndex", "aclGetRecentErrMsg"):
        getattr(found, name).restype = ctypes.c_char_p
    return found


acl = library()


def call(name, *arguments):
    code = getattr(acl, name)(*arguments)
    if code:
        raise Refused(code, (acl.aclGetRecentErrMsg() or b"").decode())


class OfflineModel:
    """An om file on device 0."""

    def __init__(self, path):
        acl.aclInit(None)
        call("aclrtSetDevice", 0)
        self.id, self.desc = ctypes.c_uint32(), ctypes.c_void_p(acl.aclmdlCreateDesc())
        call("aclmdlLoadFromFile", str(path).encode(), ctypes.byref(self.id))
        call("aclmdlGetDesc", self.desc, self.id)
        self.inputs = [acl.aclmdlGetInputNameByIndex(self.desc, ctypes.c_size_t(i)).decode() for i in range(acl.aclmdlGetNumInputs(self.desc))]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        call("aclmdlUnload", self.id)
        call("aclmdlDestroyDesc", self.desc)

    def dims(self, function, index):
        found = Dims()
        call(function, self.desc, ctypes.c_size_t(index), ctypes.byref(found))
        return found.shape()

    def input_type(self, index):
        return TYPES[acl.aclmdlGetInputDataType(self.desc, ctypes.c_size_t(index))]

    def output_type(self, index):
        return TYPES[acl.aclmdlGetOutputDataType(self.desc, ctypes.c_size_t(index))]

    def batches(self):
        found = Batch()
        call("aclmdlGetDynamicBatch", self.desc, ctypes.byref(found))
        return list(found.sizes[:found.count])

    def images(self):
        found = Image()
        call("aclmdlGetDynamicHW", self.desc, ctypes.c_size_t(-1), ctypes.byref(found))
        return [tuple(pair) for pair in found.sizes[:found.count]]

    def gears(self):
        count = ctypes.c_size_t()
        call("aclmdlGetInputDynamicGearCount", self.desc, ctypes.c_size_t(-1), ctypes.byref(count))
        found = (Dims * count.value)()
        call("aclmdlGetInputDynamicDims", self.desc, ctypes.c_size_t(-1), found, count)
        return [dims.shape() for dims in found]

    def run(self, feeds, choose=None, sizes=None):
        """The outputs; `choose(model, dataset, index)` sets the gear; `sizes`: shapes of inputs whose description has -1."""
        memory, sets = [], []

        def buffer(dataset, bytes_):
            block = ctypes.c_void_p()
            call("aclrtMalloc", ctypes.byref(block), ctypes.c_size_t(max(bytes_, 1)), 0)
            memory.append(block)
            call("aclmdlAddDatasetBuffer", dataset, ctypes.c_void_p(acl.aclCreateDataBuffer(block, ctypes.c_size_t(bytes_))))
            return block

        given, made = (ctypes.c_void_p(acl.aclmdlCreateDataset()) for _ in range(2))
        sets += [given, made]
        choice = None
        for i, name in enumerate(self.inputs):
            if name == "ascend_mbatch_shape_data":
                choice = i
                buffer(given, acl.aclmdlGetInputSizeByIndex(self.desc, ctypes.c_size_t(i)))
                continue
            array = np.ascontiguousarray(feeds[name])
            assert array.dtype == self.input_type(i), (name, array.dtype, self.input_type(i))
            block = buffer(given, array.nbytes)
            call("aclrtMemcpy", block, ctypes.c_size_t(array.nbytes), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), TO_DEVICE)
            if sizes and name in sizes:
                shape = (ctypes.c_int64 * array.ndim)(*array.shape)
                desc = ctypes.c_void_p(acl.aclCreateTensorDesc(acl.aclmdlGetInputDataType(self.desc, ctypes.c_size_t(i)), array.ndim, shape, 2))
                call("aclmdlSetDatasetTensorDesc", given, desc, ctypes.c_size_t(i))
        if choose:
            choose(self, given, choice)
        blocks = []
        for i in range(acl.aclmdlGetNumOutputs(self.desc)):
            bytes_ = acl.aclmdlGetOutputSizeByIndex(self.desc, ctypes.c_size_t(i)) or 1 << 20
            blocks.append(buffer(made, bytes_))
        try:
            call("aclmdlExecute", self.id, given, made)
            outputs = []
            for i, block in enumerate(blocks):
                shape = self.dims("aclmdlGetCurOutputDims", i)
                if any(d < 0 for d in shape):
                    desc = ctypes.c_void_p(acl.aclmdlGetDatasetTensorDesc(made, ctypes.c_size_t(i)))
                    shape = []
                    for d in range(acl.aclGetTensorDescNumDims(desc)):
                        size = ctypes.c_int64()
                        call("aclGetTensorDescDimV2", desc, ctypes.c_size_t(d), ctypes.byref(size))
                        shape.append(size.value)
                array = np.empty(shape, self.output_type(i))
                call("aclrtMemcpy", array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), block, ctypes.c_size_t(array.nbytes), TO_HOST)
                outputs.append(array)
        finally:
            for block in memory:
                call("aclrtFree", block)
            for dataset in sets:
                call("aclmdlDestroyDataset", dataset)
        return outputs


def batch(size):
    return lambda model, dataset, index: call("aclmdlSetDynamicBatchSize", model.id, dataset, ctypes.c_size_t(index), ctypes.c_uint64(size))


def image(height, width):
    return lambda model, dataset, index: call("aclmdlSetDynamicHWSize", model.id, dataset, ctypes.c_size_t(index), ctypes.c_uint64(height),
                                              ctypes.c_uint64(width))


def dims(*sizes):
    def choose(model, dataset, index):
        given = Dims()
        given.count = len(sizes)
        given.sizes[:len(sizes)] = sizes
        call("aclmdlSetInputDynamicDims", model.id, dataset, ctypes.c_size_t(index), ctypes.byref(given))
    return choose
