"""Programs that test_dump.py, test_overflow.py and test_compare.py run in processes of their own."""

import ctypes
import json
import os
import pathlib
import sys


def configured(path, **section):
    pathlib.Path(path).write_text(json.dumps({"dump": section}))
    return str(path)


# --- PyTorch ------------------------------------------------------------------------------------------------------------

def start(folder, **section):
    import torch
    import torch_npu  # noqa: F401

    torch.npu.set_device(0)
    torch.npu.synchronize()
    torch.npu.init_dump()
    torch.npu.set_dump(configured(pathlib.Path(folder).parent / "dump.json", dump_path=folder, **section))
    return torch


def finish(torch):
    torch.npu.synchronize()
    torch.npu.finalize_dump()


def eager(folder, **more):
    """Operators of many types and views; the same on the CPU goes to want.npz by the name of the operator."""
    import numpy as np
    import torch

    torch.manual_seed(0)
    x, w = torch.randn(6, 8), torch.randn(8, 5)
    big = torch.arange(3 << 22, dtype=torch.float32).reshape(1 << 11, -1)  # 48 MiB: not kept in memory
    start(folder, **{"dump_list": [], "dump_op_switch": "on", "dump_mode": "all", **more})
    dx, dw, dbig = x.npu(), w.npu(), big.npu()
    (dx.t() @ dx)                                # a view as an input
    (dx.half() * 2)
    (dx.bfloat16() + 1)
    (dx > 0).logical_not()
    torch.cat([dx, dx * 3])
    y = dx.clone()
    y.mul_(4)                                    # in place: what it read is in the file as it was before
    torch.atan(dbig)
    torch.sin(dw.t()[1:3])
    finish(torch)
    np.savez(pathlib.Path(folder).parent / "want.npz", x=x.numpy(), w=w.numpy(), big=big.numpy(),
             atan=torch.atan(big).numpy())


def layers(folder):
    torch = start(folder, dump_list=[{"layer": ["Sin", "aclnnCos", "Nobody"]}], dump_op_switch="on", dump_mode="input")
    x = torch.ones(3, device="npu")
    for name in ("sin", "exp", "cos", "sin"):
        getattr(torch, name)(x)
    finish(torch)


def statistics(folder):
    """stats.npz: what NumPy has of the same tensors."""
    import numpy as np

    torch = start(folder, dump_list=[], dump_op_switch="on", dump_mode="all", dump_data="stats",
                  dump_stats=["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"])
    torch.manual_seed(1)
    x = torch.randn(5, 7)
    x[0, :3] = torch.tensor([float("nan"), float("inf"), -float("inf")])
    torch.neg(x.npu())
    torch.neg(x.npu().half())
    torch.neg(torch.tensor([float("nan")] * 2).npu())
    torch.neg(torch.tensor([3, -4, 5], dtype=torch.int64).npu())
    finish(torch)
    np.save(pathlib.Path(folder).parent / "x.npy", x.numpy())


def unwritable(folder):
    """The folder is gone while the dump runs: the program goes on, and the end says it."""
    torch = start(folder, dump_list=[], dump_op_switch="on")
    os.rmdir(folder)
    pathlib.Path(folder).write_text("a file")
    x = torch.ones(4, device="npu")
    for _ in range(10):
        x = x + 1
    assert x.tolist() == [11.0] * 4
    finish(torch)
    torch.npu.init_dump()  # and the next dump is not held up by it
    os.remove(folder)
    os.mkdir(folder)
    torch.npu.set_dump(configured(pathlib.Path(folder).parent / "again.json", dump_path=folder, dump_list=[], dump_op_switch="on"))
    (x + 1)
    finish(torch)


def full(folder):
    """No file may be larger than 64 KiB, as on a disk that is full: small ones are whole, of large ones nothing is left."""
    import resource
    import signal

    torch = start(folder, dump_list=[], dump_op_switch="on")
    x, y = torch.ones(4).npu(), torch.ones(1 << 16).npu()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
    torch.sin(x)
    z = torch.cos(y)
    torch.tan(x)
    assert abs(z.cpu() - y.cpu().cos()).max() < 1e-6
    finish(torch)


def failing(folder):
    """An operator that fails, with dump_scene aic_err_norm_dump."""
    torch = start(folder, dump_scene="aic_err_norm_dump")
    table, index = torch.randn(4, 3).npu(), torch.tensor([0, 1, 7]).npu()
    try:
        torch.index_select(table, 0, index)
        torch.npu.synchronize()
    except RuntimeError as error:
        print("failed:", str(error)[:600])
    os._exit(0)


def message(rows):
    """The text of an operator that fails, without any dump."""
    import torch
    import torch_npu  # noqa: F401

    table, index = torch.arange(int(rows) * 3.0).reshape(-1, 3).npu(), torch.tensor([0, 1, int(rows) + 5]).npu()
    index = index.repeat(int(rows))
    try:
        torch.index_select(table, 0, index)
        torch.npu.synchronize()
    except RuntimeError as error:
        print("failed:", error, flush=True)
    os._exit(0)


