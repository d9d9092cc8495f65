"""Indexing, sorting and rearranging: npu against cpu."""

import ctypes

import pytest

torch = pytest.importorskip("torch")
torch_npu = pytest.importorskip("torch_npu")
from aclnn import call
import graph

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]
FLOATS = [torch.float32, torch.float16, torch.bfloat16]


def make(shape, dtype=torch.float32, seed=0):
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=g).bool()
    if dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -50, 50, shape, generator=g).to(dtype)


def move(x):
    if isinstance(x, torch.Tensor):
        # Keeps strides, so that both sides see the same view.
        if x.is_contiguous() or x.numel() == 0:
            return x.npu()
        base = x.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0).npu()
        return base.as_strided(x.shape, x.stride(), x.storage_offset())
    if isinstance(x, (list, tuple)):
        return type(x)(move(v) for v in x)
    return x


def same(got, want, tolerance=0.0):
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b, tolerance)
        return
    assert got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True)


def check(f, *args, tolerance=0.0):
    same(f(*move(args)), f(*args), tolerance)


def views(dtype):
    x = make((6, 7, 8), dtype)
    return [x, x.transpose(0, 2), x[::2, :, 1::3], x[:1].expand(4, 7, 8), make((0, 7, 8), dtype)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dynamic_shapes(dtype):
    for x in views(dtype) + [make((), dtype), make((5,), dtype), make((70000,), dtype)]:
        x = x.clone() if x.dim() == 1 else x
        check(torch.nonzero, x)
        mask = make(x.shape, torch.bool, 1)
        check(torch.masked_select, x, mask)
        check(lambda v, m: v[m], x, mask)
        check(lambda v: torch.unique(v, return_inverse=True, return_counts=True), x)
    x = make((6, 7), dtype)
    check(torch.masked_select, x, make((7,), torch.bool, 1))
    check(lambda v: torch.unique_consecutive(v.flatten(), return_inverse=True, return_counts=True), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_join_and_rearrange(dtype):
    for x in views(dtype):
        for d in range(-3, 3):
            check(lambda a, b: torch.cat([a, b, a], d), x, x.clone())
            check(lambda a, b: torch.stack([a, b], d), x, x.clone())
            check(lambda a: torch.flip(a, [d]), x)
            check(lambda a: torch.roll(a, 3, d), x)
            check(lambda a: a.repeat_interleave(2, d), x)
        check(lambda a: torch.flip(a, [0, 2]), x)
        check(lambda a: torch.roll(a, 5), x)
        check(lambda a: torch.roll(a, (2, -3), (0, 2)), x)
        check(lambda a: a.repeat(2, 1, 1, 3), x)
        check(lambda a: a.repeat_interleave(3), x)
        for pad in [(1, 2), (1, -2, 0, 3), (-1, -1, 2, 2, 1, 0)]:
            if x.numel():
                check(lambda a: torch.nn.functional.pad(a, pad, value=1), x)
        for k in (-2, 0, 3, 100, -100):
            check(lambda a: torch.tril(a, k), x)
            check(lambda a: torch.triu(a, k), x)
    check(lambda a, b: torch.cat([a, b]), make((3, 2), dtype), torch.empty(0, dtype=dtype))
    check(lambda a, n: a.repeat_interleave(n, 1, output_size=6), make((3, 4), dtype), torch.tensor([0, 2, 1, 3]))
    check(lambda a: a.clone().tril_(1), make((9, 5), dtype))


def test_cat_promotes():
    check(lambda a, b: torch.cat([a, b]), make((3,), torch.int32), make((4,), torch.float32))
    check(lambda a, b: torch.cat([a, b]), make((3,), torch.float16), make((4,), torch.float32))


I = torch.tensor([2, 0, -1, 2])
J = torch.tensor([[1], [2]])
EXPRESSIONS = {
    "i": lambda: (I,),
    "ij": lambda: (I, J),
    "_i": lambda: (slice(None), I),
    "i_j": lambda: (I, slice(None), J),
    "__i": lambda: (slice(None), slice(None), I),
    "_ij": lambda: (slice(None), I, J),
    "ijk": lambda: (I, J, torch.tensor(2)),
    "ellipsis": lambda: (..., J),
    "empty": lambda: (torch.tensor([], dtype=torch.long),),
    "_empty": lambda: (slice(None), torch.tensor([], dtype=torch.long)),
    "int32": lambda: (I.int(),),
}


def place(e, f):
    return tuple(f(v) if isinstance(v, torch.Tensor) else v for v in e)


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_advanced_indexing(name, dtype):
    e = EXPRESSIONS[name]()
    for x in views(dtype)[:3]:
        n = move(x)
        on_npu = place(e, lambda t: t.npu())
        same(n[on_npu], x[e])
        # Duplicates are only defined where they add up or write the same.
        indices = [t if isinstance(t, torch.Tensor) else None for t in e] if ... not in e else [None, None, e[-1]]
        tolerance = 0.05 if dtype == torch.bfloat16 else 1e-5 if dtype.is_floating_point else 0
        for value, accumulate in ((make(x[e].shape, dtype, 2), True), (make((), dtype, 3), True), (make((), dtype, 3), False)):
            want = torch.ops.aten.index_put(x, indices, value, accumulate)
            got = torch.ops.aten.index_put(n, [t if t is None else t.npu() for t in indices], value.npu(), accumulate)
            same(got, want, tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding(dtype):
    w = make((50, 24), dtype).requires_grad_()
    n = w.detach().npu().requires_grad_()
    i = torch.randint(0, 50, (4, 60), generator=torch.Generator().manual_seed(1))
    g = make((4, 60, 24), dtype, 2)
    for padding, scale in ((None, False), (3, False), (None, True)):
        a = torch.nn.functional.embedding(i, w, padding, scale_grad_by_freq=scale)
        b = torch.nn.functional.embedding(i.npu(), n, padding, scale_grad_by_freq=scale)
        same(b.detach(), a.detach())
        (da,) = torch.autograd.grad(a, w, g)
        (db,) = torch.autograd.grad(b, n, g.npu())
        same(db, da, {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 0.1}[dtype])
    check(lambda v, k: torch.embedding_renorm_(v.clone(), k, 1.0, 2.0), w.detach().float(), i.flatten(), tolerance=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_along_a_dimension(dtype):
    for x in views(dtype)[:4]:
        x = x.clone() if 0 in x.stride() else x
        for d in range(3):
            i = torch.tensor([2, 0, 1, 2, 2])
            check(lambda v, k: v.index_select(d, k), x, i)
            shape = list(x.shape)
            shape[d] = 5
            s = make(shape, dtype, 4)
            unique = i[:3]
            check(lambda v, k, y: v.index_copy(d, k, y), x, unique, s.narrow(d, 0, 3))
            check(lambda v, k: v.index_fill(d, k, 1), x, i)
            k = torch.randint(0, x.shape[d], shape, generator=torch.Generator().manual_seed(5))
            small = tuple(slice(0, max(1, n - 1)) if j != d else slice(None) for j, n in enumerate(shape))
            check(lambda v, p: v.gather(d, p), x, k[small])
            check(lambda v, p: v.scatter(d, p[small], 1), x, k)
            one = k.narrow(d, 0, 1)
            check(lambda v, p, y: v.scatter(d, p, y), x, one, s)
            tolerance = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 0.07}.get(dtype, 0)
            check(lambda v, p, y: v.scatter_add(d, p, y), x, k, s, tolerance=tolerance)
            check(lambda v, p, y: v.index_add(d, p, y), x, i, s, tolerance=tolerance)
    x = make((5, 6), dtype)
    check(torch.take, x, torch.tensor([[3, -1], [29, 0]]))
    check(lambda v, m: v.masked_fill(m, 1), x, make((6,), torch.bool, 1))
    check(lambda v, m: v.transpose(0, 1).masked_fill(m, 1), x, make((6, 1), torch.bool, 1))
    check(lambda m, a, b: torch.where(m, a, b), make((6,), torch.bool, 1), x, make((5, 1), dtype, 3))
    check(lambda v, m, s: v.masked_scatter(m, s), x, make((5, 6), torch.bool, 1), make((30,), dtype, 3))


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin", "mean"])
@pytest.mark.parametrize("include", [True, False])
def test_scatter_reduce(reduce, include):
    for dtype in (torch.float32, torch.int32):
        x, s = make((6, 9), dtype), make((8, 9), dtype, 1)
        i = torch.randint(0, 6, (8, 9), generator=torch.Generator().manual_seed(2))
        check(lambda a, k, b: a.scatter_reduce(0, k, b, reduce, include_self=include), x, i, s, tolerance=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_topk(dtype):
    for x in views(dtype) + [make((5000,), dtype), make((3, 70000), dtype)]:
        if dtype.is_floating_point and x.numel():
            x = x.contiguous().clone()
            x.view(-1)[::17] = float("nan")
            x.view(-1)[3::29] = float("-inf")
            x.view(-1)[4::31] = -0.0
        for d in range(x.dim()):
            for descending in (False, True):
                check(lambda v: torch.sort(v, dim=d, descending=descending, stable=True), x)
                if dtype == torch.bool:
                    continue  # the reference has no topk of bool
                k = min(5, x.shape[d])
                got = torch.topk(move(x), k, d, descending)
                want = torch.topk(x, k, d, descending)
                same(got.values, want.values)
                if x.numel():
                    same(move(x).gather(d, got.indices), want.values)


def test_large_accumulations():
    g = torch.Generator().manual_seed(0)
    i = torch.randint(0, 1000, (100000,), generator=g)
    v = make((100000,))
    for f in (lambda k, s, z: z.scatter_add(0, k, s), lambda k, s, z: z.index_add(0, k, s),
              lambda k, s, z: z.index_put((k,), s, accumulate=True)):
        want = f(i, v.double(), torch.zeros(1000, dtype=torch.float64))
        got = f(i.npu(), v.npu(), torch.zeros(1000).npu())
        torch.testing.assert_close(got.cpu().double(), want, rtol=1e-4, atol=1e-4)


def test_search_sorted():
    s = make((3, 40)).sort(-1).values
    v = make((3, 11), seed=1)
    for right in (False, True):
        check(lambda a, b: torch.searchsorted(a, b, right=right), s, v)
        check(lambda a, b: torch.bucketize(b, a[0], right=right, out_int32=True), s, v)


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
def test_elements_of_vectors(kind):
    """More than a thread's share; vectors whose elements lie apart; an index that is outside, in any share."""
    for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.bool, torch.complex64):
        x = (torch.rand(5000) * 100).to(dtype)
        i = torch.randint(5000, (70000,)).to(kind)
        check(lambda v, k: v.index_select(0, k), x, i)
        check(lambda v, k: v[::3].index_select(0, k[::2] % 1600), x, i)
    for at in (0, 40000, 69999):
        wrong = i.clone()
        wrong[at] = 5000
        with pytest.raises(RuntimeError, match="5000"):
            x.npu().index_select(0, wrong.npu())
            torch.npu.synchronize()


@pytest.mark.parametrize("call", [
    lambda x, i: x.index_select(0, i), lambda x, i: x[i], lambda x, i: x.gather(0, i[:, None]),
    lambda x, i: x.index_add(0, i, x[:1]), lambda x, i: torch.nn.functional.embedding(i, x)])
def test_out_of_range(call):
    x = make((4, 3)).npu()
    with pytest.raises(RuntimeError):
        call(x, torch.tensor([7]).npu())
        torch.npu.synchronize()
    same((x + 0), x.cpu())


def test_one_hot():
    check(lambda i: torch.nn.functional.one_hot(i, 6), torch.tensor([[0, 5], [2, 2]]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding_bag(mode, dtype):
    def compare(indices, weight, offsets=None, samples=None, **options):
        got = torch.nn.functional.embedding_bag(*move([indices, weight, offsets]), mode=mode, per_sample_weights=move(samples), **options)
        # Halves are summed in float and rounded once.
        want = torch.nn.functional.embedding_bag(
            indices, weight.float(), offsets, mode=mode, per_sample_weights=samples if samples is None else samples.float(), **options)
        same(got, want.to(dtype), 1e-6 if samples is not None and dtype == torch.float32 else 0)

    weight = make((9, 5), dtype)
    indices, offsets = torch.tensor([4, 1, 3, 3, 0, 8, 2, 4]), torch.tensor([0, 3, 3, 5])  # the second bag is empty
    for options in ({}, {"padding_idx": 3}):
        compare(indices, weight, offsets, **options)
        compare(indices.int(), weight, torch.tensor([0, 3, 3, 5, 8], dtype=torch.int32), include_last_offset=True, **options)
    compare(indices.view(2, 4), weight)
    compare(indices, make((5, 9), dtype).t(), offsets)
    if mode == "sum":
        compare(indices, weight, offsets, make((8,), dtype, 1))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_backward(mode):
    indices, offsets = torch.tensor([4, 1, 3, 3, 0, 8, 2, 4]), torch.tensor([0, 3, 3, 5])
    for options in ({}, {"padding_idx": 3}):
        grads = []
        for device in ("cpu", "npu"):
            weight = make((9, 5)).to(device).requires_grad_()
            out = torch.nn.functional.embedding_bag(indices.to(device), weight, offsets.to(device), mode=mode, **options)
            out.backward(make((4, 5), seed=2).to(device))
            grads.append(weight.grad.cpu())
        torch.testing.assert_close(grads[1], grads[0])


def test_embedding_bag_refuses_bad_offsets():
    weight, indices = make((9, 5)).npu(), torch.tensor([1, 2, 3]).npu()
    with pytest.raises(RuntimeError):
        torch.nn.functional.embedding_bag(indices, weight, torch.tensor([0, 7]).npu(), mode="sum").cpu()


def test_gather_with_an_empty_index_of_any_type():
    x = make((3, 4))
    assert x.npu().gather(0, torch.empty(0, dtype=torch.uint8).npu()).shape == (0,)


def test_pairs_of_halves():
    re, im = make((4, 6), torch.float16), make((4, 6), torch.float16, 1)
    for a, b in ((re, im), (re.t(), im.t()), (re[0], im)):
        got = torch.complex(a.npu(), b.npu())
        want = torch.complex(a, b)
        assert got.dtype == torch.complex32 and torch.equal(torch.view_as_real(got).cpu(), torch.view_as_real(want))
    for x in (make((4, 6)), make((4, 6), torch.int64), make((4, 6), torch.bool), torch.tensor(1.5), torch.complex(make((4, 6)), make((4, 6), seed=1))):
        got, want = x.npu().chalf(), x.chalf()
        assert torch.equal(torch.view_as_real(got.cpu()), torch.view_as_real(want))
        assert torch.equal(got.to(torch.complex64).cpu(), want.to(torch.complex64))


@pytest.mark.parametrize("index_type", [torch.int64, torch.int32], ids=str)
@pytest.mark.parametrize("dtype", [torch.bool, torch.float16, torch.float32, torch.int64, torch.complex128], ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_of_elements(dtype, index_type, dim):
    """Every size of element, in rows of all lengths, of views as well."""
    for shape in ((3, 5, 7), (2, 1100, 3), (1500, 2, 2), (1, 4, 2051)):
        x = (torch.randn(shape) * 3).to(dtype)
        index = torch.randint(0, shape[dim], shape, generator=torch.Generator().manual_seed(1))
        for view in (x, x.transpose(0, 2).contiguous().transpose(0, 2), torch.stack([x, x], -1)[..., 1]):
            for at in (index, index.transpose(0, 1).contiguous().transpose(0, 1)):
                assert torch.equal(view.npu().gather(dim, at.to(index_type).npu()).cpu(), x.gather(dim, at))
    for bad in (-5, 4, 2**31 - 1):
        index = torch.zeros(3, 2000, dtype=index_type)
        index[1, 1234] = bad
        with pytest.raises(RuntimeError):
            torch.zeros(4, 2000).npu().gather(0, index.npu()).cpu()
            torch.npu.synchronize()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32], ids=str)
@pytest.mark.parametrize("width", [1, 7, 64, 700])
def test_sums_of_rows(dtype, width):
    """Gradients of embeddings and index_add: rows that occur many times, once and never."""
    index = torch.randint(0, 50, (3, 700), generator=torch.Generator().manual_seed(width))
    grad = (torch.randn(3, 700, width, generator=torch.Generator().manual_seed(2)) * 8).to(dtype)
    wide = torch.zeros(53, width, dtype=torch.float64).index_add_(0, index.flatten(), grad.double().reshape(-1, width))
    # the sum is rounded once in the halves; float and double round at each step
    bound = {torch.float32: 3e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 8e-3, torch.int32: 0}[dtype]
    for view in (grad.npu(), grad.transpose(0, 2).contiguous().transpose(0, 2).npu()):
        got = torch.zeros(53, width, dtype=dtype, device="npu").index_add_(0, index.flatten().npu(), view.reshape(-1, width), alpha=1)
        assert (got.cpu().double() - wide).abs().max() <= bound * wide.abs().max()
        if dtype.is_floating_point:
            got = torch.ops.aten.embedding_dense_backward(view, index.npu(), 53, 5, False)
            expected = wide.clone()
            expected[5] = 0
            assert (got.cpu().double() - expected).abs().max() <= bound * wide.abs().max()


def place_for(shape, dtype):
    return torch.empty(shape, dtype=dtype, device="npu")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_gather_of_slices(dtype):
    x, i = make((4, 5, 6), dtype), torch.tensor([[2, 0, 4], [1, 1, 3]])
    for view in (x, make((6, 5, 4), dtype).transpose(0, 2)):
        out = place_for((4, 2, 3, 6), dtype)
        call("aclnnGatherV3", move(view), 1, i.npu(), 0, 0, out)
        assert torch.equal(out.cpu(), view[:, i])
    index = torch.randint(0, 5, (4, 3), generator=torch.Generator().manual_seed(1))
    out = place_for((4, 3, 6), dtype)
    call("aclnnGatherV3", x.npu(), 1, index.npu(), 1, 0, out)
    assert torch.equal(out.cpu(), torch.stack([x[b, index[b]] for b in range(4)]))
    out = place_for((4, 5, 3), dtype)
    last = torch.randint(0, 6, (4, 3), generator=torch.Generator().manual_seed(2))
    call("aclnnGatherV3", x.npu(), 2, last.npu(), 1, 0, out)
    assert torch.equal(out.cpu(), torch.stack([x[b][:, last[b]] for b in range(4)]))
    assert torch.equal(torch_npu.npu_gather_sparse_index(x.npu(), i.clamp(max=3).npu()).cpu(), x[i.clamp(max=3)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32], ids=str)
def test_index_add_with_a_mode(dtype):
    x, i, s = make((4, 5), dtype), torch.tensor([2, 0, 2, 3, 2]), make((4, 5), dtype, 1)
    want = x.double().index_add(1, i, s.double(), alpha=2).to(dtype)
    for mode in (0, 1):
        out = place_for((4, 5), dtype)
        call("aclnnIndexAddV2", x.npu(), 1, i.npu(), s.npu(), 2, mode, out)
        same(out, want, 0.02 if dtype == torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8], ids=str)
def test_index_fill_with_a_list(dtype):
    x = make((4, 5), dtype)
    want = x.index_fill(1, torch.tensor([3, 0]), 7)
    out, self = place_for((4, 5), dtype), x.npu()
    call("aclnnIndexFillTensor", self, 1, [3, 0], 7, out)
    call("aclnnInplaceIndexFillTensor", self, 1, [3, -5], 7)
    assert torch.equal(out.cpu(), want) and torch.equal(self.cpu(), want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8], ids=str)
def test_caches(dtype):
    """Sequences are written into caches from a place on that indices name."""
    batch, heads, length, width = 3, 2, 12, 5
    cache, new = make((batch, heads, length, width), dtype), make((batch, heads, 2, width), dtype, 1)
    start, mask = torch.tensor([4, 0, 10]), torch.tensor([1, 0, 1], dtype=torch.uint8)
    want, masked = cache.clone(), cache.clone()
    for b in range(batch):
        want[b, :, start[b]:start[b] + 2] = new[b]
        if mask[b]:
            masked[b, :, start[b]:start[b] + 2] = new[b]
    data = cache.npu()
    call("aclnnInplaceScatterUpdate", data, start.npu(), new.npu(), -2)
    assert torch.equal(data.cpu(), want)
    lists = [c.npu() for c in cache]
    call("aclnnScatterList", lists, start.npu(), new.npu(), None, "update", -2)
    assert torch.equal(torch.stack(lists).cpu(), want)
    lists = [c.npu() for c in cache]
    torch_npu.npu_scatter_list_(lists, start.npu(), new.npu(), mask.npu())
    assert torch.equal(torch.stack(lists).cpu(), masked)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_scatter_of_slices(dtype):
    x = make((4, 5, 6), dtype)
    for i in (torch.tensor([[1], [3]]), torch.tensor([[1, 2], [3, 0], [0, 4]]), torch.tensor([[[1, 2, 3], [0, 0, -1]]])):
        updates = make((*i.shape[:-1], *x.shape[i.shape[-1]:]), dtype, 1)
        want = x.clone()
        want[tuple(i.unbind(-1))] = updates
        assert torch.equal(torch_npu.npu_scatter_nd_update(x.npu(), i.npu(), updates.npu()).cpu(), want)
        self = x.npu()
        call("aclnnScatterNdUpdate", self, i.npu(), updates.npu())
        assert torch.equal(self.cpu(), want)


@pytest.mark.parametrize("index", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32], ids=str)
def test_sums_into_slices(dtype, index):
    x = make((4, 5, 6), dtype)
    for i in (torch.tensor([[1], [3]]), torch.tensor([[1, 2], [1, 2], [0, 4]]), torch.tensor([[[1, 2, 3], [0, 0, 1]]]), torch.empty(0, 1, dtype=torch.int64)):
        updates = make((*i.shape[:-1], *x.shape[i.shape[-1]:]), dtype, 1)
        want = x.double()
        want.index_put_(tuple(i.unbind(-1)), updates.double(), accumulate=True)
        self = x.npu()
        call("aclnnTfScatterAdd", self, i.to(index).npu(), updates.npu())
        torch.testing.assert_close(self.cpu(), want.to(dtype))
    with pytest.raises(RuntimeError, match="updates is .*want the type of varRef"):
        call("aclnnTfScatterAdd", x.npu(), torch.zeros(1, 1, dtype=index).npu(), make((1, 5, 6), torch.bfloat16).npu())


def test_search_forms():
    s, v = make((40,)).sort().values, make((3, 11), seed=1)
    for right in (False, True):
        for dtype in (torch.int32, torch.int64):
            out = place_for((3, 11), dtype)
            call("aclnnBucketize", v.npu(), s.npu(), dtype == torch.int32, right, out)
            assert torch.equal(out.cpu(), torch.bucketize(v, s, right=right, out_int32=dtype == torch.int32))
            one = place_for((), dtype)
            call("aclnnSearchSorteds", s.npu(), s[7].item(), dtype == torch.int32, right, None, one)
            assert one.item() == 7 + right


def test_repeat_forms():
    x, n = make((3, 4)), torch.tensor([2, 0, 3, 1])
    flat = torch.arange(12).fmod(3)
    out = place_for((int(flat.sum()),), torch.float32)
    call("aclnnRepeatInterleave", x.npu(), flat.npu(), out.numel(), out)
    assert torch.equal(out.cpu(), x.repeat_interleave(flat))
    places = place_for((6,), torch.int64)
    call("aclnnRepeatInterleaveTensor", n.npu(), 6, places)
    assert torch.equal(places.cpu(), torch.repeat_interleave(n))
    for dtype in FLOATS:
        leaf = x.double().requires_grad_()
        g = make((3, 6), dtype, 1)
        leaf.repeat_interleave(n, 1).backward(g.double())
        grad = place_for((3, 4), dtype)
        call("aclnnRepeatInterleaveGrad", g.npu(), n.npu(), 1, grad)
        same(grad, leaf.grad.to(dtype), 1e-2 if dtype == torch.bfloat16 else 2e-3 if dtype == torch.float16 else 1e-6)
        doubled = x.double().requires_grad_()
        doubled.repeat_interleave(2, 0).backward(make((6, 4), dtype, 2).double())
        call("aclnnRepeatInterleaveGrad", make((6, 4), dtype, 2).npu(), torch.tensor([2]).npu(), 0, grad)
        same(grad, doubled.grad.to(dtype), 1e-2 if dtype == torch.bfloat16 else 2e-3 if dtype == torch.float16 else 1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_unique_forms(dtype):
    x = make((3, 4), dtype).repeat(2, 1)
    if dtype.is_floating_point:
        x = x.round()
    want, where = torch.unique(x, return_inverse=True)
    values, inverse = place_for((x.numel(),), dtype), place_for(x.shape, torch.int64)
    call("aclnnUnique", x.npu(), True, True, values, inverse)
    assert torch.equal(values.cpu()[:want.numel()], want) and torch.equal(inverse.cpu(), where)
    for dim in (0, 1):
        check(lambda v: torch.unique(v, dim=dim, return_inverse=True, return_counts=True), x)
        want, where, count = torch.unique(x, dim=dim, return_inverse=True, return_counts=True)
        values = place_for(x.shape, dtype)
        inverse, counts = place_for((x.shape[dim],), torch.int64), place_for((x.shape[dim],), torch.int64)
        call("aclnnUniqueDim", x.npu(), True, True, dim, values, inverse, counts)
        k = want.shape[dim]
        front = values.cpu().flatten()[:want.numel()].view(want.shape)  # the client gives the front the new shape
        assert torch.equal(front, want) and torch.equal(inverse.cpu(), where) and torch.equal(counts.cpu()[:k], count)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.bool], ids=str)
