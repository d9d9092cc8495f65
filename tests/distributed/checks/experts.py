"""Experts on many ranks: tokens go to the ranks of their experts and come back, against what each rank works out for itself from
the tokens of all, in float64."""
import torch

from ..registry import check

HIDDEN, CHOICES = 48, 3


class Layer:
    """The tokens of all ranks, and where they are to go."""

    def __init__(self, world, experts, tokens, dtype=torch.bfloat16, shared=0, shared_ranks=0, special=0):
        self.world, self.experts, self.shared, self.shared_ranks, self.dtype = world, experts, shared, shared_ranks, dtype
        self.each = experts // (world.size - shared_ranks)
        self.tokens = tokens if isinstance(tokens, list) else [tokens] * world.size
        g = torch.Generator().manual_seed(7)
        self.x = [(torch.rand(n, HIDDEN, generator=g) * 4 - 2).to(dtype) for n in self.tokens]
        self.ids = [torch.stack([torch.randperm(experts + special, generator=g)[:CHOICES] for _ in range(n)]).int()
                    if n else torch.empty(0, CHOICES, dtype=torch.int32) for n in self.tokens]
        self.weights = [torch.rand(n, CHOICES, generator=g) for n in self.tokens]
        self.masks = None

    def mine(self, tensors):
        return self.world.tensor(tensors[self.world.rank])

    def active(self, rank, token, choice=None):
        if self.masks is None:
            return True
        mask = self.masks[rank][token]
        return bool(mask if mask.dim() == 0 else mask.any() if choice is None else mask[choice])

    def arrivals(self, rank):
        """[(expert here, source, token, choice)] in the order in which they lie; choice None: a shared expert's."""
        rows = []
        if rank < self.shared_ranks:
            copies = self.shared_ranks // self.shared
            return [(0, s, t, None) for s in range(self.world.size) if s % copies == rank % copies
                    for t in range(self.tokens[s]) if self.active(s, t)]
        first = (rank - self.shared_ranks) * self.each
        for e in range(self.each):
            for s in range(self.world.size):
                for t in range(self.tokens[s]):
                    for k in range(CHOICES):
                        if self.ids[s][t, k] == first + e and self.active(s, t, k):
                            rows.append((e, s, t, k))
        return rows

    @property
    def told(self):
        world = self.world
        name = world.group._get_backend(world.device).get_hccl_comm_name(world.rank)
        even = len(set(self.tokens)) == 1
        return dict(group_ep=name, ep_world_size=world.size, ep_rank_id=world.rank, moe_expert_num=self.experts,
                    shared_expert_num=self.shared or 1, shared_expert_rank_num=self.shared_ranks,
                    global_bs=0 if even else max(self.tokens) * world.size)

    def check_arrivals(self, findings, got, what, kind=1):
        expand_x, _, index, nums, counts = (t.cpu() for t in got[:5])
        rows = self.arrivals(self.world.rank)
        experts = 1 if self.world.rank < self.shared_ranks else self.each
        if expand_x.dtype == self.dtype:
            want = torch.stack([self.x[s][t] for _, s, t, _ in rows]) if rows else expand_x[:0]
            findings.same(expand_x[:len(rows)], want, f"{what}: rows")
        per = torch.zeros(experts, self.world.size, dtype=torch.int64)
        for e, s, _, _ in rows:
            per[e, s] += 1
        findings.same(nums, per.sum(1) if kind else per.sum(1).cumsum(0), f"{what}: tokens of each expert")
        findings.same(counts[:per.numel()].long(), per.flatten().cumsum(0), f"{what}: where each rank's rows end")
        seen, want = {}, []
        me = self.world.rank
        for t in range(self.tokens[me]):
            for k in range(CHOICES):
                e = int(self.ids[me][t, k])
                there = self.active(me, t, k) and e < self.experts
                want.append(seen.get(e, 0) if there else 0)
                seen[e] = seen.get(e, 0) + there
        findings.same(index[:len(want)].long(), torch.tensor(want, dtype=torch.int64), f"{what}: index")
        return rows

    def experts_make(self, expand_x, rows):
        """Expert e of the layer multiplies by 1 + e / 4, a shared one by -1; what lies behind the rows is no one's."""
        first = (self.world.rank - self.shared_ranks) * self.each
        made = torch.full_like(expand_x.cpu(), float("nan"))
        for i, (e, _, _, k) in enumerate(rows):
            made[i] = (expand_x[i].cpu().float() * (-1 if k is None else 1 + (first + e) / 4)).to(self.dtype)
        return self.world.tensor(made)

    def sums(self):
        """What combine gives on this rank."""
        me = self.world.rank
        out = torch.zeros(self.tokens[me], HIDDEN, dtype=torch.float64)
        for t in range(self.tokens[me]):
            x = self.x[me][t].double()
            for k in range(CHOICES):
                e = int(self.ids[me][t, k])
                if e < self.experts and self.active(me, t, k):
                    out[t] += self.weights[me][t, k].double() * (x * (1 + e / 4)).to(self.dtype).double()
            if self.shared_ranks and self.active(me, t):
                out[t] -= self.shared * x
        return out

    def combine(self, form, made, got, **more):
        import torch_npu
        call = torch_npu.npu_moe_distribute_combine if form == 1 else torch_npu.npu_moe_distribute_combine_v2
        return call(made, self.mine(self.ids), got[2], got[4], self.mine(self.weights), tp_send_counts=got[5], expand_scales=got[6],
                    **self.told, **more)

    def dispatch(self, form, **more):
        import torch_npu
        call = torch_npu.npu_moe_distribute_dispatch if form == 1 else torch_npu.npu_moe_distribute_dispatch_v2
        return call(self.mine(self.x), self.mine(self.ids), **self.told, **more)

    def round_trip(self, findings, form, what, more=None, back=None, kind=1):
        got = self.dispatch(form, expert_token_nums_type=kind, **(more or {}))
        rows = self.check_arrivals(findings, got, what, kind)
        out = self.combine(form, self.experts_make(got[0], rows), got, **(back or {}))
        loose = 2 ** -7 if self.dtype == torch.bfloat16 else 2 ** -10
        findings.same(out.cpu().double(), self.sums(), what, loose, loose)
        return got