def overflow(folder, mode="all"):
    torch = start(folder, dump_debug="on", dump_debug_mode=mode)
    a = torch.full((16, 16), 300.0, dtype=torch.half).npu()
    small = torch.ones(4, 4, dtype=torch.half).npu()
    small @ small
    a @ a                                                       # more than 65504
    torch.log(torch.zeros(3).npu())
    torch.full((3,), 1e6).npu().half()                          # a cast that overflows
    torch.full((3,), float("inf")).npu() * 2                    # no fault of its own
    x = torch.zeros(2).npu()
    x.reciprocal_()                                             # in place
    t = torch.full((2,), 60000.0, dtype=torch.half).npu()
    t.index_add_(0, torch.tensor([0, 0]).npu(), torch.full((2,), 60000.0, dtype=torch.half).npu())
    finish(torch)


def integers(folder):
    torch = start(folder, dump_debug="on")
    kinds = {name: getattr(torch, name) for name in ("int8", "int16", "int32", "int64", "uint8")}
    largest = {name: torch.iinfo(kind).max for name, kind in kinds.items()}
    of = lambda name, *values: torch.tensor(values, dtype=kinds[name]).npu()
    of("int8", 100, -100) + of("int8", 27, -28)                     # just fits
    of("int8", 100, 0).reshape(2, 1) + of("int8", 28, 1)            # broadcast: 128 in one place
    torch.sub(of("int32", -(2**31)), of("int32", 1))
    torch.add(of("int64", 2**62), of("int64", 2**61), alpha=2)      # 2**63, by alpha alone
    of("int64", 2**40) * of("int64", 2**22)                         # just fits
    of("int64", 2**40) * of("int64", 2**23)
    of("int16", 300, 1).t() * 200                                   # by a number
    torch.neg(of("int8", -128, 5))
    torch.neg(of("int8", -127, 5))
    x = of("int32", largest["int32"])
    x += 1                                                          # in place
    of("uint8", 200) + of("uint8", 55)                              # just fits
    of("uint8", 3) - of("uint8", 4)
    torch.tensor([-1.5, 2.0]).npu().to(torch.uint8)
    torch.tensor([-0.5, 2.0]).npu().to(torch.uint8)                 # that is 0
    torch.tensor([], dtype=torch.int8).npu() + of("int8", 1)
    finish(torch)


def sane(folder):
    torch = start(folder, dump_debug="on")
    net = torch.nn.Linear(4, 4).npu()
    net(torch.randn(2, 4).npu()).sum().backward()
    finish(torch)


def pair(folder, change):
    """A dump of many types; `change` is added in the middle."""
    torch = start(folder, dump_list=[], dump_op_switch="on", dump_mode="all")
    torch.manual_seed(0)
    x, w = torch.randn(64, 128).npu(), torch.randn(128, 32).npu()
    y = (x @ w).relu()
    y = y.add(float(change))
    y.half().clamp(max=100)
    y.bfloat16().mul(2)
    (y * 10).int().add(1)
    y.gt(0.5).logical_not()
    torch.zeros(3, 3).npu().mul(2)
    torch.ones(1).npu().mul(3)
    torch.complex(y, y).mul(2)
    y.double().exp()
    finish(torch)


