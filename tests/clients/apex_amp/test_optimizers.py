"""apex.optimizers against torch's, alone and with amp; torch_npu's fused optimizers with amp; LARC; normalization."""
import pickle

import pytest
import torch
import torch.nn.functional as F

from .nets import Plain, batch, build, step, train, weights

PAIRS = {  # ours, torch's, options of both
    "FusedAdam": (torch.optim.AdamW, dict(lr=0.01, weight_decay=0.1), {}),
    "FusedAdam, L2": (torch.optim.Adam, dict(lr=0.01, weight_decay=0.1), dict(adam_w_mode=False)),
    "FusedSGD": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, weight_decay=0.1, nesterov=True), {}),
    "FusedAdagrad": (torch.optim.Adagrad, dict(lr=0.05, weight_decay=0.1), {}),
}


def ours(name):
    import apex.optimizers
    return getattr(apex.optimizers, name.split(",")[0])


def same(model, expected, rtol=1e-5, atol=1e-6):
    for a, b in zip(weights(model), weights(expected)):
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", PAIRS)
def test_it_is_torchs(on, name):
    theirs, options, more = PAIRS[name]
    model, expected = build(on, Plain), build("cpu", Plain)
    train(model, ours(name)(model.parameters(), **options, **more), on, steps=5)
    train(expected, theirs(expected.parameters(), **options), "cpu", steps=5)
    same(model, expected, 1e-3, 1e-4)


class Lamb(torch.optim.Optimizer):
    """The paper's steps, one tensor at a time, with gradients clipped by their global norm first."""

    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self):
        params = [p for g in self.param_groups for p in g["params"]]
        clip = max(torch.stack([p.grad.norm() for p in params]).norm().item(), 1.0)
        for p in params:
            s = self.state[p]
            s["t"] = t = s.get("t", 0) + 1
            g = p.grad / clip
            s["m"] = m = 0.9 * s.get("m", 0.0) + 0.1 * g
            s["v"] = v = 0.999 * s.get("v", 0.0) + 0.001 * g * g
            u = m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-6) + 0.01 * p
            p -= 0.01 * p.norm() / u.norm() * u


def test_lamb(on):
    model, expected = build(on, Plain), build("cpu", Plain)
    train(model, ours("FusedLAMB")(model.parameters(), lr=0.01), on, steps=5)
    train(expected, Lamb(expected.parameters()), "cpu", steps=5)
    same(model, expected, 1e-3, 1e-4)


def test_adam_without_bias_correction(on):
    """Its first step is (1 - beta1) / sqrt(1 - beta2) times a learning rate, where the gradient is not near 0."""
    p = torch.nn.Parameter(torch.ones(3, device=on))
    p.grad = torch.tensor([1.0, -2.0, 30.0], device=on)
    ours("FusedAdam")([p], lr=0.1, bias_correction=False).step()
    size = 0.1 * 0.1 / 0.001**0.5
    assert (p.detach().cpu() - 1).tolist() == pytest.approx([-size, size, -size], rel=1e-4)


def test_weights_in_fp16_have_state_in_fp32(on):
    p, expected = (torch.nn.Parameter(torch.ones(3, device=on, dtype=d)) for d in (torch.float16, torch.float32))
    for q in (p, expected):
        optimizer = ours("FusedAdam")([q], lr=0.1)
        for _ in range(3):
            q.grad = torch.tensor([1.0, -2e-3, 30.0], device=on).to(q.dtype)
            optimizer.step()
    torch.testing.assert_close(p.detach().float(), expected.detach(), rtol=2e-3, atol=2e-3)
    optimizer = ours("FusedAdam")([p])
    p.grad = torch.ones_like(p)
    optimizer.step()
    assert optimizer.state[p]["exp_avg_sq"].dtype == torch.float32


@pytest.mark.parametrize("name, options", [("FusedAdam", dict(amsgrad=True)), ("FusedLAMB", dict(amsgrad=True)),
                                           ("FusedAdam", dict(master_weights=True)),
                                           ("FusedSGD", dict(lr=1, momentum=0.9, weight_decay=0.1, wd_after_momentum=True))])