def test_pieces(dtype):
    x = make((5, 7), dtype)
    for dim, sizes in ((1, [3, 0, 4]), (0, [1, 4])):
        out = [place_for(p.shape, dtype) for p in x.split(sizes, dim)]
        call("aclnnSplitWithSize", x.npu().t().contiguous().t(), sizes, dim, out)
        for got, want in zip(out, x.split(sizes, dim)):
            assert torch.equal(got.cpu(), want)
    tensors = [make((5, 3), dtype), make((7, 2), dtype, 1), make((4, 1), dtype, 2)]
    want = torch._chunk_cat(tensors, 0, 4)
    out = place_for(want.shape, dtype)
    call("aclnnChunkCat", [t.npu() for t in tensors], 0, 4, out)
    assert torch.equal(out.cpu(), want)


@pytest.mark.parametrize("begin,end,step,masks,slices", [
    ([1, 0, 2], [4, 5, 6], [1, 2, 3], {}, (slice(1, 4), slice(0, 5, 2), slice(2, 6, 3))),
    ([1, 0], [0, 3], [1, 1], dict(end=1), (slice(1, None), slice(0, 3))),
    ([1, 0, 2], [0, 0, 5], [1, 1, 1], dict(shrink=1, begin=4, ellipsis=2), (1, ..., slice(None, 5))),
    ([0, 2], [0, 4], [1, 1], dict(new=1), (None, slice(2, 4))),
    ([-3, 0], [-1, 100], [1, 4], {}, (slice(-3, -1), slice(0, 100, 4)))])
