"""`import transfer_to_npu`, as older guides have it with this folder in PYTHONPATH: cuda means npu from here on."""

from torch_npu.contrib import transfer_to_npu  # noqa: F401
