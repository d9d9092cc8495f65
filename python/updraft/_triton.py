"""Triton's kernels on the virtual NPU: they run in Triton's own interpreter, a program of the grid after another.

triton-ascend compiles for the card with bisheng, CANN's compiler, which there is none of here. Where TRITON_INTERPRET is 1 when a kernel is
defined, Triton interprets it instead; and a driver of ours answers what libraries ask of the device (vLLM: whether there is one, and
its cores). TRITON_INTERPRET=0 leaves Triton as it is.

Facts: triton 3.9 and triton-ascend 3.2.0 as PyPI has them, and vllm-ascend 0.26, which takes three functions of triton-ascend's extension.
"""

import ctypes
import os
import shutil
import sys
import threading
import types


def interpret():
    """Before Triton is imported. True when its kernels will be interpreted."""
    if "TRITON_INTERPRET" not in os.environ and shutil.which("bisheng") is None:
        os.environ["TRITON_INTERPRET"] = "1"
    return os.environ.get("TRITON_INTERPRET") == "1"


def _cores():
    import torch

    properties = torch.npu.get_device_properties(torch.npu.current_device())
    return {"num_aicore": properties.cube_core_num, "num_vectorcore": properties.vector_core_num}


class _Utils:
    """What the driver knows of the device."""

    @staticmethod
    def get_device_properties(device):
        return {"max_shared_mem": 1, **_cores()}  # as triton-ascend has it: kernels are not refused for their memory

    @staticmethod
    def get_arch():
        import torch

        return torch.npu.get_device_name()

    @staticmethod
    def get_aicore_num():
        return _cores()["num_aicore"]

    @staticmethod
    def get_aivector_core_num():
        return _cores()["num_vectorcore"]


def _driver(base, others):
    class VirtualNpu(base):
        def __init__(self):
            self.utils = _Utils()

        @classmethod
        def is_active(cls):
            return not any(driver.is_active() for driver in others)

        def get_current_target(self):
            from triton.backends.compiler import GPUTarget

            return GPUTarget("npu", self.utils.get_arch(), 0)

        def get_device_interface(self):
            import torch

            return torch.npu

        def get_active_torch_device(self):
            import torch

            return torch.device("npu", torch.npu.current_device())

        def get_current_device(self):
            return self.get_device_interface().current_device()

        def set_current_device(self, device):
            self.get_device_interface().set_device(device)

        def get_current_stream(self, device=None):
            return self.get_device_interface().current_stream(device).npu_stream

        def get_benchmarker(self):
            from triton.testing import do_bench

            return do_bench

        def get_empty_cache_for_benchmark(self):
            import torch

            return torch.empty(1 << 20, dtype=torch.int8, device="npu")

        def clear_cache(self, cache):
            cache.zero_()

        def map_python_to_cpp_type(self, ty):
            raise NotImplementedError("Triton's kernels are interpreted on the virtual NPU: there is no C++ type of %s" % ty)

    return VirtualNpu


def _compiler(base):
    class Interpreted(base):
        """Kernels are not compiled; who asks by a target of another device is told that this one is not it."""

        @staticmethod
        def supports_target(target):
            return target.backend == "npu"

        def hash(self):
            return "interpreted"

    def refuse(self, *_, **__):
        raise NotImplementedError("Triton's kernels are interpreted on the virtual NPU (TRITON_INTERPRET=1), nothing is compiled")

    for name in Interpreted.__abstractmethods__:
        setattr(Interpreted, name, refuse)
    Interpreted.__abstractmethods__ = frozenset()
    return Interpreted


def _is_npu(name):
    return name in ("ascend", "npu")


def register(module):
    """module: triton.backends, when it is complete."""
    kept = {name: backend for name, backend in module.backends.items() if not _is_npu(name)}
    compiler = next((backend.compiler for name, backend in module.backends.items() if _is_npu(name)), None) or _compiler(module.BaseBackend)
    driver = _driver(module.DriverBase, [backend.driver for backend in kept.values()])
    module.backends.update({"npu": module.Backend(compiler=compiler, driver=driver)})
    for name in [name for name in module.backends if _is_npu(name) and name != "npu"]:
        del module.backends[name]


def mend(interpreter):
    """interpreter: triton.runtime.interpreter, when it is complete."""
    _launch(interpreter)
    _take_numbers(interpreter)
    _compute_bfloat16(interpreter)