def test_strided_slices(begin, end, step, masks, slices):
    x = make((4, 5, 6))
    want = x[slices]
    out = place_for(want.shape, torch.float32)
    call("aclnnStridedSlice", x.npu(), begin, end, step, *(masks.get(k, 0) for k in ("begin", "end", "ellipsis", "new", "shrink")), out)
    assert torch.equal(out.cpu(), want)


def test_strided_slices_backwards():
    x, out = make((4, 5)), place_for((3, 2), torch.float32)
    call("aclnnStridedSlice", x.npu(), [3, 4], [0, 0], [-1, -2], 0, 0, 0, 0, 0, out)
    assert torch.equal(out.cpu(), x[[3, 2, 1]][:, [4, 2]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_coalesce_sparse(dtype):
    at, values = torch.tensor([[1, 0, 1, 3, 0], [2, 2, 2, 0, 2]]), make((5, 3), dtype)
    want = torch.sparse_coo_tensor(at, values, (4, 3, 3)).coalesce()
    got = torch.sparse_coo_tensor(at.npu(), values.npu(), (4, 3, 3)).coalesce()
    same(got.indices().cpu(), want.indices())
    torch.testing.assert_close(got.values().cpu(), want.values(), rtol=2e-3, atol=2e-3)
    weight = torch.nn.Embedding(6, 2, sparse=True).npu()
    weight(torch.tensor([1, 4, 1]).npu()).sum().backward()
    assert weight.weight.grad.coalesce().values().cpu().tolist() == [[2, 2], [1, 1]]


MOVES = {
    "copy": lambda x: x.clone(), "transpose": lambda x: x.mT.contiguous(), "slice": lambda x: x[:, ::2].contiguous(),
    "select": lambda x: x[1], "cat": lambda x: torch.cat([x, x[1:]], 0), "stack": lambda x: torch.stack([x, x], 1),
    "index_select": lambda x: x.index_select(1, torch.tensor([2, 0, 2], device=x.device)),
    "gather": lambda x: x.gather(1, torch.tensor([[2, 0], [1, 1], [3, 2]], device=x.device)),
    "index": lambda x: x[torch.tensor([2, 0], device=x.device), torch.tensor([1, 3], device=x.device)],
    "take": lambda x: x.take(torch.tensor([0, 11, 5], device=x.device)), "flip": lambda x: x.flip(0), "roll": lambda x: x.roll(1, 1),
    "repeat": lambda x: x.repeat(2, 3), "repeat_interleave": lambda x: x.repeat_interleave(3, 0),
    "repeat_interleave_each": lambda x: x.repeat_interleave(torch.tensor([1, 0, 2], device=x.device), 0),
    "expand": lambda x: x.unsqueeze(0).expand(2, 3, 4).contiguous(), "permute": lambda x: x.reshape(3, 2, 2).permute(2, 0, 1).contiguous(),
    "tril": lambda x: x.tril(), "triu": lambda x: x.triu(1),
    "where": lambda x: torch.where(torch.tensor([[True], [False], [True]], device=x.device), x, x.flip(0)),
    "masked_select": lambda x: x.masked_select(torch.tensor([True, False, True, True], device=x.device)),
    "masked_scatter": lambda x: x.masked_scatter(torch.tensor([True, False, True, True], device=x.device), x.flip(1)),
    "scatter": lambda x: x.scatter(1, torch.tensor([[3, 0], [1, 2], [0, 1]], device=x.device), x.flip(0)),
    "index_copy": lambda x: x.index_copy(0, torch.tensor([2, 0], device=x.device), x[:2]),
    "index_put": lambda x: x.index_put((torch.tensor([2, 0], device=x.device),), x[:2]),
    "slice_write": lambda x: x.clone().index_fill_(1, torch.tensor([1], device=x.device), 0),
    "unfold": lambda x: x.unfold(1, 2, 1).contiguous(), "diagonal": lambda x: x.diagonal().contiguous(), "diag_embed": lambda x: torch.diag_embed(x),
    "chunk": lambda x: torch.cat(x.chunk(2, 1)[::-1], 1), "split": lambda x: torch.cat(x.split([1, 2], 0)[::-1]),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2)), "zeros_like": lambda x: torch.zeros_like(x), "fill": lambda x: x.clone().fill_(2),
    "to complex64": lambda x: x.to(torch.complex64), "real": lambda x: x.real.contiguous(), "imag": lambda x: x.imag.contiguous(),
    "view_as_real": lambda x: torch.view_as_real(x).contiguous(), "tile": lambda x: x.tile(2), "movedim": lambda x: x.movedim(0, 1).contiguous(),
    "broadcast copy": lambda x: x.clone().copy_(x[0]),
}


