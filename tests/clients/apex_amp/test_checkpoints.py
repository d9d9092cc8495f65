"""amp.state_dict, models and optimizers: a resumed run goes on as if nothing had been, and O2's checkpoints are fp32."""
import copy
import pickle
import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from .nets import Net, batch, build, sgd, step, train

LEVELS = ["O0", "O1", "O2", "O3"]


def initialized(device, level, seed=0, **options):
    from apex import amp
    model = build(device)
    if seed:
        torch.manual_seed(seed)
        model = Net().to(device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # amp.initialize again
        return amp.initialize(model, sgd(model), opt_level=level, verbosity=0, **options)


@pytest.mark.parametrize("order", ["before the first step", "after a step"])
@pytest.mark.parametrize("level", LEVELS)
def test_resuming(on, level, order, tmp_path):
    from apex import amp
    model, optimizer = initialized(on, level)
    train(model, optimizer, on, amp.scale_loss, steps=3)
    step(model, optimizer, batch(on), amp.scale_loss, factor=1e38 if level in ("O1", "O2") else 1.0)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "amp": amp.state_dict()}, tmp_path / "saved.pt")
    expected = train(model, optimizer, on, amp.scale_loss, steps=4)
    final = amp.state_dict()

    model, optimizer = initialized(on, level, seed=7)
    if order == "after a step":
        train(model, optimizer, on, amp.scale_loss, steps=1)
    saved = torch.load(tmp_path / "saved.pt", map_location=on)
    optimizer.load_state_dict(saved["optimizer"])
    model.load_state_dict(saved["model"])
    amp.load_state_dict(saved["amp"])
    assert train(model, optimizer, on, amp.scale_loss, steps=4) == expected
    assert amp.state_dict() == final
    if level in ("O1", "O2"):
        assert final == {"loss_scaler0": {"loss_scale": 2.0**15, "unskipped": 4}}


def test_o2_saves_fp32(on):
    from apex import amp
    model, optimizer = initialized(on, "O2")
    assert {v.dtype for v in model.state_dict().values()} == {torch.float32, torch.int64}
    train(model, optimizer, on, amp.scale_loss, steps=3)
    saved = torch.nn.ModuleDict({"module": model}).state_dict()
    assert {v.dtype for v in saved.values()} == {torch.float32, torch.int64}
    masters = list(amp.master_params(optimizer))
    assert all(torch.equal(saved["module." + name], master) for (name, _), master in zip(model.named_parameters(), masters))
    plain = Net().to(on)
    plain.load_state_dict(model.state_dict())  # any network can be filled with it
    torch.testing.assert_close(plain.conv.weight, model.conv.weight.float(), rtol=1e-3, atol=1e-4)


def test_o3_saves_what_it_has(on):
    model, _ = initialized(on, "O3")
    assert model.state_dict()["conv.weight"].dtype == torch.float16


def test_weights_that_change_between_initialize_and_training(on):
    """As by DistributedDataParallel's broadcast: the masters are made at the first use."""
    from apex import amp
    model, optimizer = initialized(on, "O2")
    with torch.no_grad():
        model.head.bias.fill_(0.25)
    assert 0.25 in list(amp.master_params(optimizer))[-1].tolist()


def test_of_another_run(on):
    from apex import amp
    initialized(on, "O1", num_losses=2)
    with pytest.warns(RuntimeWarning, match="1 loss scalers, amp.initialize made 2"):
        amp.load_state_dict({"loss_scaler0": {"loss_scale": 8.0, "unskipped": 3}})
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 8.0, "unskipped": 3},
                                "loss_scaler1": {"loss_scale": 65536.0, "unskipped": 0}}
    with pytest.raises(RuntimeError, match="'model'"):
        amp.load_state_dict({"model": {}})


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_the_model_is_its_own(on, how):
    """As moving averages of weights are made."""
    from apex import amp
    model, optimizer = initialized(on, "O2")
    train(model, optimizer, on, amp.scale_loss, steps=1)
    twin = how(model).eval()
    x = batch(on)[0]
    before = twin(x)
    assert before.dtype == torch.float32 and twin.state_dict()["conv.weight"].dtype == torch.float32
    train(model, optimizer, on, amp.scale_loss, steps=1)
    assert torch.equal(twin(x), before)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_recomputed_activations(on, level, reentrant):
    from apex import amp

    class Recomputing(Net):
        def forward(self, x):
            return self.head(checkpoint(lambda t: self.norm(self.conv(t)).relu(), x, use_reentrant=reentrant).flatten(1))

    def losses(network):
        torch.manual_seed(0)
        model = network().to(on)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model, optimizer = amp.initialize(model, sgd(model), opt_level=level, verbosity=0)
        x, y = batch(on)
        return [step(model, optimizer, (x.requires_grad_(), y), amp.scale_loss) for _ in range(5)]

    assert losses(Recomputing) == pytest.approx(losses(Net), rel=1e-3)
