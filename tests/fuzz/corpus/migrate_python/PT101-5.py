import torch as T
x = (T  # the library
     .cuda  # its module
     .current_device())
