"""The C functions of experts on many ranks in a group of one rank: every form takes its tokens to the experts and back, and refuses
what it cannot do. What several ranks make of them is in tests/distributed/checks/experts.py."""
import pytest
import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from aclnn import call

TOKENS, HIDDEN, CHOICES, EXPERTS = 5, 32, 2, 4


@pytest.fixture(scope="module")
def group():
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    dist.barrier()  # makes the communicator
    yield dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(0)
    dist.destroy_process_group()


class Layer:
    def __init__(self, group, special=0):
        g = torch.Generator().manual_seed(0)
        self.group = group
        self.x = (torch.rand(TOKENS, HIDDEN, generator=g) - 0.5).half()
        self.ids = torch.stack([torch.randperm(EXPERTS + special, generator=g)[:CHOICES] for _ in range(TOKENS)]).int()
        self.weights = torch.rand(TOKENS, CHOICES, generator=g)
        rows = TOKENS * CHOICES
        self.results = [torch.zeros(rows, HIDDEN).half().npu(), torch.empty(rows).npu(), torch.empty(rows * 128).int().npu(),
                        torch.empty(EXPERTS).long().npu(), torch.empty(EXPERTS).int().npu(), None, None]

    def deployment(self, tp=0):
        return self.group, 1, 0, EXPERTS, "", tp, 0, 0, 1, 0

    def dispatch(self, form, special=(0, 0, 0), quant=0, **wrong):
        """`wrong`: arguments by their place."""
        given = [self.x.npu(), self.ids.npu(), None, None, None]
        given += [None] * max(0, form - 2) + [*self.deployment(), quant, 0, 1]
        given += [""] * (form > 1) + list(special) * (form > 2) + self.results
        for place, value in wrong.items():
            given[int(place[1:])] = value
        return "aclnnMoeDistributeDispatch" + (f"V{form}" if form > 1 else ""), *given

    def combine(self, form, out, special=(0, 0, 0), tensors=(None,) * 4, counts=None):
        given = [self.results[0], self.ids.npu(), self.results[2], self.results[4] if counts is None else counts, self.weights.npu()]
        given += [None] * 6 + [None] * (form > 1) + [None, *tensors] * (form > 2) + [None] * (form > 3)
        given += [*self.deployment(), 0, 0, 0, 0] + [""] * (form > 1) + list(special) * (form > 2) + [out]
        return "aclnnMoeDistributeCombine" + (f"V{form}" if form > 1 else ""), *given

    def sums(self, of=lambda e, x: x):
        return torch.stack([sum(w.double() * of(int(e), x.double()) for e, w in zip(ids, weights))
                            for x, ids, weights in zip(self.x, self.ids, self.weights)])


