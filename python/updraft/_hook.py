"""Called by updraft-preload.pth when a client of CANN is first imported.

It sets ASCEND_* and loads our libraries by absolute path, so that the client's DT_NEEDED entries and bare
dlopen("libopapi.so") are satisfied by SONAME: no LD_LIBRARY_PATH, and spawned workers work as well. With
UPDRAFT_CUDA_AS_NPU=1 it also applies torch_npu's own transfer_to_npu as soon as torch is imported. With UPDRAFT_CUDA_ON_CPU=1
(the reference side of `updraft migrate --verify`) nothing is loaded, and what asks for CUDA gets the CPU.
"""

import contextlib
import os
import re
import sys

from updraft import _tree, home
from updraft._texts import t

_state = {"ready": None, "depth": 0, "transferred": False}


def client(name, path=None):
    """The finder's answer for a client's name: None (import as usual), its own spec with a step after it, or the spec of a
    package of our tree. `path`: of the package that it is a part of."""
    spec = _client(name, path)
    if name in ("torch", "torch_npu") and os.environ.get("UPDRAFT_RECORD"):  # also without an NPU: the reference may run on the CPU
        return _with_step(spec or _find(name), _outermost(_record))
    return spec


def _client(name, path):
    if os.environ.get("UPDRAFT_DISABLE", "0") not in ("", "0"):
        return None
    if _on("UPDRAFT_CUDA_ON_CPU"):
        return _spec_with_step(name, _outermost(_cuda_on_cpu)) if name == "torch" else _from_tree(name) if name == "apex" else None
    if name == "torch" and not _torch_needs_npu():
        return None
    if name == "onnxruntime" and not _has_cann_provider():
        return None
    if name == "mindspore" and not _has_ascend_plugin():
        return None
    if name in ("te", "tbe") and "mindspore" not in sys.modules:  # others take their absence for an answer
        return None
    # apex imports torch, which loads the libraries; many packages only ask whether there is one. tfdbg_ascend wants none
    if name in ("apex", "tfdbg_ascend"):
        return None if _tree.foreign_cann(os.environ) else _from_tree(name)
    if name in TRITON:
        return _triton(name, path)
    if name == "torch_npu.dynamo.torchair":
        return _spec_with_step(name, _torchair, path) if _state["ready"] else None
    if name == "vllm_ascend.utils":
        return _spec_with_step(name, _vllm_ascend, path)
    if _state["ready"] is None:
        _state["ready"] = _prepare()
    if _state["ready"] and name in ("torch", "torch_npu"):
        _check_log_level()
    if _state["ready"] and name in ("torch", "torch_npu") and (_wants_transfer() or _on("UPDRAFT_FIND_NAN") or os.environ.get("UPDRAFT_READINESS")
                                                                or os.environ.get("UPDRAFT_SANITIZE")):
        return _spec_with_step(name, _outermost(_after_torch))
    if _state["ready"] and name == "mindspore":
        os.environ.update(_tree.for_mindspore(home(), os.environ))
        return _spec_with_step(name, _mindspore)
    if _state["ready"] and name in _tree.PACKAGES:
        return _from_tree(name)
    return None


# Triton itself, and what is done to its parts when they are complete.
TRITON = {"triton": None, "triton.backends": "register", "triton.language.extra": "add_extension", "triton.runtime.interpreter": "mend",
          "triton.language.extra.libdevice": "compute_libdevice", "triton.language.extra.ascend.libdevice": "compute_libdevice"}


def _triton(name, path):
    """Where torch_npu is used, or can be, Triton's kernels are interpreted: see _triton.py."""
    if name == "triton":
        spec = _find(name)  # without a loader: just a folder of that name
        if spec is None or spec.loader is None or _find("torch_npu") is None or _tree.foreign_cann(os.environ):
            return None
        from updraft import _triton as client

        _state["interpreted"] = client.interpret()
        return None
    if not _state.get("interpreted"):
        return None
    from updraft import _triton as client

    return _spec_with_step(name, getattr(client, TRITON[name]), path)


def _from_tree(name):
    """The tree's package, unless sys.path has one of that name (then None: import as usual)."""
    spec = _find(name)
    if spec is None or spec.loader is None:  # without a loader: just a folder of that name
        return _find(name, _tree.package_path(home(), name))
    return None


