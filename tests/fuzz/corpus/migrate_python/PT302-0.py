import torch
launch(backend='nccl')
