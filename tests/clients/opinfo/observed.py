"""Who computes a sample: operators of ours, PyTorch's CPU on behalf of torch_npu, both, or nobody.

UPDRAFT_TRACE says which operators the wheel called; torch_npu's fallback brings its operands to the CPU by aten::_to_cpu, which
nothing else calls, so a kernel of our own there counts it. A few of op-plugin's kernels do the same by themselves (scatter_reduce):
they copy and copy back, and call no operator."""
import contextlib
import os
import re

from updraft.sanitizer import inside

BY = ("updraft", "mixed", "cpu", "none")
OPERATOR = re.compile(r"(aclnn\w+|aclop(?:CompileAnd)?Execute(?:V2)?)$")
COPY = {"aclnnInplaceCopy"}  # makes an operand contiguous before it goes to the CPU
MEMORY = re.compile(r"aclrtMemcpy(Async)?$")


def trace_to_memory():
    """Calls of this process and its forks are written to memory that the file descriptor names. Before torch is imported."""
    file = os.memfd_create("calls", 0)
    os.environ["UPDRAFT_TRACE"] = f"/proc/self/fd/{file}"
    return file


def calls_of(trace, names):
    """Names of the calls that succeeded and match, in order. A line: process, thread, name, code, time, arguments."""
    cells = (line.split("\t", 4) for line in trace.splitlines())
    return [c[2] for c in cells if len(c) == 5 and c[3] == "0" and names.match(c[2])]


def who(operators, fallbacks, copies=0):
    """updraft: only operators of ours; cpu: only the fallback, or copies to and fro; mixed: both; none: views, metadata and a copy of
    memory at most."""
    if fallbacks:
        return "mixed" if set(operators) - COPY else "cpu"
    return "updraft" if operators else "cpu" if copies > 1 else "none"


def of_entry(samples):
    """The same of an entry, from what was said of its samples."""
    seen = set(samples) - {"none"}
    if not seen:
        return "none" if samples else ""
    return seen.pop() if len(seen) == 1 else "mixed"


class Watch:
    """with watch: what runs here, all of it; .operators and .fallbacks afterwards. Nothing of an earlier one is kept."""

    def __init__(self, file):
        import torch
        self.torch, self.file = torch, file
        self.wide = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
        self.inside = False
        self.begin()
        self.library = torch.library.Library("aten", "IMPL")
        self.library.impl("_to_cpu", self.to_cpu, "PrivateUse1")

    def to_cpu(self, tensors):
        self.fallbacks += self.inside
        # numbers among the operands are handed to a kernel in Python as such
        with inside.fallback():  # the sanitizer's own kernel is the one that this replaces
            return [t.cpu() if isinstance(t, self.torch.Tensor) else self.torch.scalar_tensor(t, dtype=self.wide[type(t)]) for t in tensors]

    def begin(self):
        """A new sample."""
        self.operators, self.fallbacks, self.copies = [], 0, 0

    @contextlib.contextmanager
    def __call__(self):
        self.torch.npu.synchronize()  # the wheel makes its calls in a thread of its own
        os.ftruncate(self.file, 0)
        self.inside = True
        try:
            yield
            self.torch.npu.synchronize()
        finally:
            self.inside = False
        trace = os.pread(self.file, os.fstat(self.file).st_size, 0).decode(errors="replace")
        self.operators += calls_of(trace, OPERATOR)
        self.copies += len(calls_of(trace, MEMORY))

    def result(self):
        return who(self.operators, self.fallbacks, self.copies)