def _on(variable):
    return os.environ.get(variable, "0") not in ("", "0")


def _wants_transfer():
    return _on("UPDRAFT_CUDA_AS_NPU")


def _find(name, path=None):
    from importlib.machinery import PathFinder

    return PathFinder.find_spec(name, path)


def _torch_needs_npu():
    """torch pulls torch_npu in by itself (torch.backends entry point) unless that is switched off."""
    autoload = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") != "0"
    return (autoload or _wants_transfer()) and _find("torch_npu") is not None


def _has_cann_provider():
    """onnxruntime comes in builds for CUDA, CPU and others; onnxruntime-cann is the one that wants our libraries."""
    spec = _find("onnxruntime")
    folders = spec.submodule_search_locations if spec else None
    return any(os.path.exists(os.path.join(f, "capi", "libonnxruntime_providers_cann.so")) for f in folders or ())


def _has_ascend_plugin():
    """MindSpore's wheels for Linux have it; those for other systems have not."""
    spec = _find("mindspore")
    folders = spec.submodule_search_locations if spec else None
    return any(os.path.exists(os.path.join(f, "lib", "plugin", "libmindspore_ascend.so.2")) for f in folders or ())


def _say(text):
    print("updraft: " + text, file=sys.stderr)


def _prepare():
    foreign = _tree.foreign_cann(os.environ)
    if foreign:
        if os.environ.get("UPDRAFT_STEPPED_ASIDE") != foreign[1]:  # once for a tree of processes
            os.environ["UPDRAFT_STEPPED_ASIDE"] = foreign[1]
            _say("%s=%s is another CANN: stepping aside (unset it to use the virtual NPU)" % foreign)
        return False
    libraries = _tree.libraries()
    if not libraries or not libraries[0].endswith(_tree.PRIVATE):
        _say("no %s in %s; run: updraft doctor" % (_tree.PRIVATE, os.path.join(home(), "lib64")))
        return False
    _tree.fill(os.environ)
    _tree.add_tools(os.environ)
    import ctypes

    # What LD_PRELOAD puts in front of the runtime's functions asks for the next ones (RTLD_NEXT), which only finds global names.
    wrapped = "libascendcl.so" if os.environ.get("LD_PRELOAD") else None
    with _short_spinning():
        for path in _torch_openmp() + libraries:
            scope = os.RTLD_GLOBAL if os.path.basename(path) == wrapped else os.RTLD_LOCAL
            try:
                ctypes.CDLL(path, mode=scope | os.RTLD_NOW)
            except OSError as error:
                _say("cannot load %s: %s; run: updraft doctor" % (path, error))
                return False
    if _on("UPDRAFT_FIND_NAN"):
        from updraft import _find_nan

        _find_nan.install()
    if os.environ.get("UPDRAFT_SANITIZE"):
        os.environ["TASK_QUEUE_ENABLE"] = "0"  # else operators are launched after their memory has been given out again
    if os.environ.get("UPDRAFT_VERIFY_MARK"):
        open(os.environ["UPDRAFT_VERIFY_MARK"], "a").close()
    return True


def _check_log_level():
    """While torch_npu is loaded it warns of a level that there is not, and the warning asks for the level, which is not yet known:
    the process waits for itself for ever. It reads the number that the text begins with, so that is what counts here."""
    text = os.environ.get("ASCEND_GLOBAL_LOG_LEVEL", "")
    number = re.match(r"\s*[+-]?[0-9]+", text)
    if number and not 0 <= int(number.group()) <= 4:
        del os.environ["ASCEND_GLOBAL_LOG_LEVEL"]
        _say(t("ASCEND_GLOBAL_LOG_LEVEL=%s is not a level (0 DEBUG, 1 INFO, 2 WARNING, 3 ERROR, 4 none) and counts as not set; on a card "
               "torch_npu would hang at its import: correct it or unset it",
               "ASCEND_GLOBAL_LOG_LEVEL=%s 不是有效级别（0 DEBUG、1 INFO、2 WARNING、3 ERROR、4 不输出），视为未设置；"
               "在真实 NPU 上 torch_npu 会在导入时挂起：请改正或取消该变量") % text)


