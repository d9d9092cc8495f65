"""Kernels of triton-ascend on tensors of the NPU, as a user writes them: each is compared with PyTorch's CPU."""
import sys

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.autotune(configs=[triton.Config({"M": 16, "N": 16}), triton.Config({"M": 32, "N": 16}, num_warps=8)], key=["n"])
@triton.jit
def product(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        x = tl.load(a + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        y = tl.load(b + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def count(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def converted(x, out, back):
    at = tl.arange(0, 8)
    v = tl.load(x + at).to(out.dtype.element_ty)
    tl.store(out + at, v)
    tl.store(back + at, v.to(tl.bfloat16))


@triton.jit
def smaller(x, y, out):
    at = tl.arange(0, 64)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, tl.where(a < b, a, b * 0.5))


def close(got, want, tolerance):
    torch.testing.assert_close(got.cpu().double(), want.double(), rtol=tolerance, atol=tolerance)


def main():
    torch.manual_seed(0)
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2), (torch.int32, 0)):
        x, y = (torch.randint(-99, 99, (1000,)).to(dtype) for _ in range(2))
        out = torch.full((1000,), 7, dtype=dtype).npu()
        add[(triton.cdiv(1000, 256),)](x.npu(), y.npu(), out, 1000, BLOCK=256)
        close(out, x.double() + y.double(), tolerance)
    x, out = torch.randn(7, 100).half(), torch.empty(7, 60).npu()
    softmax[(7,)](x.npu(), out, x.stride(0), 60, BLOCK=64)  # rows that do not end where the next one begins
    close(out, x[:, :60].double().softmax(-1), 1e-5)
    for dtype in (torch.float16, torch.bfloat16):
        a, b, c = torch.randn(50, 40).to(dtype), torch.randn(40, 30).to(dtype), torch.empty(50, 30).npu()
        product[lambda meta: (triton.cdiv(50, meta["M"]), triton.cdiv(30, meta["N"]))](a.npu(), b.npu(), c, 50, 30, 40, K=16)
        close(c, a.double() @ b.double(), 1e-4)
    x = torch.tensor([1.5, -2.25, float("nan"), float("inf"), -0.0, 3e38, 1e-40, 257.0]).bfloat16()
    for dtype in (torch.float32, torch.float16, torch.int32):
        out, back = torch.empty(8, dtype=dtype).npu(), torch.empty(8, dtype=torch.bfloat16).npu()
        if dtype == torch.int32:
            x = torch.tensor([0, 1, -3, 255, 257, 1000, -99999, 4]).bfloat16()
        converted[(1,)](x.npu(), out, back)
        assert torch.equal(out.cpu().nan_to_num(7), x.to(dtype).nan_to_num(7)), (out, x)
        assert torch.equal(back.cpu().nan_to_num(7), x.to(dtype).bfloat16().nan_to_num(7)), (back, x)
    x, y, out = torch.randn(64).bfloat16(), torch.randn(64).bfloat16(), torch.empty(64).bfloat16().npu()
    smaller[(1,)](x.npu(), y.npu(), out)
    assert torch.equal(out.cpu(), torch.where(x < y, x, (y.float() * 0.5).bfloat16()))
    x, out = torch.randint(0, 5, (300,)).int(), torch.zeros(5, dtype=torch.int32).npu()
    count[(3,)](x.npu(), out, 300, BLOCK=128)
    assert out.tolist() == torch.bincount(x, minlength=5).tolist()
    # after other work on the stream, and before it
    x = torch.ones(64).npu()
    for _ in range(3):
        x = x * 2
        add[(1,)](x, x, x, 64, BLOCK=64)
    assert x.tolist() == [64.0] * 64
    device = triton.runtime.driver.active
    assert device.get_current_target().backend == "npu" and device.get_active_torch_device() == torch.device("npu", 0)
    properties = torch.npu.get_device_properties(0)
    assert device.utils.get_device_properties(0)["num_aicore"] == properties.cube_core_num
    torch.npu.set_device(1)
    y = torch.ones(64).npu()
    add[(1,)](y, y, y, 64, BLOCK=64)
    assert y.device.index == 1 and y.tolist() == [2.0] * 64 and device.get_current_device() == 1
    assert triton.testing.do_bench(lambda: add[(1,)](y, y, y, 64, BLOCK=64), warmup=1, rep=1) > 0


if __name__ == "__main__":
    main()
    print("right", file=sys.stderr)