def large(folder, gigabytes="1", kibibytes=None):
    """Prints how fast a dump of so many GB goes, in 16 files or in files of so many KiB, beside plain writes of as much to the same place, in turns."""
    import shutil
    import time

    import torch
    import torch_npu  # noqa: F401

    elements = int(float(gigabytes) * (1 << 28))
    files = elements // (int(kibibytes) * 256) if kibibytes else 16
    x = torch.ones(elements // files)
    d, out = x.npu(), torch.empty_like(x).npu()
    size = files * x.numel() * 4 / 1e9

    def seconds(work):
        torch.npu.synchronize()
        began = time.perf_counter()
        work()
        torch.npu.synchronize()
        return time.perf_counter() - began

    def operators():
        for _ in range(files):
            torch.neg(d, out=out)

    def dumped():
        operators()
        finish(torch)

    def written():
        for i in range(files):
            with open(os.path.join(folder, "plain%d" % i), "wb", buffering=0) as file:
                file.write(memoryview(x.numpy()).cast("B"))

    for _ in range(3):
        alone = seconds(operators)
        os.makedirs(folder, exist_ok=True)
        start(folder, dump_list=[], dump_op_switch="on", dump_mode="output")
        dump = seconds(dumped) - alone
        shutil.rmtree(folder)
        os.makedirs(folder)
        plain = seconds(written)
        shutil.rmtree(folder)
        print("dump %.2f GB/s, plain writes %.2f GB/s" % (size / dump, size / plain), flush=True)


def several(base, *names):
    """Programs of this file one after the other, "NAME" or "FOLDER=NAME:ARGUMENT", each with its dump in BASE/FOLDER/dump."""
    for text in names:
        folder, _, name = text.rpartition("=")
        name, *more = name.split(":")
        place = pathlib.Path(base, folder or name, "dump")
        place.mkdir(parents=True)
        print("==", folder or name, flush=True)
        globals()[name](str(place), *more)


# --- the C interface ----------------------------------------------------------------------------------------------------

class Acl:
    def __init__(self):
        import updraft

        lib = os.path.join(updraft.home(), "lib64")
        self.acl = ctypes.CDLL(os.path.join(lib, "libascendcl.so"))
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.acl.acldumpGetPath.restype = ctypes.c_char_p

    def __getattr__(self, name):
        return getattr(self.acl, name)

    def text(self):
        return (self.acl.aclGetRecentErrMsg() or b"").decode()


def refusals(folder):
    """Each configuration by aclInit and by aclmdlSetDump: code and text, as JSON."""
    cases = json.loads(pathlib.Path(folder, "cases.json").read_text())
    acl = Acl()
    answers = []
    for section in cases:
        path = pathlib.Path(folder, "case.json")
        path.write_text(json.dumps({"dump": section}))
        first = acl.aclInit(str(path).encode()), acl.text()
        if first[0] == 0:
            acl.aclFinalize()
        assert acl.aclInit(None) == 0 and acl.aclmdlInitDump() == 0
        second = acl.aclmdlSetDump(str(path).encode()), acl.text()
        assert acl.aclmdlFinalizeDump() == 0, acl.text()
        acl.aclFinalize()
        answers.append([first, second])
    print("@@" + json.dumps(answers))


def order(folder):
    """Calls in the wrong order, twice, with no file."""
    acl = Acl()
    good = configured(pathlib.Path(folder, "good.json"), dump_path=folder, dump_list=[{}]).encode()
    said = [acl.aclmdlInitDump(), acl.aclInit(None), acl.aclmdlSetDump(good), acl.aclmdlFinalizeDump(), acl.aclmdlInitDump(),
            acl.aclmdlInitDump(), acl.aclmdlSetDump(None), acl.aclmdlSetDump(b"/no/such/file"), acl.aclmdlSetDump(good),
            acl.aclmdlSetDump(good)]
    paths = [acl.acldumpGetPath(4), acl.acldumpGetPath(5), acl.acldumpGetPath(9)]
    said += [acl.aclmdlFinalizeDump(), acl.aclmdlFinalizeDump(), acl.aclFinalize(), acl.aclInit(good), acl.aclmdlInitDump(),
             acl.aclFinalize()]
    print("@@" + json.dumps([said, [p and p.decode() for p in paths]]))


def callback(folder):
    """acldumpRegCallback gets what would be in the files: they are put together in chunks/."""

    class Chunk(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char * 4096), ("size", ctypes.c_uint32), ("last", ctypes.c_uint32), ("offset", ctypes.c_int64),
                    ("flag", ctypes.c_int32)]

    got, ends, flags = {}, {}, set()

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Chunk), ctypes.c_int32)
    def take(chunk, length):
        c = chunk.contents
        data = ctypes.string_at(ctypes.addressof(c) + 4116, c.size)
        assert length >= 4116 + c.size
        whole = got.setdefault(c.name, bytearray())
        assert c.offset == len(whole), (c.offset, len(whole))
        whole += data
        ends[c.name] = ends.get(c.name, 0) + c.last
        flags.add(c.flag)
        return 0

    acl = Acl()
    import torch

    torch_module = start(folder, dump_list=[], dump_op_switch="on", dump_mode="all")
    assert acl.acldumpRegCallback(take, 7) == 0
    x = torch.arange(12 << 20, dtype=torch.float32).npu()
    torch.sin(x)
    torch.cos(x[:5])
    finish(torch_module)
    acl.acldumpUnregCallback()
    assert set(ends.values()) == {1} and flags == {7}, (ends, flags)
    pathlib.Path(folder).parent.joinpath("chunks").mkdir()
    for name, data in got.items():
        pathlib.Path(folder).parent.joinpath("chunks", os.path.basename(name.decode())).write_bytes(data)


def model(om, folder, section, times="3", inputs="1"):
    """Executes an offline model with the dump that acl.json asks for."""
    import acl
    import numpy as np

    pathlib.Path(folder).mkdir(exist_ok=True)
    path = configured(pathlib.Path(folder).parent / "acl.json", dump_path=folder, **json.loads(section))
    assert acl.init(path) == 0, acl.get_recent_err_msg()
    acl.rt.set_device(0)
    net, code = acl.mdl.load_from_file(om)
    assert code == 0, acl.get_recent_err_msg()
    desc = acl.mdl.create_desc()
    acl.mdl.get_desc(desc, net)
    x = np.random.default_rng(int(inputs)).normal(size=(1, 3, 8, 8)).astype(np.float32)

    def data_set(sizes, data=None):
        made = acl.mdl.create_dataset()
        for size in sizes:
            memory, _ = acl.rt.malloc(size, 0)
            if data is not None:
                acl.rt.memcpy(memory, size, acl.util.bytes_to_ptr(data), size, 1)
            acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(memory, size))
        return made

    reads = data_set([x.nbytes], x.tobytes())
    writes = data_set([acl.mdl.get_output_size_by_index(desc, 0)])
    for _ in range(int(times)):
        assert acl.mdl.execute(net, reads, writes) == 0, acl.get_recent_err_msg()
    acl.mdl.unload(net)
    acl.finalize()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
