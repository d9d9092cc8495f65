"""Parts of Apex that are not here: importing one says what to use instead."""

import sys

ADVICE = {
    "RNN": "torch.nn.LSTM, GRU or RNN",
    "contrib": "torch.nn.functional.scaled_dot_product_attention, torch_npu.npu_fusion_attention and torch_npu's other npu_* "
               "operators, or plain torch.nn",
    "fp16_utils": "apex.amp with opt_level O2 (it keeps the fp32 master weights), or torch.amp",
    "fused_dense": "torch.nn.Linear",
    "mlp": "torch.nn.Sequential of torch.nn.Linear and activations",
    "pyprof": "torch_npu.profiler",
    "reparameterization": "torch.nn.utils.parametrizations.weight_norm",
    "transformer": "torch.distributed.tensor.parallel, or Megatron-LM with MindSpeed",
    "parallel.multiproc": "torchrun",
    "optimizers.FusedNovoGrad": "FusedAdam or FusedLAMB of apex.optimizers",
    "optimizers.FusedMixedPrecisionLamb": "apex.optimizers.FusedLAMB with apex.amp at opt_level O2",
}


def sentence(module):
    part = module[len("apex."):]
    advice = ADVICE.get(part) or ADVICE.get(part.split(".")[0])
    return "%s is not in Updraft's apex%s" % (module, "; use %s" % advice if advice else " (docs/use/apex.md lists what is)")


class Finder:
    """Last in sys.meta_path, so it is asked only for what no other finder has."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("apex.") and not name.rsplit(".", 1)[1].startswith("__"):
            # without name=: `from apex import X` would swallow the sentence
            raise ModuleNotFoundError(sentence(name))


def install():
    if not any(getattr(finder, "__module__", "") == __name__ for finder in sys.meta_path):
        sys.meta_path.append(Finder)
