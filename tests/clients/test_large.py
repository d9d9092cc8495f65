"""Tensors of more than 2^31 elements: positions and offsets are 64 bits wide everywhere. Takes 10 GB and minutes."""
import os

import numpy
import pytest
import torch

N = (1 << 31) + 4099  # elements; odd, so that tails are met
ROWS = N // 1021 + 1  # of 1021 columns

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 20 << 30, reason="needs 20 GB of memory"),
]


@pytest.fixture(autouse=True)
def tidy(npu):
    yield
    torch.npu.empty_cache()


def bytes_with_marks(marks):
    x = torch.zeros(N, dtype=torch.uint8, device="npu")
    for position, value in marks.items():
        x[position] = value
    return x


MARKS = {0: 3, (1 << 31) - 1: 5, 1 << 31: 7, N - 1: 9}
POSITIONS = list(MARKS)


def at(x, positions=POSITIONS):
    return [x[p].item() for p in positions]


def test_elementwise_and_copies():
    x = bytes_with_marks(MARKS)
    assert at(x) == [3, 5, 7, 9]
    x.add_(1)
    assert at(x) == [4, 6, 8, 10] and at(x, [1, N - 2]) == [1, 1]
    y = x.clone()
    y[N - 1] = 99
    assert at(x, [N - 1]) == [10] and at(y, [N - 1]) == [99]
    del y
    mask = x > 5
    assert at(mask) == [False, True, True, True]
    host = mask.cpu()
    assert numpy.count_nonzero(host.numpy()) == 3 and host[N - 1]  # torch.sum would take 16 GB for int64
    del host
    x.masked_fill_(mask, 200)
    assert at(x) == [4, 200, 200, 200]


def test_strided_views():
    x = bytes_with_marks(MARKS)
    assert x.flip(0)[0].item() == 9 and x[1::2].numel() == N // 2
    odd = x[1::2].contiguous()
    assert odd[((1 << 31) - 2) // 2].item() == 5
    narrow = x[1 << 31:].clone()
    assert narrow[0].item() == 7 and narrow[-1].item() == 9


def test_reductions_and_search():
    x = bytes_with_marks(MARKS)
    assert x.sum().item() == 24 and x.count_nonzero().item() == 4
    assert x.max().item() == 9 and x.argmax().item() == N - 1
    assert x.nonzero().flatten().tolist() == POSITIONS


def test_index():
    x = bytes_with_marks(MARKS)
    index = torch.tensor(POSITIONS, device="npu")
    assert x[index].tolist() == [3, 5, 7, 9]
    assert x.gather(0, index).tolist() == [3, 5, 7, 9]
    x.index_put_((index,), torch.tensor([1, 2, 3, 4], dtype=torch.uint8, device="npu"))
    assert at(x) == [1, 2, 3, 4]
    assert torch.cat([x[:5], x])[N + 4].item() == 4


def test_rows():
    x = torch.zeros(ROWS, 1021, dtype=torch.bfloat16, device="npu")
    last = torch.randn(3, 1021)
    x[-3:] = last
    expected = last.bfloat16()
    rows = torch.tensor([ROWS - 3, 0, ROWS - 1], device="npu")
    taken = torch.nn.functional.embedding(rows, x).cpu()
    assert torch.equal(taken[[0, 2]], expected[[0, 2]]) and not taken[1].any()
    sums = x.sum(1).cpu()
    torch.testing.assert_close(sums[-3:], expected.float().sum(1).bfloat16(), rtol=2e-2, atol=2e-2)
    assert not sums[:-3].any()
    weight = torch.randn(1021, 2, dtype=torch.bfloat16)
    product = (x @ weight.npu())[-3:].cpu()
    # summed in float32 and rounded once: half of bfloat16's last place, and what float32 loses of 1021 terms
    torch.testing.assert_close(product.double(), expected.double() @ weight.double(), rtol=2**-8, atol=2e-3)
    soft = torch.softmax(x, -1)[-3:].cpu()
    torch.testing.assert_close(soft.float(), expected.double().softmax(-1).float(), rtol=2e-2, atol=1e-4)
