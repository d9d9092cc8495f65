import torch
if args.cuda:
    pass
