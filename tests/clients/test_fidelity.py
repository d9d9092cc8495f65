"""UPDRAFT_FIDELITY=card refuses what the product lacks; without it everything works."""
import functools

import pytest

from .subproc import python

CODE = """
import torch, torch_npu
x = torch.ones(3).npu()
try:
    print("sum", x.to(torch.bfloat16).float().sum().item())
except RuntimeError as error:
    print("refused:", "has no bfloat16" in str(error))
"""

TYPES = """
import torch, torch_npu
def attempt(what, call):
    try:
        call().cpu()
        print(what, "works")
    except RuntimeError as error:
        text = str(error)
        print(what, "refused", "161002" in text, all(part in text for part in %r))
x = torch.ones(4, 4).npu()
d = torch.ones(4, 4, dtype=torch.float64).npu()  # on the device torch_npu makes floats of doubles
attempt("f32", lambda: x @ x)
attempt("f16", lambda: x.half() @ x.half())
attempt("f64", lambda: d @ d)
attempt("f64 softmax", lambda: torch.softmax(d, -1))
attempt("i32 sort", lambda: x.int().sort()[0])
attempt("f64 sort", lambda: d.sort()[0])
"""
SAYS = ["aclnnMatmul", "self", "DOUBLE", "Ascend910B2", "FLOAT16, BFLOAT16", "Convert", "UPDRAFT_FIDELITY=card"]

FAMILIES = """
import torch, torch_npu
import torch.nn.functional as F
def attempt(what, call):
    try:
        call().cpu()
        print(what, "works")
    except RuntimeError as error:
        print(what, "refused", "161002" in str(error) and "UPDRAFT_FIDELITY=card" in str(error))
x, i = torch.ones(4, 4).npu(), torch.tensor([1, 0]).npu()
def assign():
    y = x.clone(); y[:, i] = 2.0; y[i] = 1.0; y[x > 0] = 3.0
    return y
def nearest(dtype):
    z = torch.ones(1, 2, 4, 4, dtype=dtype).npu().requires_grad_()
    out = F.interpolate(z, scale_factor=2)
    out.backward(torch.ones_like(out))
    return z.grad
# Not last: autograd's thread lets go of Python objects after backward() has thrown, and PyTorch aborts (pthread_exit in a
# destructor) if the interpreter is gone by then.
attempt("nearest f16", lambda: nearest(torch.float16))
attempt("nearest f32", lambda: nearest(torch.float32))
attempt("relu i32", lambda: x.int().relu())
attempt("relu i16", lambda: x.short().relu())
attempt("roll i32", lambda: x.int().roll(1))
attempt("roll i16", lambda: x.short().roll(1))
attempt("topk f32", lambda: x.topk(1)[0])
attempt("topk bool", lambda: (x > 0).topk(1)[0])
attempt("masked_fill i64", lambda: x.long().masked_fill(x > 0, 1))
attempt("masked_fill i16", lambda: x.short().masked_fill(x > 0, 1))
attempt("bitwise_and i16", lambda: x.short() & x.short())
attempt("bitwise_and f32", lambda: x & x)
attempt("assign", assign)
"""

TRAINS = """
import torch, torch_npu
from torch import nn
torch.npu.config.allow_internal_format = False
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 4)).npu()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x, y = torch.randn(16, 3, 8, 8).npu(), torch.randint(4, (16,)).npu()
losses = []
for step in range(5):
    with torch.autocast("npu", dtype=torch.%s):
        loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(model.parameters(), 1.0); optimizer.step()
    losses.append(loss.item())
print("falls", losses[-1] < losses[0])
"""


@functools.cache
def answers(soc, fidelity):
    """What all three programs print, in one process: most of its time goes into importing torch."""
    return python(FAMILIES + TYPES % SAYS + CODE, UPDRAFT_SOC=soc, UPDRAFT_FIDELITY=fidelity, ASCEND_LAUNCH_BLOCKING="1").splitlines()


@pytest.mark.limit(90)
@pytest.mark.parametrize("fidelity,answer", [("", "sum 3.0"), ("card", "refused: True")])
def test_bfloat16_on_910a(fidelity, answer):
    assert answer in answers("Ascend910A", fidelity)


@pytest.mark.limit(90)
@pytest.mark.parametrize("soc,fidelity,refused", [("Ascend910B2", "", []), ("Ascend910B2", "card", ["f64", "f64 sort"]),
                                                  ("Ascend950PR_9589", "card", [])])
def test_data_types_of_operators(soc, fidelity, refused):
    out = answers(soc, fidelity)
    for what in ("f32", "f16", "f64", "f64 softmax", "i32 sort", "f64 sort"):
        want = f"{what} works" if what not in refused else f"{what} refused True {what == 'f64'}"
        assert want in out, out


NARROW = {"roll i16", "topk bool", "masked_fill i16", "bitwise_and f32"}


@pytest.mark.limit(90)
@pytest.mark.parametrize("soc,refused", [("Ascend910B2", NARROW | {"relu i16"}),
                                         ("Ascend910A", NARROW | {"relu i16", "nearest f32"}),
                                         ("Ascend310P3", NARROW | {"relu i16", "relu i32", "nearest f32"})])  # 310P has no aclnnRelu
def test_families_of_operators(soc, refused):
    """The types of src/ops/card_families.cpp as a client of PyTorch meets them (card_families_test.cpp has all rows)."""
    out = answers(soc, "card")
    for what in ("relu i32", "relu i16", "roll i32", "roll i16", "topk f32", "topk bool", "masked_fill i64", "masked_fill i16",
                 "bitwise_and i16", "bitwise_and f32", "assign", "nearest f16", "nearest f32"):
        if what == "nearest f16" and soc == "Ascend310P3":
            continue  # torch_npu casts by an aclop there, which Updraft lacks
        assert (f"{what} refused True" if what in refused else f"{what} works") in out, (what, out)


@pytest.mark.limit(120)
@pytest.mark.parametrize("soc,dtype", [("Ascend910B2", "bfloat16"), ("Ascend910A", "float16")])
def test_training_steps_need_nothing_that_cards_lack(soc, dtype):
    assert "falls True" in python(TRAINS % dtype, UPDRAFT_SOC=soc, UPDRAFT_FIDELITY="card")
