"""apex.parallel: data parallelism and batch norm over ranks, by torch.distributed (hccl on npu)."""

from apex.parallel.LARC import LARC
from apex.parallel.distributed import DistributedDataParallel, Reducer
from apex.parallel.sync_batchnorm import SyncBatchNorm, convert_syncbn_model, create_syncbn_process_group

__all__ = ["DistributedDataParallel", "LARC", "Reducer", "SyncBatchNorm", "convert_syncbn_model",
           "create_syncbn_process_group"]
