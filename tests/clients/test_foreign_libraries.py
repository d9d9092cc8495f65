"""Other copies of the libraries that we use, in the same process: frameworks bring a libdnnl.so.3, an fmt, a SLEEF, a BLAS of their own.
Ours never calls them, and they are never given ours."""
import importlib.metadata
import re
import shutil
import subprocess
import sys

import pytest

from .subproc import python

CC = shutil.which("cc")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler")
pytestmark = pytest.mark.limit(500)  # a test's own process, and two for what is right, of 200 s at most

# Trains a convolution net; prints the losses, then which copies of libgomp and oneDNN the process holds.
TRAIN = """
import ctypes, os, sys
BEFORE
import torch, torch_npu
AFTER
def losses(device):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, stride=2),
                              torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 4)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    x, y = torch.randn(16, 3, 16, 16).to(device), (torch.arange(16) % 4).to(device)
    for _ in range(12):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        yield loss.item()
print("losses", *losses(DEVICE))
LATER
print("mapped", *sorted({line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line or "dnn" in line}))
"""


def train(before="", after="", later="", device="npu", **env):
    code = TRAIN
    for name, text in (("BEFORE", before), ("AFTER", after), ("LATER", later), ("DEVICE", repr(device))):
        code = code.replace(name, text)
    text = python(code, timeout=200, **env)
    losses = [float(word) for word in re.search(r"^losses (.*)$", text, re.M)[1].split()]
    return losses, re.search(r"^mapped (.*)$", text, re.M)[1].split(), text


@pytest.fixture(scope="module")
def right():
    """What the net loses when nobody else is there: as PyTorch's CPU does."""
    alone, cpu = train()[0], train(device="cpu")[0]
    assert alone == pytest.approx(cpu, rel=1e-3, abs=1e-4)
    assert alone[-1] < alone[0] / 2
    return alone


@pytest.fixture(scope="module")
def pypi():
    """The libdnnl.so.3 that PyPI has, from which ours is made; it works, so what it computes for its client is right."""
    try:
        files = importlib.metadata.files("onednn-cpu-gomp") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [file.locate() for file in files if file.name == "libdnnl.so.3"]
    if not found:
        pytest.skip("onednn-cpu-gomp is not installed")
    return str(found[0].resolve())


def exported(path, pattern):
    text = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return sorted(set(re.findall(r" [TWi] (%s)$" % pattern, text, re.M)))


def library(folder, name, source, *flags):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name + ".c")).write_text(source)
    subprocess.run([CC, "-shared", "-fPIC", "-w", "-fno-builtin", "-o", folder / name, folder / (name + ".c"), "-Wl,-soname," + name, *flags],
                   check=True, timeout=60)
    return str(folder / name)


@pytest.fixture(scope="module")
def hostile(pypi, tmp_path_factory):
    """A libdnnl.so.3 with every function of oneDNN, each of which says its name and ends the process."""
    names = exported(pypi, r"dnnl_\w+")
    assert len(names) > 100
    source = '#include <stdio.h>\n#include <unistd.h>\nstatic int no(const char* name) { dprintf(2, "hostile %s\\n", name); _exit(99); }\n'
    source += "".join('int %s(void) { return no("%s"); }\n' % (name, name) for name in names)
    return library(tmp_path_factory.mktemp("hostile"), "libdnnl.so.3", source + "int foreign_answer(void) { return 77; }\n")


OPEN = "ctypes.CDLL(%r, mode=os.RTLD_GLOBAL | os.RTLD_NOW)"
# An engine made and destroyed by a foreign oneDNN through its own C interface.
USE = """
theirs = ctypes.CDLL(%r)
engine = ctypes.c_void_p()
assert theirs.dnnl_engine_create(ctypes.byref(engine), 1, ctypes.c_size_t(0)) == 0 and engine.value
assert theirs.dnnl_engine_destroy(engine) == 0
"""


def check(result, right, foreign):
    losses, mapped, text = result
    assert losses == right, text
    assert len([path for path in mapped if "libgomp" in path]) == 1, mapped
    assert [path.rsplit("/", 1)[-1] for path in mapped if "libupdraft" in path] == ["libupdraft_onednn.so"]
    assert foreign in mapped


@needs_compiler
@pytest.mark.parametrize("how", ["before", "after", "preload"])
def test_a_hostile_onednn_is_never_called(right, hostile, how):
    load = OPEN % hostile
    if how == "preload":
        result = train(LD_PRELOAD=hostile)
    else:
        result = train(before=load if how == "before" else "", after=load if how == "after" else "")
    check(result, right, hostile)


@pytest.mark.parametrize("how", ["before", "after", "preload"])
def test_a_working_onednn_beside_ours(right, pypi, how):
    load = OPEN % pypi + USE % pypi
    if how == "preload":
        result = train(later=USE % pypi, LD_PRELOAD=pypi)
    else:
        result = train(before=load if how == "before" else "", after=load if how == "after" else "", later=USE % pypi)
    check(result, right, pypi)


@needs_compiler
@pytest.mark.parametrize("order", ["before", "after"])
def test_who_needs_libdnnl_gets_their_own(right, hostile, tmp_path, order):
    """A framework's library with a DT_NEEDED of libdnnl.so.3, which LD_LIBRARY_PATH finds: before ours and after it."""
    client = library(tmp_path, "libframework.so", "int foreign_answer(void); int framework(void) { return foreign_answer(); }\n", hostile)
    load = (OPEN % client).replace("ctypes", "assert ctypes", 1) + ".framework() == 77"
    result = train(before=load if order == "before" else "", later=load, LD_LIBRARY_PATH=hostile.rsplit("/", 1)[0])
    check(result, right, hostile)


