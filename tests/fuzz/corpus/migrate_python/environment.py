import os
import torch
os.environ['CUDA_VISIBLE_DEVICES'] = '0'

import os
os.environ['CUDA_LAUNCH_BLOCKING'] = '1'

import os
os.environ['NCCL_DEBUG'] = 'INFO'
