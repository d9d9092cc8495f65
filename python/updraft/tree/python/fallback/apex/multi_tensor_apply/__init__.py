"""apex.multi_tensor_apply: scripts ask multi_tensor_applier.available before they import amp_C; it is not."""


class MultiTensorApply:
    available = False
    import_err = ImportError("amp_C is CUDA code; torch._foreach_* does the same on npu")

    def __init__(self, chunk_size=2048 * 32):
        self.chunk_size = chunk_size

    def __call__(self, *_):
        raise RuntimeError("multi_tensor_applier calls kernels of amp_C, which is CUDA code: use torch._foreach_mul_, "
                           "torch._foreach_norm and the like, or an optimizer of apex.optimizers")


multi_tensor_applier = MultiTensorApply()
__all__ = ["MultiTensorApply", "multi_tensor_applier"]
