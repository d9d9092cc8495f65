import torch
if torch.cuda.is_available():
    d = 'cuda'
elif torch.npu.is_available():
    d = 'npu'
