"""Products of quantised and of grouped matrices, FFN, and scales that rows find for themselves, against float64."""
import pytest
import torch
import torch_npu
from aclnn import FourBits, accepts, call

I8, I32 = torch.int8, torch.int32


def close(got, want, rtol=2e-5, atol=None):
    torch.testing.assert_close(got.cpu().double(), want.double(), rtol=rtol, atol=rtol if atol is None else atol)


def packed(x):
    """Eight INT4 in an INT32, along the last dimension."""
    words = torch.zeros(*x.shape[:-1], x.shape[-1] // 8, dtype=torch.int64)
    for i in range(8):
        words |= (x[..., i::8].long() & 15) << 4 * i
    return torch.where(words >= 2**31, words - 2**32, words).to(I32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("four", [False, True])
def test_dynamic_quantisation(dtype, four):
    torch.manual_seed(0)
    x, smooth = torch.randn(3, 5, 16).to(dtype), (torch.rand(16) + 0.5).to(dtype)
    kind, most = (torch.quint4x2, 7) if four else (I8, 127)
    y, scale = torch_npu.npu_dynamic_quant(x.npu(), smooth_scales=smooth.npu(), dst_type=kind)
    exact = x.double() * smooth.double()
    close(scale, exact.abs().amax(-1) / most)
    numbers = (exact / scale.cpu().double()[..., None]).round().clamp(-most - 1, most)
    if four:
        assert torch.equal(y.cpu(), packed(numbers))
    else:
        assert (y.cpu().double() - numbers).abs().max() <= 1
    if not four:
        y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x.npu())
        close(scale, (x.double().amax(-1) - x.double().amin(-1)) / 255)
        close((y.cpu().double() - offset.cpu()[..., None]) * scale.cpu()[..., None], x.double(), 0, 0.6 * float(scale.max()))


def test_groups_of_rows_have_their_smooth_scales_and_zeros_stay_zero():
    x, smooth = torch.ones(4, 8), torch.tensor([1.0, 2.0, 4.0]).repeat_interleave(8).reshape(3, 8)
    x[3] = 0
    y, scale = torch_npu.npu_dynamic_quant(x.half().npu(), smooth_scales=smooth.half().npu(),
                                           group_index=torch.tensor([1, 1, 4], dtype=I32).npu())
    close(scale, torch.tensor([1.0, 4, 4, 0]) / 127)
    assert y.tolist() == [[127] * 8] * 3 + [[0] * 8]


def test_words_of_scales():
    scale, offset = torch.tensor([1.5, 3.14159]), torch.tensor([-3.0, 300.0])
    words = torch_npu.npu_trans_quant_param(scale.npu(), offset.npu()).cpu()
    assert torch.equal(words & 0xFFFFFFFF, scale.view(I32).long() & 0xFFFFE000)
    assert [(int(w) >> 37 & 511, int(w) >> 46) for w in words] == [(512 - 3, 1), (255, 1)]


@pytest.mark.parametrize("k", [24, 3000])
@pytest.mark.parametrize("four", [False, True])
def test_products_are_exact(k, four):
    torch.manual_seed(1)
    top = 8 if four else 128
    a, b = torch.randint(-top, top, (5, k)), torch.randint(-top, top, (k, 16))
    scale, by_row = torch.rand(16) + 0.1, torch.rand(5) + 0.1
    sums = (a @ b).double()
    x, w = (packed(a), packed(b)) if four else (a.to(I8), b.to(I8))
    got = torch_npu.npu_quant_matmul(x.npu(), w.npu(), scale.npu(), pertoken_scale=by_row.npu(), output_dtype=torch.bfloat16)
    close(got, sums * scale * by_row[:, None], 5e-3)
    down = packed(b.t().contiguous()).npu().t() if four else b.t().contiguous().to(I8).npu().t()  # a transposed weight
    again = torch_npu.npu_quant_matmul(x.npu(), down, scale.npu(), pertoken_scale=by_row.npu(), output_dtype=torch.bfloat16)
    assert torch.equal(got.cpu(), again.cpu())


@pytest.mark.parametrize("down", [False, True])
def test_tensors_of_int4(down):
    """MindSpore names the type INT4 and gives the dimensions of its elements; their number may fill no words."""
    torch.manual_seed(2)
    x, w, scale, shift = torch.randn(5, 16).half(), torch.randint(-8, 8, (16, 24)), torch.rand(24).half() + 0.1, torch.randn(24).half()
    words = packed(w.t().contiguous()).npu().t() if down else packed(w).npu()
    y = torch.empty(5, 24).half().npu()
    call("aclnnWeightQuantBatchMatmulV2", x.npu(), FourBits(words), scale.npu(), shift.npu(), None, None, None, 0, y)
    close(y, x.double() @ ((w + shift.double()) * scale.double()), 5e-3, 2e-2)
    bytes_ = torch.empty(5, 2, dtype=I32, device="npu")
    call("aclnnAscendQuantV3", x.npu(), torch.ones(1).half().npu(), None, False, "round", 29, -1, FourBits(bytes_))
    assert torch.equal(bytes_.cpu(), packed(x.float().round().clamp(-8, 7)))
    assert not accepts("aclnnWeightQuantBatchMatmulV2", x.npu(), FourBits(words[:, ::2]), scale.npu(), shift.npu(), None, None, None, 0, y)


def test_int8_results_take_the_offset_of_the_words():
    a, b = torch.randint(-9, 9, (4, 32)), torch.randint(-9, 9, (32, 8))
    words = torch_npu.npu_trans_quant_param(torch.full((8,), 0.125).npu(), torch.arange(8.0).npu())
    got = torch_npu.npu_quant_matmul(a.to(I8).npu(), b.to(I8).npu(), words)
    assert torch.equal(got.cpu().double(), ((a @ b) * 0.125 + torch.arange(8)).double().round().clamp(-128, 127))


def test_int8_by_int4_in_groups():
    torch.manual_seed(2)
    k, n, groups = 64, 16, 4
    a, b = torch.randint(-128, 128, (2, k)), torch.randint(-8, 8, (k, n))
    scale, by_row, last = torch.rand(groups, n), torch.rand(2, 1), torch.randn(n)
    out = torch.empty(2, n, dtype=torch.float16).npu()
    call("aclnnQuantMatmulV5", a.to(I8).npu(), packed(b).npu(), by_row.npu(), scale.npu(), None, None, None, last.npu(), None,
         False, False, 16, out)
    weight = b.double() * scale.double().repeat_interleave(k // groups, 0)
    close(out, ((a - 8).double() @ weight + last) * by_row, 2e-3)


@pytest.mark.parametrize("dtype, loose", [(torch.float32, 3e-5), (torch.float16, 3e-3), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("act", [0, 1, 2, 4, 5])
def test_groups_of_rows(dtype, loose, act):
    torch.manual_seed(3)
    x, w = torch.randn(20, 12).to(dtype), (torch.randn(3, 12, 8) / 3).to(dtype)
    ends = [4, 4, 17]  # an expert without rows, and rows without an expert
    got, = torch_npu.npu_grouped_matmul([x.npu()], [w.npu()], group_list=torch.tensor(ends).npu(), split_item=3, group_type=0,
                                        group_list_type=0, act_type=act)
    want = torch.zeros(20, 8, dtype=torch.float64)
    function = {0: lambda v: v, 1: torch.relu, 2: lambda v: torch.nn.functional.gelu(v, approximate="tanh"),
                4: lambda v: v * torch.sigmoid(1.702 * v), 5: torch.nn.functional.silu}[act]
    for g, (begin, end) in enumerate(zip([0] + ends, ends)):
        want[begin:end] = function(x[begin:end].double() @ w[g].double())
    close(got, want, loose)
    counts, = torch_npu.npu_grouped_matmul([x.npu()], [w.npu()], group_list=torch.tensor([4, 0, 13]).npu(), split_item=3,
                                           group_type=0, group_list_type=1, act_type=act)
    assert torch.equal(counts.cpu(), got.cpu())


def test_lists_of_products_and_groups_of_columns():
    torch.manual_seed(4)
    xs, ws = [torch.randn(3, 8), torch.randn(5, 6)], [torch.randn(8, 4), torch.randn(6, 7)]
    biases = [torch.randn(4), torch.randn(7)]
    out = torch_npu.npu_grouped_matmul([x.npu() for x in xs], [w.npu() for w in ws], bias=[b.npu() for b in biases], split_item=0,
                                       group_type=-1)
    for got, x, w, b in zip(out, xs, ws, biases):
        close(got, x.double() @ w.double() + b)
    x, w = torch.randn(6, 10), torch.randn(10, 4)
    got, = torch_npu.npu_grouped_matmul([x.npu()], [w.npu()], group_list=torch.tensor([3, 10]).npu(), split_item=3, group_type=2,
                                        group_list_type=0)
    close(got, torch.stack([x[:, :3].double() @ w[:3].double(), x[:, 3:].double() @ w[3:].double()]))
    with pytest.raises(RuntimeError, match="ends at 11"):
        torch_npu.npu_grouped_matmul([x.npu()], [w.npu()], group_list=torch.tensor([3, 11]).npu(), split_item=3, group_type=2,
                                     group_list_type=0)
        torch.npu.synchronize()
    with pytest.raises(RuntimeError, match="want matrices with the groups between"):
        torch_npu.npu_grouped_matmul([x.npu()], [w[:9].npu()], group_list=torch.tensor([3, 10]).npu(), split_item=3, group_type=2,
                                     group_list_type=0)


def test_quantised_groups():
    torch.manual_seed(5)
    x, w = torch.randint(-128, 128, (9, 16)), torch.randint(-128, 128, (2, 16, 8))
    scale, by_row = torch.rand(2, 8), torch.rand(9)
    got, = torch_npu.npu_grouped_matmul([x.to(I8).npu()], [w.to(I8).npu()], scale=[scale.bfloat16().npu()],
                                        per_token_scale=[by_row.npu()], group_list=torch.tensor([5, 9]).npu(), split_item=3,
                                        group_type=0, group_list_type=0, output_dtype=torch.bfloat16)
    rows = torch.cat([(x[:5] @ w[0]) * scale[0].bfloat16().double(), (x[5:] @ w[1]) * scale[1].bfloat16().double()])
    close(got, rows * by_row[:, None], 1e-2)


@pytest.mark.parametrize("name", ["relu", "gelu", "fastgelu", "silu"])
def test_ffn_by_experts(name):
    torch.manual_seed(6)
    x, w1, w2 = torch.randn(7, 6).half(), torch.randn(2, 6, 16).half() / 4, torch.randn(2, 16, 6).half() / 4
    function = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "fastgelu": lambda v: v * torch.sigmoid(1.702 * v),
                "silu": torch.nn.functional.silu}[name]
    want = torch.cat([function(p.double() @ a.double()) @ b.double() for p, a, b in zip(x.split([3, 4]), w1, w2)])
    for tokens in ({"expert_tokens": [3, 4]}, {"expert_tokens_index": [3, 7]}):
        close(torch_npu.npu_ffn(x.npu(), w1.npu(), w2.npu(), name, **tokens), want, 4e-3)
    with pytest.raises(RuntimeError, match="expertTokens has 2 values that end at 9"):
        torch_npu.npu_ffn(x.npu(), w1.npu(), w2.npu(), name, expert_tokens=[3, 6])


def test_ffn_with_weights_of_whole_numbers():
    torch.manual_seed(7)
    x, w1, w2 = torch.randn(5, 8).half(), torch.randint(-9, 9, (8, 12)), torch.randint(-9, 9, (12, 4))
    s1, s2, o1 = (torch.rand(12) / 9).half(), (torch.rand(4) / 9).half(), torch.rand(12).half()
    got = torch_npu.npu_ffn(x.npu(), w1.to(I8).npu(), w2.to(I8).npu(), "relu", antiquant_scale1=s1.npu(), antiquant_scale2=s2.npu(),
                            antiquant_offset1=o1.npu(), antiquant_offset2=torch.zeros(4).half().npu())
    want = torch.relu(x.double() @ ((w1 + o1.double()) * s1.double())) @ (w2 * s2.double())
    close(got, want, 1e-2)


@pytest.mark.parametrize("dtype, loose", [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("four", [False, True])
@pytest.mark.parametrize("group", [0, 32])
@pytest.mark.parametrize("down", [False, True])
def test_weights_of_whole_numbers(dtype, loose, four, group, down):
    torch.manual_seed(8)
    k, n = 72, 16  # the last group of rows is shorter
    x, w = torch.randn(5, k).to(dtype), torch.randint(-8, 8, (k, n))
    rows = -(-k // group) if group else 1
    scale, offset, bias = (torch.rand(rows, n) / 8).to(dtype), torch.randint(-3, 3, (rows, n)).to(dtype), torch.randn(n).to(dtype)
    at = torch.arange(k) // group if group else torch.zeros(k, dtype=torch.long)
    # Each step is rounded to the type of the scales, as the unit has it that makes these weights.
    real = ((w + offset.double()[at]).to(dtype).double() * scale.double()[at]).to(dtype).double()
    weight = packed(w) if four else w.to(I8)
    if down:
        weight = packed(w.t().contiguous()).npu().t() if four else w.t().contiguous().to(I8).npu().t()
    got = torch_npu.npu_weight_quant_batchmatmul(x.npu(), weight.npu(), scale.npu(), offset.npu(), bias=bias.npu(),
                                                 antiquant_group_size=group)
    assert got.dtype == dtype
    close(got, x.double() @ real + bias.double(), loose)


def test_weights_of_whole_numbers_for_batches_and_int8_results():
    torch.manual_seed(9)
    x, w, scale = torch.randn(2, 3, 8).half(), torch.randint(-9, 9, (2, 8, 4)), torch.tensor([0.25]).half()
    want = x.double() @ (w.double() * 0.25)
    close(torch_npu.npu_weight_quant_batchmatmul(x.npu(), w.to(I8).npu(), scale.npu()), want, 2e-3)
    close(torch_npu.npu_weight_quant_batchmatmul(x.npu(), w[0].to(I8).npu(), scale.npu()), x.double() @ (w[0].double() * 0.25), 2e-3)
    by, shift = torch.tensor([4.0, 8, 16, 64]), torch.tensor([1.0, -2, 3, 0])
    got = torch_npu.npu_weight_quant_batchmatmul(x[0].npu(), w[0].to(I8).npu(), scale.npu(), quant_scale=by.npu(), quant_offset=shift.npu())
    assert got.dtype == I8 and (got.cpu() - (want[0] * by + shift).round().clamp(-128, 127)).abs().max() <= 1
    assert torch_npu.npu_weight_quant_batchmatmul(x[0, :0].npu(), w[0].to(I8).npu(), scale.npu()).shape == (0, 4)
    with pytest.raises(RuntimeError, match=r"antiquantScale is .* want 1 or 4 values"):
        torch_npu.npu_weight_quant_batchmatmul(x[0].npu(), w[0].to(I8).npu(), torch.ones(3).half().npu())


def swiglu(products):
    """The rows as INT8, and their scales."""
    left, right = products.chunk(2, -1)
    v = torch.nn.functional.silu(left) * right
    scale = v.abs().amax(-1) / 127
    return (v / scale[:, None]).round(), scale


def blocked(w, wide):
    """The bytes of FRACTAL_NZ, [experts, N/wide, K/16, 16, wide]."""
    e, k, n = w.shape
    return w.reshape(e, k // 16, 16, n // wide, wide).permute(0, 3, 1, 2, 4).contiguous()


@pytest.mark.parametrize("four", [False, True])
@pytest.mark.parametrize("laid_out", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_groups_of_rows_with_swiglu(four, laid_out, groups):
    torch.manual_seed(10)
    rows, k, n, ends = 9, 64, 128, [4, 4]  # an expert without rows, and rows without an expert
    top = 8 if four else 128
    x, w, by_row = torch.randint(-128, 128, (rows, k)), torch.randint(-top, top, (2, k, n)), torch.rand(rows) / 8
    scale = torch.rand(2, groups, n) / 64
    real = w.double() * scale.double().repeat_interleave(k // groups, 1)
    want, want_scale = swiglu((x[:4].double() @ real[0]) * by_row[:4, None])
    weight = packed(w) if four else w.to(I8)
    if laid_out:
        weight = blocked(weight, 8 if four else 32)
    # The card halves the INT8 of x for INT4 weights; the assist matrix takes back what that takes away.
    assist = 8 * real.sum(1).float() if four else None
    y, s = torch.full((rows, n // 2), 3, dtype=I8).npu(), torch.full((rows,), 3.0).npu()
    scales = (scale if groups > 1 else scale[:, 0]).npu()
    call("aclnnGroupedMatmulSwigluQuantWeightNzV2", x.to(I8).npu(), [weight.npu()], [scales], [assist.npu()] if four else None, None,
         by_row.npu(), None, torch.tensor(ends).npu(), int(groups > 1), 0, 0, 0, None, y, s)
    close(s[:4], want_scale)
    assert (y[:4].cpu() - want).abs().max() <= 1 and not y[4:].any() and not s[4:].any()


def test_int4_by_int4_with_swiglu_and_smooth_scales():
    torch.manual_seed(11)
    x, w, by_row, smooth = torch.randint(-8, 8, (7, 64)), torch.randint(-5, 5, (2, 64, 64)), torch.rand(7), torch.rand(2, 32) + 0.5
    scale = torch.rand(2, 64) / 64
    words = scale.view(I32).long() & 0xFFFFFFFF
    y, s = torch.empty(7, 32, dtype=I8).npu(), torch.empty(7).npu()
    call("aclnnGroupedMatmulSwigluQuantV2", packed(x).npu(), [packed(w).npu()], [words.npu()], None, None, by_row.npu(), smooth.npu(),
         torch.tensor([3, 4]).npu(), 0, 0, 0, 1, None, y, s)
    parts = [(a.double() @ b.double()) * c * d[:, None] for a, b, c, d in zip(x.split([3, 4]), w, scale, by_row.split([3, 4]))]
    v = torch.cat([torch.nn.functional.silu(p[:, :32]) * p[:, 32:] * m for p, m in zip(parts, smooth)])
    close(s, v.abs().amax(-1) / 127)
    assert (y.cpu() - (v / s.cpu()[:, None]).round()).abs().max() <= 1


def test_groups_with_swiglu_are_checked():
    x, w, scale, by_row = torch.ones(4, 32, dtype=I8), torch.ones(1, 32, 64, dtype=I8), torch.ones(1, 64), torch.ones(4)
    with pytest.raises(RuntimeError, match="ends at 5"):
        torch_npu.npu_grouped_matmul_swiglu_quant_v2(x.npu(), [w.npu()], [scale.npu()], by_row.npu(), torch.tensor([5]).npu(),
                                                     dequant_dtype=torch.float32, quant_dtype=torch.int8)
        torch.npu.synchronize()
    with pytest.raises(RuntimeError, match="want .32,32. as x and weightScale have it"):
        torch_npu.npu_grouped_matmul_swiglu_quant_v2(x.npu(), [w.npu()], [scale[:, :32].npu()], by_row.npu(), torch.tensor([4]).npu(),
                                                     dequant_dtype=torch.float32, quant_dtype=torch.int8)