def _launch(interpreter):
    """Triton's interpreter copies whole storages to the host and back. The device's memory is the host's here, so a kernel works on it where it is,
    behind what its stream has before. In a capture it becomes a host function of the graph."""
    theirs = interpreter.GridExecutor.__call__
    know_options = hasattr(interpreter, "RESERVED_KWS")  # newer ones take the kernel's own arguments
    one = threading.RLock()  # an interpreter has one grid

    def interpreted(self, args, kwargs):
        with one:
            return theirs(self, *args, **kwargs)

    def call(self, *args, **kwargs):
        if know_options:  # triton-ascend 3.2.0 gives its interpreter more options of a compiler than it takes out again
            kwargs = {name: value for name, value in kwargs.items() if name in self.arg_names or name == "warmup"}
        streams = _streams([*args, *kwargs.values()])
        capturing = streams and _capturing()
        if os.environ.get("UPDRAFT_STRICT", "0") not in ("", "0"):
            if capturing:
                raise NotImplementedError("a kernel of Triton cannot be captured with UPDRAFT_STRICT=1: it runs on the host, which may not "
                                          "touch the device's memory then")
            return interpreted(self, args, kwargs)
        for stream in () if capturing else streams:
            stream.synchronize()
        args, kwargs = [_on_host(a) for a in args], {name: _on_host(a) for name, a in kwargs.items()}
        if not capturing:
            return interpreted(self, args, kwargs)
        _put_on_stream(lambda: interpreted(self, args, kwargs), getattr(self.fn, "__name__", "kernel"))

    interpreter.GridExecutor.__call__ = call


def _is_npu_tensor(x):
    return hasattr(x, "data_ptr") and getattr(getattr(x, "device", None), "type", "") == "npu"


def _streams(operands):
    import torch

    devices = {x.device for x in operands if _is_npu_tensor(x)}
    return [torch.npu.current_stream(device) for device in devices]


def _capturing():
    import torch

    return torch.npu.is_current_stream_capturing()


def _on_host(x):
    """A tensor of the NPU as one of the host, over the same memory."""
    import torch

    if not _is_npu_tensor(x) or not isinstance(x, torch.Tensor) or x.untyped_storage().nbytes() == 0:
        return x
    storage = x.untyped_storage()
    bytes_of = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    same = torch.empty(0, dtype=x.dtype).set_(torch.frombuffer(bytes_of, dtype=torch.uint8).untyped_storage(), x.storage_offset(), x.size(), x.stride())
    same.updraft_of = x  # as long as this one is there, the memory is
    return same


_reporting, _captured = set(), []


def _put_on_stream(run, name):
    """As a host function of the current stream, which is being captured: what it needs stays for as long as the process, as graphs may."""
    import torch

    stream = torch.npu.current_stream()
    if stream.npu_stream not in _reporting:
        _reporting.add(stream.npu_stream)
        torch.npu._subscribe_report(stream)

    def host(_):
        try:
            run()
        except Exception as error:
            print("updraft: kernel %s of Triton, in a captured graph: %s: %s" % (name, type(error).__name__, error), file=sys.stderr)

    _captured.append(host)
    torch.npu._launch_host_func(stream, host, None)


def _take_numbers(interpreter):
    """Scalars are arrays of one number, which NumPy 2.4 does not take for an index; Triton 3.2 gives them as they are."""
    import inspect

    theirs = interpreter._patch_lang_tensor
    if len(inspect.signature(theirs).parameters) > 1:  # newer ones do
        return

    def patch(tensor):
        theirs(tensor)
        tensor.__index__ = lambda self: int(self.handle.data.item())

    interpreter._patch_lang_tensor = patch


# What computes, and which of its operands has the type of the result.
COMPUTES = {"unary_op": 0, "binary_op": 0, "ternary_op": 2, "create_fma": 2, "create_dot": 2}


