import torch
print('cuda')