# Without torch: an exponential over many numbers (vector functions), a product (oneDNN), an inverse (LAPACK) and a refusal's
# sentence (fmt).
COMPUTE = """
import ctypes, math, sys
acl, ops = ctypes.CDLL(sys.argv[1] + "/libascendcl.so"), ctypes.CDLL(sys.argv[1] + "/libopapi.so")
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
ops.aclCreateTensor.restype = ctypes.c_void_p
def must(code): assert code == 0, (code, acl.aclGetRecentErrMsg())
must(acl.aclInit(None)); must(acl.aclrtSetDevice(0))
stream = ctypes.c_void_p(); must(acl.aclrtCreateStream(ctypes.byref(stream)))
ROWS = 64
def longs(*values): return (ctypes.c_int64 * len(values))(*values)
def tensor(kind, values):
    data = (values._type_ * len(values)).from_buffer_copy(values)
    memory = ctypes.c_void_p(); must(acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(data)), 0))
    must(acl.aclrtMemcpy(memory, ctypes.c_size_t(ctypes.sizeof(data)), data, ctypes.c_size_t(ctypes.sizeof(data)), 1))
    handle = ctypes.c_void_p(ops.aclCreateTensor(longs(ROWS, ROWS), ctypes.c_uint64(2), kind, longs(ROWS, 1), ctypes.c_int64(0), 2,
                                                 longs(ROWS, ROWS), ctypes.c_uint64(2), memory))
    return handle, memory, data
def call(name, out, *arguments):
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    must(ops[name + "GetWorkspaceSize"](*arguments, ctypes.byref(size), ctypes.byref(executor)))
    work = ctypes.c_void_p()
    if size.value: must(acl.aclrtMalloc(ctypes.byref(work), size, 0))
    must(ops[name](work, size, executor, stream)); must(acl.aclrtSynchronizeStream(stream))
    _, memory, data = out
    must(acl.aclrtMemcpy(data, ctypes.c_size_t(ctypes.sizeof(data)), memory, ctypes.c_size_t(ctypes.sizeof(data)), 2))
    return list(data)
for kind, real in ((0, ctypes.c_float), (11, ctypes.c_double)):
    x = [math.sin(i) for i in range(ROWS * ROWS)]
    a, out = tensor(kind, (real * len(x))(*x)), tensor(kind, (real * len(x))())
    exps, sines = call("aclnnExp", out, a[0], out[0]), call("aclnnSin", out, a[0], out[0])
    for i, v in enumerate(x):
        assert abs(exps[i] - math.exp(v)) < 1e-5 and abs(sines[i] - math.sin(v)) < 1e-5, (i, v, exps[i], sines[i])
    d = [v / ROWS + 4.0 * (i % (ROWS + 1) == 0) for i, v in enumerate(x)]
    inverse = call("aclnnInverse", out, tensor(kind, (real * len(x))(*d))[0], out[0])
    for i, j in ((0, 0), (7, 33), (63, 63)):
        assert abs(sum(inverse[i * ROWS + k] * d[k * ROWS + j] for k in range(ROWS)) - (i == j)) < 1e-4
    if real is ctypes.c_float:
        product = call("aclnnMatmul", out, a[0], a[0], out[0], ctypes.c_byte(0))
        for i, j in ((0, 0), (7, 33), (63, 63)):
            assert abs(product[i * ROWS + j] - sum(x[i * ROWS + k] * x[k * ROWS + j] for k in range(ROWS))) < 1e-3
assert ops.aclnnExpGetWorkspaceSize(None, None, None, None) == 161001
assert b"aclnnExp" in acl.aclGetRecentErrMsg()
print("computed")
"""
FMT = ["_ZN3fmt2v97vformatB5cxx11ENS0_17basic_string_viewIcEENS0_17basic_format_argsINS0_20basic_format_contextINS0_8appenderEcEEEE",
       "_ZN3fmt2v96detail18throw_format_errorEPKc", "_ZN3fmt2v96detail9dragonbox10to_decimalIdEENS2_10decimal_fpIT_EES5_"]
BLAS = [kind + name + "_" for kind in "sdcz" for name in ("gemm", "gemv", "trsm", "scal", "swap", "getrf", "getrs", "getri", "potrf", "laswp", "trtri")]
BLAS += ["xerbla_", "ilaenv_", "lsame_", "openblas_get_config", "openblas_set_num_threads", "goto_set_num_threads", "_gfortran_concat_string"]


@needs_compiler
def test_hostile_functions_of_all(pypi, tmp_path):
    """Whatever oneDNN, SLEEF, OpenBLAS and fmt call their functions, a library preloaded with such names is not called."""
    import updraft

    folder = updraft.library_dir()
    ours = exported(folder + "/libupdraft_sleef.so", r"__wrap__ZGV\w+")
    names = exported(pypi, r"dnnl_\w+") + [name.removeprefix("__wrap_") for name in ours] + FMT + BLAS
    assert len(names) > 600
    bad = library(tmp_path, "libhostile.so", "#include <unistd.h>\n" + "".join("void %s(void) { _exit(99); }\n" % name for name in names))
    done = subprocess.run([sys.executable, "-S", "-c", COMPUTE, folder], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": bad})
    assert done.returncode == 0 and done.stdout == "computed\n", (done.returncode, done.stdout, done.stderr)
