"""torch.compile(backend="inductor"): torch_npu's Inductor writes Triton kernels. Forward and backward against eager PyTorch on the CPU in float64."""
import torch
import torch_npu  # noqa: F401
import triton

COMPILED = []


def watch(self, *args, theirs=triton.runtime.interpreter.GridExecutor.__call__, **kwargs):
    COMPILED.append(self.fn)
    return theirs(self, *args, **kwargs)


def check(function, *inputs, tolerance=1e-5):
    before = len(COMPILED)
    got = torch.compile(function, backend="inductor")(*(x.npu() for x in inputs))
    want = function(*(x.double() if x.is_floating_point() else x for x in inputs))
    torch.testing.assert_close(got.cpu().double(), want.double(), rtol=tolerance, atol=tolerance)
    assert len(COMPILED) > before, "no kernel of Triton ran"


def train(net, x, steps, compiled):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    call = torch.compile(net, backend="inductor") if compiled else net
    losses = []
    for _ in range(steps):
        loss = call(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(0)
    triton.runtime.interpreter.GridExecutor.__call__ = watch
    x, w = torch.randn(33, 100), torch.randn(100, 17)
    check(lambda x: (x * 2 + 1).relu().sigmoid() * x.tanh(), x)
    check(lambda x: x.softmax(-1), x)
    check(lambda x: (x.exp() * 3).sum(0), x)
    check(lambda x: torch.nn.functional.layer_norm(x, (100,)).mean(), x)
    check(lambda x, w: torch.nn.functional.gelu(x @ w) + 1, x, w)
    check(lambda x: torch.cat([x.t(), x.t() * 2], 1) * 3, x)
    check(lambda x, i: torch.where(i > 2, x[0], x[1]) * i, x, torch.arange(100) % 5)
    check(lambda x: (x * 1.7 + x.sin()).amax(1), x.bfloat16(), tolerance=2e-2)
    check(lambda x: (x.half() * 0.5 + x.abs().sqrt().half()).float(), x, tolerance=2e-3)
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4))
    y = torch.randn(8, 16)
    state = {n: p.clone() for n, p in net.state_dict().items()}
    want = train(net.double(), y.double(), 4, False)
    net.float().load_state_dict(state)
    got = train(net.npu(), y.npu(), 4, True)
    assert all(abs(a - b) < 1e-5 * abs(b) for a, b in zip(got, want)), (got, want)


if __name__ == "__main__":
    main()
