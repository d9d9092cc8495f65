"""Training with each opt_level: it agrees with fp32, and each layer has the types that the level promises."""
import pytest
import torch
import torch.nn.functional as F

from .nets import STEPS, Plain, build, sgd, step, train, batch

FP16, FP32 = torch.float16, torch.float32
SCALES = ["dynamic", 128.0, "512"]


def initialized(device, network=None, **options):
    from apex import amp
    model = build(device, network) if network else build(device)
    return amp.initialize(model, sgd(model), verbosity=0, **options)


def reference(device):
    model = build(device)
    return train(model, sgd(model), device)


def types(model, device):
    """{layer: types of input, output, weight} in one forward."""
    seen, hooks = {}, []
    for name, layer in model.named_children():
        def hook(layer, inputs, output, name=name):
            seen[name] = (inputs[0].dtype, output.dtype, layer.weight.dtype)
        hooks.append(layer.register_forward_hook(hook))
    output = model(batch(device)[0])
    for hook in hooks:
        hook.remove()
    return seen, output


def test_it_is_ours(device):
    import apex
    assert apex.__version__.endswith("updraft"), apex.__file__


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_losses_agree_with_fp32(on, level, scale):
    from apex import amp
    model, optimizer = initialized(on, opt_level=level, loss_scale=scale)
    losses = train(model, optimizer, on, amp.scale_loss)
    expected = reference_without_amp(on)
    assert losses == pytest.approx(expected, rel=0.02, abs=2e-3)
    assert losses[-1] < losses[0] / 4
    saved = amp.state_dict()["loss_scaler0"]
    assert saved == ({"loss_scale": 2.0**16, "unskipped": STEPS} if scale == "dynamic" else {"loss_scale": float(scale), "unskipped": 0})


def reference_without_amp(device):
    """The same in fp32, although O1 is on in this process."""
    from apex import amp
    with amp.disable_casts():
        return reference(device)


def test_o0_is_fp32_training(on):
    from apex import amp
    expected = reference(on)
    model, optimizer = initialized(on, opt_level="O0")
    assert train(model, optimizer, on, amp.scale_loss) == expected
    assert {p.dtype for p in model.parameters()} == {FP32}


def test_o3_trains(on):
    from apex import amp
    expected = reference(on)
    model, optimizer = initialized(on, opt_level="O3")
    losses = train(model, optimizer, on, amp.scale_loss)
    assert losses == pytest.approx(expected, rel=0.1, abs=2e-2)
    assert {p.dtype for p in model.parameters()} == {FP16}
    assert all(p.dtype == FP16 for g in optimizer.param_groups for p in g["params"])


def test_types_of_layers_in_o1(on):
    model, optimizer = initialized(on, opt_level="O1")
    seen, output = types(model, on)
    assert seen == {"conv": (FP32, FP16, FP32), "norm": (FP16, FP32, FP32), "head": (FP32, FP16, FP32)}
    assert F.softmax(output, 1).dtype == output.softmax(1).dtype == torch.softmax(output, 1).dtype == FP32
    assert F.layer_norm(output, output.shape[1:]).dtype == FP32
    assert F.cross_entropy(output, batch(on)[1]).dtype == FP32
    assert (output @ output.t()).dtype == torch.bmm(output[None].float(), output[None].float().mT).dtype == FP16
    assert (output ** 2).dtype == output.exp().dtype == output.sum().dtype == output.std().dtype == FP32
    assert (output + output.float()).dtype == FP32 and F.relu(output).dtype == FP16
    if on == "cpu":  # an NPU has no double
        assert output.double().sum().dtype == F.softmax(output.double(), 1).dtype == torch.float64


def test_types_of_layers_in_o2(on):
    from apex import amp
    model, optimizer = initialized(on, opt_level="O2")
    seen, output = types(model, on)
    assert seen == {"conv": (FP16, FP16, FP16), "norm": (FP16, FP16, FP32), "head": (FP16, FP16, FP16)}
    assert output.dtype == FP32 and model.norm.running_mean.dtype == FP32
    train(model, optimizer, on, amp.scale_loss, steps=2)
    masters = list(amp.master_params(optimizer))
    assert {p.dtype for p in masters} == {FP32} and masters == [p for g in optimizer.param_groups for p in g["params"]]
    assert {optimizer.state[p]["momentum_buffer"].dtype for p in masters} == {FP32}
    for param, master in zip(model.parameters(), masters):
        assert torch.equal(param.detach(), master.detach().to(param.dtype))
        assert (param is master) == (param.dtype == FP32), "batch norm's parameters are their own masters"


def test_overrides(on):
    model, _ = initialized(on, opt_level="O3", keep_batchnorm_fp32="True")
    assert model.norm.weight.dtype == FP32 and model.conv.weight.dtype == FP16


def test_another_type_of_weights(on):
    from apex import amp
    expected = reference(on)
    model, optimizer = initialized(on, opt_level="O2", cast_model_type=torch.bfloat16, cast_model_outputs=torch.float16, loss_scale=1)
    assert model.conv.weight.dtype == torch.bfloat16 and model(batch(on)[0]).dtype == torch.float16
    assert train(model, optimizer, on, amp.scale_loss) == pytest.approx(expected, rel=0.1, abs=2e-2)


@pytest.mark.parametrize("scale", ["dynamic", 512.0])
def test_o1_is_torch_amp_where_both_cast_alike(on, scale):
    """No batch norm: bit for bit what autocast and GradScaler give."""
    from apex import amp
    torch_model = build(on, Plain)
    torch_optimizer = sgd(torch_model)
    scaler = torch.amp.GradScaler(on, init_scale=2.0**16 if scale == "dynamic" else scale, growth_interval=2000)
    expected, data = [], batch(on)
    for _ in range(STEPS):
        torch_optimizer.zero_grad()
        with torch.autocast(on, torch.float16):
            loss = F.cross_entropy(torch_model(data[0]), data[1])
        scaler.scale(loss).backward()
        scaler.step(torch_optimizer)
        scaler.update()
        expected.append(loss.item())
    model, optimizer = initialized(on, Plain, opt_level="O1", loss_scale=scale)
    assert [step(model, optimizer, data, amp.scale_loss) for _ in range(STEPS)] == expected
    for ours, theirs in zip(model.parameters(), torch_model.parameters()):
        assert torch.equal(ours, theirs)


def test_not_enabled(on):
    from apex import amp
    expected = reference(on)
    model, optimizer = initialized(on, opt_level="O2", enabled=False)
    assert train(model, optimizer, on, amp.scale_loss) == expected


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_layers(on, layer):
    from apex import amp
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), layer(6, 8)).to(on)
    x = torch.randn(5, 3, 4).to(on)
    expected = model(x)[0].detach()
    model, optimizer = amp.initialize(model, sgd(model), opt_level="O1", verbosity=0)
    result = model(x)[0]
    torch.testing.assert_close(result.detach(), expected, rtol=0.01, atol=0.01)
    with amp.scale_loss(result.square().mean(), optimizer) as loss:
        loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())
