"""Loss scales: overflow, growth, accumulation, several losses and optimizers, parameters that come later."""
import warnings

import pytest
import torch
import torch.nn.functional as F

from .nets import Plain, batch, build, sgd, step, train, weights

MESSAGE = "Gradient overflow.  Skipping step, loss scaler %d reducing loss scale to %s\n"


def initialized(device, network=Plain, **options):
    from apex import amp
    model = build(device, network)
    options = {"opt_level": "O2", **options}
    return amp.initialize(model, sgd(model, lr=0.01), **options)


def scale(n=0):
    from apex import amp
    return amp.state_dict()["loss_scaler%d" % n]["loss_scale"]


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_an_overflow_skips_the_step(on, level, capsys):
    from apex import amp
    model, optimizer = initialized(on, opt_level=level, loss_scale="dynamic")
    data = batch(on)
    step(model, optimizer, data, amp.scale_loss)
    before, masters = weights(model), [p.detach().cpu().clone() for p in amp.master_params(optimizer)]
    capsys.readouterr()
    step(model, optimizer, data, amp.scale_loss, factor=1e36)
    assert capsys.readouterr().out == MESSAGE % (0, "32768.0")
    assert all(map(torch.equal, before, weights(model)))
    assert all(map(torch.equal, masters, [p.detach().cpu() for p in amp.master_params(optimizer)]))
    assert amp.state_dict()["loss_scaler0"] == {"loss_scale": 2.0**15, "unskipped": 0}
    step(model, optimizer, data, amp.scale_loss)
    assert capsys.readouterr().out == "" and not all(map(torch.equal, before, weights(model)))
    assert all(torch.isfinite(w).all() for w in weights(model))


def test_quiet(on, capsys):
    from apex import amp
    model, optimizer = initialized(on, verbosity=0)
    step(model, optimizer, batch(on), amp.scale_loss, factor=1e36)
    assert capsys.readouterr().out == "" and scale() == 2.0**15


def test_growth_and_its_limits(on):
    from apex import amp
    model, optimizer = initialized(on, opt_level="O1", min_loss_scale=2.0**15, max_loss_scale=2.0**17)
    amp.load_state_dict({"loss_scaler0": {"loss_scale": 2.0**16, "unskipped": 1998}})
    seen = []
    for factor in (1, 1, 1, 1e36, 1e36, 1e36):
        step(model, optimizer, batch(on), amp.scale_loss, factor)
        seen.append(scale())
    assert seen == [2.0**16, 2.0**17, 2.0**17, 2.0**16, 2.0**15, 2.0**15]
    amp.load_state_dict({"loss_scaler0": {"loss_scale": 2.0**17, "unskipped": 1999}})
    step(model, optimizer, batch(on), amp.scale_loss)
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 2.0**17, "unskipped": 0}}


def test_the_numbers_can_be_chosen(on):
    """Arguments of the Ascend edition."""
    from apex import amp
    model, optimizer = initialized(on, opt_level="O1", dynamic_init_scale=64.0, scale_window=2, scale_growth_factor=4.0,
                                   scale_backoff_factor=0.25)
    seen = []
    for factor in (1, 1, 1e38):
        step(model, optimizer, batch(on), amp.scale_loss, factor)
        seen.append(scale())
    assert seen == [64.0, 256.0, 64.0]


def gradients(device, level, parts, delay, zero=True):
    """Gradients of a batch in parts, as the optimizer sees them."""
    from apex import amp
    model, optimizer = initialized(device, opt_level=level, verbosity=0)
    x, y = batch(device)
    if zero:
        optimizer.zero_grad()
    for i, (a, b) in enumerate(zip(x.chunk(parts), y.chunk(parts))):
        with amp.scale_loss(F.cross_entropy(model(a), b) / parts, optimizer, delay_unscale=delay and i < parts - 1) as loss:
            loss.backward()
    return [p.grad.cpu() for p in amp.master_params(optimizer)]


