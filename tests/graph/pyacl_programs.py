"""Scripts of pyACL, which know nothing of Updraft. They need numpy and acl alone.

usage: python pyacl_programs.py FOLDER [NAME…]     prints a line of JSON for each; FOLDER holds the models
"""

import gc
import json
import pathlib
import sys
import threading
import traceback

import acl
import numpy as np
from pyacl_checks import PROGRAMS, good, program, refused, value

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST = 0, 1, 2
ACL_FLOAT, ACL_INT32, ACL_INT64, FORMAT_ND = 0, 3, 9, 2
TYPES = {0: np.float32, 3: np.int32, 9: np.int64}
FOLDER = pathlib.Path(sys.argv[1] if __name__ == "__main__" else ".")


class Memory:
    """Device memory that goes with its scope."""

    def __init__(self, array):
        self.bytes = array.nbytes
        self.pointer = value(acl.rt.malloc(max(self.bytes, 32), 0))
        contiguous = np.ascontiguousarray(array)
        good(acl.rt.memcpy(self.pointer, self.bytes, acl.util.numpy_to_ptr(contiguous), self.bytes, HOST_TO_DEVICE))

    def read(self, dtype, shape):
        data = bytes(self.bytes)
        good(acl.rt.memcpy(acl.util.bytes_to_ptr(data), self.bytes, self.pointer, self.bytes, DEVICE_TO_HOST))
        return np.frombuffer(data, dtype).reshape(shape)

    def free(self):
        good(acl.rt.free(self.pointer))


class Model:
    def __init__(self, name):
        self.id = value(acl.mdl.load_from_file(str(FOLDER / (name + ".om"))))
        self.desc = acl.mdl.create_desc()
        good(acl.mdl.get_desc(self.desc, self.id))

    def data_set(self, arrays, dynamic=False):
        data = acl.mdl.create_dataset()
        memory = [Memory(a) for a in arrays]
        for i, (array, m) in enumerate(zip(arrays, memory)):
            same, ret = acl.mdl.add_dataset_buffer(data, acl.create_data_buffer(m.pointer, m.bytes))
            good(ret)
            assert same == data
            if dynamic:
                desc = acl.create_tensor_desc(ACL_FLOAT, list(array.shape), FORMAT_ND)
                assert acl.mdl.set_dataset_tensor_desc(data, desc, i) == (data, 0)
        return data, memory

    def outputs(self):
        dims = [value(acl.mdl.get_output_dims(self.desc, i))["dims"] for i in range(acl.mdl.get_num_outputs(self.desc))]
        return [np.zeros(d, TYPES[acl.mdl.get_output_data_type(self.desc, i)]) for i, d in enumerate(dims)]

    def run(self, arrays, outputs=None, dynamic=False, stream=None):
        outputs = self.outputs() if outputs is None else outputs
        (inputs, held), (results, made) = self.data_set(arrays, dynamic), self.data_set(outputs)
        if stream is None:
            good(acl.mdl.execute(self.id, inputs, results))
        else:
            good(acl.mdl.execute_async(self.id, inputs, results, stream))
            good(acl.rt.synchronize_stream(stream))
        answer = [m.read(o.dtype, o.shape) for m, o in zip(made, outputs)]
        for m in held + made:
            m.free()
        for data in (inputs, results):
            for i in range(acl.mdl.get_dataset_num_buffers(data)):
                good(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(data, i)))
            good(acl.mdl.destroy_dataset(data))
        return answer

    def close(self):
        good(acl.mdl.unload(self.id))
        good(acl.mdl.destroy_desc(self.desc))


def cases(name):
    arrays = np.load(FOLDER / (name + ".npz"))
    count = 1 + max(int(key.split("_")[1]) for key in arrays)
    return [({k.split("_", 2)[2]: arrays[k] for k in arrays if k.startswith("in_%d_" % n)},
             {k.split("_", 2)[2]: arrays[k] for k in arrays if k.startswith("out_%d_" % n)}) for n in range(count)]


@program
def start_and_devices():
    assert acl.init() == 100002, "main() has called it"
    assert "called before" in acl.get_recent_err_msg()
    assert value(acl.rt.get_device()) == 0 and value(acl.rt.get_device_count()) >= 1
    assert value(acl.rt.get_run_mode()) == 1
    assert acl.get_soc_name().startswith("Ascend") and len(value(acl.rt.get_version())) == 3
    free, total = value(acl.rt.get_mem_info(1))
    assert 0 < free <= total
    assert acl.rt.set_device(99) != 0 and "UPDRAFT_DEVICES" in acl.get_recent_err_msg()
    mine = value(acl.rt.get_context())
    other = value(acl.rt.create_context(0))
    assert value(acl.rt.get_context()) == other
    good(acl.rt.destroy_context(other))
    good(acl.rt.set_context(mine))
    assert acl.data_type_size(ACL_FLOAT) == 4
    assert acl.float16_to_float(acl.float_to_float16(0.5)) == 0.5
    assert acl.app_log(1, "100 % of %s") is None


