import torch
torch.cuda.jiterator._create_jit_fn('')
