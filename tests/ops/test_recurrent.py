"""LSTM on the virtual NPU against PyTorch's CPU."""
import pytest
import torch
import torch_npu


def close(got, want, scale=1.0):
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4 * scale, atol=1e-4 * scale)


def rand(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + 1))


def test_lstm_cell():
    n, h = 5, 7
    gi, gh, c, bi, bh = rand(n, 4 * h), rand(n, 4 * h) * 0.5, rand(n, h), rand(4 * h), rand(4 * h) * 0.3
    hy, cy, gates = torch.ops.aten._thnn_fused_lstm_cell(*(t.npu() for t in (gi, gh, c, bi, bh)))
    leaves = [t.double().requires_grad_() for t in (gi, c, bi)]
    i, f, g, o = (leaves[0] + gh + leaves[2] + bh).chunk(4, 1)
    want_c = f.sigmoid() * leaves[1] + i.sigmoid() * g.tanh()
    want_h = o.sigmoid() * want_c.tanh()
    close(hy.cpu().double(), want_h.detach())
    close(cy.cpu().double(), want_c.detach())
    dh, dc = rand(n, h), rand(n, h) * 2
    want = torch.autograd.grad([want_h, want_c], leaves, [dh.double(), dc.double()])
    got = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(dh.npu(), dc.npu(), c.npu(), cy, gates, True)
    for a, b in zip(got, want):
        close(a.cpu().double(), b)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_lstm(batch_first, dtype):
    torch.manual_seed(0)
    cpu = torch.nn.LSTM(5, 6, batch_first=batch_first)
    x = rand(4, 3, 5)
    n = 4 if batch_first else 3
    state = (rand(1, n, 6), rand(1, n, 6) * 0.5)
    npu = torch.nn.LSTM(5, 6, batch_first=batch_first)
    npu.load_state_dict(cpu.state_dict())
    npu = npu.to(dtype).npu()
    a, b = x.clone().requires_grad_(), x.to(dtype).npu().requires_grad_()
    s = tuple(t.clone().requires_grad_() for t in state)
    r = tuple(t.to(dtype).npu().requires_grad_() for t in state)
    want, (wh, wc) = cpu(a, s)
    got, (gh, gc) = npu(b, r)
    scale = 1 if dtype == torch.float32 else 50
    for u, v in ((got, want), (gh, wh), (gc, wc)):
        close(u.detach().cpu().float(), v.detach(), scale=scale)
    w = rand(*want.shape)
    torch.autograd.backward([want, wh, wc], [w, torch.ones_like(wh), torch.ones_like(wc) * 0.5])
    torch.autograd.backward([got, gh, gc], [w.to(dtype).npu(), torch.ones_like(gh), torch.full(gc.shape, 0.5, dtype=dtype).npu()])
    for u, v in zip([b, *r, *npu.parameters()], [a, *s, *cpu.parameters()]):
        close(u.grad.cpu().float(), v.grad, scale=scale * 2)
    npu.eval()
    with torch.no_grad():
        close(npu(b, r)[0].cpu().float(), want.detach(), scale=scale)