def test_refused_options(device, name, options):
    with pytest.raises(NotImplementedError, match="is not in Updraft's apex; "):
        ours(name)([torch.nn.Parameter(torch.ones(1))], **options)


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("name", ["FusedAdam", "FusedLAMB", "FusedSGD"])
def test_with_amp(on, name, level):
    from apex import amp
    make = lambda m: ours(name)(m.parameters(), lr=0.01)
    expected = train(*(lambda m: (m, make(m)))(build(on)), on, steps=8)
    model = build(on)
    model, optimizer = amp.initialize(model, make(model), opt_level=level, verbosity=0)
    assert train(model, optimizer, on, amp.scale_loss, steps=8) == pytest.approx(expected, rel=0.02, abs=5e-3)
    saved = optimizer.state_dict()
    assert all(v.dtype == torch.float32 for s in saved["state"].values() for v in s.values() if torch.is_tensor(v))
    optimizer.load_state_dict(pickle.loads(pickle.dumps(saved)))


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("name, theirs, options", [
    ("NpuFusedSGD", torch.optim.SGD, dict(lr=0.05, momentum=0.9)),
    ("NpuFusedAdam", torch.optim.Adam, dict(lr=0.01)),
    ("NpuFusedAdamW", torch.optim.AdamW, dict(lr=0.01)),
])
def test_torch_npus_fused_optimizers(npu, name, theirs, options, level):
    """They keep all gradients in one buffer, so amp changes those in place. As with torch's: also after an overflow."""
    import warnings

    from apex import amp
    results = []
    for make in (ours(name), theirs):
        model = build("npu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model, optimizer = amp.initialize(model, make(model.parameters(), **options), opt_level=level, verbosity=0)
        losses = train(model, optimizer, "npu", amp.scale_loss, steps=4)
        before = weights(model)
        step(model, optimizer, batch("npu"), amp.scale_loss, factor=1e37)
        assert all(map(torch.equal, before, weights(model)))
        x, y = batch("npu")
        optimizer.zero_grad()
        for _ in range(2):  # accumulated without delay_unscale
            with amp.scale_loss(F.cross_entropy(model(x), y) / 2, optimizer) as loss:
                loss.backward()
        optimizer.step()
        results.append(losses + train(model, optimizer, "npu", amp.scale_loss, steps=2))
    assert results[0] == pytest.approx(results[1], rel=5e-3, abs=1e-4)


def test_larc(on):
    """One layer by hand: min(trust * |w| / (|g| + decay * |w|) / lr, 1) scales the decayed gradient."""
    from apex.parallel import LARC
    p, zero = torch.nn.Parameter(torch.full((4,), 2.0, device=on)), torch.nn.Parameter(torch.zeros(2, device=on))
    optimizer = LARC(torch.optim.SGD([p, zero], lr=0.1, weight_decay=0.5))
    p.grad, zero.grad = torch.full((4,), 3.0, device=on), torch.ones(2, device=on)
    optimizer.step()
    rate = 0.02 * 4 / (6 + 0.5 * 4) / 0.1
    assert p.tolist() == pytest.approx([2 - 0.1 * rate * (3 + 0.5 * 2)] * 4, rel=1e-5)
    assert zero.tolist() == pytest.approx([-0.1, -0.1]) and optimizer.param_groups[0]["weight_decay"] == 0.5


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_larc_with_amp(on, level):
    from apex import amp
    from apex.parallel import LARC
    model = build(on)
    optimizer = LARC(torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9))
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0)
    torch.optim.lr_scheduler.StepLR(optimizer, 100)
    losses = train(model, optimizer, on, amp.scale_loss)
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm"])
def test_normalization(on, name, dtype):
    import apex.normalization
    layer = getattr(apex.normalization, name)((5, 16)).to(on)
    g = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.randn(p.shape, generator=g))
    x = torch.randn(3, 5, 16, generator=g).to(dtype)
    mine, theirs = x.clone().to(on).requires_grad_(), x.clone().float().requires_grad_()
    result = layer(mine)
    w, *b = [p.detach().cpu().requires_grad_() for p in layer.parameters()]
    expected = F.layer_norm(theirs, (5, 16), w, *b, 1e-5) if "Layer" in name else F.rms_norm(theirs, (5, 16), w, 1e-5)
    assert result.dtype == (torch.float32 if "Mixed" in name else dtype)
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(result.float().cpu(), expected, rtol=tolerance, atol=tolerance)
    result.float().square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(layer.weight.grad.cpu(), w.grad, rtol=5 * tolerance, atol=50 * tolerance)
    torch.testing.assert_close(mine.grad.float().cpu(), theirs.grad, rtol=5 * tolerance, atol=50 * tolerance)


def test_normalization_without_weights(on):
    from apex.normalization import FusedLayerNorm, FusedRMSNorm, manual_rms_norm
    x = torch.randn(3, 16, device=on)
    torch.testing.assert_close(FusedLayerNorm(16, elementwise_affine=False).to(on)(x), F.layer_norm(x, (16,)))
    plain = FusedRMSNorm(16, elementwise_affine=False).to(on)(x)
    torch.testing.assert_close(plain, F.rms_norm(x, (16,), eps=1e-5))
    torch.testing.assert_close(manual_rms_norm(x, (16,), None, 1e-5), plain)