@pytest.mark.parametrize("form", [1, 2, 3, 4])
def test_there_and_back(group, form):
    layer = Layer(group)
    call(*layer.dispatch(form))
    chosen = layer.ids.flatten()
    order = torch.sort(chosen, stable=True).indices
    assert torch.equal(layer.results[0].cpu(), layer.x[order // CHOICES])
    counts = torch.bincount(chosen, minlength=EXPERTS)
    assert torch.equal(layer.results[3].cpu(), counts) and torch.equal(layer.results[4].cpu().long(), counts.cumsum(0))
    out = torch.empty(TOKENS, HIDDEN).half().npu()
    call(*layer.combine(form, out))
    torch.testing.assert_close(out.cpu().double(), layer.sums(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("form", [3, 4])
def test_experts_that_no_rank_has(group, form):
    special = (1, 1, 1)
    layer = Layer(group, special=3)
    call(*layer.dispatch(form, special))
    out, v = torch.empty(TOKENS, HIDDEN).half().npu(), torch.rand(1, HIDDEN).half()
    a, b = torch.tensor([0.5]).half(), torch.tensor([2.0]).half()
    call(*layer.combine(form, out, special, (layer.x.npu(), a.npu(), b.npu(), v.npu())))
    copy, const = EXPERTS + 1, EXPERTS + 2
    want = layer.sums(lambda e, x: x if e < EXPERTS or e == copy else 0.5 * x + 2 * v[0].double() if e == const else 0 * x)
    torch.testing.assert_close(out.cpu().double(), want, rtol=2e-3, atol=2e-3)
    with pytest.raises(RuntimeError, match="ori_x is null"):
        call(*layer.combine(form, out, special))


@pytest.mark.parametrize("form", [1, 2])
def test_into_a_norm(group, form):
    layer = Layer(group)
    call(*layer.dispatch(2))
    residual, gamma = torch.rand(TOKENS, 1, HIDDEN).half(), torch.rand(HIDDEN).half()
    y, x = (torch.empty(TOKENS, 1, HIDDEN).half().npu() for _ in range(2))
    rstd = torch.empty(TOKENS, 1, 1).npu()
    given = [layer.results[0], layer.ids.npu(), layer.results[2], layer.results[4], layer.weights.npu(), residual.npu(), gamma.npu()]
    given += [None] * 7 + [None] * 5 * (form == 2) + [*layer.deployment(), 0, 0, 0, 0, "", 1e-6] + [0] * 3 * (form == 2)
    call("aclnnMoeDistributeCombineAddRmsNorm" + "V2" * (form == 2), *given, y, rstd, x)
    want = layer.sums()[:, None] + residual.double()
    torch.testing.assert_close(x.cpu().double(), want, rtol=2e-3, atol=2e-3)
    scale = (x.cpu().double().square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    torch.testing.assert_close(rstd.cpu().double(), scale, rtol=1e-3, atol=0)
    torch.testing.assert_close(y.cpu().double(), x.cpu().double() * scale * gamma.double(), rtol=3e-3, atol=3e-3)


def test_refusals_name_what_is_wrong(group):
    layer = Layer(group)
    x, ids = layer.x.npu(), layer.ids.npu()
    for wrong, text in ((dict(_0=x.float()), "x is FLOAT"), (dict(_1=ids.long()), "expert_ids is INT64"), (dict(_0=x[:3]), "as many tokens"),
                        (dict(_2=torch.ones(EXPERTS, HIDDEN).npu()), "with quant_mode 0"), (dict(_3=torch.ones(3).bool().npu()), "x_active_mask"),
                        (dict(_5=""), "group_ep is empty"), (dict(_5="nobody"), "no communicator of that name"), (dict(_6=2), "those of 2 ranks|want"),
                        (dict(_7=1), "ep_rank_id is 1 of"), (dict(_8=0), "moe_expert_num"), (dict(_10=2), "tp_world_size is 2"),
                        (dict(_12=1), "expert_shard_type"), (dict(_13=2), "shared_expert_num is 2"), (dict(_14=1), "shared_expert_rank_num"),
                        (dict(_15=3), "quant_mode is 3"), (dict(_15=1), "quant_mode 1 needs"), (dict(_16=1), "global_bs is 1"),
                        (dict(_17=2), "expert_token_nums_type"), (dict(_18=layer.results[0][1:]), "expand_x is"),
                        (dict(_21=layer.results[3][1:]), "expert_token_nums")):
        with pytest.raises(RuntimeError, match=text):
            call(*layer.dispatch(1, **wrong))
    call(*layer.dispatch(1))
    out = torch.empty(TOKENS, HIDDEN).half().npu()
    with pytest.raises(RuntimeError, match="x is"):
        call(*layer.combine(1, out[1:]))


def test_barrier(group):
    x = torch.ones(3).npu()
    call("aclnnDistributeBarrier", x, group, 1)
    call("aclnnDistributeBarrierV2", x, None, None, group, 1)
    assert torch.equal(x.cpu(), torch.ones(3))
    with pytest.raises(RuntimeError, match="those of 2 ranks, group .* has 1"):
        call("aclnnDistributeBarrier", x, group, 2)
    with pytest.raises(RuntimeError, match="no communicator of that name"):
        call("aclnnDistributeBarrierV2", x, None, None, "nobody", 1)