@check(2, 4, npu=True)
def tokens_to_experts_and_back(world, findings):
    for dtype in (torch.float16, torch.bfloat16):
        for form in (1, 2):
            for experts in (4, 8, 20):
                Layer(world, experts, 6, dtype).round_trip(findings, form, f"form {form}, {dtype}, {experts} experts", kind=form - 1)


@check(2, 4, npu=True)
def ranks_with_other_numbers_of_tokens(world, findings):
    layer = Layer(world, 4, [5 - r if r < 3 else 0 for r in range(world.size)])
    for form in (1, 2):
        layer.round_trip(findings, form, f"form {form}")


@check(2, 4, npu=True)
def tokens_that_take_no_part(world, findings):
    for by_choice in (False, True):
        layer = Layer(world, 8, 6)
        g = torch.Generator().manual_seed(3)
        layer.masks = [torch.rand(6, CHOICES, generator=g) < 0.6 if by_choice else torch.arange(6) < 2 + r for r in range(world.size)]
        mask = dict(x_active_mask=layer.mine(layer.masks))
        layer.round_trip(findings, 2, f"by choice: {by_choice}", mask, mask)


@check(2, 4, npu=True)
def experts_that_all_tokens_have(world, findings):
    for shared, ranks in ((1, 1), (1, 2), (2, 2)):
        if ranks >= world.size:
            continue
        layer = Layer(world, 3 * 2 * (world.size - ranks), 5, shared=shared, shared_ranks=ranks)
        layer.round_trip(findings, 2, f"{shared} on {ranks} ranks")
    layer = Layer(world, 4, 5)
    own = [x * 2 for x in layer.x]
    got = layer.dispatch(2)
    made = layer.experts_make(got[0], layer.arrivals(world.rank))
    out = layer.combine(2, made, got, shared_expert_x=layer.mine(own))
    findings.same(out.cpu().double(), layer.sums() + own[world.rank].double(), "rows that come from outside", 2 ** -7, 2 ** -7)


