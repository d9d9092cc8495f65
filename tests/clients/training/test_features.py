"""What training programs use beside operators: checkpoints, loaders, streams, memory, graphs, random numbers, mistakes."""
import copy
import ctypes
import math

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from updraft import home

from ..subproc import python, start
from .models import GPT
from .tasks import TASKS, build, next_token

# Three steps of a small network in a process of its own, for settings that are read at start.
SMALL_TRAINING = """
    import torch, torch_npu
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 64, 5))
    x, y = torch.randn(16, 3, 8, 8), torch.randint(5, (16,))

    def losses(device):
        import copy
        m = copy.deepcopy(model).to(device)
        optimizer = torch.optim.AdamW(m.parameters(), lr=1e-2)
        result = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(m(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            result.append(loss.item())
        return result

    cpu, npu = losses("cpu"), losses("npu")
    assert all(abs(a - b) <= 1e-4 * abs(a) for a, b in zip(cpu, npu)), (cpu, npu)
    print("TRAINED", npu[-1])
"""


def step(model, optimizer, ids):
    optimizer.zero_grad()
    loss = next_token(model, ids)
    loss.backward()
    optimizer.step()
    return loss.item()


# ── checkpoints and data ──

def test_checkpoint_to_the_cpu_and_back(device, tmp_path):
    task = TASKS["gpt2"]
    ids, = task.draw(torch.Generator().manual_seed(3))

    def resumed(saved, on):
        state = torch.load(saved, map_location=on)
        model = GPT().to(on)
        model.load_state_dict(state["model"])
        optimizer = task.optimizer(model.parameters())
        optimizer.load_state_dict(state["optimizer"])
        return model, optimizer

    def save(model, optimizer, name):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / name)
        return tmp_path / name

    model = build(task).to(device)
    optimizer = task.optimizer(model.parameters())
    first = [step(model, optimizer, ids.to(device)) for _ in range(2)]
    one = save(model, optimizer, "device.pt")
    goes_on = [step(model, optimizer, ids.to(device)) for _ in range(4)]

    model, optimizer = resumed(one, "cpu")
    assert next(model.parameters()).device.type == "cpu"
    on_cpu = [step(model, optimizer, ids) for _ in range(2)]
    model, optimizer = resumed(save(model, optimizer, "cpu.pt"), device)
    back = [step(model, optimizer, ids.to(device)) for _ in range(2)]
    assert on_cpu + back == pytest.approx(goes_on, rel=1e-4)
    assert back[-1] < first[0]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_loader_with_workers_and_pinned_memory(device, method):
    data = TensorDataset(torch.arange(64.0).reshape(32, 2), torch.arange(32))
    if device != "cpu":
        torch.ones(1, device=device)  # the device is in use before the workers start
    pin = {"pin_memory": True, "pin_memory_device": "npu"} if device != "cpu" else {}
    loader = DataLoader(data, batch_size=8, num_workers=2, persistent_workers=True, multiprocessing_context=method, **pin)
    for _ in range(2):
        seen = []
        for x, y in loader:
            assert device == "cpu" or x.is_pinned()
            total = x.to(device, non_blocking=True).sum(1) + y.to(device, non_blocking=True)
            seen += total.cpu().tolist()
        assert seen == [4.0 * n + 1 + n for n in range(32)]


# ── streams, events, memory, graphs ──

def test_streams_and_events(npu):
    a, b = npu.Stream(), npu.Stream()
    started, finished = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    x = torch.randn(256, 256)
    on = x.npu()
    npu.synchronize()
    with npu.stream(a):
        started.record()
        y = on
        for _ in range(5):
            y = y @ on * 0.05
        finished.record()
    with npu.stream(b):
        b.wait_event(finished)
        z = y + 1
        y.record_stream(b)
    b.synchronize()
    assert finished.query() and a.query()
    expected = x
    for _ in range(5):
        expected = expected @ x * 0.05
    torch.testing.assert_close(z.cpu(), expected + 1, rtol=1e-3, atol=1e-3)
    assert 0 <= started.elapsed_time(finished) < 60_000
    b.wait_stream(a)
    npu.current_stream().wait_stream(b)
    npu.synchronize()
    assert npu.current_stream() == npu.default_stream()


