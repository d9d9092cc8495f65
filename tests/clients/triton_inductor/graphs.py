"""Kernels of Triton in a captured graph, between operators, and beside kernels that run meanwhile; tensors that are parts of a larger one."""
import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl


@triton.jit
def scaled(x, out, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


x, out = torch.arange(300.0).npu(), torch.zeros(300).npu()
scaled[(3,)](x, out, 2.0, 300, BLOCK=128)
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    y = x + 1
    scaled[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](y, out, 3.0, 300, BLOCK=128)
    z = out - 1
for start in (0.0, 10.0, -5.0):
    x.copy_(torch.arange(300.0) + start)
    graph.replay()
    other = torch.ones(64).npu()
    scaled[(1,)](other, other, 5.0, 64, BLOCK=64)
    assert torch.equal(z.cpu(), (torch.arange(300.0) + start + 1) * 3 - 1), start
    assert torch.equal(other.cpu(), torch.full((64,), 5.0))

whole = torch.zeros(1000).npu()
part, column = whole[100:200], whole[500:900].view(40, 10)[:, 3]
part.fill_(1)
column.fill_(2)
scaled[(1,)](part, part, 7.0, 100, BLOCK=128)
assert whole[100:200].eq(7).all() and whole.sum() == 780
scaled[(1,)](torch.empty(0).npu(), whole, 1.0, 0, BLOCK=16)
assert whole.sum() == 780
