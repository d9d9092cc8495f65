import os
os.environ['NCCL_DEBUG'] = 'INFO'