@contextlib.contextmanager
def _short_spinning():
    """How long libgomp's idle threads spin before they sleep; it reads this once, when it is loaded.

    These are PyTorch's; operators of the device have threads of their own (src/base/team.cpp). Its default, 3 ms without
    yielding, keeps the device's threads from their cores.
    Settings of the user win, and children do not inherit ours.
    """
    ours = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "3000"}
    if any(name in os.environ for name in ours):
        ours = {}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _torch_openmp():
    """torch's own libgomp goes first, unless the process has one already: one OpenMP runtime a process. (torch takes that one as
    well, by its SONAME; by its path torch's would be a second.)"""
    import ctypes

    with contextlib.suppress(OSError):
        ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        return []
    spec = _find("torch")
    if spec is None or not spec.submodule_search_locations:
        return []
    path = os.path.join(spec.submodule_search_locations[0], "lib", "libgomp.so.1")
    return [path] if os.path.exists(path) else []


def _spec_with_step(name, step, path=None):
    """The module's own spec, whose loader goes on with a step when the module is complete."""
    return _with_step(_find(name, path), step)


def _with_step(spec, step):
    if spec is None or spec.loader is None:
        return None
    loader = spec.loader
    original = loader.exec_module

    def exec_module(module):
        _state["depth"] += 1
        try:
            loader.__dict__.pop("exec_module", None)
            original(module)
        finally:
            _state["depth"] -= 1
        step(module)

    loader.exec_module = exec_module
    return spec


def _outermost(step):
    """A step for when the outermost of torch, torch_npu is complete: each imports the other."""
    return lambda module: step() if _state["depth"] == 0 else None


def _torchair(module):
    try:
        from updraft import _torchair as converters

        converters.register(module)
    except Exception as error:
        _say("TorchAir's converters are not registered: %s: %s; run: updraft doctor" % (type(error).__name__, error))


def _vllm_ascend(module):
    """vllm-ascend's own operators are kernels compiled for the card. It goes on without them where its extension cannot be imported, but it
    may find that out while torch.compile traces the model, and an import that fails there ends the compilation: so they are off from the start."""
    if _state["ready"] and getattr(module, "_CUSTOM_OP_ENABLED", False) is None:
        module._CUSTOM_OP_ENABLED = False


def _mindspore(_):
    try:
        from updraft import _mindspore as client

        client.give_threads()
        if os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS") == "--opt_level=0":
            client.tell_of_o1(_say)
    except Exception as error:
        _say("MindSpore is as it was: %s: %s; run: updraft doctor" % (type(error).__name__, error))


def _record():
    from updraft.record import pytorch

    pytorch.watch()


def _cuda_on_cpu():
    from updraft import cuda_on_cpu

    cuda_on_cpu.apply()


def _after_torch():
    if _wants_transfer():
        _transfer()
    if _on("UPDRAFT_FIND_NAN"):
        from updraft import _find_nan

        _find_nan.remember_forward()
    if os.environ.get("UPDRAFT_READINESS"):
        from updraft.readiness import inside

        inside.watch()
    if os.environ.get("UPDRAFT_SANITIZE"):
        from updraft.sanitizer import inside as blocks

        blocks.watch()


def _transfer():
    if _state["transferred"]:
        return
    _state["transferred"] = True
    import warnings

    show, filters = warnings.showwarning, list(warnings.filters)

    # transfer_to_npu switches every warning to "once" before it imports more: what was ignored before still is
    def ignored(message, category, lineno):
        for action, text, of, module, line in filters:
            if module is None and issubclass(category, of) and line in (0, lineno) and (text is None or text.match(str(message))):
                return action == "ignore"
        return False

    def quiet(message, category, filename, lineno, file=None, line=None):
        if not filename.endswith("transfer_to_npu.py") and not ignored(message, category, lineno):
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = quiet
    try:
        import torch_npu  # noqa: F401
        from torch_npu.contrib import transfer_to_npu  # noqa: F401
    except Exception as error:
        _say("transfer_to_npu failed: %s: %s; run: updraft doctor" % (type(error).__name__, error))
    finally:
        warnings.showwarning = show
        # nor is "once" what an unmodified script asked for
        once = ("once", None, Warning, None, 0)
        if once not in filters and once in warnings.filters:
            warnings.filters.remove(once)
            getattr(warnings, "_filters_mutated", lambda: None)()
