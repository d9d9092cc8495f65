"""What amp.initialize takes and refuses, user's functions under O1, and what is not there."""
import collections
import dataclasses
import os

import pytest
import torch
import torch.nn.functional as F

from ..subproc import python
from .nets import Net, Plain, batch, build, sgd, step

FP16, FP32 = torch.float16, torch.float32


def test_forms_of_arguments(on):
    from apex import amp
    model, optimizer = build(on), None
    assert amp.initialize(model, verbosity=0) is model
    with pytest.warns(RuntimeWarning, match="called before"):
        assert amp.initialize([model], verbosity=0) == [model]
    optimizer = sgd(model)
    with pytest.warns(RuntimeWarning):
        assert amp.initialize(model, [optimizer], verbosity=0) == (model, [optimizer])


def test_what_was_chosen_is_printed(on, capsys):
    from apex import amp
    model = build(on)
    amp.initialize(model, sgd(model), opt_level="O2", loss_scale=128.0)
    printed = capsys.readouterr().out
    assert "Selected optimization level O2" in printed and "keep_batchnorm_fp32    : True" in printed
    assert "loss_scale             : 128.0" in printed
    assert amp._amp_state.loss_scalers[0].loss_scale() == 128.0


@pytest.mark.parametrize("options, message", [
    (dict(opt_level="02"), "the letter O"),
    (dict(opt_level="O1", loss_scale="big"), "loss_scale is 'big'"),
    (dict(opt_level="O1", loss_scale=0), "loss_scale is 0"),
    (dict(opt_level="O1", cast_model_type=FP16), "O2 or O3"),
    (dict(opt_level="O1", keep_batchnorm_fp32=True), "belongs to opt_level O2"),
    (dict(opt_level="O2", keep_batchnorm_fp32="yes"), "keep_batchnorm_fp32 is 'yes'"),
    (dict(opt_level="O2", cast_model_type=torch.int8), "cast_model_type is torch.int8"),
    (dict(opt_level="O2", combine_ddp=True), "DistributedDataParallel instead"),
])
def test_refused_options(device, options, message):
    from apex import amp
    model = build("cpu")
    with pytest.raises((RuntimeError, ValueError, NotImplementedError), match=message):
        amp.initialize(model, sgd(model), verbosity=0, **options)


def test_refused_models_and_optimizers(device):
    from apex import amp
    with pytest.raises(RuntimeError, match="conv.weight is torch.float16"):
        amp.initialize(build("cpu").half(), verbosity=0)
    with pytest.raises(RuntimeError, match="wrap the model that it returns"):
        amp.initialize(torch.nn.DataParallel(build("cpu")), verbosity=0)
    with pytest.raises(TypeError, match="models is OrderedDict"):
        amp.initialize(collections.OrderedDict(), verbosity=0)
    model = build("cpu")
    with pytest.raises(RuntimeError, match="before amp.initialize"):
        amp.scale_loss(torch.zeros(()), sgd(model)).__enter__()
    model, optimizer = amp.initialize(model, sgd(model), opt_level="O1", verbosity=0)
    with pytest.raises(RuntimeError, match="did not go through amp.initialize"):
        amp.scale_loss(torch.zeros(()), sgd(model)).__enter__()
    with pytest.raises(RuntimeError, match="closures"):
        optimizer.step(lambda: 0)
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match="make a new one"):
        amp.initialize(model, optimizer, opt_level="O1", verbosity=0)


def test_masters_on_another_device_are_told(npu):
    from apex import amp
    model = build("cpu")
    model, optimizer = amp.initialize(model, sgd(model), opt_level="O2", verbosity=0)
    optimizer.zero_grad()
    model.to("npu")
    with pytest.raises(RuntimeError, match="move the model to its device before amp.initialize"):
        step(model, optimizer, batch("npu"), amp.scale_loss)


