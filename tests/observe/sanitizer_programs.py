"""Faults for the sanitizer with torch_npu, each a function with its clean twin. Run as a program, all of them run; what it finds has
the names of the functions in its stacks."""

import sys
import threading

FAULTS = {}  # name: (kind, fault, clean)


def fault(kind):
    """The function takes True for the fault, False for its clean twin."""
    def add(function):
        FAULTS[function.__name__] = kind, function
        return function
    return add


def streams():
    import torch

    return torch.npu.current_stream(), OTHER


@fault("race")
def write_then_read(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        X.fill_(2.0)
    if not wrong:
        here.wait_stream(other)
    return X + 1


@fault("race")
def read_then_write(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        y = X * 2
    if not wrong:
        here.wait_stream(other)
    X.fill_(1.0)
    return y


@fault("race")
def write_then_write(wrong):
    here, other = streams()
    X.fill_(3.0)
    if not wrong:
        other.wait_stream(here)
    with torch.npu.stream(other):
        X.fill_(4.0)


@fault("race")
def overlapping_slices(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        X[:600].fill_(1.0)
    X[500 if wrong else 600:].fill_(2.0)


@fault("race")
def overlapping_columns(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        M[:, :8].fill_(1.0)
    return M[:, 7 if wrong else 8:].contiguous()


@fault("race")
def event_recorded_too_early(wrong):
    here, other = streams()
    event = torch.npu.Event()
    with torch.npu.stream(other):
        if wrong:
            event.record()
        X.fill_(5.0)
        if not wrong:
            event.record()
    here.wait_event(event)
    return X.sum()


@fault("race")
def event_never_waited_for(wrong):
    here, other = streams()
    event = torch.npu.Event()
    X.fill_(6.0)
    event.record()
    if not wrong:
        event.synchronize()
    with torch.npu.stream(other):
        return X.sum()


@fault("race")
def order_that_ends_too_early(wrong):
    """The third stream knows of the second alone."""
    here, other = streams()
    with torch.npu.stream(other):
        X.fill_(7.0)
    if not wrong:
        THIRD.wait_stream(other)
    THIRD.wait_stream(here)
    with torch.npu.stream(THIRD):
        return X.sum()


@fault("race")
def asynchronous_copy(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        X.copy_(PINNED, non_blocking=True)
    if not wrong:
        other.synchronize()
    return X.sum()


@fault("race")
def gradient_on_another_stream(wrong):
    here, other = streams()
    w = X[:8].clone().requires_grad_()
    (w * 2).sum().backward()
    if not wrong:
        other.wait_stream(here)
    with torch.npu.stream(other):
        w.grad.mul_(0.5)


@fault("race")
def two_threads(wrong):
    here, other = streams()

    def work():
        torch.npu.set_device(0)
        with torch.npu.stream(other):
            two_threads_other = X.fill_(1.0)  # noqa: F841
        if not wrong:
            other.synchronize()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return X.sum()


@fault("race")
def replayed_graph(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        if not wrong:
            other.wait_stream(here)
        GRAPH.replay()
        if not wrong:
            here.wait_stream(other)
    return STATIC.sum()


@fault("race")
def streams_of_one_graph(wrong):
    other = OTHER
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        here = torch.npu.current_stream()
        other.wait_stream(here)
        if not wrong:
            SHARED.mul_(2.0)
            other.wait_stream(here)
        with torch.npu.stream(other):
            torch.add(SHARED, 1.0, out=Z)
        if wrong:
            SHARED.mul_(2.0)
        here.wait_stream(other)
        Z.add_(SHARED)
    graph.replay()
    return Z.sum()


@fault("use-after-reuse")
def no_record_stream(wrong):
    here, other = streams()
    t = torch.ones(1 << 20, device="npu")
    other.wait_stream(here)
    with torch.npu.stream(other):
        y = t * 2
    if not wrong:
        t.record_stream(other)
    del t
    return torch.zeros(1 << 20, device="npu"), y


@fault("use-after-reuse")
def reused_by_smaller_tensors(wrong):
    here, other = streams()
    t = torch.ones(1 << 20, device="npu")
    other.wait_stream(here)
    with torch.npu.stream(other):
        y = t.sum()
    if not wrong:
        here.wait_stream(other)
    del t
    return [torch.ones(1 << 18, device="npu") for _ in range(4)], y


@fault("use-after-reuse")
def temporary_of_another_stream(wrong):
    here, other = streams()
    with torch.npu.stream(other):
        t = torch.full((1 << 20,), 3.0, device="npu")
    here.wait_stream(other)
    y = t + 1
    if not wrong:
        other.wait_stream(here)
    del t
    with torch.npu.stream(other):
        return torch.full((1 << 20,), 4.0, device="npu"), y


@fault("uninitialised")
def empty_then_used(wrong):
    x = torch.empty(100, device="npu")
    if not wrong:
        x.zero_()
    return x + 1


@fault("uninitialised")
def half_written(wrong):
    x = torch.empty(100, device="npu")
    x[:50] = 1
    return x.sum() if wrong else x[:50].sum()


@fault("uninitialised")
def one_column_written(wrong):
    x = torch.empty(10, 16, device="npu")
    x[:, 3].fill_(1.0)
    return x.sum() if wrong else x[:, 3].sum()


@fault("uninitialised")
def printed_before_it_is_written(wrong):
    x = torch.empty(64, device="npu")
    if not wrong:
        x.normal_()
    return x.cpu()


@fault("uninitialised")
def carried_by_a_copy(wrong):
    x = torch.empty(64, device="npu")
    if not wrong:
        x.fill_(1.0)
    y = torch.ones(64, device="npu")
    y.copy_(x)
    return y * 2


@fault("uninitialised")
def matrix_of_nothing(wrong):
    a = torch.empty(32, 32, device="npu")
    if not wrong:
        torch.nn.init.normal_(a)
    return a @ torch.ones(32, 32, device="npu")


@fault("host-race")
def pinned_memory_used_twice(wrong):
    """Down on one stream, up again on another."""
    here, other = streams()
    with torch.npu.stream(other):
        PINNED.copy_(X, non_blocking=True)
    if not wrong:
        other.synchronize()
    Z.copy_(PINNED, non_blocking=True)


@fault("host-race")
def pinned_memory_read_too_early(wrong):
    PAGES.copy_(W, non_blocking=True)
    if not wrong:
        torch.npu.synchronize()
    return float(PAGES[7]), PAGES.numpy().copy()


@fault("host-race")
def pinned_memory_changed_too_early(wrong):
    W.copy_(PAGES, non_blocking=True)
    if not wrong:
        event = torch.npu.Event()
        event.record()
        event.synchronize()
    PAGES.fill_(3.0)


def settle():
    torch.npu.synchronize()


if __name__ == "__main__":
    import torch
    import torch_npu  # noqa: F401

    OTHER, THIRD = torch.npu.Stream(), torch.npu.Stream()
    X, Z, M = torch.ones(1000, device="npu"), torch.ones(1000, device="npu"), torch.ones(20, 16, device="npu")
    PINNED, PAGES, W = torch.ones(1000).pin_memory(), torch.ones(8192).pin_memory(), torch.ones(8192, device="npu")
    STATIC, SHARED = torch.zeros(1000, device="npu"), torch.zeros(1000, device="npu")
    settle()
    GRAPH = torch.npu.NPUGraph()
    with torch.npu.graph(GRAPH):
        STATIC.add_(1.0)
    settle()
    wrong = sys.argv[1] == "wrong"
    for _, function in FAULTS.values():
        kept = function(wrong)
        settle()
        del kept
    if not wrong:  # pages of the pool that are used again and again
        data = torch.utils.data.DataLoader(torch.randn(64, 4096), batch_size=8, pin_memory=True)
        for _ in range(3):
            print(sum(float(batch.to("npu", non_blocking=True).sum()) for batch in data))
    print("done")
