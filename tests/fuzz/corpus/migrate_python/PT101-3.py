import torch.cuda.amp as amp
with amp.autocast():
    pass
