"""What triton-ascend has beside Triton, by the name that vllm-ascend looks it up by; parts of one and two dimensions."""
import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
from triton.language.extra.cann import extension


@triton.jit
def parts(x, out, first, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    part = extension.extract_slice(v, (first, 0), (M // 2, N // 2), (1, 2))
    v = extension.insert_slice(v, part * 10, (0, N // 2), (M // 2, N // 2), (2, 1))
    tl.store(out + at, v + extension.get_element(v, (first, 1)))


x = torch.arange(32.0).reshape(4, 8)
out = torch.empty(4, 8).npu()
parts[(1,)](x.npu(), out, 1, 4, 8)
want = x.clone()
want[0:4:2, 4:] = x[1:3, 0::2] * 10
assert torch.equal(out.cpu(), want + want[1, 1]), out
try:
    extension.gather_out_to_ub
except AttributeError as error:
    assert "triton.language.extra.cann.extension.gather_out_to_ub is not there for kernels that are interpreted" in str(error)
else:
    raise AssertionError
