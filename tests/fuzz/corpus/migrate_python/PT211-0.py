import torch
class C:
    device = 'cuda'