def test_memory_statistics(npu):
    npu.empty_cache()
    npu.reset_peak_memory_stats()
    before = npu.memory_allocated()
    x = torch.empty(16 << 20, dtype=torch.uint8, device="npu")
    assert 16 << 20 <= npu.memory_allocated() - before <= (16 << 20) + 1024  # the wheel pads by 32 bytes
    assert npu.memory_reserved() >= npu.memory_allocated()
    del x
    assert npu.memory_allocated() == before
    assert npu.max_memory_allocated() >= before + (16 << 20)
    reserved = npu.memory_reserved()
    npu.empty_cache()
    assert npu.memory_reserved() < reserved
    stats = npu.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and stats["num_ooms"] == 0
    free, total = npu.mem_get_info()
    assert 0 < free <= total
    assert "Ascend" in npu.get_device_name(0) and npu.get_device_properties(0).total_memory > 0
    assert "NPU" in npu.memory_summary() or "Allocated" in npu.memory_summary()


def test_graph_capture_and_replay_of_a_step(npu):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    reference = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    reference.load_state_dict(model.state_dict())
    model = model.npu()
    data = [torch.randn(8, 16) for _ in range(8)]
    x, y = torch.zeros(8, 16, device="npu"), torch.zeros(8, 4, device="npu")

    def run(m, batch, target):
        loss = (m(batch) - target).square().mean()
        loss.backward()
        with torch.no_grad():
            for p in m.parameters():
                p -= 0.1 * p.grad
        return loss

    side = npu.Stream()
    side.wait_stream(npu.current_stream())
    with npu.stream(side):  # warm-up makes the gradients, which the graph then writes in place
        for _ in range(3):
            for p in model.parameters():
                p.grad = None
            run(model, x, y)
    npu.current_stream().wait_stream(side)
    model.load_state_dict(reference.state_dict())
    for p in model.parameters():
        p.grad = None
    graph = npu.NPUGraph()
    with npu.graph(graph):
        loss = run(model, x, y)
    model.load_state_dict(reference.state_dict())  # capturing must not have run anything; loading makes the test independent of it
    for batch in data:
        x.copy_(batch)
        graph.replay()
        for p in reference.parameters():
            p.grad = None
        expected = run(reference, batch, torch.zeros(8, 4))
        assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    for p, q in zip(model.parameters(), reference.parameters()):
        torch.testing.assert_close(p.cpu(), q, rtol=1e-4, atol=1e-5)
    graph.reset()


def test_capturing_does_not_execute_and_random_numbers_advance(npu):
    x = torch.ones(1000, device="npu")
    total = torch.zeros(1, device="npu")
    torch.nn.functional.dropout(x)
    npu.synchronize()
    graph = npu.NPUGraph()
    with npu.graph(graph):
        total += 1
        y = torch.nn.functional.dropout(x)
    npu.synchronize()
    assert total.item() == 0
    graph.replay()
    first = y.cpu().clone()
    graph.replay()
    assert total.item() == 2 and not torch.equal(first, y.cpu())


# ── random numbers ──

