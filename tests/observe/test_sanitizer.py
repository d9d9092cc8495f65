"""`updraft run --sanitize`: planted faults are found where they stand, and their clean twins are not reported."""

import json
import pathlib
import subprocess
import sys
import textwrap

import pytest

from . import sanitizer_programs
from .programs import UPDRAFT, environment

HERE = pathlib.Path(__file__).parent
FOUND = 66


def sanitize(folder, *command, options=(), status=0, timeout=180, **env):
    """What is said, and the report of the run."""
    report = folder / "out.html"
    done = subprocess.run([str(UPDRAFT), "run", "--sanitize", *options, "--sanitize-report", str(report), *map(str, command)], text=True,
                          capture_output=True, timeout=timeout, env=environment(UPDRAFT_LANG="en", **env), cwd=folder)
    text = done.stdout + done.stderr
    assert status is None or done.returncode == status, "status %d\n%s" % (done.returncode, text[-4000:])
    return text, json.loads((folder / "out.json").read_text())["findings"], report.read_text()


def python(folder, code, *arguments, **options):
    script = folder / "train.py"
    script.write_text(textwrap.dedent(code))
    return sanitize(folder, *(options.pop("launcher", None) or [sys.executable]), script, *arguments, **options)


def functions(side):
    return {frame["function"] for frame in side["where"]} if side else set()


# --- torch_npu ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return sanitize(tmp_path_factory.mktemp("faults"), sys.executable, HERE / "sanitizer_programs.py", "wrong", status=FOUND)


@pytest.mark.parametrize("name", sanitizer_programs.FAULTS)
def test_faults_of_torch(faults, name):
    kind = sanitizer_programs.FAULTS[name][0]
    of = [f for f in faults[1] if name in functions(f["second"]) | functions(f.get("first"))]
    assert {f["kind"] for f in of} == {kind}, of
    f = of[0]
    assert f["meaning"] and f["advice"] and "[" in (f["second"]["tensor"] or f["first"]["tensor"])  # code of the host names none
    if "first" in f:  # both sides, each in the function; a backward pass has no lines
        assert name in functions(f["first"]) or name in ("two_threads", "gradient_on_another_stream")
        assert f["first"]["stream"] != f["second"]["stream"]
    # pinned memory and gradients are allocated where there is no Python
    assert f["memory"]["allocated"] or kind == "host-race" or name == "gradient_on_another_stream"


def test_faults_are_told_in_sentences(faults):
    said, found, page = faults
    assert "no_record_stream" in said and "y = t * 2" in said
    assert "updraft sanitizer: %d places found" % len(found) in said
    assert "http" not in page and "<script" not in page  # nothing from elsewhere
    assert not [f for f in found if not functions(f["second"]) & set(sanitizer_programs.FAULTS)], "a fault that nobody planted"


def test_clean_twins_of_torch(tmp_path):
    said, found, _ = sanitize(tmp_path, sys.executable, HERE / "sanitizer_programs.py", "clean")
    assert found == [] and "done" in said and "0 places found" in said


def test_operands_of_operators_on_the_cpu(tmp_path):
    """The OpInfo harness counts fallbacks by a kernel of its own in place of the sanitizer's."""
    said, found, _ = sanitize(tmp_path, sys.executable, "-m", "tests.clients.opinfo.run", "--jobs", "1", "--max-samples", "2", "--ops",
                              "linalg.cholesky_ex,fft.ihfft2", "--report", tmp_path / "opinfo.json", PYTHONPATH=HERE.parents[1])
    assert found == [] and "100.0 % ok (2 ok)" in said


COMPILED = """
    import torch, torch_npu, torchair
    from torchair.configs.compiler_config import CompilerConfig

    def f(kept, x):
        kept.copy_(x * 2)
        return x + 1

    fast, found = (torch.compile(g, backend=torchair.get_npu_backend(compiler_config=CompilerConfig()), dynamic=False)
                   for g in (f, lambda x: torch.nonzero(x > 0)))
    for _ in range(2):
        kept = torch.empty(300, 300, device="npu")
        one = fast(kept, torch.ones(300, 300, device="npu"))
        total = (one + 1).sum() + kept.sum()
        gone = [torch.ones(90000, 2, dtype=torch.int64, device="npu") for _ in range(3)]
        del gone  # results are put where freed ones were
        places = found(one)
        total = total + places.sum()
        host = torch.empty(300, 300, pin_memory=True)
        host.copy_(one, non_blocking=True)
        torch.npu.synchronize()
        print(float(total), places.cpu().shape, one.cpu().sum(), kept.cpu().sum())
"""


