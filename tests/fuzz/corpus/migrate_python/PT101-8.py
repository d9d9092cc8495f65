import torch
class cuda:
    is_available = None
print(cuda.is_available)
