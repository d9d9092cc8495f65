"""The preload hook: cost, order, opt-out, stepping aside, CUDA as NPU. Needs no built library and no torch."""

import re
import subprocess
import sys

import pytest

from conftest import PTH, clean_environment

REPORT = """
import os, sys
import torch_npu
maps = open("/proc/self/maps").read()
print({n: ("/" + n) in maps for n in ("libupdraft.so", "libascendcl.so", "libopapi.so")})
print({k: v for k, v in os.environ.items() if k.startswith("ASCEND_")})
"""


@pytest.fixture
def clients(python):
    """Stand-ins for the clients in the site folder."""
    site = python.site
    (site / "torch_npu" / "contrib").mkdir(parents=True)
    # as the real one: switches the autoload off while it imports torch
    (site / "torch_npu" / "__init__.py").write_text(
        "import os\nos.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'\nimport torch\ncomplete = True\n")
    (site / "torch_npu" / "contrib" / "__init__.py").write_text("")
    (site / "torch_npu" / "contrib" / "transfer_to_npu.py").write_text(
        "import warnings, torch, torch_npu\n"
        "warnings.filterwarnings(action='once')\n"
        "warnings.warn('replaced', ImportWarning)\n"
        "assert torch.complete and torch_npu.complete\n"
        "torch.transferred = getattr(torch, 'transferred', 0) + 1\n")
    (site / "torch.py").write_text(
        "import os\n"
        "if os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD', '1') != '0':\n"
        "    import torch_npu\n"
        "complete = True\n")
    return python