def test_what_a_compiled_graph_writes_is_written(tmp_path):
    """Its results, what it updates in place and what has the size that its values say."""
    said, found, _ = python(tmp_path, COMPILED)
    assert found == [], said[-3000:]
    assert "torch.Size([90000, 2])" in said


# --- C ----------------------------------------------------------------------------------------------------------------
C_FAULTS = {
    "write_read": "race", "read_write": "race", "write_write": "race", "event_too_early": "race", "no_notify": "race",
    "value_not_waited_for": "race", "host_copy_before_the_stream": "race", "captured_graph": "race",
    "streams_of_one_graph": "race",
    "freed_under_a_stream": "use-after-free", "used_after_free": "use-after-free", "pinned_freed_under_a_copy": "use-after-free",
    "never_written": "uninitialised", "half_written": "uninitialised", "unwritten_to_the_host": "uninitialised",
    "beyond_the_allocation": "out-of-bounds", "beyond_the_storage": "out-of-bounds", "copy_of_too_much": "out-of-bounds",
    "leaked_stream": "leak", "leaked_event": "leak", "leaked_context": "leak", "leaked_memory": "leak", "leaked_pinned_memory": "leak",
    "leaked_tensor": "leak", "leaked_scalar": "leak", "leaked_tensor_list": "leak", "leaked_executor": "leak",
    "pinned_read_too_early": "host-race", "pinned_changed_too_early": "host-race", "pinned_part_read_too_early": "host-race",
    "pinned_used_twice": "host-race", "host_reads_the_device": "host-access",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    done = subprocess.run([str(UPDRAFT), "run", "sh", "-c", "echo $ASCEND_HOME_PATH"], capture_output=True, text=True, env=environment())
    tree = done.stdout.strip()
    path = tmp_path_factory.mktemp("program") / "sanitized"
    subprocess.run(["gcc", "-Wall", "-Werror", "-I%s/include" % tree, str(HERE / "sanitized.c"), "-L%s/lib64" % tree, "-lascendcl", "-lopapi",
                    "-lnnopbase", "-Wl,-rpath-link,%s/lib64" % tree, "-o", str(path)], check=True)
    return path


@pytest.mark.parametrize("name", C_FAULTS)
def test_faults_of_c(program, tmp_path, name):
    kind = C_FAULTS[name]
    # some of them end as they may on a card
    said, found, _ = sanitize(tmp_path, program, name, "wrong", status=139 if kind == "host-access" else None if "pinned_freed" in name else FOUND)
    assert [f["kind"] for f in found] == [kind], said[-3000:]
    f = found[0]
    if name.startswith("pinned") and "too_early" in name:
        assert f["second"]["name"] == "code of the host that " + ("writes" if "changed" in name else "reads"), f
    elif kind not in ("host-access",):
        assert f["second"]["call"].startswith("acl"), f
    if kind in ("race", "host-race"):
        assert f["first"]["call"].startswith("acl") and f["first"]["stream"] != f["second"]["stream"]
    if kind in ("use-after-free", "uninitialised"):
        assert f["memory"]["allocated_by"].startswith("aclrtMalloc")
    (tmp_path / "clean").mkdir()
    assert sanitize(tmp_path / "clean", program, name, "clean")[1] == []


# --- ranks, threads, forks ------------------------------------------------------------------------------------------
RANKS = """
    import sys, torch, torch_npu
    import torch.distributed as dist
    dist.init_process_group("hccl")
    rank = dist.get_rank()
    torch.npu.set_device(rank)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).npu())
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    for _ in range(3):
        loss = net(torch.randn(16, 32).npu()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    out = [torch.empty(10, device="npu") for _ in range(2)]
    dist.all_gather(out, torch.ones(10, device="npu"))
    assert out[1].sum().item() == 10
    x = torch.ones(1000, device="npu")
    work = dist.all_reduce(x, async_op=True)
    if sys.argv[1] == "clean":
        work.wait()
    x.add_(1)
    work.wait()
    torch.npu.synchronize()
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("wrong", [True, False])
def test_ranks(tmp_path, wrong):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-endpoint=localhost:0", "--rdzv-backend=c10d"]
    said, found, _ = python(tmp_path, RANKS, "wrong" if wrong else "clean", launcher=launcher, status=FOUND if wrong else 0)
    if not wrong:
        assert found == []
        return
    assert [f["kind"] for f in found] == ["race"] and "rank 0, 1" in said
    assert found[0]["first"]["name"].startswith("HcclAllReduce") and "x.add_(1)" in said
    assert {p["rank"] for p in found[0]["processes"]} == {"0", "1"}


def test_forked_workers(tmp_path):
    _, found, _ = python(tmp_path, """
        import torch, torch_npu
        from torch.utils.data import DataLoader
        x = torch.ones(10, device="npu")
        total = sum(batch.npu().sum() for batch in DataLoader(torch.arange(64.0), batch_size=8, num_workers=2))
        assert total.item() == 2016
    """)
    assert found == []


def test_a_fork_has_its_own_report(tmp_path):
    """torch_npu may be imported before a fork; what the fork does is its own, also when it ends without a word."""
    said, found, _ = python(tmp_path, """
        import os, torch, torch_npu
        pid = os.fork()
        if pid == 0:
            other = torch.npu.Stream()
            x = torch.zeros(100, device="npu")
            with torch.npu.stream(other):
                y = x * 2
            torch.npu.synchronize()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    """, status=FOUND)
    assert [f["kind"] for f in found] == ["race"] and "y = x * 2" in said


def test_what_clients_do_is_no_fault(tmp_path):
    """Memory of a graph is used again by its replays after it was given back; an operator that runs on the CPU takes the tensors
    that it writes over there; sizes that values decide are waited for."""
    text, found, _ = python(tmp_path, """
        import torch, torch_npu
        x = torch.ones(64, 64, device="npu")
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            y = ((x * 2 + 1).relu() @ x).sum()
        for _ in range(2):
            graph.replay()
            other = torch.zeros(64, 64, device="npu") + 1
        torch.nn.functional.fractional_max_pool3d(torch.rand(1, 2, 6, 6, 6, device="npu"), 2, output_size=3)
        torch.npu.set_compile_mode(jit_compile=True)
        print(y.item(), x[0].masked_select(x[0] > 0).sum().item())
        """)
    assert "786432.0 64.0" in text and found == []


@pytest.mark.parametrize("own", ["0", "1"])
def test_a_script_that_catches_errors_goes_on(tmp_path, own):
    """torch frees tensors while an exception is on its way, and torch_npu tells Python of it."""
    text, found, _ = python(tmp_path, """
        import torch, torch_npu
        errors = []
        for wrong in (lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest-exact").view(7),
                      lambda x: torch.empty(1 << 50, dtype=torch.int8, device="npu"), lambda x: (x * 2).view(5) + (x * 3)):
            try:
                wrong(torch.ones(1, 1, 4, 4, device="npu") * 2)
            except Exception as error:
                errors.append(type(error).__name__)
        print(*errors, (torch.ones(3).npu() + 1).sum().item())
        """, TORCH_NPU_SANITIZER=own)
    assert "RuntimeError OutOfMemoryError RuntimeError 6.0" in text or own == "1" and "RuntimeError" in text
    assert found == []


def test_tensors_that_an_extension_leaves(tmp_path):
    """Also beside torch_npu, which gives back all of its own; with the place of the next operator."""
    code = """
        import ctypes, os, sys, torch, torch_npu
        x = torch.ones(4, device="npu")
        library = ctypes.CDLL("libopapi.so")
        library.aclCreateTensor.restype = ctypes.c_void_p
        dims = (ctypes.c_int64 * 1)(4)

        def extension():
            made = library.aclCreateTensor(dims, ctypes.c_uint64(1), 0, None, ctypes.c_int64(0), 2, dims, ctypes.c_uint64(1), ctypes.c_void_p(x.data_ptr()))
            y = x + 1
            if sys.argv[1] == "clean":
                library.aclDestroyTensor(ctypes.c_void_p(made))
            return y

        for _ in range(3):
            extension()
        torch.npu.synchronize()
    """
    said, found, _ = python(tmp_path, code, "wrong", status=FOUND)
    assert [(f["kind"], f["items"]) for f in found] == [("leak", 3)] and "FLOAT[4]" in said and "aclCreateTensor" in said
    assert "extension" in functions(found[0]["second"])
    assert python(tmp_path, code, "clean")[1] == []


# --- the command ----------------------------------------------------------------------------------------------------
def test_kinds_rules_and_status(program, tmp_path):
    def status(*options, name="write_read"):
        done = subprocess.run([str(UPDRAFT), "run", *options, str(program), name, "wrong"], text=True, capture_output=True, timeout=60,
                              env=environment(UPDRAFT_LANG="en"), cwd=tmp_path)
        return done.returncode, done.stderr

    assert status("--sanitize=memory,leak")[0] == 0
    assert status("--sanitize=race")[0] == FOUND
    assert status("--sanitize", "race")[0] == FOUND  # as the help writes it
    assert status("--sanitize=memory", name="never_written")[0] == FOUND
    code, said = status("--sanitize=races")
    assert code == 2 and "races" in said and "use-after-reuse" in said
    rules = tmp_path / "known.txt"
    rules.write_text("# known\nrace:aclnnAdd\n")
    code, said = status("--sanitize", "--sanitize-ignore", str(rules))
    assert code == 0 and "1 suppressed" in said
    rules.write_text("race\n")
    code, said = status("--sanitize", "--sanitize-ignore", str(rules))
    assert code == 2 and "known.txt:1" in said
    assert status("--sanitize", "--sanitize-report", str(tmp_path / "none" / "x.html"))[0] == 2
    for alone in ("--sanitize-report", "--sanitize-ignore"):
        code, said = status(alone, str(tmp_path / "x.json"))
        assert code == 2 and "go with --sanitize" in said
    code, said = status("--record", str(tmp_path / "run"), "--sanitize")
    assert code == 2 and "--record not with" in said


def test_a_failing_command_keeps_its_status(program, tmp_path):
    done = subprocess.run([str(UPDRAFT), "run", "--sanitize", str(program), "no_such_case", "wrong"], capture_output=True, timeout=60, env=environment())
    assert done.returncode == 6


def test_chinese(program, tmp_path):
    done = subprocess.run([str(UPDRAFT), "run", "--sanitize", str(program), "write_read", "wrong"], text=True, capture_output=True, timeout=60,
                          env=environment(UPDRAFT_LANG="zh"))
    assert "两个流之间没有先后关系" in done.stderr and "处理办法" in done.stderr


def test_ctrl_c_reaches_the_script(tmp_path):
    """torch_npu drops what is raised while it tells of a call; the interrupt of one that waited is raised behind it."""
    text, found, _ = python(tmp_path, """
        import os, signal, threading, torch, torch_npu
        x = torch.randn(512, 512).npu()
        torch.npu.synchronize()
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            for _ in range(100_000):
                for _ in range(20):
                    x = (x @ x).clamp(-1, 1)
                torch.npu.synchronize()
        except KeyboardInterrupt:
            print("INTERRUPTED", (torch.ones(2).npu() + 1).sum().item())
        """, timeout=60)
    assert "INTERRUPTED 4.0" in text and not found


def test_torch_npu_has_its_own(tmp_path):
    script = tmp_path / "race.py"
    script.write_text(textwrap.dedent("""
        import sys, torch, torch_npu
        x = torch.ones(100, device="npu")
        other = torch.npu.Stream()
        torch.npu.synchronize()
        with torch.npu.stream(other):
            x.add_(1)
        if sys.argv[1] == "clean":
            torch.npu.current_stream().wait_stream(other)
        x.mul_(2)
        torch.npu.synchronize()
        print("ended")
    """))
    for way in ("wrong", "clean"):
        done = subprocess.run([sys.executable, str(script), way], text=True, capture_output=True, timeout=120, env=environment(TORCH_NPU_SANITIZER=1))
        assert ("data race" in done.stderr) == (way == "wrong"), done.stderr[-3000:]
        assert ("ended" in done.stdout) == (way == "clean")
