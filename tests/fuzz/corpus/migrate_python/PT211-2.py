import torch
kind = {'cuda': 1}
