from torch import cuda
cuda.synchronize()
