"""Linear attention by the gated delta rule (Qwen3-Next), and the convolution in front of it, by torch_npu's calls against float64."""
import pytest
import torch
import torch_npu


def draw(lengths, heads=(2, 4), sizes=(16, 8), dtype=torch.bfloat16, matrices=None):
    torch.manual_seed(len(lengths))
    tokens, (nk, nv), (dk, dv) = sum(lengths), heads, sizes
    unit = torch.nn.functional.normalize
    q, k = (unit(torch.randn(tokens, nk, dk), dim=-1).to(dtype) for _ in range(2))
    state = torch.randn(matrices or len(lengths), nv, dv, dk).to(dtype)
    return q, k, torch.randn(tokens, nv, dv).to(dtype), torch.rand(tokens, nv).to(dtype), -torch.rand(tokens, nv), state


def rule(q, k, v, beta, g, lengths, scale, first, keep):
    """first(sequence): the matrices before it; keep(token, matrices)."""
    q, k, v, beta = (x.double() for x in (q, k, v, beta))
    out, begin = torch.empty_like(v), 0
    repeat = v.shape[1] // q.shape[1]
    for n, length in enumerate(lengths):
        s = first(n, begin).double()
        for t in range(begin, begin + length):
            kt, qt = (x[t].repeat_interleave(repeat, 0) for x in (k, q))
            if g is not None:
                s = s * g[t].double().exp()[:, None, None]
            s = s + ((v[t] - (s * kt[:, None]).sum(-1)) * beta[t][:, None])[..., None] * kt[:, None]
            out[t] = (s * qt[:, None]).sum(-1) * scale
            keep(n, t, s)
        begin += length
    return out


@pytest.mark.parametrize("dtype, loose", [(torch.bfloat16, 2e-2), (torch.float16, 4e-3)])
@pytest.mark.parametrize("gated, accepts", [(True, False), (False, True), (True, True)])
def test_token_by_token(dtype, loose, gated, accepts):
    lengths = [2, 0, 3, 1]
    q, k, v, beta, g, state = draw(lengths, dtype=dtype, matrices=9)
    slots = torch.randperm(9)[:6].int()
    accepted = torch.tensor([2, 1, 1, 1], dtype=torch.int32) if accepts else None
    if accepts:
        lengths[1] = 1
        q, k, v, beta, g, state = draw(lengths, dtype=dtype, matrices=9)
        slots = torch.randperm(9)[:7].int()
    want_state = state.double().clone()
    want = rule(q, k, v, beta, g if gated else None, lengths, 0.3,
                lambda n, begin: state[slots[begin + (int(accepted[n]) - 1 if accepts else 0)]],
                lambda n, t, s: want_state.__setitem__(int(slots[t]), s))
    given = dict(beta=beta.npu(), scale=0.3, actual_seq_lengths=torch.tensor(lengths).int().npu(), ssm_state_indices=slots.npu(),
                 g=g.npu() if gated else None, num_accepted_tokens=accepted.npu() if accepts else None)
    on = state.npu()
    out = torch_npu.npu_recurrent_gated_delta_rule(q.npu(), k.npu(), v.npu(), on, **given)
    torch.testing.assert_close(out.cpu().double(), want, rtol=2e-2, atol=2e-2)  # the client makes it bfloat16
    torch.testing.assert_close(on.cpu().double(), want_state, rtol=loose, atol=loose)
    again, after = torch_npu.npu_recurrent_gated_delta_rule_functional(q.npu(), k.npu(), v.npu(), state.npu(), **given)
    assert torch.equal(again, out) and torch.equal(after, on)


def test_whole_sequences():
    lengths = [70, 1, 130]
    q, k, v, beta, g, state = draw(lengths)
    last = {}
    for gate in (g, None):
        want = rule(q, k, v, beta, gate, lengths, 0.25, lambda n, begin: state[n], lambda n, t, s: last.__setitem__(n, s))
        out, after = torch_npu.npu_chunk_gated_delta_rule(
            q.npu(), k.npu(), v.npu(), beta=beta.npu(), initial_state=state.npu(), actual_seq_lengths=torch.tensor(lengths).int().npu(),
            scale=0.25, g=None if gate is None else gate.npu())
        torch.testing.assert_close(out.cpu().double(), want, rtol=2e-2, atol=2e-2)
        torch.testing.assert_close(after.cpu().double(), torch.stack([last[n] for n in range(3)]), rtol=2e-2, atol=2e-2)


def test_refusals():
    q, k, v, beta, g, state = (x.npu() for x in draw([3]))
    lengths, slots = torch.tensor([3]).int().npu(), torch.zeros(3).int().npu()
    for wrong, text in ((dict(gk=g), "gk is given"), (dict(ssm_state_indices=slots[:2]), "ssmStateIndices"), (dict(beta=beta[:2]), "beta is")):
        with pytest.raises(RuntimeError, match=text):
            torch_npu.npu_recurrent_gated_delta_rule(q, k, v, state, **{**dict(beta=beta, scale=1.0, actual_seq_lengths=lengths,
                                                                               ssm_state_indices=slots, g=g), **wrong})
    with pytest.raises(RuntimeError, match="state is"):
        torch_npu.npu_chunk_gated_delta_rule(q, k, v, beta=beta, initial_state=state[..., :3].contiguous(), actual_seq_lengths=lengths, scale=1.0)


@pytest.mark.parametrize("dtype, loose", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 4e-3)])
@pytest.mark.parametrize("steps", [1, 2, 37])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_a_causal_convolution(dtype, loose, steps, masked):
    torch.manual_seed(steps)
    x, w, g = torch.randn(steps, 2, 24).to(dtype), torch.randn(3, 24).to(dtype), torch.randn(steps, 2, 24).to(dtype)
    mask = torch.rand(2, steps) > 0.3 if masked else None

    def convolved(v, taps):
        padded = torch.cat([v.new_zeros(2, *v.shape[1:]), v])
        y = sum(taps[i] * padded[i:i + steps] for i in range(3))
        return y if mask is None else y * mask.t()[..., None]

    on = [t.double().requires_grad_() for t in (x, w)]
    want = convolved(*on)
    want.backward(g.double())
    there = [t.npu().requires_grad_() for t in (x, w)]
    got = torch_npu.npu_masked_causal_conv1d(*there, mask=None if mask is None else mask.npu())
    got.backward(g.npu())
    for a, b in ((got.detach(), want.detach()), (there[0].grad, on[0].grad), (there[1].grad, on[1].grad)):
        torch.testing.assert_close(a.cpu().double(), b, rtol=loose, atol=loose * max(1.0, b.abs().max().item()))
