"""Batch norm with statistics over ranks: torch's, under Apex's arguments."""

import torch
import torch.distributed as dist


class SyncBatchNorm(torch.nn.SyncBatchNorm):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 channel_last=False, fuse_relu=False):
        super().__init__(num_features, eps=eps, momentum=momentum, affine=affine, track_running_stats=track_running_stats,
                         process_group=process_group)
        self.channel_last, self.fuse_relu = channel_last, fuse_relu

    def forward(self, input, z=None):
        x = input.movedim(-1, 1) if self.channel_last else input
        y = super().forward(x)
        y = y.movedim(1, -1) if self.channel_last else y
        y = y if z is None else y + z
        return torch.relu(y) if self.fuse_relu else y


def convert_syncbn_model(module, process_group=None, channel_last=False):
    """The module with batch norms replaced; their weights and statistics are kept."""
    if channel_last:
        raise NotImplementedError("convert_syncbn_model: channel_last=True is for a layout of CUDA; leave it out "
                                  "(apex.parallel.SyncBatchNorm(…, channel_last=True) takes N…C inputs)")
    return torch.nn.SyncBatchNorm.convert_sync_batchnorm(module, process_group)


def create_syncbn_process_group(group_size):
    """Groups of consecutive ranks; returns this rank's, None for all ranks."""
    if group_size == 0:
        return None
    world = dist.get_world_size()
    if group_size < 0 or world % group_size:
        raise ValueError("group_size is %d: the world's %d ranks do not divide by it" % (group_size, world))
    mine = None
    for first in range(0, world, group_size):
        group = dist.new_group(ranks=list(range(first, first + group_size)))
        if first <= dist.get_rank() < first + group_size:
            mine = group
    return mine
