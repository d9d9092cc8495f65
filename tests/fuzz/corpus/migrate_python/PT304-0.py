from torch.distributed import is_nccl_available
ok = is_nccl_available()
