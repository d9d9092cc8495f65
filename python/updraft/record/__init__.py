"""`updraft run --record FOLDER CMD`: what decides how a training goes, for `updraft check`.

inside.py    in each process: what is printed, which files are read, and the record that the others write into
pytorch.py   in each process with PyTorch: batches, optimizers, loss scaling, precision, parameters
scaling.py   the loss scales of PyTorch, torch_npu and apex
tensors.py   a tensor as a few numbers
command.py   runs the command; md5 of the files that were read
"""