def test_seeds_reproduce(npu):
    def draw():
        x = torch.ones(1000, device="npu")
        return [t.cpu() for t in (torch.rand(100, device="npu"), torch.randn(100, device="npu"), torch.randint(1000, (100,), device="npu"),
                                  torch.nn.functional.dropout(x, 0.5), torch.bernoulli(x * 0.5), torch.randperm(50, device="npu"))]

    npu.manual_seed(7)
    first, second = draw(), draw()
    npu.manual_seed(7)
    again = draw()
    assert all(torch.equal(a, b) for a, b in zip(first, again))
    assert not any(torch.equal(a, b) for a, b in zip(first, second))
    state = npu.get_rng_state()
    after = draw()
    npu.set_rng_state(state)
    assert all(torch.equal(a, b) for a, b in zip(after, draw()))
    own = lambda: torch.rand(10, device="npu", generator=torch.Generator("npu").manual_seed(5)).cpu()
    assert torch.equal(own(), own())


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_statistics(device, p):
    torch.manual_seed(3)
    n = 200_000
    x = torch.ones(n, device=device, requires_grad=True)
    y = torch.nn.functional.dropout(x, p)
    y.sum().backward()
    kept = (y.detach() != 0).cpu()
    assert abs(kept.double().mean().item() - (1 - p)) < 6 * math.sqrt(p * (1 - p) / n)
    assert torch.allclose(y.detach().cpu()[kept], torch.tensor(1 / (1 - p)))
    assert torch.equal(x.grad.cpu(), y.detach().cpu()), "backward used another mask"
    # neighbours are independent
    pairs = (kept[:-1] & kept[1:]).double().mean().item()
    assert abs(pairs - (1 - p) ** 2) < 8 / math.sqrt(n)


# ── settings that are read at start ──

