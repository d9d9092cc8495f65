"""Runs a model while its operators are subscribed to, and prints what comes through the pipe as JSON. Arguments: MODEL.om RUNS."""

import ctypes
import json
import os
import sys
import threading

lib = ctypes.CDLL("libascendcl.so")
for name in ("aclprofGetOpStart", "aclprofGetOpEnd", "aclprofGetOpDuration"):
    getattr(lib, name).restype = ctypes.c_uint64
lib.aclprofGetModelId.restype = lib.aclrtMallocSize = ctypes.c_size_t
lib.aclprofGetOpAttriValue.restype = ctypes.c_char_p
for name in ("aclprofCreateSubscribeConfig", "aclmdlCreateDesc", "aclmdlCreateDataset", "aclCreateDataBuffer"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.aclmdlGetInputSizeByIndex.restype = lib.aclmdlGetOutputSizeByIndex.restype = ctypes.c_size_t
P, Z, U = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32


def good(code):
    if code:
        lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
        raise RuntimeError("%d %s" % (code, lib.aclGetRecentErrMsg()))


def datasets(model):
    desc = P(lib.aclmdlCreateDesc())
    good(lib.aclmdlGetDesc(desc, model))
    made = []
    for count, size_of in ((lib.aclmdlGetNumInputs(desc), lib.aclmdlGetInputSizeByIndex), (lib.aclmdlGetNumOutputs(desc), lib.aclmdlGetOutputSizeByIndex)):
        dataset = P(lib.aclmdlCreateDataset())
        for i in range(count):
            size, p = size_of(desc, Z(i)), P()
            good(lib.aclrtMalloc(ctypes.byref(p), Z(size), 0))
            good(lib.aclrtMemset(p, Z(size), 0, Z(size)))
            good(lib.aclmdlAddDatasetBuffer(dataset, P(lib.aclCreateDataBuffer(p, Z(size)))))
        made.append(dataset)
    return made


def told(data):
    """The records as they are read by the functions."""
    size, count = Z(), U()
    good(lib.aclprofGetOpDescSize(ctypes.byref(size)))
    rows = []
    if not data:
        return rows
    good(lib.aclprofGetOpNum(data, Z(len(data)), ctypes.byref(count)))
    assert count.value * size.value == len(data)
    for i in range(count.value):
        row = {}
        for key, length_of, text_of in (("type", lib.aclprofGetOpTypeLen, lib.aclprofGetOpType), ("name", lib.aclprofGetOpNameLen, lib.aclprofGetOpName)):
            length = Z()
            good(length_of(data, Z(len(data)), U(i), ctypes.byref(length)))
            text = ctypes.create_string_buffer(length.value)
            assert text_of(data, Z(len(data)), U(i), text, Z(length.value - 1)) != 0  # one too small
            good(text_of(data, Z(len(data)), U(i), text, length))
            row[key] = text.value.decode()
        for key, value_of in (("start", lib.aclprofGetOpStart), ("end", lib.aclprofGetOpEnd), ("duration", lib.aclprofGetOpDuration),
                              ("model", lib.aclprofGetModelId), ("flag", lib.aclprofGetOpFlag)):
            row[key] = value_of(data, Z(len(data)), U(i))
        row["thread"] = lib.aclprofGetOpAttriValue(data, Z(len(data)), U(i), 0).decode()
        rows.append(row)
    return rows


def main(path, runs):
    good(lib.aclInit(None))
    good(lib.aclrtSetDevice(0))
    model = U()
    good(lib.aclmdlLoadFromFile(path.encode(), ctypes.byref(model)))
    inputs, outputs = datasets(model)
    read, write = os.pipe()
    pieces = []

    def reader():
        while piece := os.read(read, 1 << 20):
            pieces.append(piece)

    thread = threading.Thread(target=reader)
    thread.start()
    fd = ctypes.c_int(write)
    config = P(lib.aclprofCreateSubscribeConfig(ctypes.c_int8(1), 255, ctypes.byref(fd)))
    codes = {"none": lib.aclprofModelSubscribe(U(model.value + 7), config), "not_yet": lib.aclprofModelUnSubscribe(model)}
    good(lib.aclmdlExecute(model, inputs, outputs))  # nobody listens yet
    good(lib.aclprofModelSubscribe(model, config))
    codes["again"] = lib.aclprofModelSubscribe(model, config)
    for _ in range(int(runs)):
        good(lib.aclmdlExecute(model, inputs, outputs))
    good(lib.aclprofModelUnSubscribe(model))
    good(lib.aclmdlExecute(model, inputs, outputs))
    os.close(write)
    thread.join()
    rows = told(b"".join(pieces))
    codes["part"] = lib.aclprofGetOpNum(b"x" * 100, Z(100), ctypes.byref(U()))
    # a reader that has gone ends neither the program nor the model
    other_read, other = os.pipe()
    os.close(other_read)
    fd = ctypes.c_int(other)
    gone = P(lib.aclprofCreateSubscribeConfig(ctypes.c_int8(1), 255, ctypes.byref(fd)))
    good(lib.aclprofModelSubscribe(model, gone))
    good(lib.aclmdlExecute(model, inputs, outputs))
    good(lib.aclprofModelUnSubscribe(model))
    good(lib.aclprofDestroySubscribeConfig(config))
    codes["twice"] = lib.aclprofDestroySubscribeConfig(config)
    codes["reading_end"] = int(lib.aclprofCreateSubscribeConfig(ctypes.c_int8(1), 255, ctypes.byref(ctypes.c_int(read))) or 0)
    print(json.dumps({"rows": rows, "codes": codes, "model": model.value}))


main(*sys.argv[1:])
