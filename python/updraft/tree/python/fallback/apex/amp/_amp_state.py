"""The state of a process: the chosen properties and the loss scalers (scripts read _amp_state.loss_scalers[0])."""

import torch


class AmpState:
    def __init__(self):
        self.opt_properties = None  # what amp.initialize chose; None before it
        self.loss_scalers = []
        self.verbosity = 1
        self.hard_override = False
        self.handle = None

    @property
    def enabled(self):
        return self.opt_properties is not None and self.opt_properties.enabled


_amp_state = AmpState()


def maybe_print(text, rank0=False):
    """Prints unless verbosity is 0; on every rank, or only on the first."""
    if _amp_state.verbosity <= 0:
        return
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    if not rank0 or not distributed or torch.distributed.get_rank() == 0:
        print(text, flush=True)


def warn_or_err(text):
    if _amp_state.hard_override:
        print("Warning:  " + text)
    else:
        raise RuntimeError(text)


def master_params(optimizer):
    """The parameters that the optimizer updates: the fp32 master weights under O2."""
    stash = getattr(optimizer, "_amp_stash", None)
    if stash is not None:
        stash.make_masters()
    for group in optimizer.param_groups:
        yield from group["params"]
