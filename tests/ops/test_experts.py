"""Mixtures of experts: gating, routing, room for each expert and what comes back, against PyTorch's CPU in float64."""
import struct

import pytest
import torch
import torch_npu
from aclnn import call
from graph import call as graph_call

I32 = torch.int32


def close(got, want, rtol=2e-5):
    torch.testing.assert_close(got.cpu().double(), want.double(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype, loose", [(torch.float32, 2e-5), (torch.float16, 3e-3), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("k, kept", [(1, 0), (3, 0), (3, 20), (3, -7)])
def test_tokens_go_to_their_experts_and_back(dtype, loose, k, kept):
    torch.manual_seed(3)
    x = torch.randn(11, 16).to(dtype)
    experts = torch.randint(0, 5, (11, k))
    probs = torch.rand(11, k)
    order = torch.sort(experts.flatten(), stable=True).indices
    count = kept if kept > 0 else order.numel() + kept
    on = x.npu().requires_grad_()
    rows, places = torch_npu.npu_moe_token_permute(on, experts.npu(), kept)
    assert torch.equal(rows.cpu(), x[order[:count] // k])
    assert torch.equal(places.cpu().long(), torch.argsort(order))
    weights = probs.to(dtype).npu().requires_grad_()
    back = torch_npu.npu_moe_token_unpermute(rows, places, weights)
    seen = (torch.argsort(order) < count).reshape(11, k)  # what was dropped comes back as nothing
    exact, exact_p = x.double().requires_grad_(), probs.to(dtype).double().requires_grad_()
    want = (exact[:, None] * (exact_p * seen)[..., None]).sum(1)
    close(back, want.detach(), loose)
    g = torch.randn(11, 16).to(dtype)
    back.backward(g.npu())
    want.backward(g.double())
    close(on.grad, exact.grad, loose)
    close(weights.grad, exact_p.grad, 4 * loose)


def test_rows_without_probabilities_come_back():
    torch.manual_seed(5)
    x, experts = torch.randn(9, 8), torch.randint(0, 4, (9, 1))
    rows, places = torch_npu.npu_moe_token_permute(x.npu(), experts.npu())
    rows = rows.detach().requires_grad_()
    back = torch_npu.npu_moe_token_unpermute(rows, places)
    assert torch.equal(back.cpu(), x)
    g = torch.randn(9, 8)
    back.backward(g.npu())
    assert torch.equal(rows.grad.cpu(), g[torch.sort(experts.flatten(), stable=True).indices])


def test_gating_in_groups():
    torch.manual_seed(1)
    x, bias = torch.randn(9, 24), torch.randn(24)
    for norm, two in ((0, 0), (0, 1), (1, 0), (1, 1)):
        y, experts, whole = torch_npu.npu_moe_gating_top_k(
            x.npu(), 4, bias=bias.npu(), k_group=2, group_count=6, group_select_mode=two, norm_type=norm, out_flag=True,
            routed_scaling_factor=2.5)
        p = x.double().sigmoid() if norm else x.double().softmax(-1)
        by = (p + bias).reshape(9, 6, 4)
        best = by.topk(2).values.sum(-1) if two else by.amax(-1)
        groups = torch.zeros(9, 6, dtype=torch.bool).scatter(1, best.topk(2).indices, True)
        want = by.masked_fill(~groups[..., None], -torch.inf).flatten(1).topk(4).indices
        assert torch.equal(experts.cpu().long(), want)
        chosen = p.gather(1, want)
        close(y, 2.5 * (chosen / chosen.sum(-1, keepdim=True) if norm else chosen))
        close(whole, p)
    with pytest.raises(RuntimeError, match="groupCount is 7"):
        torch_npu.npu_moe_gating_top_k(x.npu(), 4, k_group=2, group_count=7)


def test_equal_scores_stand_in_their_order_and_finished_rows_go_nowhere():
    x = torch.zeros(3, 6)
    y, experts, rows = torch_npu.npu_moe_gating_top_k_softmax(x.npu(), torch.tensor([False, True, False]).npu(), 2)
    assert experts.tolist() == [[0, 1], [6, 6], [0, 1]] and rows.tolist() == [[0, 3], [1, 4], [2, 5]]
    close(y, torch.full((3, 2), 1 / 6))


@pytest.mark.parametrize("scatter", [0, 1])
@pytest.mark.parametrize("span", [(0, 6), (2, 5)])
def test_routing_of_a_rank(span, scatter):
    torch.manual_seed(2)
    x, experts = torch.randn(10, 8), torch.randint(0, 6, (10, 3), dtype=I32)
    out = torch_npu.npu_moe_init_routing_v2(x.npu(), experts.npu(), active_num=30, expert_num=6, expert_tokens_num_type=1,
                                            expert_tokens_num_flag=True, active_expert_range=list(span), quant_mode=-1,
                                            row_idx_type=scatter)
    mine = [i for e in range(*span) for i in range(30) if experts.flatten()[i] == e]
    assert torch.equal(out[0].cpu()[:len(mine)], x[torch.tensor(mine) // 3])
    places = out[1].tolist()
    assert places[:len(mine)] == mine if scatter else all(places[entry] == row for row, entry in enumerate(mine))
    if not scatter:
        assert sum(p == -1 for p in places) == 30 - len(mine)
    assert out[2].tolist() == [int((experts == e).sum()) for e in range(*span)]


def test_room_for_each_expert():
    x = torch.arange(12.0).reshape(6, 2)
    experts = torch.tensor([[0], [1], [0], [0], [1], [0]], dtype=I32)
    rows, places, counts, scales = (torch.empty(3, 2, 2).npu(), torch.empty(6, dtype=I32).npu(),
                                    torch.empty(3, dtype=torch.int64).npu(), torch.empty(6).npu())
    call("aclnnMoeInitRoutingV3", x.npu(), experts.npu(), None, None, 0, 2, 3, 1, 1, True, -1, [0, 3], 0, rows, places,
         counts, scales)
    assert rows.cpu().tolist() == [[[0, 1], [4, 5]], [[2, 3], [8, 9]], [[0, 0], [0, 0]]]
    assert places.tolist() == [0, 2, 1, -1, 3, -1]
    assert counts.tolist() == [4, 2, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("active, capacity, flag", [(0, 0, 0), (0, 0, 1), (5, 0, 2), (99, 0, 2), (0, 2, 0), (3, 1, 2)])
def test_routing_without_a_range(dtype, active, capacity, flag):
    """Sorted by expert; all entries, some of them, or room for each expert."""
    torch.manual_seed(6)
    x, experts = torch.randn(6, 4).to(dtype), torch.randint(0, 5, (6, 2), dtype=I32)
    if not capacity and not flag:
        experts[2, 1] = 1000  # their number matters for counts and rooms alone
    order, number = torch.sort(experts.flatten(), stable=True).indices, 5
    rows = torch.full((5, capacity, 4) if capacity else (min(active or 12, 12), 4), 7.0, dtype=dtype).npu()
    places, counts, before = (torch.full((n,), -7, dtype=I32).npu() for n in (12, number, number))
    call("aclnnMoeInitRoutingV2", x.npu(), experts.npu(), active, capacity, number, int(capacity > 0), flag, True, rows, places,
         counts, before)
    each = torch.bincount(experts.flatten(), minlength=number)[:number]
    if capacity:
        want, at = torch.zeros(5, capacity, 4, dtype=dtype), torch.full((12,), -1)
        for e in range(5):
            for i, entry in enumerate([n for n in order.tolist() if experts.flatten()[n] == e][:capacity]):
                want[e, i], at[entry] = x[entry // 2], e * capacity + i
        assert before.tolist() == each.tolist() and set(counts.tolist()) == {-7}
    else:
        want, at = x[order // 2][:len(rows)], torch.empty_like(order).scatter(0, order, torch.arange(12))
        assert counts.tolist() == ([-7] * 5 if not flag else each.cumsum(0).tolist() if flag == 1 else each.tolist())
        assert set(before.tolist()) == {-7}
    assert torch.equal(rows.cpu(), want) and places.tolist() == at.tolist()


def test_routing_without_a_range_says_what_it_wants():
    x, experts, rows, places = torch.randn(2, 4).npu(), torch.zeros(2, 1, dtype=I32).npu(), torch.empty(2, 4).npu(), torch.empty(2, dtype=I32).npu()
    for arguments, text in [((0, 0, 3, 1, 0, False), "expertCapacity is 0, want above 0"), ((0, 0, 3, 2, 0, False), "dropPadMode is 2"),
                            ((-1, 0, 3, 0, 0, False), "activeNum is -1"), ((0, 0, 3, 0, 3, False), "expertTokensCountOrCumsumFlag is 3")]:
        with pytest.raises(RuntimeError, match=text):
            call("aclnnMoeInitRoutingV2", x, experts, *arguments, rows, places, None, None)


def test_routing_quantises():
    torch.manual_seed(4)
    x, experts, smooth = torch.randn(5, 16), torch.randint(0, 4, (5, 2), dtype=I32), torch.rand(4, 16) + 0.5
    y, places, counts, scale = torch_npu.npu_moe_init_routing_v2(
        x.npu(), experts.npu(), scale=smooth.npu(), active_num=10, expert_num=4, expert_tokens_num_type=0,
        expert_tokens_num_flag=True, quant_mode=1, active_expert_range=[0, 4])
    order = torch.sort(experts.flatten(), stable=True).indices
    want = x.double()[order // 2] * smooth.double()[experts.flatten()[order].long()]
    close(scale, want.abs().amax(-1) / 127)
    assert (y.cpu().double() - want / scale.cpu().double()[:, None]).abs().max() < 0.51
    assert counts.tolist() == torch.bincount(experts.flatten(), minlength=4).cumsum(0).tolist()
    y, scale = torch.empty(10, 16, dtype=torch.int8).npu(), torch.empty(10).npu()
    # Without counts the number of experts says nothing of those that tokens may go to.
    call("aclnnMoeInitRoutingQuantV2", x.npu(), experts.npu(), None, None, 0, 0, 2, 0, 0, False, 1, y, places, None, None, scale)
    close(scale, x.double()[order // 2].abs().amax(-1) / 127)
    with pytest.raises(RuntimeError, match="scale is null, want a value with quantMode 0"):
        call("aclnnMoeInitRoutingQuantV2", x.npu(), experts.npu(), None, None, 0, 0, 4, 0, 0, False, 0, y, places, None, None, scale)


@pytest.mark.parametrize("mode", [0, 2])
def test_dropped_rows_leave_the_bias(mode):
    torch.manual_seed(5)
    rows, scales, bias = torch.randn(8, 6), torch.rand(4, 2), torch.randn(3, 6)
    index, experts = torch.randperm(8).to(I32), torch.randint(0, 3, (4, 2), dtype=I32)
    index[3] = -1
    out = torch.empty(4, 6).npu()
    call("aclnnMoeFinalizeRoutingV2", rows.npu(), index.npu(), None, None, bias.npu(), scales.npu(), experts.npu(), mode, out)
    want = torch.zeros(4, 6, dtype=torch.float64)
    for n in range(4):
        for k in range(2):
            at = int(index[k * 4 + n] if mode == 0 else index[n * 2 + k])
            row = rows[at].double() if at >= 0 else torch.zeros(6, dtype=torch.float64)
            want[n] += scales[n, k] * (row + bias[experts[n, k]])
    close(out, want)
    with pytest.raises(RuntimeError, match="row 8 is out of range"):
        index[0] = 8
        call("aclnnMoeFinalizeRoutingV2", rows.npu(), index.npu(), None, None, bias.npu(), scales.npu(), experts.npu(), mode, out)


def worker_context(tokens, batch, **changed):
    """The context of a schedule of workers, 1024 bytes, as op-plugin's test of the operator lays it out."""
    batches, size, selected = tokens.shape[:3]
    fields = {"micro_batch_num": (4, "I", batches), "micro_batch_size": (8, "I", size), "selected_expert_num": (12, "I", selected),
              "token_data_buf": (272, "Q", tokens.data_ptr()), "token_data_buf_size": (280, "Q", tokens.numel() * 2),
              "micro_batch_id": (288, "I", batch)}
    context = bytearray(1024)
    for name, (at, kind, value) in fields.items():
        struct.pack_into("<" + kind, context, at, changed.get(name, value))
    return torch.frombuffer(context, dtype=torch.int8).clone().npu()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_tokens_of_workers_are_combined(dtype):
    torch.manual_seed(0)
    tokens, scales, layer = torch.randn(2, 6, 4, 40).to(dtype), torch.rand(6, 3), torch.tensor([7], dtype=torch.int32)
    there = tokens.npu()
    y, following = torch_npu.npu_attention_worker_combine(worker_context(there, 1), scales.npu(), layer.npu(), 40,
                                                          token_dtype=int(dtype == torch.bfloat16), need_schedule=0)
    want = (tokens[1, :, :3].double() * scales.double().unsqueeze(-1)).sum(1) + tokens[1, :, 3].double()
    torch.testing.assert_close(y.cpu().double(), want, rtol=2**-7 if dtype == torch.bfloat16 else 2**-10, atol=1e-3)
    assert y.dtype == dtype and following.cpu().tolist() == [8]
    by_graph = graph_call("AttentionWorkerCombine", worker_context(there, 1), scales, layer, hidden_size=40, token_dtype=int(dtype == torch.bfloat16))
    assert torch.equal(by_graph[0], y.cpu()) and by_graph[1].tolist() == [8]


@pytest.mark.parametrize("changed, words", [({"micro_batch_id": 2}, "micro_batch_id 2"), ({"token_data_buf": 0x4000}, "0x4000"),
                                            ({"token_data_buf_size": 64}, "64 bytes"), ({"selected_expert_num": 9}, "selected_expert_num 9")])
def test_wrong_contexts_of_workers_are_refused(changed, words):
    there = torch.zeros(2, 6, 4, 40, dtype=torch.float16).npu()
    with pytest.raises(RuntimeError, match=words):
        torch_npu.npu_attention_worker_combine(worker_context(there, 1, **changed), torch.rand(6, 3).npu(),
                                               torch.zeros(1, dtype=torch.int32).npu(), 40)
        torch.npu.synchronize()


def experts_context(there, tokens, selected, size, polled, sent=0, **changed):
    """The same of a worker of experts: session_num and so on, then addresses and sizes of what the others sent."""
    sessions, batches = there["token_data_buf"].shape[:2]
    fields = {"session_num": (0, "I", sessions), "micro_batch_num": (4, "I", batches), "micro_batch_size": (8, "I", tokens),
              "selected_expert_num": (12, "I", selected), "attn_to_ffn_token_size": (20, "I", size), "polling_index": (416, "Q", polled),
              "out_num": (576, "I", sent)}
    for name, at in (("token_info_buf", 384), ("token_data_buf", 400), ("session_ids_buf", 528), ("micro_batch_ids_buf", 544), ("expert_ids_buf", 560)):
        if name in there:
            fields[name] = (at, "Q", there[name].data_ptr())
            fields[name + "_size"] = (at + 8, "Q", there[name].numel() * there[name].element_size())
    context = bytearray(1024)
    for name, (at, kind, value) in fields.items():
        struct.pack_into("<" + kind, context, at, changed.get(name, value))
    return torch.frombuffer(context, dtype=torch.int8).clone().npu()


def sent_tokens(kind, schedule, flag=1):
    """Three sessions, two micro batches, four tokens for three experts each, 40 numbers wide; one expert id in six is none."""
    torch.manual_seed(3)
    dtype = (torch.float16, torch.bfloat16, torch.int8)[kind]
    tokens = torch.randint(-99, 99, (3, 2, 4, 3, 40)).to(dtype)
    scales = torch.rand(3, 2, 4, 3)
    room = torch.zeros(3, 2, 4, 3, 128, dtype=torch.uint8)
    room[..., :40 * tokens.element_size()] = tokens.view(torch.uint8)
    if kind == 2:
        room[..., 40:44] = scales.unsqueeze(-1).view(torch.uint8)
    experts = torch.randint(0, 5, (3, 2, 12), dtype=torch.int32)
    experts[torch.rand(3, 2, 12) < 1 / 6] = 2147483647
    there = {"token_data_buf": room.npu(), "session_ids_buf": torch.tensor([2, 0, 1], dtype=torch.int32).npu(),
             "micro_batch_ids_buf": torch.tensor([0, 1], dtype=torch.int32).npu()}
    if schedule:
        head = torch.tensor([flag, 0], dtype=torch.int32).expand(3, 2, 2)
        there["token_info_buf"] = torch.cat((head, experts), 2).contiguous().npu()
    else:
        there["expert_ids_buf"] = experts[:, 1].contiguous().npu()
    return tokens, scales, experts[:, 1], there


@pytest.mark.parametrize("schedule", [0, 1])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_tokens_of_workers_are_batched(kind, schedule):
    tokens, scales, experts, there = sent_tokens(kind, schedule)
    got = torch_npu.npu_ffn_worker_batching(experts_context(there, 4, 3, 128, 1, sent=3), 8, [3, 4, 4, 40], token_dtype=kind,
                                            need_schedule=schedule, layer_num=0)
    by_graph = graph_call("FfnWorkerBatching", experts_context(there, 4, 3, 128, 1, sent=3), expert_num=8, max_out_shape=[3, 4, 4, 40], token_dtype=kind,
                          need_schedule=schedule)
    y, groups, session, batch, token, offset, scale, count = (t.cpu() for t in got)
    n = int(count)
    assert all(torch.equal(a[:n], b.cpu()[:n]) for a, b in zip(by_graph, got))
    rows = sorted((int(experts[a, i]), a, i) for a in range(3) for i in range(12) if experts[a, i] < 10**6)
    n = len(rows)
    assert count.tolist() == [n] and 0 < n < 36
    sessions = [(2, 0, 1)[a] for _, a, _ in rows]
    assert session[:n].tolist() == sessions and batch[:n].tolist() == [1] * n
    assert token[:n].tolist() == [i // 3 for *_, i in rows] and offset[:n].tolist() == [i % 3 for *_, i in rows]
    for r, (s, (_, _, i)) in enumerate(zip(sessions, rows)):
        assert torch.equal(y[r], tokens[s, 1, i // 3, i % 3])
        assert kind != 2 or scale[r] == scales[s, 1, i // 3, i % 3]
    assert not y[n:].any()
    want = [[e, [row[0] for row in rows].count(e)] for e in sorted({row[0] for row in rows})]
    assert groups.tolist() == want + [[0, 0]] * (8 - len(want))


@pytest.mark.parametrize("changed, words", [({"polling_index": 2}, "polling_index 2"), ({"token_data_buf": 0x4000}, "0x4000"),
                                            ({"session_num": 2**31}, "session_num 2147483648"), ({"token_info_buf_size": 8}, "8 bytes")])
def test_wrong_contexts_of_experts_are_refused(changed, words):
    there = sent_tokens(0, 1)[3]
    with pytest.raises(RuntimeError, match=words):
        torch_npu.npu_ffn_worker_batching(experts_context(there, 4, 3, 128, 1, **changed), 8, [3, 4, 3, 40], need_schedule=1)
        torch.npu.synchronize()


def test_tokens_that_are_not_there_are_refused():
    there = sent_tokens(0, 1, flag=0)[3]
    with pytest.raises(RuntimeError, match="flag 0 for session 0 and micro batch 1"):
        torch_npu.npu_ffn_worker_batching(experts_context(there, 4, 3, 128, 1), 8, [3, 4, 3, 40], need_schedule=1)
        torch.npu.synchronize()


@pytest.mark.parametrize("dtype, loose", [(torch.float32, 2e-5), (torch.float16, 3e-3), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("pad", [False, True])
def test_tokens_by_a_map_and_back(dtype, loose, pad):
    """By op-plugin's tests of npu_moe_token_permute_with_routing_map and its inverse, with gradients."""
    torch.manual_seed(4)
    tokens, experts, choices, capacity = 9, 5, 2, 3
    routing = torch.zeros(tokens, experts, dtype=torch.bool)
    for row in routing:
        row[torch.randperm(experts)[:choices]] = True
    x, probs = torch.randn(tokens, 16).to(dtype), torch.rand(tokens, experts).to(dtype)
    on, weights = x.npu().requires_grad_(), probs.npu().requires_grad_()
    count = experts * capacity if pad else tokens * choices
    rows, kept, index = torch_npu.npu_moe_token_permute_with_routing_map(on, routing.npu(), probs=weights, num_out_tokens=count, drop_and_pad=pad)
    if pad:
        token = routing.t().to(torch.int8).argsort(dim=-1, descending=True, stable=True)[:, :capacity].flatten()
        expert = torch.arange(experts).repeat_interleave(capacity)
        assert torch.equal(index.cpu().long(), token)
    else:
        expert, token = routing.t().nonzero(as_tuple=True)
        assert torch.equal(index.cpu().long(), torch.sort(token, stable=True).indices)
    assert torch.equal(rows.cpu(), x[token]) and torch.equal(kept.cpu(), probs[token, expert])
    exact, exact_p = x.double().requires_grad_(), probs.double().requires_grad_()
    g, h = torch.randn(count, 16).to(dtype), torch.randn(count).to(dtype)
    torch.autograd.backward([rows, kept], [g.npu(), h.npu()])
    torch.autograd.backward([exact[token], exact_p[token, expert]], [g.double(), h.double()])
    close(on.grad, exact.grad, loose)
    close(weights.grad, exact_p.grad, loose)

    back_in, weights = rows.detach().requires_grad_(), probs.npu().requires_grad_()
    back = torch_npu.npu_moe_token_unpermute_with_routing_map(back_in, index, x.shape, probs=weights, routing_map=routing.npu(), drop_and_pad=pad)
    exact, exact_p = x[token].double().requires_grad_(), probs.double().requires_grad_()
    want = torch.zeros(tokens, 16, dtype=torch.float64).index_add(0, token, exact * exact_p[token, expert][:, None])
    close(back, want.detach(), loose)
    g = torch.randn(tokens, 16).to(dtype)
    back.backward(g.npu())
    want.backward(g.double())
    close(back_in.grad, exact.grad, loose)
    close(weights.grad, exact_p.grad, 4 * loose)
    plain = torch_npu.npu_moe_token_unpermute_with_routing_map(rows.detach(), index, x.shape, routing_map=routing.npu(), drop_and_pad=pad)
    close(plain, torch.zeros(tokens, 16, dtype=torch.float64).index_add(0, token, x[token].double()), 2 * loose)


def test_maps_that_do_not_fit_are_refused():
    x, routing = torch.randn(4, 8).npu(), torch.ones(4, 3, dtype=torch.bool).npu()
    with pytest.raises(RuntimeError, match="routingMap is"):
        torch_npu.npu_moe_token_permute_with_routing_map(x, routing.int(), num_out_tokens=12)
    with pytest.raises(RuntimeError, match="an expert takes 5 rows of 4 tokens"):
        torch_npu.npu_moe_token_permute_with_routing_map(x, routing, num_out_tokens=15, drop_and_pad=True)
    rows, _, index = torch_npu.npu_moe_token_permute_with_routing_map(x, routing, num_out_tokens=12)
    with pytest.raises(RuntimeError, match="do not belong to 5 tokens"):
        torch_npu.npu_moe_token_unpermute_with_routing_map(rows, index, (5, 8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_logits_that_samplers_keep(dtype):
    torch.manual_seed(8)
    logits = (torch.randn(6, 301) * 3).to(dtype)
    k, p = torch.tensor([1, 7, 301, 20, 20, 300], dtype=torch.int32), torch.tensor([0.5, 0.9, 1.0, 0.01, 0.99, 0.6]).to(dtype)

    def reference(p, k):
        values, order = logits.float().sort(dim=-1, stable=True)
        if k is not None:
            values = values.masked_fill(values < values.gather(1, (301 - k.long())[:, None]), -torch.inf)
        if p is not None:
            gone = values.softmax(-1).cumsum(-1) <= 1 - p.float()[:, None]
            gone[:, -1] = False
            values = values.masked_fill(gone, -torch.inf)
        return torch.empty_like(values).scatter_(1, order, values).to(dtype)

    for share, count in ((p, k), (None, k), (p, None)):
        got = torch_npu.npu_top_k_top_p(logits.npu(), share if share is None else share.npu(), count if count is None else count.npu())
        assert torch.equal(got.cpu(), reference(share, count)), (share is None, count is None)
    strided = torch_npu.npu_top_k_top_p(logits.npu().t().contiguous().t(), p.npu(), k.npu())
    assert torch.equal(strided.cpu(), reference(p, k))
    assert torch_npu.npu_top_k_top_p(logits[:0].npu(), p[:0].npu(), k[:0].npu()).shape == (0, 301)
    with pytest.raises(RuntimeError, match="p is"):
        torch_npu.npu_top_k_top_p(logits.npu(), p[:2].npu(), k.npu())


def test_products_with_the_batch_in_the_middle():
    torch.manual_seed(2)
    x, w = torch.randn(7, 4, 16).half(), torch.randn(4, 16, 8).half()
    got = torch_npu.npu_transpose_batchmatmul(x.npu(), w.npu(), perm_x1=[1, 0, 2], perm_y=[1, 0, 2])
    close(got, (x.double().transpose(0, 1) @ w.double()).transpose(0, 1), 5e-3)
    got = torch_npu.npu_transpose_batchmatmul(x.transpose(0, 1).contiguous().npu(), w.npu())
    close(got, (x.double().transpose(0, 1) @ w.double()).transpose(0, 1), 5e-3)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_products_with_what_follows_them(half):
    torch.manual_seed(3)
    x, w, bias, other = torch.randn(2, 33, 48).to(half), torch.randn(48, 17).to(half), torch.randn(17).to(half), torch.randn(2, 33, 17).to(half)
    product = x.double() @ w.double()
    wants = {"": product, "relu": product.relu(), "add": product + other.double(), "mul": product * other.double(),
             "gelu_erf": torch.nn.functional.gelu(product), "gelu_tanh": torch.nn.functional.gelu(product, approximate="tanh")}
    step = torch.finfo(half).eps
    for kind, want in wants.items():
        given = {"x3": other.npu()} if kind in ("add", "mul") else {}
        close(torch_npu.npu_fused_matmul(x.npu(), w.npu(), fused_op_type=kind, **given), want, step)
    wide = torch_npu.npu_fused_matmul(x.npu(), w.npu(), bias=bias.npu(), fused_op_type="16cast32")
    assert wide.dtype == torch.float32
    close(wide, product + bias.double(), 1e-5)
    with pytest.raises(RuntimeError, match="x3 is absent, want one"):
        torch_npu.npu_fused_matmul(x.npu(), w.npu(), fused_op_type="mul")
    with pytest.raises(RuntimeError, match='fusedOpType is "tanh"'):
        torch_npu.npu_fused_matmul(x.npu(), w.npu(), fused_op_type="tanh")
    with pytest.raises(RuntimeError, match="want FLOAT16 or BFLOAT16 with 16cast32"):
        torch_npu.npu_fused_matmul(x.float().npu(), w.float().npu(), fused_op_type="16cast32")


def test_adapters_of_low_rank_in_eager_calls():
    torch.manual_seed(6)
    y, x, at = torch.randn(3, 6), torch.randn(3, 4), torch.tensor([1, -1, 0], dtype=torch.int32)
    narrow, wide = torch.randn(2, 1, 3, 4), torch.randn(2, 1, 2, 3)
    on = y.npu()
    torch_npu.npu_batch_gather_matmul_(on, x.npu(), wide.npu(), at.npu(), narrow.npu(), layer_idx=0, scale=0.5, y_offset=2, y_slice_size=2)
    want = y.double().clone()
    for row, adapter in enumerate(at.tolist()):
        if adapter >= 0:
            want[row, 2:4] += 0.5 * (wide[adapter, 0].double() @ (narrow[adapter, 0].double() @ x[row].double()))
    close(on, want)


@pytest.mark.parametrize("norm, renorm", [(1, 0), (0, 0), (0, 1)])
def test_gradient_of_gating(norm, renorm):
    torch.manual_seed(7)
    x = torch.randn(9, 12, dtype=torch.float64, requires_grad=True)
    scores = x.sigmoid() if norm else x.softmax(-1)
    kept, experts = scores.topk(4)
    y = kept * 2.5 / (kept.sum(-1, keepdim=True) + 1e-20 if norm or renorm else 1)
    g = torch.randn(9, 4)
    y.backward(g.double())
    for dtype, loose in ((torch.float32, 2e-5), (torch.bfloat16, 2e-2)):
        got = torch_npu.npu_moe_gating_top_k_backward(scores.detach().float().npu(), g.to(dtype).npu(), experts.int().npu(), renorm=renorm, norm_type=norm,
                                                      routed_scaling_factor=2.5)
        close(got, x.grad, loose)


def test_gradients_of_groups_are_added():
    torch.manual_seed(9)
    x, w, y = torch.randn(10, 6).bfloat16(), torch.randn(10, 4).bfloat16(), torch.randn(3, 6, 4)
    ends = torch.tensor([3, 3, 8])
    want = y.double().clone()
    for n, (a, b) in enumerate(((0, 3), (3, 3), (3, 8))):
        want[n] += x[a:b].double().T @ w[a:b].double()
    on = y.npu()
    torch_npu.npu_grouped_matmul_add_(on, x.npu(), w.npu(), ends.npu())
    close(on, want)
    flat = y.reshape(18, 4).npu()
    torch_npu.npu_grouped_matmul_add_(flat, x.npu(), w.npu(), ends.npu())
    close(flat, want.reshape(18, 4))
    with pytest.raises(RuntimeError, match="want FLOAT"):
        torch_npu.npu_grouped_matmul_add_(y.half().npu(), x.npu(), w.npu(), ends.npu())
