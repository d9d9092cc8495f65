"""torch.nn.LSTM and torch.nn.GRU, forwards and backwards: npu against cpu."""
import copy
import os
import subprocess
import sys

import pytest
import torch
import torch_npu  # noqa: F401
import torch.utils.checkpoint
from aclnn import call


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
    # In a process of its own: torch_npu's queue stays closed after an operator of the aclop interface was refused. And without
    # its queue: the queue is emptied before its state says that an operator failed, and a thread that looks between the two
    # goes on; where nothing comes behind it the process ends well.
    script = "import torch, torch_npu; torch.nn.LSTM(7, 6, proj_size=3).npu()(torch.ones(3, 3, 7).npu())[0].cpu()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, TASK_QUEUE_ENABLE="0"))
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


P = 0.3


def two_layers(kind, params, x, h, mask, p):
    """Two layers on the CPU in float64, with this mask between them: outputs, last states, and what gradients are of."""
    hidden = h[0].shape[-1]
    x = x.double().requires_grad_()
    params = [v.detach().double().requires_grad_() for v in params]
    states = [v.double().requires_grad_() for v in h]
    layers = []
    for n in range(2):
        layer = getattr(torch.nn, kind)(x.shape[-1] if n == 0 else hidden, hidden).double()
        layers.append((layer, dict(zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), params[4 * n:4 * n + 4]))))

    def run(n, value):
        first = tuple(s[n:n + 1].contiguous() for s in states)
        return torch.func.functional_call(layers[n][0], layers[n][1], (value, first if kind == "LSTM" else first[0]))

    middle, last1 = run(0, x)
    output, last2 = run(1, middle if mask is None else middle * mask / (1 - p))
    lasts = zip(last1, last2) if kind == "LSTM" else [(last1, last2)]
    return [output, *(torch.cat(pair) for pair in lasts)], [x, *params, *states], middle, [v.detach() for v in params]


def mask_behind(output, middle, params, h0, p):
    """Which elements of `middle` a second GRU layer saw, by trying all for each step: the one that gives its output."""
    steps, batch, width = middle.shape
    every = torch.tensor([[float(k >> i & 1) for i in range(width)] for k in range(2**width)], dtype=torch.float64)
    cell = torch.nn.GRUCell(width, width).double()
    cell.load_state_dict(dict(zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), params[4:])))
    mask = torch.empty_like(middle)
    with torch.no_grad():
        for b in range(batch):
            h = h0[1, b].double()
            for t in range(steps):
                tried = cell(middle[t, b] * every / (1 - p), h.expand(len(every), -1))
                far = (tried - output[t, b].double()).abs().amax(1)
                mask[t, b], h = every[far.argmin()], tried[far.argmin()]
                assert far.min() < 5e-3
    return mask


@pytest.mark.parametrize("dtype,tolerance", [(torch.float32, 2e-5), (torch.float16, 2e-2)], ids=str)
@pytest.mark.parametrize("batch_first", [False, True])
def test_gru_with_dropout(dtype, tolerance, batch_first):
    """Forwards and backwards against two layers with a mask between them, the one that explains the output."""
    torch.manual_seed(3)
    gru = torch.nn.GRU(7, 5, 2, dropout=P, batch_first=batch_first)
    with torch.no_grad():
        for name, parameter in gru.named_parameters():  # so large that each element shows
            parameter.mul_(3 if name.startswith("weight_ih_l1") else 1)
    gru = gru.to(dtype)
    x, h0 = torch.randn(6, 4, 7).to(dtype), torch.randn(2, 4, 5).to(dtype)
    values, inputs, middle, params = two_layers("GRU", list(gru.parameters()), x, [h0], None, P)
    moved = copy.deepcopy(gru).npu().train()
    a = (x.transpose(0, 1) if batch_first else x).npu().requires_grad_()
    h = h0.npu().requires_grad_()
    output, last = moved(a, h)
    time_major = output.detach().cpu().transpose(0, 1) if batch_first else output.detach().cpu()
    mask = mask_behind(time_major, middle.detach(), params, h0, P)
    assert 0 < mask.mean() < 1
    values, inputs, _, _ = two_layers("GRU", list(gru.parameters()), x, [h0], mask, P)
    weights = [torch.randn(v.shape, dtype=torch.float64) for v in values]
    torch.autograd.backward(values, weights)
    w = weights[0].transpose(0, 1) if batch_first else weights[0]
    torch.autograd.backward([output, last], [w.to(dtype).npu(), weights[1].to(dtype).npu()], retain_graph=True)
    got = [a.grad.transpose(0, 1) if batch_first else a.grad, *(v.grad for v in moved.parameters()), h.grad]
    for e, g in zip([*values, *(v.grad for v in inputs)], [time_major, last.detach(), *got], strict=True):
        assert (g.cpu().double() - e).abs().max() <= tolerance * e.abs().max().clamp_min(1e-6)
    before = [v.grad.clone() for v in moved.parameters()]
    torch.autograd.backward([output, last], [w.to(dtype).npu(), weights[1].to(dtype).npu()])  # what was saved is unharmed
    for first, both in zip(before, (v.grad for v in moved.parameters())):
        assert torch.equal(both, first + first)


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_rate_of_dropout_between_layers(p, bidirectional):
    """The second layer shows what it gets: no state, tanh of its input."""
    directions = 1 + bidirectional
    size = 64
    torch.manual_seed(0)
    gru = torch.nn.GRU(8, size, 2, dropout=p, bidirectional=bidirectional)
    with torch.no_grad():
        for d in range(directions):
            suffix = "_l1" + ("_reverse" if d else "")
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(gru, kind + suffix).zero_()
            getattr(gru, "bias_ih" + suffix)[size:2 * size] = -200  # z = 0
            getattr(gru, "weight_ih" + suffix)[2 * size:, d * size:(d + 1) * size] = torch.eye(size) * 0.1
    x = torch.randn(40, 16, 8)
    kept = (gru.npu()(x.npu())[0] != 0).double().mean().item()
    n = 40 * 16 * size * directions
    assert abs(kept - (1 - p)) <= 5 * (p * (1 - p) / n) ** 0.5
    gru.eval()
    assert (gru(x.npu())[0] != 0).all()