@check(2, 4, npu=True)
def tokens_in_whole_numbers(world, findings):
    layer = Layer(world, 8, 6)
    factors = torch.rand(8, HIDDEN, generator=torch.Generator().manual_seed(5)) + 0.5
    rows = layer.arrivals(world.rank)
    first = world.rank * layer.each
    for scales in (None, factors):
        for form in (1, 2):
            got = layer.dispatch(form, quant_mode=2, **({} if scales is None else dict(scales=world.tensor(scales))))
            layer.check_arrivals(findings, got, f"form {form}")
            x = torch.stack([layer.x[s][t].double() * (1 if scales is None else factors[first + e].double()) for e, s, t, _ in rows])
            step = x.abs().amax(1) / 127
            findings.that(got[0].dtype == torch.int8, f"form {form}: {got[0].dtype}")
            findings.same(got[1].cpu()[:len(rows)].double(), step, f"form {form}: scales", 1e-6)
            findings.same(got[0].cpu()[:len(rows)].double(), (x / step[:, None]).round(), f"form {form}: numbers", atol=1)
            findings.same(got[0].cpu()[:len(rows)].double() * step[:, None], x, f"form {form}: values", 0, float(step.max()) * 0.51)
    got = layer.dispatch(1, expert_scales=layer.mine(layer.weights))
    want = torch.stack([layer.weights[s][t, k] for _, s, t, k in rows])
    findings.same(got[6].cpu()[:len(rows)], want, "weights that travel along")


@check(2, 4, npu=True)
def experts_that_no_rank_has(world, findings):
    layer = Layer(world, 4, 7, special=5)  # one zero, two copy, two const
    numbers = dict(zero_expert_num=1, copy_expert_num=2, const_expert_num=2)
    got = layer.dispatch(2, **numbers)
    rows = layer.check_arrivals(findings, got, "dispatch")
    g = torch.Generator().manual_seed(11)
    me = world.rank
    v = torch.rand(2, HIDDEN, generator=g).to(layer.dtype)
    for shape in ((2,), (2, HIDDEN)):
        a, b = (torch.rand(shape, generator=g).to(layer.dtype) for _ in range(2))
        out = layer.combine(2, layer.experts_make(got[0], rows), got, ori_x=layer.mine(layer.x), const_expert_alpha_1=world.tensor(a),
                            const_expert_alpha_2=world.tensor(b), const_expert_v=world.tensor(v), **numbers)
        want = layer.sums()
        for t in range(7):
            x = layer.x[me][t].double()
            for k in range(CHOICES):
                e, w = int(layer.ids[me][t, k]) - 5, layer.weights[me][t, k].double()
                if e in (0, 1):
                    want[t] += w * x
                elif e > 1:
                    want[t] += w * (a[e - 2].double() * x + b[e - 2].double() * v[e - 2].double())
        findings.same(out.cpu().double(), want, f"alpha of {shape}", 2 ** -7, 2 ** -7)


@check(2, 4, npu=True)
def tokens_back_into_a_norm(world, findings):
    import torch_npu
    layer = Layer(world, 4, 6)
    g = torch.Generator().manual_seed(13)
    residual = [torch.rand(6, 1, HIDDEN, generator=g).to(layer.dtype) for _ in range(world.size)]
    gamma = torch.rand(HIDDEN, generator=g).to(layer.dtype)
    got = layer.dispatch(2)
    made = layer.experts_make(got[0], layer.arrivals(world.rank))
    y, rstd, x = torch_npu.npu_moe_distribute_combine_add_rms_norm(
        made, layer.mine(layer.ids), got[2], got[4], layer.mine(layer.weights), layer.mine(residual), world.tensor(gamma),
        norm_eps=1e-5, **layer.told)
    want = layer.sums()[:, None] + residual[world.rank].double()
    findings.same(x.cpu().double(), want, "x", 2 ** -7, 2 ** -7)
    kept = x.cpu().double()
    scale = (kept.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    findings.same(rstd.cpu().double(), scale, "rstd", 1e-3)
    findings.same(y.cpu().double(), kept * scale * gamma.double(), "y", 2 ** -7, 2 ** -7)


@check(2, npu=True)
def barrier_of_an_operator(world, findings):
    import torch_npu
    layer = Layer(world, 2, 1)
    x = world.tensor(torch.arange(3.0))
    out = torch_npu._npu_distribute_barrier(x, layer.told["group_ep"], world.size)
    findings.same(out, torch.arange(3.0), "x")
    # Refused before anything is sent; wrong groups are in tests/ops/test_experts_between_ranks.py.
    for wrong, text in ((dict(tp_world_size=2), "tp_world_size"), (dict(quant_mode=1), "scales"), (dict(quant_mode=7), "quant_mode"),
                        (dict(global_bs=1), "global_bs")):
        told = {**layer.told, **wrong}
        findings.raises(lambda told=told: torch_npu.npu_moe_distribute_dispatch(layer.mine(layer.x), layer.mine(layer.ids)[:, :2], **told),
                        str(wrong), text)