def test_expandable_segments(npu):
    assert "TRAINED" in python(SMALL_TRAINING, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


@pytest.mark.parametrize("soc", ["Ascend910B2", "Ascend950PR_9589"])
def test_soc_profiles(npu, soc):
    text = python(SMALL_TRAINING + "\n    print('NAME', torch.npu.get_device_name(0))\n", UPDRAFT_SOC=soc)
    assert "TRAINED" in text and f"NAME {soc}" in text, text


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_task_queues(npu, queue):
    assert "TRAINED" in python(SMALL_TRAINING, TASK_QUEUE_ENABLE=queue)


def test_two_processes_on_one_device(npu):
    both = [start(SMALL_TRAINING) for _ in range(2)]
    try:
        texts = [p.communicate(timeout=90)[0] for p in both]
    finally:
        for p in both:
            p.kill()
    assert all("TRAINED" in t for t in texts), texts
    assert [p.returncode for p in both] == [0, 0]


# ── mistakes ──

def test_out_of_memory_is_recoverable(npu):
    text = python("""
        import torch, torch_npu
        kept = torch.ones(1000, device="npu")
        for _ in range(3):
            try:
                hoard = [torch.empty(32 << 20, dtype=torch.uint8, device="npu") for _ in range(20)]
                raise SystemExit("640 MiB fit into 256")
            except torch.OutOfMemoryError as error:
                print("CAUGHT", str(error).splitlines()[0])
            hoard = None
            torch.npu.empty_cache()
            print("GOES ON", (kept + 1).sum().item(), torch.empty(128 << 20, dtype=torch.uint8, device="npu").numel())
    """, UPDRAFT_MEMORY="256M")
    assert text.count("CAUGHT") == 3 and text.count("GOES ON 2000.0 134217728") == 3, text


@pytest.mark.parametrize("mistake", ["torch.nn.functional.embedding(bad, table)", "table[bad]", "torch.nn.functional.cross_entropy(table, bad[:5])"])
def test_an_index_out_of_range_is_an_error_not_a_crash(npu, mistake):
    text = python(f"""
        import os, torch, torch_npu
        table = torch.randn(5, 3).npu()
        bad = torch.tensor([0, 1, 7, 2, 1, 99999]).npu()
        torch.npu.synchronize()
        try:
            y = {mistake}
            torch.npu.synchronize()
            y.cpu()
            print("NOTHING")
        except RuntimeError as error:
            print("RAISED", str(error)[:300])
        os._exit(0)
    """)
    assert "RAISED" in text and "NOTHING" not in text, text


def test_ctrl_c_while_synchronizing(npu):
    text = python("""
        import os, signal, threading, torch, torch_npu
        x = torch.randn(1024, 1024).npu()
        torch.npu.synchronize()
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            for _ in range(10_000):
                for _ in range(20):
                    x = (x @ x).clamp(-1, 1)
                torch.npu.synchronize()
            print("ENDED")
        except KeyboardInterrupt:
            print("INTERRUPTED")
        print("STILL", (torch.ones(2).npu() + 1).sum().item())
    """)
    assert "INTERRUPTED" in text and "STILL 4.0" in text, text


# ── the rest of the wheel ──

# torch.compile. dynamic=False compiles anew for each shape, dynamic=True makes one graph for all.

COMPILED = ["eager", "aot_eager", "npugraphs", "npugraph_ex"]


def product(x, w):
    return torch.nn.functional.gelu(x @ w).softmax(-1).sum(0)


def compiled(backend, function=product, **options):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    return torch.compile(function, backend=backend, fullgraph=True, **options)


def graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def compare(function, rows, backward):
    """One call on the device against the same in float64 on the CPU: the result and both gradients."""
    x, w, out = torch.randn(rows, 8), torch.randn(8, 8), torch.randn(8)

    def run(on, call):
        inputs = [t.to(**on).requires_grad_(backward) for t in (x, w)]
        y = call(*inputs)
        if backward:
            y.backward(out.to(**on))
        return [y.detach()] + [t.grad for t in inputs if backward]

    expected = run({"dtype": torch.float64}, product)
    for ours, right in zip(run({"device": "npu"}, function), expected, strict=True):
        torch.testing.assert_close(ours.cpu().double(), right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", COMPILED)
def test_compile_for_each_shape(npu, backend):
    function = compiled(backend, dynamic=False)
    for rows, made in (4, 1), (4, 1), (6, 2), (4, 2):
        compare(function, rows, backward=True)
        assert graphs() == made


@pytest.mark.parametrize("backend, backward", [("eager", True), ("aot_eager", True), ("npugraph_ex", False)])
def test_compile_of_dynamic_shapes(npu, backend, backward):
    function = compiled(backend, dynamic=True)
    for rows in 4, 6, 9, 4:
        compare(function, rows, backward)
    assert graphs() == 1


def test_kernels_of_fixed_sizes_are_not_compiled(npu, tmp_path, monkeypatch):
    """The option makes a card's compiler build kernels of what it is told; nothing is told here, and the results are those without it."""
    monkeypatch.chdir(tmp_path)
    function = compiled("npugraph_ex", dynamic=False, options={"static_kernel_compile": True})
    with pytest.warns(UserWarning, match="static kernel compilation"):
        compare(function, 4, backward=False)
    assert not list(tmp_path.rglob("*.json"))
    acl = ctypes.CDLL(f"{home()}/lib64/libascendcl.so")
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    assert acl.aclopStartDumpArgs(1, str(tmp_path).encode()) == acl.aclopStopDumpArgs(1) == 200001
    assert b"static_kernel_compile changes no result" in acl.aclGetRecentErrMsg()


@pytest.mark.parametrize("backend, backward, works, fails, text", [
    # takes the gradient of a symbolic size, None, for a lost tensor
    ("npugraph_ex", True, [4], 6, r"Unsupported input type\[<class 'NoneType'>\] when reconstructing tensor"),
    # has one graph for all sizes and copies the inputs of the second call's size into it (the first call only warms up)
    ("npugraphs", False, [4, 6], 9, r"aclnnInplaceCopy: FLOAT\[9,8\] cannot be broadcast to \[6,8\]"),
])
def test_dynamic_shapes_that_torch_npu_itself_does_not_take(npu, backend, backward, works, fails, text):
    """The Python of torch_npu 2.13 is at fault, before any call that a card would see: no wrong values, though."""
    function = compiled(backend, dynamic=True)
    for rows in works:
        compare(function, rows, backward)
    with pytest.raises(RuntimeError, match=text):
        compare(function, fails, backward)


@pytest.mark.parametrize("backend", COMPILED)
def test_compiled_training(npu, backend):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
    x, y = torch.randn(12, 8), torch.randint(4, (12,))

    def losses(model, call, device):
        optimizer, result = torch.optim.AdamW(model.parameters(), lr=1e-2), []
        for _ in range(6):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(call(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            result.append(loss.item())
        return result

    on = copy.deepcopy(model).npu()
    ours, right = losses(on, compiled(backend, on, dynamic=False), "npu"), losses(model, model, "cpu")
    assert ours == pytest.approx(right, rel=1e-4) and right[-1] < right[0] - 0.1
    assert graphs() == 1
    for p, q in zip(on.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(p.cpu(), q, rtol=1e-3, atol=1e-4)


def test_compile_by_default_is_refused_and_eager_goes_on(npu):
    """inductor makes kernels by Triton for the NPU, which is not here; torch_npu says so at the first use."""
    x = torch.randn(8)
    with pytest.warns(UserWarning, match="triton-ascend is not installed"), \
            pytest.raises(RuntimeError) as refused:
        torch.compile(lambda v: (v * 2 + 1).relu())(x.npu())
    assert type(refused.value).__name__ == "InductorError" and "Device npu not supported" in str(refused.value)
    assert torch.equal((x.npu() + 1).cpu(), x + 1)


def test_torchair_loads_without_its_python(npu):
    """TorchAir's core without its Python, so that no protobuf is needed. What it compiles: tests/graph/test_torchair.py."""
    text = python("""
        import importlib.util, pathlib, torch, torch_npu
        path = pathlib.Path(torch_npu.__file__).parent / "dynamo/torchair/core/_torchair.so"
        spec = importlib.util.spec_from_file_location("_torchair", path)
        core = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(core)
        try:
            core.InitializeGraphEngine({"ge.exec.deviceId": "0", "ge.exec.precision_mode": "words"})
        except RuntimeError as error:
            print("REFUSES", str(error).replace("\\n", " "))
        print("EAGER", (torch.ones(2).npu() + 1).sum().item())
    """, timeout=110)
    assert "REFUSES Failed to initialize GE" in text and "EAGER 4.0" in text, text
    assert "precision_mode is words, want one of force_fp16" in text, text


def test_profiler_import_and_use(npu, tmp_path):
    text = python(f"""
        import torch, torch_npu
        from torch_npu import profiler
        x = torch.randn(32, 32).npu()
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
                              schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
                              on_trace_ready=profiler.tensorboard_trace_handler({str(tmp_path)!r})) as p:
            for _ in range(3):
                x = (x @ x).tanh()
                p.step()
        print("RESULT", torch.isfinite(x).all().item())
    """, timeout=110)
    assert "RESULT True" in text, text


def test_a_cuda_script_on_npu(npu):
    text = python("""
        import torch, torch_npu
        from torch_npu.contrib import transfer_to_npu
        assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
        device = torch.device("cuda:0")
        model = torch.nn.Linear(4, 2).cuda()
        scaler = torch.cuda.amp.GradScaler()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.cuda.amp.autocast():
            loss = model(torch.randn(8, 4, device="cuda")).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
        print("DEVICE", model.weight.device, torch.cuda.get_device_name(0), torch.cuda.memory_allocated() > 0)
    """)
    assert "DEVICE npu:0 Ascend" in text and "True" in text, text


def test_import_leaves_no_warning(npu):
    text = python("import torch, torch_npu; x = torch.ones(2).npu(); print((x + x).cpu().tolist())", PYTHONWARNINGS="default")
    # torch_npu says this on real 910B2 cards with CANN 9.1, too: it is about its own padding
    lines = [line for line in text.splitlines() if line.strip() and "require processing for 32 padding size" not in line]
    assert lines == ["[2.0, 2.0]"], text