def good(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pth_is_one_line_that_imports_only_sys():
    text = PTH.read_text()
    assert text.count("\n") == 1 and text.startswith("import sys; ")
    assert re.findall(r"\bimport (\w+)", text.split("exec(")[0]) == ["sys"]


def test_start_imports_nothing_and_costs_less_than_a_millisecond_or_two(python):
    code = ("import sys, time\nbefore = set(sys.modules)\nline = open(%r).read()\nt = time.perf_counter()\nexec(line)\n"
            "t = time.perf_counter() - t\nprint(sorted(set(sys.modules) - before), t)") % str(PTH)
    done = subprocess.run([sys.executable, "-S", "-c", code], env=clean_environment(), capture_output=True, text=True, timeout=60)
    modules, seconds = good(done).rsplit(" ", 1)
    assert modules == "[]"
    assert float(seconds) < 0.02  # the rule is 2 ms; no test asserts a time nearer than 10x


def test_unrelated_imports_do_not_load_the_hook(python):
    assert good(python("import json, sys; print('updraft' in sys.modules)")) == "False\n"


def test_preloads_and_sets_variables(clients, built_tree):
    done = clients(REPORT, UPDRAFT_CANN_HOME=built_tree)
    libraries, variables = map(eval, good(done).splitlines())
    assert all(libraries.values())
    assert variables == {"ASCEND_HOME_PATH": str(built_tree), "ASCEND_TOOLKIT_HOME": str(built_tree),
                         "ASCEND_OPP_PATH": str(built_tree / "opp"), "ASCEND_AICPU_PATH": str(built_tree)}
    assert done.stderr == ""


@pytest.mark.parametrize("first", ["ours", "another"])
def test_one_openmp_runtime(clients, built_tree, tmp_path, first):
    """torch's libgomp, unless the process has one: then a second one, from torch's folder, is not loaded."""
    folders = {"another": tmp_path / "system", "ours": clients.site / "torch" / "lib"}
    for folder in folders.values():
        folder.mkdir(parents=True)
        subprocess.run(["cc", "-shared", "-o", folder / "libgomp.so.1", "-Wl,-soname,libgomp.so.1", "-x", "c", "/dev/null"], check=True)
    (clients.site / "torch.py").rename(clients.site / "torch" / "__init__.py")
    load = "import ctypes; ctypes.CDLL(%r)\n" % str(folders["another"] / "libgomp.so.1") if first == "another" else ""
    code = load + "import torch_npu\nprint({line.split()[-1] for line in open('/proc/self/maps') if 'libgomp' in line})"
    assert eval(good(clients(code, UPDRAFT_CANN_HOME=built_tree))) == {str(folders[first] / "libgomp.so.1")}


def test_what_is_preloaded_finds_the_runtime_behind_it(clients, built_tree, tmp_path):
    """A library of LD_PRELOAD that wraps functions of the runtime asks for the next ones, which must be global then."""
    wrapper = tmp_path / "wrapper.so"
    subprocess.run(["cc", "-shared", "-o", wrapper, "-x", "c", "/dev/null"], check=True)
    code = "import torch_npu, ctypes; print(hasattr(ctypes.CDLL(None), 'updraft_facade'))"
    assert good(clients(code, UPDRAFT_CANN_HOME=built_tree, LD_PRELOAD=wrapper)) == "True\n"
    assert good(clients(code, UPDRAFT_CANN_HOME=built_tree)) == "False\n"


@pytest.mark.parametrize("client", ["torch", "torch_npu"])
def test_bare_dlopen_is_satisfied(clients, built_tree, client):
    done = clients("import %s, ctypes; print(ctypes.CDLL('libopapi.so')._name)" % client, UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "libopapi.so\n"


@pytest.mark.parametrize("provider", ["cann", "cuda"])
def test_onnxruntime_is_a_client_where_it_has_the_cann_provider(python, built_tree, provider):
    package = python.site / "onnxruntime"
    (package / "capi").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "capi" / f"libonnxruntime_providers_{provider}.so").touch()
    code = ("import onnxruntime, os; print('ASCEND_HOME_PATH' in os.environ, "
            "any('libascendcl.so' in line for line in open('/proc/self/maps')))")
    assert good(python(code, UPDRAFT_CANN_HOME=built_tree)) == ("True True\n" if provider == "cann" else "False False\n")


def test_torch_alone_is_left_alone(python, built_tree):
    (python.site / "torch.py").write_text("complete = True\n")
    done = python("import torch, sys, os; print('ASCEND_HOME_PATH' in os.environ)", UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "False\n"


def test_opt_out_is_silent(clients, built_tree):
    done = clients(REPORT, UPDRAFT_CANN_HOME=built_tree, UPDRAFT_DISABLE=1)
    libraries, variables = map(eval, good(done).splitlines())
    assert not any(libraries.values()) and not variables and done.stderr == ""


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_steps_aside_for_another_cann_with_one_line(clients, built_tree, tmp_path, variable):
    code = REPORT + "import subprocess\nsubprocess.run([sys.executable, '-c', 'import torch_npu'])\n"
    done = clients(code, UPDRAFT_CANN_HOME=built_tree, **{variable: tmp_path})
    assert not any(eval(good(done).splitlines()[0]).values())
    assert done.stderr.count("stepping aside") == 1 and variable in done.stderr


def test_variables_left_by_another_updraft_tree_are_replaced(clients, built_tree, tmp_path):
    other = tmp_path / "other"
    (other / "lib64").mkdir(parents=True)
    (other / "lib64" / "libupdraft.so").write_text("")
    done = clients(REPORT, UPDRAFT_CANN_HOME=built_tree, ASCEND_HOME_PATH=other, ASCEND_OPP_PATH=other / "opp")
    libraries, variables = map(eval, good(done).splitlines())
    assert all(libraries.values())
    assert variables["ASCEND_HOME_PATH"] == str(built_tree) and variables["ASCEND_OPP_PATH"] == str(built_tree / "opp")


def test_a_broken_tree_is_told_and_does_not_raise(clients, tmp_path):
    done = clients("import torch_npu; print('alive')", UPDRAFT_CANN_HOME=tmp_path)
    assert good(done) == "alive\n"
    assert "updraft doctor" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("first", ["torch", "torch_npu"])
@pytest.mark.parametrize("autoload", ["0", "1"])
def test_cuda_as_npu(clients, built_tree, first, autoload):
    code = "import %s, torch, warnings\nprint(torch.transferred, [f[0] for f in warnings.filters].count('once'))" % first
    done = clients(code, UPDRAFT_CANN_HOME=built_tree, UPDRAFT_CUDA_AS_NPU=1, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload)
    assert good(done) == "1 0\n"
    assert done.stderr == ""


@pytest.mark.parametrize("options, shown", [({}, False), ({"PYTHONWARNINGS": "default"}, True)])
def test_cuda_as_npu_shows_of_the_warnings_what_was_to_be_shown(clients, built_tree, options, shown):
    """Those of what transfer_to_npu imports while it shows every one."""
    (clients.site / "stale.py").write_text("import warnings\nwarnings.warn('torch.jit is old', DeprecationWarning)\nwarnings.warn('look here')\n")
    transfer = clients.site / "torch_npu" / "contrib" / "transfer_to_npu.py"
    transfer.write_text(transfer.read_text() + "import stale\n")
    code = "import torch, warnings\nwarnings.warn('mine', DeprecationWarning)\nprint(torch.transferred)"
    done = clients(code, UPDRAFT_CANN_HOME=built_tree, UPDRAFT_CUDA_AS_NPU=1, TORCH_DEVICE_BACKEND_AUTOLOAD=1, **options)
    assert good(done) == "1\n"
    assert ("torch.jit is old" in done.stderr) == shown, done.stderr
    assert "UserWarning: look here" in done.stderr and "DeprecationWarning: mine" in done.stderr


def test_cuda_as_npu_failure_is_told(clients, built_tree):
    (clients.site / "torch_npu" / "contrib" / "transfer_to_npu.py").write_text("raise RuntimeError('no')\n")
    done = clients("import torch; print('alive')", UPDRAFT_CANN_HOME=built_tree, UPDRAFT_CUDA_AS_NPU=1)
    assert good(done) == "alive\n"
    assert "transfer_to_npu failed" in done.stderr


APEX = "import apex; print(apex.__file__)"


TORCHAIR = """
import sys
from types import SimpleNamespace
sys.modules["torchair"] = sys.modules[__name__]  # as torch_npu has it
sys.modules["torchair.ge"] = SimpleNamespace(custom_op=lambda *arguments: arguments)
registered = {}
def register_fx_node_ge_converter(operator):
    return lambda converter: registered.__setitem__(operator.name, converter)
"""
OPERATORS = """
from types import SimpleNamespace as Is
schema = Is(arguments=[Is(name="q", type="Tensor", default_value=None), Is(name="heads", type="int", default_value=None),
                       Is(name="mask", type="Optional[Tensor]", default_value=None), Is(name="scale", type="float", default_value=1.0)])
# of the second one TorchAir has a converter
ops = Is(npu=Is(npu_fusion_attention_v3=Is(default=Is(name="v3", _schema=schema)),
                npu_fusion_attention_grad_v3=Is(default=Is(name="grad", _schema=schema, _ge_converter=len))))
"""


@pytest.fixture
def torchair(clients):
    folder = clients.site / "torch_npu" / "dynamo" / "torchair"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "__init__.py").write_text(TORCHAIR)
    torch = clients.site / "torch.py"
    torch.write_text(torch.read_text() + OPERATORS)
    return clients


def test_torchair_gets_the_converters_that_it_lacks(torchair, built_tree):
    code = ("import torch_npu\nfrom torch_npu.dynamo import torchair\nprint(list(torchair.registered))\n"
            "print(torchair.registered['v3']('q', 4, scale=0.5))")
    assert good(torchair(code, UPDRAFT_CANN_HOME=built_tree)).splitlines() == ["['v3']", "('NpuFusionAttentionV3', 'q', None, 4, 0.5)"]
    code = "import torch_npu\nfrom torch_npu.dynamo import torchair\nprint(torchair.registered)"
    assert good(torchair(code, UPDRAFT_CANN_HOME=built_tree, UPDRAFT_DISABLE=1)) == "{}\n"


def test_a_torchair_that_takes_no_converters_is_told(torchair, built_tree):
    (torchair.site / "torch_npu" / "dynamo" / "torchair" / "__init__.py").write_text("")
    done = torchair("import torch_npu\nfrom torch_npu.dynamo import torchair", UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "" and "TorchAir's converters are not registered: AttributeError" in done.stderr


def test_apex_is_found_in_the_tree(python, built_tree):
    done = python(APEX, UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "%s\n" % (built_tree / "python" / "fallback" / "apex" / "__init__.py")


def test_asking_for_apex_loads_no_library(python, built_tree):
    done = python("import importlib.util; print(importlib.util.find_spec('apex') is not None, "
                  "'/libupdraft.so' in open('/proc/self/maps').read())", UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "True False\n"


def test_another_apex_goes_first(python, built_tree):
    """Installed in site-packages, with set_env.sh's variables as well: PYTHONPATH would go before it."""
    (python.site / "apex").mkdir()
    (python.site / "apex" / "__init__.py").write_text("")
    paths = subprocess.run(["bash", "-c", ". %s/set_env.sh; echo $PYTHONPATH" % built_tree], env=clean_environment(), text=True,
                           capture_output=True, timeout=60, check=True).stdout.strip()
    assert str(built_tree) in paths
    for more in ({}, {"PYTHONPATH": paths}):
        done = python(APEX, UPDRAFT_CANN_HOME=built_tree, **more)
        assert good(done) == "%s\n" % (python.site / "apex" / "__init__.py")


def test_a_folder_named_apex_is_none(python, built_tree, tmp_path):
    """Where somebody has cloned a repository of that name."""
    (tmp_path / "apex" / "apex").mkdir(parents=True)
    (tmp_path / "apex" / "apex" / "__init__.py").write_text("")
    done = python("import sys; sys.path.insert(0, ''); " + APEX, UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "%s\n" % (built_tree / "python" / "fallback" / "apex" / "__init__.py")


def test_no_apex_of_ours_beside_another_cann(python, built_tree, tmp_path):
    done = python(APEX, UPDRAFT_CANN_HOME=built_tree, ASCEND_HOME_PATH=tmp_path)
    assert done.returncode != 0 and "No module named 'apex'" in done.stderr
    assert python(APEX, UPDRAFT_CANN_HOME=built_tree, UPDRAFT_DISABLE=1).returncode != 0


def test_the_bridge_imports_torch_npus_own(clients, built_tree):
    bridge = built_tree / "tools" / "ms_fmk_transplt" / "torch_npu_bridge"
    done = clients("import sys; sys.path.insert(0, %r)\nimport torch, torch_npu, transfer_to_npu\nprint(torch.transferred)" % str(bridge),
                   UPDRAFT_CANN_HOME=built_tree)
    assert good(done) == "1\n"


@pytest.mark.parametrize("options, enabled", [({}, "False"), ({"UPDRAFT_DISABLE": 1}, "None")])
def test_vllm_ascend_goes_without_its_kernels(clients, built_tree, options, enabled):
    """Where vllm-ascend has not asked yet, its answer is that its operators for the card are not there."""
    folder = clients.site / "vllm_ascend"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "utils.py").write_text("import torch, torch_npu\n_CUSTOM_OP_ENABLED = None\n")
    code = "from vllm_ascend import utils\nprint(utils._CUSTOM_OP_ENABLED)"
    assert good(clients(code, UPDRAFT_CANN_HOME=built_tree, **options)) == enabled + "\n"
    (folder / "utils.py").write_text("import torch, torch_npu\n")
    assert good(clients("from vllm_ascend import utils\nprint(utils.__dict__.get('_CUSTOM_OP_ENABLED'))", UPDRAFT_CANN_HOME=built_tree)) == "None\n"
