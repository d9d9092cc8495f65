"""Horovod of one process, for its examples where it is not built: nobody to average with or to tell."""
import sys
import types

horovod, hvd = types.ModuleType("horovod"), types.ModuleType("horovod.tensorflow")
horovod.tensorflow = hvd
hvd.init = lambda: None
hvd.rank = hvd.local_rank = lambda: 0
hvd.size = lambda: 1
hvd.DistributedGradientTape = lambda tape: tape
hvd.broadcast_variables = lambda variables, root_rank: None
sys.modules.update({"horovod": horovod, "horovod.tensorflow": hvd})
