"""Makes an unmodified CUDA script run on the CPU: the reference side of `updraft migrate --verify`, nothing else.

The hook calls apply() when torch is imported and UPDRAFT_CUDA_ON_CPU=1. torch.cuda then answers as one device, whatever
is asked of "cuda" is done on the CPU, and nccl is gloo. Results are those of PyTorch's own CPU operators.
"""

import os


def apply():
    from updraft.cuda_on_cpu import devices, distributed, modules, namespace

    namespace.apply()
    modules.apply()
    distributed.apply()
    devices.apply()
    marker = os.environ.get("UPDRAFT_VERIFY_MARK")
    if marker:  # whoever compares must know that this was in force
        with open(marker, "a"):
            pass
