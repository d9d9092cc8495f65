"""torch.nn.LSTM and torch.nn.GRU, forwards and backwards: npu against cpu."""
import copy

import pytest
import torch
import torch_npu  # noqa: F401


def run(kind, device, dtype, layers, bidirectional, bias, batch_first):
    torch.manual_seed(1)
    module = getattr(torch.nn, kind)(7, 6, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional)
    x = torch.randn((3, 5, 7) if batch_first else (5, 3, 7)).to(dtype).to(device).requires_grad_()
    module = module.to(dtype).to(device)
    states = [torch.randn(layers * (1 + bidirectional), 3, 6).to(dtype).to(device).requires_grad_() for _ in range(2)]
    output, last = module(x, tuple(states) if kind == "LSTM" else states[0])
    outputs = [output, *(last if kind == "LSTM" else (last,))]
    g = torch.Generator().manual_seed(5)
    torch.autograd.backward(outputs, [torch.randn(t.shape, generator=g).to(dtype).to(device) for t in outputs])
    grads = [x.grad, *(p.grad for p in module.parameters()), *(s.grad for s in states[:2 if kind == "LSTM" else 1])]
    return [t.detach().cpu().double() for t in outputs + grads]


@pytest.mark.parametrize("dtype,tolerance", [(torch.float32, 1e-5), (torch.float16, 1e-2), (torch.bfloat16, 6e-2)])
@pytest.mark.parametrize("layers,bidirectional,bias,batch_first", [
    (1, False, True, False), (1, False, True, True), (1, True, False, False), (2, False, False, True), (2, True, True, False)])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_rnn(kind, layers, bidirectional, bias, batch_first, dtype, tolerance):
    actual = run(kind, "npu", dtype, layers, bidirectional, bias, batch_first)
    wide = torch.float64 if dtype == torch.float32 else torch.float32
    expected = run(kind, "cpu", wide, layers, bidirectional, bias, batch_first)
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        assert a.shape == e.shape
        assert (a - e).abs().max() <= tolerance * e.abs().max().clamp_min(1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_lstm_cell(bias):
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(5, 7, bias=bias)
    x, h, c = torch.randn(4, 5), torch.randn(4, 7), torch.randn(4, 7)
    results = []
    for device in ("cpu", "npu"):
        moved = copy.deepcopy(cell).to(device)
        inputs = [v.clone().to(device).requires_grad_() for v in (x, h, c)]
        hidden, state = moved(inputs[0], tuple(inputs[1:]))
        hidden, state = moved(inputs[0] * 0.5, (hidden, state))
        (hidden.sin().sum() + state.cos().sum()).backward()
        results.append([hidden, state, *(v.grad for v in inputs), *(p.grad for p in moved.parameters())])
    for want, got in zip(*results):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-5)
