import torch
kind = 'nccl' if gpu else 'gloo'
