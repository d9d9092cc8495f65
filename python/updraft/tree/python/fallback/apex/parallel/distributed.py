"""DistributedDataParallel and Reducer with Apex's arguments on torch.distributed."""

import torch
import torch.distributed as dist


def _reduce_hook(state, bucket):
    """All-reduces a bucket as gradient_average, gradient_predivide_factor and allreduce_always_fp32 say."""
    group, average, before, fp32 = state
    size = dist.get_world_size(group)
    sent = bucket.buffer().float() if fp32 else bucket.buffer()
    if before != 1.0:
        sent = sent.div(before)

    def after(future):
        total = future.value()[0]
        if average:
            total = total.div_(size / before)
        return bucket.buffer().copy_(total)

    return dist.all_reduce(sent, group=group, async_op=True).get_future().then(after)


class DistributedDataParallel(torch.nn.parallel.DistributedDataParallel):
    """Gradients are averaged over ranks during the backward; parameters start as rank 0's.

    message_size is a bucket's number of elements. With delay_allreduce parameters may be unused in a forward.
    """

    def __init__(self, module, message_size=10000000, delay_allreduce=False, shared_param=None, allreduce_trigger_params=None,
                 retain_allreduce_buffers=False, allreduce_always_fp32=False, num_allreduce_streams=1,
                 allreduce_communicators=None, gradient_average=True, gradient_predivide_factor=1.0,
                 gradient_average_split_factor=None, prof=False):
        if shared_param is not None:
            raise ValueError("shared_param is gone from Apex: delay_allreduce=True is the option for it")
        for name, value in (("allreduce_trigger_params", allreduce_trigger_params),
                            ("retain_allreduce_buffers", retain_allreduce_buffers),
                            ("allreduce_communicators", allreduce_communicators)):
            if value:
                raise NotImplementedError("apex.parallel.DistributedDataParallel: %s is not in Updraft's apex; "
                                          "torch.nn.parallel.DistributedDataParallel has communication hooks" % name)
        super().__init__(module, bucket_cap_mb=max(1, message_size * 4 // 2**20), find_unused_parameters=delay_allreduce)
        if allreduce_always_fp32 or not gradient_average or gradient_predivide_factor != 1.0:
            state = (self.process_group, gradient_average, float(gradient_predivide_factor), allreduce_always_fp32)
            self.register_comm_hook(state, _reduce_hook)


class Reducer:
    """Averages the gradients of a module, or of a list of tensors the values, when reduce() is called."""

    def __init__(self, module_or_grads_list):
        self.module = module_or_grads_list if isinstance(module_or_grads_list, torch.nn.Module) else None
        self.grads = None if self.module is not None else list(module_or_grads_list)
        if self.module is not None:
            for tensor in list(self.module.parameters()) + list(self.module.buffers()):
                dist.broadcast(tensor.detach(), 0)

    def reduce(self):
        grads = self.grads if self.module is None else [p.grad for p in self.module.parameters() if p.grad is not None]
        for grad in grads:
            dist.all_reduce(grad)
            grad.div_(dist.get_world_size())
