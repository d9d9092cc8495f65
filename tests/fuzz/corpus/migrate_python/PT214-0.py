import torch
places = ['cuda:0', 'cuda:1']
