"""torch.nn.LSTM and torch.nn.GRU, forwards and backwards: npu against cpu."""
import copy
import sys
import subprocess

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


def packed(device, layers, bidirectional, lengths, sort):
    """An LSTM over sequences of unequal lengths: outputs, states and the gradients of its parameters. (torch_npu's own
    gradient of pack_padded_sequence for the input is wrong on every device, and that of a reverse direction's last
    state is lost on its way, so the loss is of the output alone.)"""
    torch.manual_seed(1)
    module = torch.nn.LSTM(7, 6, layers, batch_first=True, bidirectional=bidirectional)
    x = torch.randn(len(lengths), max(lengths), 7).to(device)
    module = module.to(device)
    sequence = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=sort)
    output, (h, c) = module(sequence)
    output, sizes = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    assert sizes.tolist() == lengths
    output.pow(2).sum().backward()
    return [t.detach().cpu() for t in (output, h, c, *(p.grad for p in module.parameters()))]


@pytest.mark.parametrize("layers,bidirectional", [(1, False), (1, True), (2, False), (2, True)])
@pytest.mark.parametrize("lengths,sort", [([5, 4, 2, 1], True), ([2, 5, 1], False)])
def test_packed_lstm(layers, bidirectional, lengths, sort):
    case = layers, bidirectional, lengths, sort
    for a, e in zip(packed("npu", *case), packed("cpu", *case), strict=True):
        torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-5)


def test_refusals_say_what_to_do():
    sequence = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 3, 7), [3, 2, 1]).to("npu")  # packed on the CPU
    with pytest.raises(RuntimeError, match="move the padded tensor to the NPU first"):
        torch.nn.LSTM(7, 6).npu()(sequence)


def test_a_projection_is_refused():
    # in a process of its own: torch_npu's queue stays closed after an operator of the aclop interface was refused
    script = "import torch, torch_npu; torch.nn.LSTM(7, 6, proj_size=3).npu()(torch.ones(3, 3, 7).npu())[0].cpu()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "project its output with torch.nn.Linear" in done.stderr


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
