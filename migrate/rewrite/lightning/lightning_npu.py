"""NPUs for PyTorch Lightning: the accelerator "npu" beside Lightning's own. Written by `updraft migrate`.

Works with lightning 2.x and with pytorch_lightning and lightning_fabric from 1.9, as PyPI has them: import it after Lightning.

* accelerator="npu" runs on NPUs; so do "gpu", "cuda" and "auto" (from a configuration, say) where CUDA is not available.
* One NPU without a strategy, "ddp" and its kin with communication hooks, FSDP: process groups use hccl.
* precision="16-mixed" and "bf16-mixed" (16 and "bf16" in 1.9): autocast and GradScaler of npu.

Lightning asks for "cuda" by name in few places; `_adapt` names each of them. Nothing is changed in Lightning's files.
"""

# SPDX-License-Identifier: Apache-2.0

import functools
import importlib
import importlib.util
import inspect
import sys

import torch
import torch_npu  # noqa: F401

_TRAINERS = ("lightning.pytorch", "pytorch_lightning")
_FABRICS = ("lightning.fabric", "lightning_fabric")
_CONNECTORS = {True: (".trainer.connectors.accelerator_connector", ("_AcceleratorConnector", "AcceleratorConnector")),
               False: (".connector", ("_Connector",))}
_STRATEGIES = ("DDPStrategy", "DDPSpawnStrategy", "FSDPStrategy", "DDPFullyShardedNativeStrategy", "ModelParallelStrategy")
_PRECISIONS = ("MixedPrecision", "MixedPrecisionPlugin")


def _npu_instead_of_cuda():
    return torch.npu.is_available() and not torch.cuda.is_available()


def _indices(devices):
    """[0, 1] for 2, "2", "0,1", [0, 1]; all of them for -1 and "auto"."""
    count = torch.npu.device_count()
    if isinstance(devices, str) and "," in devices:
        wanted = [int(part) for part in devices.split(",") if part.strip()]
    elif isinstance(devices, (list, tuple)):
        wanted = [int(index) for index in devices]
    else:
        number = -1 if devices in (None, "auto") else int(devices)
        wanted = list(range(count if number == -1 else number))
    if wanted == [-1]:
        wanted = list(range(count))
    if not wanted or len(set(wanted)) < len(wanted) or not all(0 <= index < count for index in wanted):
        raise ValueError("Trainer(accelerator='npu', devices=%r): %d NPUs are visible, so that devices is a number from 1 to %d, "
                         "or indices from 0 to %d, each once (ASCEND_RT_VISIBLE_DEVICES says which are visible)"
                         % (devices, count, count, count - 1))
    return wanted


def _accelerator_class(package, base):
    """Of CUDAAccelerator: what Lightning allows to GPUs (FSDP, one device without a strategy) it asks by that class."""

    class NPUAccelerator(base):
        def setup_device(self, device):
            if device.type != "npu":
                raise ValueError("the accelerator npu is given the device %s: its strategy must be one of npu" % device)
            torch.npu.set_device(device)

        def setup(self, trainer):
            torch.npu.empty_cache()

        def teardown(self):
            torch.npu.empty_cache()

        def get_device_stats(self, device):
            return torch.npu.memory_stats(device)

        @staticmethod
        def parse_devices(devices):
            return _indices(devices)

        @staticmethod
        def get_parallel_devices(devices):
            return [torch.device("npu", index) for index in _indices(devices)]

        @staticmethod
        def auto_device_count():
            return torch.npu.device_count()

        @staticmethod
        def is_available():
            return torch.npu.is_available()

        @classmethod
        def name(cls):
            return "npu"

        @classmethod
        def register_accelerators(cls, registry):
            registry.register("npu", cls, description="Ascend NPUs (torch_npu)")

    name = "NPUAccelerator_" + package.replace(".", "_")  # to be found again where ddp_spawn unpickles it
    NPUAccelerator.__name__ = NPUAccelerator.__qualname__ = name
    globals()[name] = NPUAccelerator
    return NPUAccelerator


def _wrap(owner, name, make):
    """owner.name becomes make(what it was); once."""
    inner = getattr(owner, name)
    setattr(owner, name, functools.wraps(inner)(make(inner)))


def _with_arguments(owner, change):
    """owner's __init__ gets its arguments after change(self, arguments by name), defaults among them."""
    parameters = inspect.signature(owner.__init__)

    def make(inner):
        def __init__(self, *args, **kwargs):
            call = parameters.bind(self, *args, **kwargs)
            call.apply_defaults()
            change(self, call.arguments)
            inner(*call.args, **call.kwargs)

        return __init__

    _wrap(owner, "__init__", make)