@pytest.mark.parametrize("name", list(MOVES))
def test_pairs_of_halves_move(name):
    """What PyTorch's CPU does with complex32, else what it does with complex64: the numbers are the same."""
    x = torch.complex(make((3, 4)), make((3, 4), seed=1)).chalf()
    want = MOVES[name](x.to(torch.complex64))
    for v in (x.npu(), x.npu().mT.contiguous().mT):
        got = MOVES[name](v).cpu()
        assert got.dtype == {torch.complex64: x.dtype if name != "to complex64" else torch.complex64}.get(want.dtype, torch.float16)
        got = got.to(torch.complex64) if got.is_complex() else got.float()
        assert torch.equal(got, want)


def test_gradients_of_pairs_of_halves():
    x = torch.complex(make((3, 4)), make((3, 4), seed=1)).chalf()
    grad = torch.complex(make((6, 4), seed=2), make((6, 4), seed=3)).chalf()
    out = torch.empty_like(x, device="npu")
    for repeats, want in ((torch.tensor([2, 1, 3]), [slice(0, 2), slice(2, 3), slice(3, 6)]), (torch.tensor([2]), [slice(0, 2), slice(2, 4), slice(4, 6)])):
        call("aclnnRepeatInterleaveGrad", grad.npu(), repeats.npu(), 0, out)
        sums = torch.stack([grad[s].to(torch.complex64).sum(0) for s in want]).chalf()
        assert torch.equal(torch.view_as_real(out).cpu(), torch.view_as_real(sums))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_copied_views(dtype):
    x = make((3, 1, 5), dtype).npu()
    for dims in ((2, 0, 1), (-1, 1, 0)):
        out = torch.empty(x.permute(dims).shape, dtype=dtype, device="npu")
        call("aclnnPermute", x, dims, out)
        assert torch.equal(out.cpu(), x.cpu().permute(dims))
    for size in ((3, 4, 5), (2, -1, 4, 5)):
        out = torch.empty(x.expand(size).shape, dtype=dtype, device="npu")
        call("aclnnExpand", x, size, out)
        assert torch.equal(out.cpu(), x.cpu().expand(size))
    for start, end, step in ((0, 5, 1), (1, -1, 2), (-4, 100, 3), (4, 2, 1), (-9, -8, 1)):
        want = x.cpu()[..., slice(max(start, -5), end, step)]
        call("aclnnSlice", x, -1, start, end, step, out := torch.empty(want.shape, dtype=dtype, device="npu"))
        assert torch.equal(out.cpu(), want)
    for diagonal in (0, 2, -1, 9):
        for v in (make((4, 3), dtype), make((3,), dtype), make((0,), dtype)):
            if v.dim() == 2 and diagonal == 9:
                continue
            call("aclnnDiag", v.npu(), diagonal, out := torch.empty(torch.diag(v, diagonal).shape, dtype=dtype, device="npu"))
            assert torch.equal(out.cpu(), torch.diag(v, diagonal))
    pieces = [torch.empty(n, 1, 5, dtype=dtype, device="npu") for n in (2, 1)]
    call("aclnnSplitTensor", x, 2, 0, pieces)
    assert all(torch.equal(p.cpu(), q) for p, q in zip(pieces, x.cpu().split(2)))


