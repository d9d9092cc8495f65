import torch
where = 'cuda' if ok else 'cpu'