def test_dropout_of_gru_is_reproducible():
    def losses(seed, count=5):
        torch.manual_seed(seed)
        gru = torch.nn.GRU(6, 16, 3, dropout=0.5).npu()
        optimizer = torch.optim.SGD(gru.parameters(), 0.1)
        x, found = torch.randn(9, 4, 6).npu(), []
        for _ in range(count):
            optimizer.zero_grad()
            loss = gru(x)[0].pow(2).sum()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    first = losses(1)
    assert losses(1) == first and losses(2) != first
    assert all(map(torch.isfinite, torch.tensor(first)))

    torch.manual_seed(4)
    gru, x = torch.nn.GRU(6, 16, 2, dropout=0.5).npu(), torch.randn(9, 4, 6).npu()
    grads = []
    for again in (False, True):  # a layer that is computed again drops the same elements
        gru.zero_grad()
        run = lambda v: gru(v)[0]
        v = x.clone().requires_grad_()
        out = torch.utils.checkpoint.checkpoint(run, v, use_reentrant=False) if again else run(v)
        out.sin().sum().backward()
        grads.append([v.grad, *(p.grad.clone() for p in gru.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*grads))


def test_lstm_operator_with_dropout():
    """aclnnLSTM and its gradients themselves: torch_npu computes several layers one by one."""
    torch.manual_seed(5)
    steps, batch, width, hidden, p = 5, 3, 4, 5, 0.4
    lstm = torch.nn.LSTM(width, hidden, 2)
    with torch.no_grad():
        lstm.weight_ih_l1.mul_(3)
    x, h0, c0 = torch.randn(steps, batch, width), torch.randn(2, batch, hidden), torch.randn(2, batch, hidden)
    params = [v.detach() for v in lstm.parameters()]
    place = lambda *shape: torch.full(shape, float("nan"), device="npu")
    npu = lambda values: [v.npu() for v in values]

    def forward():
        y, h, c = place(steps, batch, hidden), place(2, batch, hidden), place(2, batch, hidden)
        saved = [[place(steps, batch, hidden) for _ in range(2)] for _ in range(7)]
        call("aclnnLSTM", x.npu(), npu(params), npu((h0, c0)), None, True, 2, p, True, False, False, y, h, c, *saved)
        return y, h, c, saved

    y, h, c, saved = forward()
    assert torch.equal(forward()[0], y)
    middle = saved[4][0].cpu().double()  # h of the first layer
    every = torch.tensor([[float(k >> i & 1) for i in range(hidden)] for k in range(2**hidden)], dtype=torch.float64)
    cell = torch.nn.LSTMCell(hidden, hidden).double()
    cell.load_state_dict(dict(zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), (v.double() for v in params[4:]))))
    mask = torch.empty_like(middle)
    with torch.no_grad():
        for b in range(batch):
            state = h0[1, b].double(), c0[1, b].double()
            for t in range(steps):
                tried = cell(middle[t, b] * every / (1 - p), tuple(s.expand(len(every), -1) for s in state))
                far = (tried[0] - y[t, b].cpu().double()).abs().amax(1)
                assert far.min() < 1e-4
                mask[t, b], state = every[far.argmin()], tuple(s[far.argmin()] for s in tried)
    assert 0 < mask.mean() < 1
    values, inputs, _, _ = two_layers("LSTM", params, x, [h0, c0], mask, p)
    weights = [torch.randn(v.shape, dtype=torch.float64) for v in values]
    torch.autograd.backward(values, weights)
    grads = [place(steps, batch, width), place(2, batch, hidden), place(2, batch, hidden)]
    of_params = [place(*v.shape) for v in params]
    call("aclnnLstmBackward", x.npu(), npu((h0, c0)), npu(params), *npu(v.float() for v in weights), *saved, None, True, 2, p,
         True, False, False, None, *grads, of_params)
    want = [v.grad for v in inputs]
    for e, g in zip([*values, *want], [y, h, c, grads[0], *of_params, *grads[1:]], strict=True):
        assert (g.cpu().double() - e).abs().max() <= 2e-5 * e.abs().max()
    with pytest.raises(RuntimeError, match="dropout is 1.5, want 0 to 1"):
        call("aclnnLSTM", x.npu(), npu(params), npu((h0, c0)), None, True, 2, 1.5, True, False, False, y, h, c, *saved)


def test_dropout_of_lstm_is_left_out_by_torch_npu():
    """It computes the layers of an LSTM one by one and puts nothing between them, on a card as well; the rest trains."""
    torch.manual_seed(6)
    lstm = torch.nn.LSTM(7, 6, 2, dropout=P)
    x = torch.randn(5, 3, 7)
    results = []
    for device in ("npu", "cpu"):
        moved = copy.deepcopy(lstm).to(device).train(device == "npu")
        v = x.to(device).requires_grad_()
        moved(v)[0].sin().sum().backward()
        results.append([v.grad.cpu(), *(w.grad.cpu() for w in moved.parameters())])
    for got, want in zip(*results):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