def _adapt(package):
    version = getattr(sys.modules[package], "__version__", "2.0")
    if [int(part) for part in version.split(".")[:2]] < [1, 9]:
        raise ImportError("ascend_function.lightning_npu: %s %s has no accelerators that can be added; 1.9 or newer is wanted: "
                          "pip install -U %s" % (package, version, package.split(".")[0].replace("_", "-")))
    accelerators = importlib.import_module(package + ".accelerators")
    registry = getattr(accelerators, "AcceleratorRegistry", None)
    registry = accelerators.ACCELERATOR_REGISTRY if registry is None else registry
    if "npu" in registry:  # this module's, Lightning's own or a plug-in's
        return
    cuda = accelerators.CUDAAccelerator
    npu = _accelerator_class(package, cuda)
    npu.register_accelerators(registry)
    place, names = _CONNECTORS[package in _TRAINERS]
    module = importlib.import_module(package + place)
    _adapt_connector(next(getattr(module, name) for name in names if hasattr(module, name)), cuda, npu)
    for kind, adapt, names in ((".strategies", _adapt_strategy, _STRATEGIES), (".plugins", _adapt_precision, _PRECISIONS)):
        module = importlib.import_module(package + kind)
        for found in {getattr(module, name) for name in names if hasattr(module, name)}:
            adapt(found)
    if package in _TRAINERS:
        _adapt_memory(importlib.import_module(package + ".utilities.memory"))


def _adapt_connector(connector, cuda, npu):
    """Which accelerator: an object, because Lightning gives names other than its own the device cpu."""

    def chosen(flag, devices):
        if flag == "npu":
            return True
        if not _npu_instead_of_cuda():
            return False
        if flag is None:  # 1.9: without devices this is cpu
            return devices is not None
        return flag in ("gpu", "cuda", "auto") or type(flag) is cuda

    def change(self, given):
        read = getattr(self, "_argument_from_env", None)  # Fabric: what `fabric run` says
        flag = read("accelerator", given["accelerator"], "auto") if read else given["accelerator"]
        gpus = given.get("gpus")  # 1.9
        if gpus not in (None, 0, "0", "", []) and _npu_instead_of_cuda():
            given["gpus"], given["devices"], flag = None, gpus, "npu"
        strategy = given.get("strategy")
        of_strategy = getattr(strategy, "_accelerator", None) or getattr(strategy, "accelerator", None)
        if of_strategy is None and chosen(flag, given.get("devices")):
            given["accelerator"] = npu()

    _with_arguments(connector, change)


def _adapt_strategy(strategy):
    """The backend of process groups, and DistributedDataParallel without a stream of CUDA."""

    def backend(inner):
        def _get_process_group_backend(self):
            if self.root_device.type != "npu":
                return inner(self)
            return (self._process_group_backend or "hccl").replace("cuda:", "npu:").replace("nccl", "hccl")

        return _get_process_group_backend

    def wrapped(inner):
        def setup(self, model):
            if self.root_device.type != "npu":
                return inner(self, model)
            ids = getattr(self, "determine_ddp_device_ids", None) or self._determine_ddp_device_ids
            return torch.nn.parallel.DistributedDataParallel(module=model, device_ids=ids(), **self._ddp_kwargs)

        return setup

    def hooks(inner):
        def _register_ddp_hooks(self):
            if self.root_device.type != "npu":
                inner(self)
            elif self._ddp_comm_hook is not None:  # fp16_compress_hook and the like; Lightning keeps them for cuda
                place = sys.modules[strategy.__module__]
                register = getattr(place, "_register_ddp_comm_hook", None) or place.register_ddp_comm_hook
                register(model=self.model, ddp_comm_state=self._ddp_comm_state, ddp_comm_hook=self._ddp_comm_hook,
                         ddp_comm_wrapper=self._ddp_comm_wrapper)

        return _register_ddp_hooks

    if "_get_process_group_backend" in vars(strategy):
        _wrap(strategy, "_get_process_group_backend", backend)
    if strategy.__name__ not in ("DDPStrategy", "DDPSpawnStrategy"):
        return
    for name, make in (("_setup_model", wrapped), ("setup_module", wrapped), ("_register_ddp_hooks", hooks)):
        if name in vars(strategy):
            _wrap(strategy, name, make)


def _adapt_precision(precision):
    def change(self, given):
        if given["device"] == "npu" or (given["device"] == "cuda" and _npu_instead_of_cuda()):
            given["device"] = "npu"
            if given["scaler"] is None and str(given["precision"]) in ("16", "16-mixed"):
                given["scaler"] = torch.npu.amp.GradScaler()

    _with_arguments(precision, change)


def _adapt_memory(module):
    """Tuner.scale_batch_size: an NPU that is out of memory says so in other words."""

    def known(inner):
        def is_cuda_out_of_memory(exception):
            return inner(exception) or (isinstance(exception, RuntimeError) and "NPU out of memory" in str(exception))

        return is_cuda_out_of_memory

    _wrap(module, "is_cuda_out_of_memory", known)


def register():
    """Teaches npu to the packages of Lightning that are imported; where none is, to those that are installed."""
    known = [name for name in _TRAINERS + _FABRICS if name in sys.modules]
    for package in known or [name for name in _TRAINERS + _FABRICS if _installed(name)]:
        importlib.import_module(package)
        _adapt(package)


def _installed(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


register()
