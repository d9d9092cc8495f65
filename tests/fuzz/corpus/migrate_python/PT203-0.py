import torch
s = torch.load(p, map_location={'cuda:0': 'cuda:1'})
