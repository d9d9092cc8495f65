"""Mixed precision: autocast with and without loss scaling, overflow in both modes, gradient accumulation."""
import pytest
import torch

from ..subproc import python
from .tasks import TASKS, build, train

STEPS = 8
STATIC = dict(growth_interval=10**9, backoff_factor=1.0 - 1e-9, growth_factor=1.0 + 1e-9)


def amp_train(name, device, dtype, scaler=None, accumulate=1, steps=STEPS):
    """Losses of training under autocast, on the same batches as tasks.train."""
    task = TASKS[name]
    model = build(task).to(device)
    optimizer = task.optimizer(model.parameters())
    g = torch.Generator().manual_seed(2)
    batches = [task.draw(g) for _ in range(4)]
    losses = []
    for step in range(steps):
        batch = [x.to(device) for x in batches[step % 4]]
        optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for part in zip(*[x.chunk(accumulate) for x in batch]):
            with torch.autocast(torch.device(device).type, dtype=dtype, enabled=dtype is not None):
                loss = task.loss(model, *part) / accumulate
            (scaler.scale(loss) if scaler else loss).backward()
            total += loss.item()
        if scaler:
            scaler.unscale_(optimizer)
        if task.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), task.clip)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        losses.append(total)
    return losses


def near(losses, reference, relative):
    assert losses == pytest.approx(reference, rel=relative), f"\n{losses}\n{reference}"


@pytest.mark.parametrize("name", ["resnet18", "gpt2"])
def test_fp16_with_dynamic_scale(device, name):
    scaler = torch.amp.GradScaler(torch.device(device).type, init_scale=1024.0, growth_interval=4)
    near(amp_train(name, device, torch.float16, scaler), train(TASKS[name], "cpu", STEPS), 0.02)
    assert scaler.get_scale() == 1024.0 * 2 ** (STEPS // 4)


@pytest.mark.parametrize("name", ["resnet18", "gpt2"])
def test_fp16_with_static_scale(device, name):
    scaler = torch.amp.GradScaler(torch.device(device).type, init_scale=512.0, **STATIC)
    near(amp_train(name, device, torch.float16, scaler), train(TASKS[name], "cpu", STEPS), 0.02)
    assert scaler.get_scale() == 512.0


@pytest.mark.parametrize("dynamic", [True, False])
def test_the_wheels_own_scaler(npu, dynamic):
    scaler = npu.amp.GradScaler(init_scale=256.0, dynamic=dynamic, growth_interval=1000)
    near(amp_train("gpt2", "npu", torch.float16, scaler), train(TASKS["gpt2"], "cpu", STEPS), 0.02)
    assert scaler.get_scale() == 256.0


@pytest.mark.parametrize("name", ["resnet18", "gpt2", "vit", "unet"])
def test_bf16(device, name):
    """Against PyTorch's own autocast: what bfloat16 costs is in both."""
    near(amp_train(name, device, torch.bfloat16), amp_train(name, "cpu", torch.bfloat16), 0.02)


def first_gradients(name, device, dtype):
    """{parameter: gradient} of the first batch's loss; dtype None: in double precision."""
    task = TASKS[name]
    model = build(task).to(device, torch.float64 if dtype is None else None)
    batch = [x.to(device, torch.float64 if dtype is None and x.is_floating_point() else None) for x in task.draw(torch.Generator().manual_seed(2))]
    with torch.autocast(torch.device(device).type, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
        loss = task.loss(model, *batch)
    loss.backward()
    return {name: p.grad.double().cpu() for name, p in model.named_parameters() if p.grad is not None}


# PyTorch's CPU convolutions in float16 take minutes.
@pytest.mark.parametrize("name,dtype", [("resnet18", torch.bfloat16), ("unet", torch.bfloat16), ("gpt2", torch.bfloat16), ("vit", torch.bfloat16),
                                        ("gpt2", torch.float16), ("vit", torch.float16)], ids=str)
def test_gradients_of_every_layer(device, name, dtype):
    """A wrong gradient of one layer hardly moves a loss. Each is at most three times as far from float64's as PyTorch's own, or
    as near as a few roundings of its size."""
    exact, theirs, ours = (first_gradients(name, *how) for how in (("cpu", None), ("cpu", dtype), (device, dtype)))
    assert set(exact) == set(theirs) == set(ours)
    far = {}
    for parameter, x in exact.items():
        error, allowed = (ours[parameter] - x).norm().item(), 3 * (theirs[parameter] - x).norm().item()
        if error > max(allowed, 4 * torch.finfo(dtype).eps * x.norm().item()):
            far[parameter] = f"{error / x.norm().item():.3g} of its size, allowed {allowed / x.norm().item():.3g}"
    assert not far, "\n".join(f"{k}: {v}" for k, v in far.items())


def test_an_overflow_skips_the_step(device):
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 8).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(torch.device(device).type, init_scale=2.0**15)
    x = torch.randn(4, 8).to(device)
    before = model.weight.detach().cpu().clone()

    def step(factor):
        optimizer.zero_grad()
        with torch.autocast(torch.device(device).type, dtype=torch.float16):
            loss = model(x).float().square().mean() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return model.weight.detach().cpu().clone()

    assert torch.equal(step(1e30), before), "a step with infinite gradients was taken"
    assert scaler.get_scale() == 2.0**14
    after = step(1e-2)
    assert not torch.equal(after, before) and torch.isfinite(after).all()
    assert scaler.get_scale() == 2.0**14


def test_gradient_accumulation(device):
    near(amp_train("gpt2", device, None, accumulate=2), train(TASKS["gpt2"], "cpu", STEPS), 1e-3)
    scaler = torch.amp.GradScaler(torch.device(device).type, init_scale=1024.0)
    near(amp_train("gpt2", device, torch.float16, scaler, accumulate=4), train(TASKS["gpt2"], "cpu", STEPS), 0.02)


def test_saturation_mode(npu):
    """INF_NAN_MODE_FORCE_DISABLE: fp16 saturates, and the scaler learns of an overflow from the status flag alone."""
    text = python("""
        import torch, torch_npu
        x = torch.full((4,), 60000.0, dtype=torch.float16).npu()
        print("SUM", (x + x).float().cpu().tolist())
        scaler = torch.npu.amp.GradScaler(init_scale=2.0 ** 10)
        model = torch.nn.Linear(4, 4).npu()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = torch.randn(2, 4).npu()
        torch.npu.clear_npu_overflow_flag()

        def step(factor):
            before = model.weight.detach().cpu().clone()
            optimizer.zero_grad()
            with torch.npu.amp.autocast(dtype=torch.float16):
                y = model(data)
                loss = (y * factor).float().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return torch.equal(before, model.weight.detach().cpu())

        print("SKIPPED", step(60000.0), scaler.get_scale())
        print("TAKEN", step(0.01), scaler.get_scale())
    """, INF_NAN_MODE_FORCE_DISABLE="1")
    assert "SUM [65504.0, 65504.0, 65504.0, 65504.0]" in text, text
    assert "SKIPPED True 512.0" in text and "TAKEN False 512.0" in text, text


def test_infinities_outside_saturation_mode(npu):
    x = torch.full((4,), 60000.0, dtype=torch.float16).npu()
    assert torch.isinf((x + x).cpu()).all()