def test_copied_views_refuse():
    x, out = make((2, 3)).npu(), torch.empty(3, 2, device="npu")
    for name, arguments in (("Permute", ((0, 0),)), ("Permute", ((0,),)), ("Expand", ((2, 4),)), ("Expand", ((-1, 2, 3),)), ("Slice", (0, 0, 1, 0)),
                            ("Slice", (2, 0, 1, 1)), ("Permute", ((0, 1),))):
        with pytest.raises(RuntimeError, match="161002"):
            call("aclnn" + name, x, *arguments, out)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bad", [None, float("inf"), -float("inf"), float("nan")])
def test_all_finite_only_ever_sets(dtype, bad):
    x = make((300, 41), dtype)
    if bad is not None:
        x[123, 40] = bad
    for before in (False, True):
        found = torch.tensor([before]).npu()
        call("aclnnAllFinite", x.npu().t(), found)
        assert found.item() == (before or bad is not None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16], ids=str)
def test_slices_that_differ(dtype):
    """Operators that torch_npu compiles (jit_compile) go by aclop: torch.unique along a dimension asks for UniqueWithCountsExt2."""
    x = torch.randint(3, (5, 7, 2)).to(dtype)
    torch_npu.npu.set_compile_mode(jit_compile=True)
    try:
        for d in range(3):
            got = torch.unique(x.npu(), return_inverse=True, return_counts=True, dim=d)
            for g, w in zip(got, torch.unique(x.cpu(), return_inverse=True, return_counts=True, dim=d)):
                assert torch.equal(g.cpu(), w)
    finally:
        torch_npu.npu.set_compile_mode(jit_compile=False)


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_gather_counts_negative_indices_from_the_end(kind):
    """As on a card, whose clients (MindSpore's GatherD) rely on it; PyTorch's CPU refuses them."""
    torch.manual_seed(3)
    x, index = torch.randn(7, 40), torch.randint(-7, 7, (7, 40), dtype=kind)
    out = torch.empty(7, 40).npu()
    call("aclnnGather", x.npu(), 0, index.npu(), out)
    assert torch.equal(out.cpu(), x.gather(0, index.long() % 7))
    call("aclnnGather", x.t().npu(), 1, index.t().npu(), out := torch.empty(40, 7).npu())
    assert torch.equal(out.cpu(), x.t().gather(1, index.t().long() % 7))
    index[3, 5] = -8
    with pytest.raises(RuntimeError, match="-8"):
        call("aclnnGather", x.npu(), 0, index.npu(), out := torch.empty(7, 40).npu())


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_distinct_elements_as_they_occur(kind):
    """Unique of graphs tells the client, by the description of its result, how many there are."""
    x = torch.tensor([5.0, 1, 5, float("inf"), 1, -2, 5, -2])
    given, y, idx = graph.Description(x.npu()), graph.Description(torch.empty(8).npu()), graph.Description(torch.empty(8, dtype=kind).npu())
    attr = graph.attributes("Unique", {"out_idx": kind})
    one = lambda what: graph.array(ctypes.c_void_p, [getattr(given, what)])  # noqa: E731
    two = lambda what: graph.array(ctypes.c_void_p, [getattr(d, what) for d in (y, idx)])  # noqa: E731
    torch.npu.synchronize()
    graph.check(graph.library().aclopCompileAndExecuteV2(b"Unique", 1, one("handle"), one("buffer"), 2, two("handle"), two("buffer"), attr, 0, 0,
                                                   None, ctypes.c_void_p(torch.npu.current_stream().npu_stream)))
    torch.npu.synchronize()
    assert y.shape() == ([4], torch.float32) and idx.shape() == ([8], kind)
    assert y.tensor[:4].tolist() == [5, 1, float("inf"), -2]
    assert idx.tensor.tolist() == [0, 1, 0, 2, 1, 3, 0, 3]
    for d in (given, y, idx):
        d.close()


@pytest.mark.parametrize("marker", [(0,), (0,) * 9], ids=["vector", "nine"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_empty_indices_mean_whole_dimensions(marker, dtype):
    """MindSpore marks a dimension that is not indexed by an empty tensor of int64, whatever the type of self."""
    x, rows = make((3, 4, 5), dtype), torch.tensor([2, 0])
    none = torch.empty(marker, dtype=torch.int64).npu()
    out = torch.empty((3, 2, 5), dtype=dtype).npu()
    call("aclnnIndex", x.npu(), [none, rows.npu()], out)
    same(out, x[:, rows])
    out = torch.empty((3, 4, 2), dtype=dtype).npu()
    call("aclnnIndex", x.npu(), [none, none, rows.npu()], out)
    same(out, x[..., rows])
    if len(marker) == 9:
        self, values = x.npu(), make((3, 2, 5), dtype, 1)
        call("aclnnIndexPutImpl", self, [none, rows.npu()], values.npu(), False, False)
        want = x.clone()
        want[:, rows] = values
        same(self, want)