def test_o1_ends_with_another_level(on):
    from apex import amp
    before = F.batch_norm, torch.Tensor.pow, F.softmax, torch.nn.LSTM.forward, "std" in vars(torch.Tensor)
    x = torch.ones(2, 2, device=on)
    amp.initialize(build(on), opt_level="O1", verbosity=0)
    assert (x @ x).dtype == FP16
    with amp.disable_casts():
        assert (x @ x).dtype == FP32 and F.softmax(x.half(), 0).dtype == FP16
    assert (x @ x).dtype == FP16
    with torch.autocast(on, enabled=False):
        assert (x @ x).dtype == FP32
    with pytest.warns(RuntimeWarning):
        amp.initialize(build(on), opt_level="O0", verbosity=0)
    assert (x @ x).dtype == FP32
    assert before == (F.batch_norm, torch.Tensor.pow, F.softmax, torch.nn.LSTM.forward, "std" in vars(torch.Tensor))


def test_weights_changed_outside_a_step_are_seen(on):
    """Casts of weights are not kept: this autocast has no end at which they would be dropped."""
    from apex import amp
    model = amp.initialize(build(on, Plain), opt_level="O1", verbosity=0)
    x = torch.ones(1, 3, 8, 8, device=on)
    first = model(x)
    with torch.no_grad():
        model.head.bias.add_(1.0)
        model.head.weight.zero_()
    assert not torch.equal(model(x), first)


def test_functions_of_the_user(on):
    from apex import amp

    @amp.half_function
    def half(a, b=None):
        return a.dtype, None if b is None else b.dtype

    @amp.float_function
    def full(a):
        return a.dtype

    @amp.promote_function
    def widest(values):
        return [v.dtype for v in values]

    h, f, n = torch.ones(2, device=on, dtype=FP16), torch.ones(2, device=on), torch.ones(2, device=on, dtype=torch.int32)
    assert half(f, b=f) == (FP32, FP32), "nothing is cast before amp.initialize"

    class Owner:
        scale = staticmethod(lambda a: a.dtype)

    amp.register_half_function(torch, "softmax")
    amp.register_float_function(Owner, "scale")
    with pytest.raises(ValueError, match="torch has no function sofmax"):
        amp.register_half_function(torch, "sofmax")
    amp.initialize(build(on), opt_level="O1", verbosity=0)
    assert half(f, b=n) == (FP16, torch.int32) and full(h) == FP32 and widest([h, f, n]) == [FP32, FP32, torch.int32]
    assert widest([h, h]) == [FP16, FP16]
    assert torch.softmax(f, 0).dtype == FP16, "the user's choice goes before the list"
    assert Owner.scale(h) == Owner().scale(h) == FP32
    amp.register_half_function(torch, "square")
    assert torch.square(f).dtype == FP16


def scripted(x: torch.Tensor):
    return torch.softmax(x, 1) + F.layer_norm(x, [2]) + x.softmax(1) + torch.pow(x, 2.0) + x.sum()


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_scripts_still_compile(on, level):
    from apex import amp
    amp.initialize(build(on), opt_level=level, verbosity=0)
    network = torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Softmax(1)).to(on))
    assert network(batch(on)[0]).shape == (16, 4, 6, 6)
    x = torch.ones(2, 2, device=on)
    assert torch.jit.script(scripted)(x).tolist() == [[6.0, 6.0], [6.0, 6.0]]


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Record:
    x: object
    name: str


def test_nested_inputs_and_outputs(on):
    from apex import amp

    class Model(torch.nn.Module):
        def forward(self, *args, **kwargs):
            self.seen = args, kwargs
            return collections.OrderedDict(a=args[0], p=Point(args[0], 3), r=Record(args[0], "n"))

    model = amp.initialize(Model().to(on), opt_level="O3", verbosity=0)
    f, ids = torch.ones(2, device=on), torch.ones(2, device=on, dtype=torch.int64)
    result = model(f, ids, [f, (f, "text")], mapping={"k": f, "none": None}, point=Point(f, ids), record=Record(f, "n"))
    (a, b, c), k = model.seen
    assert a.dtype == c[0].dtype == c[1][0].dtype == k["mapping"]["k"].dtype == k["point"].x.dtype == k["record"].x.dtype == FP16
    assert b is ids and c[1][1] == "text" and isinstance(k["point"], Point) and k["record"].name == "n"
    assert type(result) is collections.OrderedDict and result["a"].dtype == result["p"].x.dtype == result["r"].x.dtype == FP32
    assert f.dtype == FP32


