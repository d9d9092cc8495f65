"""The C functions of products between ranks in a group of one rank, where each is a product of its own, against float64. What
several ranks make of them is in tests/distributed/checks/products.py."""
import ctypes

import pytest
import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from aclnn import call, library, plan


@pytest.fixture(scope="module")
def group():
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    dist.barrier()  # makes the communicator
    yield dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(0)
    dist.destroy_process_group()


def close(got, want, loose=3e-3):
    torch.testing.assert_close(got.cpu().double(), want, rtol=loose, atol=loose)


def halves(*shape):
    return torch.rand(shape).half() - 0.5


def whole(*shape):
    return torch.randint(-128, 128, shape).to(torch.int8)


def test_real_numbers(group):
    torch.manual_seed(0)
    x, w, bias, extra = halves(4, 16), halves(16, 8), halves(8), halves(4, 8)
    product, more = x.double() @ w.double(), bias.double()
    on = [t.npu() for t in (x, w, bias, extra)]
    for name, given, want in (("", on[:3], product + more), ("V2", on, product + more + extra.double())):
        out = torch.empty(4, 8, dtype=torch.half).npu()
        call(f"aclnnMatmulAllReduce{name}", *given, group, "sum", 0, 1, out)
        close(out, want)
    call("aclnnMatmulAllReduceV3", *on, group, "sum", "aiv", 0, 1, out)
    close(out, product + more + extra.double())
    rows = torch.empty(4, 16, dtype=torch.half).npu()
    for mode in ((), (0, "ai_cpu")):
        out.zero_(), rows.zero_()
        middle = (None, None, None, 0) if mode else ()
        call("aclnnAllGatherMatmul" + "V2" * bool(mode), *on[:3], *middle, group, 0, 0, 1, *mode, out, rows, *((None,) if mode else ()))
        close(out, product + more)
        assert torch.equal(rows.cpu(), x)
        out.zero_()
        call("aclnnMatmulReduceScatter" + "V2" * bool(mode), *on[:3], *middle, group, "sum", 0, 1, *mode, out, *((None,) if mode else ()))
        close(out, product + more)


def test_whole_numbers(group):
    torch.manual_seed(1)
    x, w, scale, by_row, bias = whole(4, 32), whole(32, 8), torch.rand(8) / 512, torch.rand(4), torch.randint(-900, 900, (8,)).int()
    sums = ((x.double() @ w.double()) + bias) * scale
    on = [t.npu() for t in (x, w, bias)]
    out = torch.empty(4, 8, dtype=torch.half).npu()
    call("aclnnQuantMatmulAllReduce", *on, None, scale.npu(), group, "sum", 0, 1, out)
    close(out, sums)
    call("aclnnQuantMatmulAllReduceV2", *on, None, scale.npu(), by_row.npu(), group, "sum", 0, 1, out)
    close(out, sums * by_row[:, None])
    real, shift = halves(4, 32), torch.arange(8).half()
    call("aclnnWeightQuantMatmulAllReduce", real.npu(), on[1], None, scale.half().npu(), shift.npu(), None, group, "sum", 0, 1, 0, out)
    close(out, real.double() @ ((w + shift).double() * scale.half().double()).half().double())


@pytest.mark.parametrize("form", ["", "V2"])
def test_with_exchanges(group, form):
    torch.manual_seed(2)
    x, w, bias = halves(4, 16), halves(16, 8), halves(8)
    on, mode, want = [t.npu() for t in (x, w, bias)], ("ai_cpu",) if form else (), x.double() @ w.double() + bias.double()
    out, rows = torch.empty(4, 8, dtype=torch.half).npu(), torch.empty(4, 16, dtype=torch.half).npu()
    call("aclnnAlltoAllMatmul" + form, *on, [-2, -1], group, *mode, False, False, out, rows)
    close(out, want)
    assert torch.equal(rows.cpu(), x)
    call("aclnnMatmulAlltoAll" + form, on[0], w.t().contiguous().npu(), on[2], None, group, *mode, False, True, out.zero_())
    close(out, want)
    with pytest.raises(RuntimeError, match=r"alltoAllAxes is \[0, 1\], want \[-2, -1\]"):
        call("aclnnAlltoAllMatmul" + form, *on, [0, 1], group, *mode, False, False, out, None)
    with pytest.raises(RuntimeError, match="as many rows in x2"):
        call("aclnnAlltoAllMatmul" + form, on[0], on[1][:15].contiguous(), None, None, group, *mode, False, False, out, None)
    # two experts on one rank
    weights, counts, shared = halves(2, 16, 8), [1, 3], halves(8, 5)
    product = torch.cat([x[:1].double() @ weights[0].double(), x[1:].double() @ weights[1].double()])
    other = torch.empty(4, 5, dtype=torch.half).npu()
    given = on[0], weights.npu(), None, None, product.half().npu(), shared.npu(), group, *mode, 1
    call("aclnnAlltoAllvGroupedMatMul" + form, *given, counts, counts, False, False, True, out.zero_(), other, rows.zero_())
    close(out, product)
    close(other, product @ shared.double(), 1e-2)
    assert torch.equal(rows.cpu(), x)
    call("aclnnGroupedMatMulAlltoAllv" + form, *given, counts, counts, False, False, out.zero_(), other.zero_())
    close(out, product)
    close(other, product @ shared.double(), 1e-2)
    with pytest.raises(RuntimeError, match="send_counts has 1 values, want 2: one for each of 2 experts on 1 ranks"):
        call("aclnnGroupedMatMulAlltoAllv" + form, *given, [4], counts, False, False, out, other)
    with pytest.raises(RuntimeError, match="send_counts has -1"):
        call("aclnnGroupedMatMulAlltoAllv" + form, *given, [5, -1], counts, False, False, out, other)


def test_refusals_name_what_is_wrong(group):
    x, w, out = halves(4, 16).npu(), halves(16, 8).npu(), torch.empty(4, 8, dtype=torch.half).npu()
    for arguments, text in (((w, x, None, group, "sum", 0, 1, out), "columns and"), ((x, w, None, group, "max", 0, 1, out), "reduceOp"),
                            ((x, w, None, "", "sum", 0, 1, out), "group is empty"),
                            ((x, w, None, "nobody", "sum", 0, 1, out), "no communicator of that name"),
                            ((x, w, None, group, "sum", 0, 1, out.t().contiguous().t()), "not contiguous")):
        with pytest.raises(RuntimeError, match=text):
            call("aclnnMatmulAllReduce", *arguments)
    with pytest.raises(RuntimeError, match="those of 2 ranks"):
        call("aclnnAllGatherMatmul", x[:2], w, None, group, 0, 0, 1, out, None)
    with pytest.raises(RuntimeError, match="supported is 0"):
        call("aclnnAllGatherMatmul", x, w, None, group, 1, 0, 1, out, None)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert plan("aclnnMatmulAllReduce", (x, w, None, group, "sum", 0, 1, out), size, executor) == 0
    assert library().aclSetAclOpExecutorRepeatable(executor) != 0  # each run waits for other ranks
    assert library().aclDestroyAclOpExecutor(executor) == 0
