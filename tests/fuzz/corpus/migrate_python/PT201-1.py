import torch
name = 'cuda' if torch.cuda.is_available() else 'cpu'
d = torch.device(name)