def _compute_bfloat16(interpreter):
    """Triton's interpreter keeps BFLOAT16 as the bits of it and computes with them as whole numbers. Here it computes in float, and rounds."""
    import numpy as np
    from triton.language.core import bfloat16, float32, int1

    handle_of, builder = interpreter.TensorHandle, interpreter.InterpreterBuilder

    def is_bfloat16(x):
        return isinstance(x, handle_of) and x.dtype.scalar == bfloat16 and x.data.dtype == np.uint16

    def wide(x):
        return handle_of((x.data.astype(np.uint32) << 16).view(np.float32), float32) if is_bfloat16(x) else x

    def narrow(x):
        if x.data.dtype != np.float32:  # what a comparison gives
            return x
        bits = np.ascontiguousarray(x.data).view(np.uint32).reshape(x.data.shape)
        rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return handle_of(np.where(np.isnan(x.data), 0x7FC0, rounded).astype(np.uint16), bfloat16)

    def in_float(theirs, place):
        def compute(self, *operands, **more):
            if not any(map(is_bfloat16, operands)):
                return theirs(self, *operands, **more)
            result = theirs(self, *map(wide, operands), **more)
            return narrow(result) if is_bfloat16(operands[place]) else result

        return compute

    def cast(theirs):
        def convert(self, src, dst_type):
            if is_bfloat16(src):
                return theirs(self, wide(src), dst_type) if dst_type.scalar != bfloat16 else src
            if dst_type.scalar == bfloat16:
                return narrow(theirs(self, src, float32))
            return theirs(self, src, dst_type)

        return convert

    for name, place in COMPUTES.items():
        setattr(builder, name, in_float(getattr(builder, name), place))
    builder.cast_impl = cast(builder.cast_impl)
    if not hasattr(builder, "get_bf16"):  # Triton 3.2: numbers beside BFLOAT16, and the type of bools
        builder.get_bf16 = lambda self, value: narrow(self.get_fp32(value))
    if not hasattr(builder, "get_int1_ty"):
        builder.get_int1_ty = lambda self: int1


# --- what triton-ascend has beside Triton ------------------------------------------------------------------------
def _numbers(values):
    """Offsets and sizes are integers, constants of Triton, or scalars that a kernel has computed."""
    return [int(v.handle.data.item()) if hasattr(v, "handle") else int(getattr(v, "value", v)) for v in values]


def _region(offsets, sizes, strides):
    return tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(*map(_numbers, (offsets, sizes, strides))))


def tensor_of(data, dtype):
    """Numbers of NumPy as an interpreted kernel has them."""
    from triton.runtime.interpreter import TensorHandle

    core = sys.modules["triton.language.core"]
    return core.tensor(TensorHandle(data, dtype), core.block_type(dtype, list(data.shape)) if data.ndim else dtype)


def _tensor(like, data):
    return tensor_of(data, like.handle.dtype)


def extract_slice(ful, offsets, sizes, strides, **_):
    """The part of `ful` that begins at `offsets` and has `sizes`, each dimension by its stride."""
    return _tensor(ful, ful.handle.data[_region(offsets, sizes, strides)].copy())


def insert_slice(ful, sub, offsets, sizes, strides, **_):
    """`ful` with `sub` as that part."""
    data = ful.handle.data.copy()
    data[_region(offsets, sizes, strides)] = sub.handle.data
    return _tensor(ful, data)


def get_element(src, indice, **_):
    """One number of `src`."""
    import numpy as np

    return _tensor(src, np.asarray(src.handle.data[tuple(_numbers(indice))]))


def _hint(*_, **__):
    """What a compiler may do with a tensor is nothing to an interpreter."""


class _Lacking(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError("%s.%s is not there for kernels that are interpreted (updraft)" % (self.__name__, name))


def add_extension(extra):
    """extra: triton.language.extra, when it is complete. Its `cann` is in triton-ascend from 3.2.1 on."""
    from importlib.machinery import PathFinder

    if PathFinder.find_spec("triton.language.extra.cann", extra.__path__) is not None:
        return
    parts = [_Lacking("triton.language.extra.cann" + part, "What triton-ascend has, for kernels that are interpreted.")
             for part in ("", ".extension", ".libdevice")]
    cann, cann.extension, cann.libdevice = parts
    cann.__path__ = []
    for function in (extract_slice, insert_slice, get_element):
        setattr(cann.extension, function.__name__, function)
    cann.extension.multibuffer = cann.extension.compile_hint = _hint
    compute_libdevice(cann.libdevice)
    extra.cann = cann
    sys.modules.update({part.__name__: part for part in parts})


def compute_libdevice(module):
    """module: one of names that a compiler links, when it is complete."""
    from updraft import _triton_libdevice

    for name, function in _triton_libdevice.functions().items():
        setattr(module, name, function)
