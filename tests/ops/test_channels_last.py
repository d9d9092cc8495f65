"""Tensors whose channels lie innermost: joining, cutting and copying them moves whole pixels, whatever the other side's order is."""

import itertools

import pytest
import torch
from aclnn import call

FORMATS = (torch.contiguous_format, torch.channels_last)
TYPES = (torch.float32, torch.float16, torch.int8, torch.int64, torch.bool, torch.complex64)


def image(dtype, channels, layout):
    made = torch.randn(2, channels, 5, 7) * 50
    return (made > 0 if dtype is torch.bool else made.to(dtype)).contiguous(memory_format=layout)


def moved(tensor, layout):
    """On the device in that order; torch_npu's own contiguous() has only one."""
    if layout is torch.contiguous_format:
        return tensor.contiguous().npu()
    there = tensor.permute(0, 2, 3, 1).contiguous().npu().permute(0, 3, 1, 2)
    assert there.stride(1) == 1
    return there


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_joined(dtype):
    for layouts in itertools.product(FORMATS, repeat=2):
        parts = [image(dtype, c, f) for c, f in zip((3, 17), layouts)]
        want = torch.cat(parts, 1)
        on_npu = [moved(p, f) for p, f in zip(parts, layouts)]
        assert torch.equal(torch.cat(on_npu, 1).cpu(), want)
        out = moved(torch.zeros(2, 20, 5, 7, dtype=dtype), torch.channels_last)
        torch.cat(on_npu, 1, out=out)
        assert torch.equal(out.cpu(), want)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_copied_into_a_part(dtype):
    for layouts in itertools.product(FORMATS, repeat=2):
        whole, part = image(dtype, 24, layouts[0]), image(dtype, 8, layouts[1])
        on_npu = moved(whole, layouts[0])
        for target, source in ((whole, part), (on_npu, moved(part, layouts[1]))):
            target[:, 3:11].copy_(source)
            target[:, 23:19:1].copy_(target[:, 23:19:1])  # nothing
        assert torch.equal(on_npu.cpu(), whole)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16), ids=str)
def test_means_of_windows(dtype):
    """kernel, stride, padding, ceil_mode, count_include_pad, divisor_override"""
    for window in (([2, 2], [2, 2], [0, 0], False, True, 0), ([3, 2], [3, 2], [0, 0], False, True, 0), ([3, 3], [1, 1], [1, 1], False, True, 0),
                   ([3, 3], [2, 2], [1, 1], True, False, 0), ([3, 2], [2, 1], [1, 0], True, True, 0), ([2, 3], [2, 2], [0, 1], False, False, 5),
                   ([5, 7], [1, 1], [0, 0], False, True, 0)):
        for channels in (16, 17, 40, 384, 3):
            x = image(dtype, channels, torch.channels_last)
            kernel, stride, padding, ceil, count, by = window
            want = torch.nn.functional.avg_pool2d(x.double(), kernel, stride, padding, ceil, count, by or None).to(dtype)
            out = moved(torch.zeros_like(want), torch.channels_last)
            call("aclnnAvgPool2d", moved(x, torch.channels_last), kernel, stride, padding, ceil, count, by, 0, out)
            torch.testing.assert_close(out.cpu(), want, rtol=1e-6 if dtype is torch.float32 else 0, atol=1e-5 if dtype is torch.float32 else 0)


def test_resized_by_nearest():
    for layout, size in itertools.product(FORMATS, ((10, 14), (4, 3), (5, 7), (13, 9))):
        x = image(torch.float32, 9, layout)
        want = torch.nn.functional.interpolate(x, size, mode="nearest")
        assert torch.equal(torch.nn.functional.interpolate(moved(x, layout), size, mode="nearest").cpu(), want)