@pytest.mark.parametrize("delay", [True, False])
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_accumulation(on, level, delay):
    one = gradients(on, level, 1, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # amp.initialize again
        four = gradients(on, level, 4, delay)
    assert {g.dtype for g in four} == {torch.float32}
    for a, b in zip(one, four):
        torch.testing.assert_close(a, b, rtol=0.02, atol=1e-3)


def test_a_step_before_unscaling_is_refused(on):
    from apex import amp
    model, optimizer = initialized(on)
    x, y = batch(on)
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer, delay_unscale=True) as loss:
        loss.backward()
    with pytest.raises(RuntimeError, match="delay_unscale=False"):
        optimizer.step()
    optimizer.zero_grad()
    optimizer.step()


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_a_failing_backward_leaves_gradients_as_they_were(on, level):
    from apex import amp
    model, optimizer = initialized(on, opt_level=level)
    x, y = batch(on)
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer) as loss:
        loss.backward()
    before = [p.grad.cpu().clone() for p in amp.master_params(optimizer)]
    with pytest.raises(KeyError):
        with amp.scale_loss(F.cross_entropy(model(x), y), optimizer) as loss:
            raise KeyError
    assert all(map(torch.equal, before, [p.grad.cpu() for p in amp.master_params(optimizer)]))


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_two_losses_with_scales_of_their_own(on, level, capsys):
    from apex import amp
    model, optimizer = initialized(on, opt_level=level, num_losses=2)
    x, y = batch(on)
    before = weights(model)

    def both(factor):
        optimizer.zero_grad()
        out = model(x)
        with amp.scale_loss(F.cross_entropy(out, y), optimizer, loss_id=0) as loss:
            loss.backward(retain_graph=True)
        with amp.scale_loss(out.float().square().mean() * factor, optimizer, loss_id=1) as loss:
            loss.backward()
        optimizer.step()

    capsys.readouterr()
    both(1e37)
    assert capsys.readouterr().out == MESSAGE % (1, "32768.0") and all(map(torch.equal, before, weights(model)))
    assert (scale(0), scale(1)) == (2.0**16, 2.0**15)
    both(0.1)
    expected = build(on, Plain)
    optimizer = sgd(expected, lr=0.01)
    with amp.disable_casts():
        out = expected(x)
        (F.cross_entropy(out, y) + 0.1 * out.square().mean()).backward()
    optimizer.step()
    for a, b in zip(weights(model), weights(expected)):
        torch.testing.assert_close(a.float(), b, rtol=0.01, atol=1e-3)
    with pytest.raises(RuntimeError, match="num_losses"):
        amp.scale_loss(out.sum(), optimizer, loss_id=2).__enter__()


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_several_models_and_optimizers(on, level, capsys):
    from apex import amp
    first, second = build(on, Plain), torch.nn.Linear(5, 5).to(on)
    optimizers = [sgd(first), torch.optim.Adam(second.parameters(), lr=0.01)]
    models, optimizers = amp.initialize([first, second], optimizers, opt_level=level)
    assert models == [first, second] and len(optimizers) == 2
    x, y = batch(on)

    def run(factor=1.0):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = F.cross_entropy(second(first(x)), y)
        with amp.scale_loss(loss * factor, optimizers) as scaled:
            scaled.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item()

    losses = [run() for _ in range(12)]
    assert losses[-1] < losses[0] / 2, losses
    before = weights(first) + weights(second)
    capsys.readouterr()
    run(1e38)
    assert capsys.readouterr().out == 2 * (MESSAGE % (0, "32768.0"))
    assert all(map(torch.equal, before, weights(first) + weights(second)))


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_a_group_that_comes_later(on, level):
    from apex import amp
    model = build(on, Plain)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.05)
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0)
    data, before = batch(on), weights(model)
    step(model, optimizer, data, amp.scale_loss)
    after = weights(model)
    assert torch.equal(before[0], after[0]) and not torch.equal(before[2], after[2])
    optimizer.add_param_group({"params": model.conv.parameters(), "lr": 0.05})
    assert len(list(amp.master_params(optimizer))) == 4
    model.zero_grad()  # conv's gradient was made by the first backward, and is scaled: it was nobody's
    losses = [step(model, optimizer, data, amp.scale_loss) for _ in range(10)]
    assert not torch.equal(after[0], weights(model)[0]) and losses[-1] < losses[0] / 2


def test_the_models_own_zero_grad(on):
    """It does not reach the masters' gradients, which must not add up for that."""
    from apex import amp
    data = batch(on)

    def run(zero):
        model, optimizer = initialized(on, verbosity=0)
        for _ in range(4):
            loss = F.cross_entropy(model(data[0]), data[1])
            zero(model, optimizer)
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
            optimizer.step()
        return weights(model)

    first = run(lambda m, o: o.zero_grad())
    with pytest.warns(RuntimeWarning, match="called before"):
        second = run(lambda m, o: m.zero_grad())
    assert all(map(torch.equal, first, second))


def test_a_schedule_sees_its_steps(on):
    from apex import amp
    model, optimizer = initialized(on, verbosity=0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for factor in (1e38, 1.0):
            step(model, optimizer, batch(on), amp.scale_loss, factor)
            schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.0025)


def test_clipping_of_master_gradients(on):
    from apex import amp
    model, optimizer = initialized(on)
    x, y = batch(on)
    with amp.scale_loss(F.cross_entropy(model(x), y), optimizer) as loss:
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.01)
    assert 0.01 < norm.item() < 100
    assert torch.stack([p.grad.norm() for p in amp.master_params(optimizer)]).norm().item() == pytest.approx(0.01, rel=1e-3)


def test_sparse_gradients(on):
    from apex import amp
    model = torch.nn.Embedding(10, 4, sparse=True).to(on)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model.weight.detach().clone()
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1", verbosity=0)
    with amp.scale_loss(model(torch.tensor([1, 1, 3], device=on)).sum(), optimizer) as loss:
        loss.backward()
    optimizer.step()
    change = (before - model.weight.detach()).sum(1)
    assert change.tolist() == pytest.approx([0, 8, 0, 4, 0, 0, 0, 0, 0, 0], abs=1e-4)


def test_training_goes_on_after_many_overflows(on):
    from apex import amp
    model, optimizer = initialized(on, dynamic_init_scale=2.0**24, verbosity=0)
    losses = train(model, optimizer, on, amp.scale_loss)
    assert scale() < 2.0**24 and losses[-1] < losses[0]