@program
def memory_and_copies():
    n = 1 << 16
    given = np.arange(n, dtype=np.uint8)
    m = Memory(given)
    assert (m.read(np.uint8, (n,)) == given).all()
    host = value(acl.rt.malloc_host(n))
    stream = value(acl.rt.create_stream())
    good(acl.rt.memset_async(m.pointer, n, 7, n // 2, stream))
    good(acl.rt.memcpy_async(host, n, m.pointer, n, DEVICE_TO_HOST, stream))
    good(acl.rt.synchronize_stream(stream))
    found = acl.util.ptr_to_numpy(host, (2, n // 2), 2)
    assert found.shape == (2, n // 2) and (found[0] == 7).all() and (found[1] == given[n // 2:]).all()
    assert acl.util.ptr_to_bytes(host, 3) == b"\7\7\7"
    found[0, 0] = 9  # a view, not a copy
    assert acl.util.ptr_to_bytes(host, 1) == b"\t"
    good(acl.rt.memcpy_2d(m.pointer, 8, host, 16, 4, 10, HOST_TO_DEVICE))
    assert bytes(m.read(np.uint8, (n,))[:5]) == b"\t\7\7\7\7"
    assert value(acl.rt.pointer_get_attributes(m.pointer))["location"] == {"id": 0, "type": 1}
    assert acl.rt.memcpy(m.pointer, 4, host, 8, HOST_TO_DEVICE) != 0, "8 bytes into room for 4"
    for call in (acl.util.ptr_to_bytes, lambda p, size: acl.util.ptr_to_numpy(p, (size,), 2)):
        try:
            call(m.pointer, 4)
            raise RuntimeError("the host has read device memory")
        except ValueError as error:
            assert "memory of device 0" in str(error), error
    good(acl.rt.destroy_stream(stream))
    good(acl.rt.free_host(host))
    m.free()
    assert acl.rt.malloc(1 << 60, 0) == (0, 207001)


@program
def streams_and_events():
    first, second = (value(acl.rt.create_stream()) for _ in range(2))
    start, end = (value(acl.rt.create_event()) for _ in range(2))
    m = Memory(np.zeros(1 << 20, np.uint8))
    good(acl.rt.record_event(start, first))
    good(acl.rt.memset_async(m.pointer, m.bytes, 1, m.bytes, first))
    good(acl.rt.record_event(end, first))
    good(acl.rt.stream_wait_event(second, end))
    good(acl.rt.memset_async(m.pointer, m.bytes, 2, 100, second))
    good(acl.rt.synchronize_stream(second))
    assert m.read(np.uint8, (m.bytes,))[[0, 99, 100]].tolist() == [2, 2, 1]
    good(acl.rt.synchronize_event(end))
    ms = value(acl.rt.event_elapsed_time(start, end))
    assert isinstance(ms, float) and ms >= 0
    assert value(acl.rt.query_event(end)) == 0 and value(acl.rt.query_event_status(end)) == 1
    assert value(acl.rt.stream_query(first)) == 0
    for event in (start, end):
        good(acl.rt.destroy_event(event))
    for stream in (first, second):
        good(acl.rt.destroy_stream(stream))
    m.free()
    good(acl.rt.synchronize_device())


@program
def model_of_fixed_shape():
    net = Model("net")
    assert acl.mdl.get_num_inputs(net.desc) == 1 and acl.mdl.get_num_outputs(net.desc) == 2
    assert acl.mdl.get_input_dims(net.desc, 0) == ({"name": "x", "dimCount": 4, "dims": [2, 3, 8, 8]}, 0)
    assert acl.mdl.get_input_dims_v2(net.desc, 0)[0]["dims"] == [2, 3, 8, 8]
    assert acl.mdl.get_cur_output_dims(net.desc, 0)[0]["dims"] == [2, 5]
    assert acl.mdl.get_input_size_by_index(net.desc, 0) == 2 * 3 * 8 * 8 * 4
    assert acl.mdl.get_output_size_by_index(net.desc, 1) == 16
    assert acl.mdl.get_input_name_by_index(net.desc, 0) == "x"
    assert acl.mdl.get_input_index_by_name(net.desc, "x") == (0, 0)
    assert acl.mdl.get_output_data_type(net.desc, 1) == ACL_INT64
    stream = value(acl.rt.create_stream())
    worst = 0.0
    for n, (feed, want) in enumerate(cases("net")):
        probabilities, best = net.run([feed["x"]], stream=stream if n % 2 else None)
        assert (best == want["best"]).all(), (best, want["best"])
        worst = max(worst, float(np.abs(probabilities - want["y"]).max()))
    good(acl.rt.destroy_stream(stream))
    net.close()
    return worst


@program
def model_from_memory():
    data = (FOLDER / "net.om").read_bytes()
    work, weight = value(acl.mdl.query_size(str(FOLDER / "net.om")))
    assert work > 0 and weight > 0
    loaded = value(acl.mdl.load_from_mem(acl.util.bytes_to_ptr(data), len(data)))
    desc = acl.mdl.create_desc()
    good(acl.mdl.get_desc(desc, loaded))
    assert acl.mdl.get_output_name_by_index(desc, 0)
    good(acl.mdl.unload(loaded))
    good(acl.mdl.destroy_desc(desc))


@program
def damaged_models():
    """Whatever is wrong in a file is the file's fault by the codes too, and sizes that an operator refuses are the execution's."""
    whole = (FOLDER / "net.om").read_bytes()
    for before, after in ((b"SoftmaxV2", b"SoftmaxV9"), (b"strides", b"strider"), (b"NetOutput", b"NetOutpat")):
        assert before in whole
        raw = whole.replace(before, after)
        (FOLDER / "damaged.om").write_bytes(raw)
        refused(acl.mdl.load_from_file(str(FOLDER / "damaged.om"))[1], 100013, "the model cannot be prepared")
        refused(acl.mdl.load_from_mem(acl.util.bytes_to_ptr(raw), len(raw))[1], 100013, "the model cannot be prepared")
        assert acl.mdl.query_size(str(FOLDER / "damaged.om"))[2] in (0, 100013)
        desc = acl.mdl.create_desc()
        assert acl.mdl.get_desc_from_file(desc, str(FOLDER / "damaged.om")) in (0, 100013)
        acl.mdl.destroy_desc(desc)
    rows = Model("rows")
    inputs, _ = rows.data_set([np.zeros((3, 16), np.float32), np.zeros((2, 4), np.float32)], dynamic=True)
    outputs, _ = rows.data_set([np.zeros((3, 4), np.float32)])
    refused(acl.mdl.execute(rows.id, inputs, outputs), 100000, "MODEL_EXECUTE: ")
    rows.close()


@program
def model_of_any_rows():
    rows = Model("rows")
    assert acl.mdl.get_input_dims(rows.desc, 0)[0]["dims"] == [-1, 16]
    worst = 0.0
    for feed, want in cases("rows"):
        got, = rows.run([feed["x"], feed["z"]], [np.zeros_like(want["y"])], dynamic=True)
        worst = max(worst, float(np.abs(got - want["y"]).max()))
    rows.close()
    return worst


@program
def two_threads_one_model():
    """Each thread sets its context, as a card wants it."""
    net, context, worst, failures = Model("net"), value(acl.rt.get_context()), [], []
    feeds = cases("net")

    def work(seed):
        try:
            good(acl.rt.set_context(context))
            for n in range(40):
                feed, want = feeds[(seed + n) % len(feeds)]
                worst.append(float(np.abs(net.run([feed["x"]])[0] - want["y"]).max()))
        except BaseException as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(s,)) for s in (0, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    net.close()
    assert not failures and len(worst) == 80, failures
    return max(worst)


@program
def callbacks():
    stream, context, going, calls = value(acl.rt.create_stream()), value(acl.rt.get_context()), [True], []

    def serve(arguments):
        good(acl.rt.set_context(arguments[0]))
        while going[0]:
            acl.rt.process_report(arguments[1])

    refused(acl.rt.launch_callback(calls.append, 1, 1, stream), 107015, "aclrtSubscribeReport")
    thread = value(acl.util.start_thread(serve, [context, 100]))
    good(acl.rt.subscribe_report(thread, stream))
    m = Memory(np.zeros(4, np.uint8))

    def called(arguments):
        calls.append((arguments, threading.get_ident(), bytes(m.read(np.uint8, (4,)))))

    good(acl.rt.memset_async(m.pointer, 4, 5, 4, stream))
    good(acl.rt.launch_callback(called, ["first", 1], 1, stream))  # the stream waits for it
    good(acl.rt.memset_async(m.pointer, 4, 6, 4, stream))
    good(acl.rt.launch_callback(called, None, 1, stream))
    good(acl.rt.synchronize_stream(stream))
    assert calls == [(["first", 1], thread, b"\5" * 4), (None, thread, b"\6" * 4)], calls

    seen, hook = [], sys.unraisablehook
    sys.unraisablehook = lambda unraisable: seen.append(str(unraisable.exc_value))
    good(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))
    good(acl.rt.synchronize_stream(stream))
    sys.unraisablehook = hook
    assert seen == ["division by zero"], "a callback that raises is told, and its stream goes on"

    class Kept:
        def __call__(self, _):
            pass

    kept = Kept()
    before = sys.getrefcount(kept)
    for _ in range(50):
        good(acl.rt.launch_callback(kept, kept, 0, stream))
    good(acl.rt.launch_callback(called, 0, 1, stream))
    good(acl.rt.synchronize_stream(stream))
    assert sys.getrefcount(kept) == before
    good(acl.rt.unsubscribe_report(thread, stream))
    going[0] = False
    good(acl.util.stop_thread(thread))
    assert acl.util.stop_thread(thread) == 100000
    good(acl.rt.destroy_stream(stream))
    m.free()


@program
def single_operators():
    stream = value(acl.rt.create_stream())
    x, y = (np.random.default_rng(s).standard_normal((3, 4)).astype(np.float32) for s in (1, 2))

    def describe(array):
        memory = Memory(array)
        desc = acl.create_tensor_desc(ACL_FLOAT, list(array.shape), FORMAT_ND)
        assert acl.get_tensor_desc_size(desc) == array.nbytes and acl.get_tensor_desc_dim_v2(desc, 1) == (array.shape[1], 0)
        return desc, acl.create_data_buffer(memory.pointer, memory.bytes), memory

    def call(name, inputs, output, fill=lambda attr: None):
        given, made, attr = [describe(a) for a in inputs], describe(output), acl.op.create_attr()
        fill(attr)
        good(acl.op.execute_v2(name, [g[0] for g in given], [g[1] for g in given], [made[0]], [made[1]], attr, stream))
        good(acl.rt.synchronize_stream(stream))
        answer = made[2].read(np.float32, output.shape)
        for desc, buffer, memory in given + [made]:
            assert acl.destroy_tensor_desc(desc) is None
            good(acl.destroy_data_buffer(buffer))
            memory.free()
        assert acl.op.destroy_attr(attr) is None
        return answer

    difference = float(np.abs(call("Add", [x, y], x) - (x + y)).max())
    product = call("MatMulV2", [x, np.ascontiguousarray(y.T)], np.zeros((3, 3), np.float32), lambda attr: (
        good(acl.op.set_attr_bool(attr, "transpose_x1", False)), good(acl.op.set_attr_bool(attr, "transpose_x2", False))))
    difference = max(difference, float(np.abs(product - x @ y.T).max()))
    attr = acl.op.create_attr()
    for ret in (acl.op.set_attr_int(attr, "i", -3), acl.op.set_attr_float(attr, "f", 2), acl.op.set_attr_string(attr, "s", "t"),
                acl.op.set_attr_list_int(attr, "li", [1, 2]), acl.op.set_attr_list_float(attr, "lf", [1.5]),
                acl.op.set_attr_list_bool(attr, "lb", [True, False]), acl.op.set_attr_list_string(attr, "ls", ["a", "b"]),
                acl.op.set_attr_list_list_int(attr, "ll", [[1], [2, 3]])):
        good(ret)
    assert acl.op.execute_v2("NoSuchOperator", [], [], [], [], attr, stream) != 0
    assert "NoSuchOperator" in acl.get_recent_err_msg()
    acl.op.destroy_attr(attr)
    good(acl.rt.destroy_stream(stream))
    return difference


@program
def prepared_operators():
    """Cast, and a handle that outlives the descriptions that it was made of."""
    stream = value(acl.rt.create_stream())
    given, made = np.array([-2.7, -0.5, 0.5, 3.9], np.float32), np.zeros(4, np.int32)
    memory = [Memory(given), Memory(made)]
    descs = [acl.create_tensor_desc(t, [4], FORMAT_ND) for t in (ACL_FLOAT, ACL_INT32)]
    buffers = [acl.create_data_buffer(m.pointer, m.bytes) for m in memory]
    good(acl.op.set_model_dir(str(FOLDER)))
    refused(acl.op.set_model_dir(str(FOLDER / "none")), 100003, "none is not a folder")
    good(acl.op.cast(descs[0], buffers[0], descs[1], buffers[1], 0, stream))
    good(acl.rt.synchronize_stream(stream))
    assert memory[1].read(np.int32, (4,)).tolist() == [-2, 0, 0, 3]
    for attr in (0, acl.op.create_attr()):
        good(acl.op.update_params("Abs", [descs[0]], [descs[0]], attr))
    handle = value(acl.op.create_handle("Abs", [descs[0]], [descs[0]], attr))
    cast = value(acl.op.create_handle_for_cast(*descs, 0))
    for desc in descs:
        acl.destroy_tensor_desc(desc)
    acl.op.destroy_attr(attr)
    for _ in range(3):
        good(acl.op.execute_with_handle(handle, [buffers[0]], [buffers[0]], stream))
    good(acl.op.execute_with_handle(cast, [buffers[0]], [buffers[1]], stream))
    good(acl.rt.synchronize_stream(stream))
    assert (memory[0].read(np.float32, (4,)) == np.abs(given)).all() and memory[1].read(np.int32, (4,)).tolist() == [2, 0, 0, 3]
    refused(acl.op.execute_with_handle(handle, buffers, [buffers[0]], stream), 100000, "2 inputs and 1 outputs are given")
    for h in (handle, cast):
        assert acl.op.destroy_handle(h) is None
    refused(acl.op.execute_with_handle(handle, [buffers[0]], [buffers[0]], stream), 100000, "destroyed")
    assert acl.op.create_handle("NoSuchOperator", [], [], 0) == (0, 100024)
    for buffer, m in zip(buffers, memory):
        good(acl.destroy_data_buffer(buffer))
        m.free()
    default = value(acl.rt.ctx_get_current_default_stream())
    assert default and value(acl.rt.stream_get_id(default)) == value(acl.rt.stream_get_id(0))
    good(acl.rt.destroy_stream(stream))


@program
def util():
    data = bytes(range(256)) * 10
    assert acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(data), len(data)) == data
    for number, dtype in ((0, np.bool_), (1, np.int8), (2, np.uint8), (3, np.int16), (5, np.int32), (6, np.uint32), (9, np.int64),
                          (11, np.float32), (12, np.float64), (14, np.complex64), (23, np.float16)):
        array = (np.arange(6).reshape(2, 3) * 3).astype(dtype)
        found = acl.util.ptr_to_numpy(acl.util.numpy_to_ptr(array), (2, 3), number)
        assert found.dtype == dtype and (found == array).all(), (number, found)
    assert acl.util.ptr_to_numpy(0, (0, 3), 11).shape == (0, 3)
    turned = np.arange(6, dtype=np.float32).reshape(2, 3).T
    pointer, kept = acl.util.numpy_contiguous_to_ptr(turned)
    assert (acl.util.ptr_to_numpy(pointer, kept.shape, 11) == turned).all() and kept.flags.c_contiguous
    for call, error, words in (
            (lambda: acl.util.numpy_to_ptr(turned), ValueError, "numpy_contiguous_to_ptr"),
            (lambda: acl.util.numpy_to_ptr([1]), TypeError, "array is of type list, want a numpy array"),
            (lambda: acl.util.bytes_to_ptr("text"), TypeError, "data is of type str, want bytes"),
            (lambda: acl.util.ptr_to_bytes(0, 1), ValueError, "ptr is 0"),
            (lambda: acl.util.ptr_to_numpy(pointer, (2,), 17), ValueError, "11 float32"),
            (lambda: acl.util.ptr_to_numpy(pointer, (-1,), 11), ValueError, "shape"),
            (lambda: acl.util.start_thread(3, []), TypeError, "want a function")):
        try:
            call()
            raise RuntimeError("no error: " + words)
        except error as e:
            assert words in str(e), e


@program
def refusals():
    """What is wrong with an argument's type is an exception; what C can tell of its value is a code."""
    for call, error, text in (
            (lambda: acl.rt.malloc("x", 0), TypeError, "acl.rt.malloc: size is of type str, want an int"),
            (lambda: acl.rt.malloc(1), TypeError, "acl.rt.malloc: 1 given, want 2: size, policy"),
            (lambda: acl.rt.synchronize_stream(None), TypeError, "acl.rt.synchronize_stream: stream is None, want an int"),
            (lambda: acl.rt.malloc(4.0, 0), TypeError, "acl.rt.malloc: size is of type float, want an int"),
            (lambda: acl.rt.set_device(1 << 31), OverflowError,
             "acl.rt.set_device: device_id is 2147483648, want an int from -2147483648 to 2147483647"),
            (lambda: acl.create_tensor_desc(0, [1, "2"], 2), TypeError, "acl.create_tensor_desc: dims[1] is of type str, want an int"),
            (lambda: acl.mdl.load_from_file(FOLDER / "net.om"), TypeError, "acl.mdl.load_from_file: path is of type PosixPath, want a str"),
            (lambda: acl.mdl.load_from_file("a\0b"), ValueError,
             "acl.mdl.load_from_file: path has a null character, which no C string can hold"),
            (lambda: acl.op.execute_v2("Add", [1], [], [], [], 0, 0), ValueError,
             "acl.op.execute_v2: 1 descriptions and 0 buffers of inputs, want one buffer for each description"),
            (lambda: acl.himpi, AttributeError, "acl.himpi, images and video (DVPP V2), is not part of the virtual NPU yet (docs/use/pyacl.md)"),
            (lambda: acl.nothing, AttributeError, "module 'acl' has no attribute 'nothing'")):
        try:
            call()
            raise RuntimeError("no error: " + text)
        except error as e:
            assert str(e) == text, e
    assert value(acl.rt.malloc(np.int64(64), np.int32(0))) > 0, "numpy's integers are integers"
    refused(acl.mdl.execute(4711, 1, 1), 145003, "no model 4711")
    refused(acl.mdl.load_from_file("/nonexistent.om")[1], 145002, "/nonexistent.om")
    net = Model("net")
    inputs, _ = net.data_set([np.zeros((2, 3, 8, 8), np.float32)])
    outputs, _ = net.data_set(net.outputs())
    short, _ = net.data_set([np.zeros(8, np.float32)])
    refused(acl.mdl.execute(net.id, short, outputs), 100000, "want 1536 bytes, got 32")
    assert acl.mdl.execute(net.id, outputs, inputs) != 0
    refused(acl.mdl.execute(net.id, 0, outputs), 107000, "null")
    refused(acl.mdl.execute(net.id, inputs, inputs + 64 * 1000), 100000, "is none")
    refused(acl.mdl.get_input_dims(net.desc, 7)[1], 100000, "has 1 inputs")
    host = np.zeros((2, 3, 8, 8), np.float32)
    wrong = acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(wrong, acl.create_data_buffer(acl.util.numpy_to_ptr(host), host.nbytes))
    code = acl.mdl.execute(net.id, wrong, outputs)  # refused, or read as it is: never a crash
    assert code == 0 or acl.get_recent_err_msg(), code
    gone = net.id
    net.close()
    refused(acl.mdl.execute(gone, inputs, outputs), 145003, "unloaded")
    refused(acl.mdl.get_input_dims(net.desc, 0)[1], 100000, "destroyed")
    refused(acl.mdl.unload(gone), 145003)


@program
def gears_are_named_where_they_are_missing():
    """Right on a library with gears and on one without."""
    net = Model("net")
    for pair, keys in ((acl.mdl.get_dynamic_batch(net.desc), {"batchCount", "batch"}), (acl.mdl.get_dynamic_hw(net.desc, -1), {"hwCount", "hw"})):
        assert set(pair[0]) == keys and pair[1] in (0, 200001), pair
    dims, ret = acl.mdl.get_input_dynamic_dims(net.desc, -1, 2)
    assert isinstance(dims, list) and ret != 0 or ret == 0
    assert acl.mdl.set_dynamic_batch_size(net.id, 0, 0, 2) != 0
    assert acl.mdl.set_input_dynamic_dims(net.id, 0, 0, {"name": "", "dimCount": 2, "dims": [1, 2]}) != 0
    try:
        acl.mdl.set_input_dynamic_dims(net.id, 0, 0, {"dimCount": 3, "dims": [1, 2]})
        raise RuntimeError("three of two")
    except ValueError as error:
        assert "dimCount 3 and 2 dims" in str(error), error
    net.close()


# What a call gives: R the code, V a bare value, 1 and 2 values before the code, N nothing. As scripts for cards take them apart.
CONVENTIONS = {
    "R": "init finalize rt.set_device rt.reset_device rt.destroy_context rt.set_context rt.destroy_stream rt.synchronize_stream rt.free "
         "rt.free_host rt.memcpy rt.memcpy_async rt.memset rt.memset_async rt.destroy_event rt.record_event rt.synchronize_event "
         "rt.stream_wait_event rt.subscribe_report rt.unsubscribe_report rt.process_report rt.launch_callback rt.synchronize_device "
         "mdl.unload mdl.get_desc mdl.destroy_desc mdl.destroy_dataset mdl.execute mdl.execute_async mdl.set_dynamic_batch_size "
         "mdl.set_dynamic_hw_size mdl.set_input_dynamic_dims destroy_data_buffer set_tensor_const op.set_model_dir op.execute_v2 op.cast "
         "op.execute_with_handle op.set_attr_bool op.set_attr_int op.update_params prof.init prof.start prof.stop prof.finalize "
         "prof.destroy_config util.stop_thread",
    "1": "rt.get_device rt.get_device_count rt.get_run_mode rt.create_context rt.get_context rt.create_stream rt.create_event rt.malloc "
         "rt.malloc_host rt.event_elapsed_time rt.query_event rt.query_event_status rt.query_event_wait_status "
         "rt.ctx_get_current_default_stream mdl.load_from_file mdl.load_from_mem mdl.get_input_dims mdl.get_output_dims "
         "mdl.get_cur_output_dims mdl.get_input_index_by_name mdl.get_dynamic_batch mdl.get_dynamic_hw mdl.get_input_dynamic_gear_count "
         "mdl.get_input_dynamic_dims mdl.add_dataset_buffer get_tensor_desc_dim_v2 get_tensor_desc_dim_range op.create_handle "
         "util.start_thread",
    "2": "rt.get_mem_info mdl.query_size mdl.get_aipp_type",
    "V": "create_data_buffer get_data_buffer_addr get_data_buffer_size create_tensor_desc get_tensor_desc_size get_tensor_desc_num_dims "
         "get_soc_name data_type_size get_recent_err_msg mdl.create_desc mdl.create_dataset mdl.get_num_inputs mdl.get_num_outputs "
         "mdl.get_input_size_by_index mdl.get_output_size_by_index mdl.get_input_name_by_index mdl.get_output_name_by_index "
         "mdl.get_output_data_type mdl.get_dataset_num_buffers mdl.get_dataset_buffer op.create_attr prof.create_config "
         "util.bytes_to_ptr util.ptr_to_bytes util.numpy_to_ptr util.ptr_to_numpy",
    "N": "destroy_tensor_desc op.destroy_attr op.destroy_handle app_log",
}
# These act on more than their arguments, or read memory at an address, where C cannot tell a wrong one.
UNCALLED = {"acl.init", "acl.finalize", "acl.rt.reset_device", "acl.rt.reset_device_force", "acl.rt.set_context", "acl.rt.device_task_abort",
            "acl.rt.launch_callback", "acl.util.start_thread", "acl.util.bytes_to_ptr", "acl.util.numpy_to_ptr",
            "acl.util.numpy_contiguous_to_ptr", "acl.rt.set_stream_failure_mode"}
AT_ADDRESS = {"acl.rt.memset", "acl.rt.memset_async", "acl.rt.memcpy_2d", "acl.rt.memcpy_2d_async", "acl.mdl.load_from_mem", "acl.mdl.load_from_mem_with_mem",
              "acl.mdl.get_desc_from_mem", "acl.mdl.bundle_load_from_mem", "acl.mdl.bundle_init_from_mem", "acl.mdl.bundle_query_info_from_mem",
              "acl.mdl.query_size_from_mem", "acl.util.ptr_to_bytes", "acl.util.ptr_to_numpy", "acl.rt.host_register",
              "acl.rt.value_write", "acl.rt.value_wait", "acl.rt.process_report",
              "acl.media.dvpp_jpeg_get_image_info", "acl.media.dvpp_jpeg_predict_dec_size", "acl.media.dvpp_png_get_image_info",
              "acl.media.dvpp_png_predict_dec_size"}


def zero(kind):
    return {"int": 0, "object": 0, "float": 0.0, "str": "", "Dims": {"dims": []}, "PhysicalMemProp": {}}.get(kind, [] if "list" in kind else None)


@program
def every_function_keeps_to_its_form():
    """All functions with nothings for arguments, then with an address where nothing is: codes and results as the table says."""
    table = {f["module"] + "." + f["name"]: f for f in acl._acl._describe()}
    forms = {"acl." + name: form for form, names in CONVENTIONS.items() for name in names.split()}
    assert set(forms) <= set(table), set(forms) - set(table)
    for name, form in forms.items():
        values, code = len(table[name]["result_types"]), table[name]["results"][-1:] == ["ret"]
        assert (values, code) == {"R": (1, True), "1": (2, True), "2": (3, True), "V": (1, False), "N": (0, False)}[form], name
    called = 0
    for wrong in (None, 4096):
        for name, f in table.items():
            if name in UNCALLED or wrong and name in AT_ADDRESS:
                continue
            module = acl if f["module"] == "acl" else getattr(acl, f["module"][4:])
            arguments = [wrong if wrong and kind == "int" else zero(kind) for kind in f["types"]]
            try:
                given = getattr(module, f["name"])(*arguments)
            except (OverflowError, ValueError):  # no such number for the parameter's type; sizes of nothing
                continue
            called += 1
            kinds = f["result_types"]
            if len(kinds) < 2:
                assert not isinstance(given, tuple) and (given is None or kinds), (name, given)
            else:
                assert isinstance(given, tuple) and len(given) == len(kinds), (name, given)
            if f["results"][-1:] == ["ret"]:
                assert isinstance(given if len(kinds) == 1 else given[-1], int), (name, given)
    assert called > 400, called
    good(acl.rt.set_device(0))


def pages():
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1])


@program
def nothing_leaks():
    """After some rounds, a thousand more leave memory where it was."""
    net = Model("net")
    feed = cases("net")[0][0]["x"]
    stream = value(acl.rt.create_stream())

    def round_():
        desc = acl.mdl.create_desc()
        good(acl.mdl.get_desc(desc, net.id))
        acl.mdl.get_input_dims(desc, 0)
        good(acl.mdl.destroy_desc(desc))
        data = acl.mdl.create_dataset()
        pointer = value(acl.rt.malloc(4096, 0))
        buffer = acl.create_data_buffer(pointer, 4096)
        acl.mdl.add_dataset_buffer(data, buffer)
        good(acl.destroy_data_buffer(buffer))
        good(acl.mdl.destroy_dataset(data))
        good(acl.rt.free(pointer))
        event = value(acl.rt.create_event())
        good(acl.rt.record_event(event, stream))
        good(acl.rt.synchronize_stream(stream))
        good(acl.rt.destroy_event(event))
        acl.destroy_tensor_desc(acl.create_tensor_desc(0, [1, 2, 3], 2))
        attr = acl.op.create_attr()
        acl.op.set_attr_list_string(attr, "a", ["x", "y"])
        acl.op.destroy_attr(attr)
        acl.util.numpy_to_ptr(feed)
        acl.util.ptr_to_numpy(acl.util.numpy_to_ptr(feed), feed.shape, 11)
        acl.util.numpy_contiguous_to_ptr(feed.T)
        acl.util.ptr_to_bytes(acl.util.numpy_to_ptr(feed), 64)
        for call in (lambda: acl.rt.malloc("x", 0), lambda: acl.mdl.execute(1)):
            try:
                call()
            except TypeError:
                pass
        acl.mdl.execute(4711, 0, 0)
        acl.get_recent_err_msg()

    def loads():
        for _ in range(20):
            other = Model("net")
            other.run([feed])
            other.close()

    def references():
        gc.collect()  # what the programs before have left
        sys._clear_type_cache()  # each of its 4,096 places refers to None until a look-up takes it
        return sys.getrefcount(feed), sys.getrefcount(None)

    before = references()
    for _ in range(200):
        round_()
    loads()
    free, _ = value(acl.rt.get_mem_info(1))
    resident = pages()
    for _ in range(1000):
        round_()
    loads()
    grown = (pages() - resident) * 4096
    assert grown < 2 << 20, "%d bytes more" % grown
    assert value(acl.rt.get_mem_info(1))[0] >= free - (1 << 20)
    after = references()
    assert after[0] == before[0] and abs(after[1] - before[1]) <= 10, (before, after)
    good(acl.rt.destroy_stream(stream))
    net.close()


@program
def a_thousand_models():
    """Loaded, run and unloaded; then the last one is used once more."""
    feed, want = cases("net")[0]

    def rounds(count):
        for _ in range(count):
            net = Model("net")
            probabilities, _ = net.run([feed["x"]])
            net.close()
            assert np.abs(probabilities - want["y"]).max() <= 2e-5
        return net

    rounds(300)
    free, before = value(acl.rt.get_mem_info(1))[0], pages()
    net = rounds(1000)
    grown = (pages() - before) * 4096
    assert grown < 2 << 20, "%d bytes more" % grown
    assert value(acl.rt.get_mem_info(1))[0] >= free - (1 << 20)
    refused(acl.mdl.execute(net.id, 0, 0), 145003, "unloaded")


def main(names):
    good(acl.init())
    good(acl.rt.set_device(0))
    for name in names or PROGRAMS:
        answer = {"name": name}
        try:
            answer["difference"] = PROGRAMS[name]() or 0.0
        except Exception as error:
            answer["error"] = "%s: %s" % (type(error).__name__, str(error)[:2000])
            answer["trace"] = traceback.format_exc()[-2000:]
        print("@@" + json.dumps(answer), flush=True)
    good(acl.rt.reset_device(0))
    good(acl.finalize())
    refused(acl.finalize(), 100037)
    print("@@" + json.dumps({"name": "end"}))


if __name__ == "__main__":
    main(sys.argv[2:])