def test_the_first_interface_says_what_to_use(on):
    from apex import amp
    handle = amp.init()
    x = torch.ones(2, 2, device=on)
    assert handle.is_active() and (x @ x).dtype == FP16
    with pytest.raises(RuntimeError, match="amp.initialize"):
        handle.wrap_optimizer(sgd(Net()))
    assert not amp.init(enabled=False).is_active() and (x @ x).dtype == FP32


@pytest.mark.parametrize("statement, advice", [
    ("import apex.contrib.sparsity", "npu_fusion_attention"),
    ("from apex.fp16_utils import FP16_Optimizer", "opt_level O2"),
    ("from apex import fp16_utils", "opt_level O2"),
    ("from apex.optimizers import FusedNovoGrad", "FusedLAMB"),
    ("from apex import transformer", "MindSpeed"),
    ("from apex.parallel import multiproc", "torchrun"),
    ("from apex import anything", "docs/use/apex.md"),
])
def test_what_is_not_there(device, statement, advice):
    with pytest.raises(ImportError, match="is not in Updraft's apex.*" + advice):
        exec(statement)


def test_cuda_scripts(device):
    """As transfer_to_npu lets them run: the guide's folder in PYTHONPATH, or torch_npu's own module."""
    if not device.startswith("npu"):
        pytest.skip("needs torch_npu")
    from updraft import home
    text = python("""
        import torch, torch_npu
        import transfer_to_npu
        from apex import amp
        from apex.optimizers import FusedAdam
        model = torch.nn.Linear(4, 4).cuda()
        model, optimizer = amp.initialize(model, FusedAdam(model.parameters()), opt_level="O2", loss_scale="dynamic")
        losses = []
        for _ in range(3):
            x = torch.ones(2, 4, device="cuda:0")
            loss = model(x).square().mean()
            optimizer.zero_grad()
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
            optimizer.step()
            losses.append(loss.item())
        print("TRAINED", model.weight.device, model.weight.dtype, losses[2] < losses[0], transfer_to_npu.__file__)
    """, PYTHONPATH=home() + "/tools/ms_fmk_transplt/torch_npu_bridge:" + os.environ.get("PYTHONPATH", ""))
    assert "TRAINED npu:0 torch.float16 True " + home() + "/tools/ms_fmk_transplt/torch_npu_bridge/transfer_to_npu.py" in text, text


def test_saturation_mode(device):
    """INF_NAN_MODE_FORCE_DISABLE: fp16 saturates, and only the status flag knows of an overflow."""
    if not device.startswith("npu"):
        pytest.skip("needs torch_npu")
    text = python("""
        import torch, torch_npu
        from apex import amp
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4).npu()
        model, optimizer = amp.initialize(model, torch.optim.SGD(model.parameters(), lr=0.1), opt_level="O3", loss_scale="dynamic", verbosity=0)
        x = torch.ones(2, 4).npu()
        for factor in (60000.0, 0.1):
            before = model.weight.detach().cpu().clone()
            optimizer.zero_grad()
            torch.full((4,), 60000.0, dtype=torch.float16).npu().mul_(2)  # an overflow, but not of the backward
            with amp.scale_loss((model(x) * factor).mean(), optimizer) as loss:
                loss.backward()
            optimizer.step()
            print("SKIPPED", torch.equal(before, model.weight.detach().cpu()), amp.state_dict()["loss_scaler0"]["loss_scale"])
    """, INF_NAN_MODE_FORCE_DISABLE="1", **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}))
    assert "SKIPPED True 32768.0" in text and "SKIPPED False 32768.0" in text, text
