"""amp.scale_loss around a backward, and amp.disable_casts."""

import contextlib

import torch

from apex.amp import functions
from apex.amp._amp_state import _amp_state


@contextlib.contextmanager
def disable_casts():
    """Without O1's casts inside."""
    with contextlib.ExitStack() as stack:
        for device in functions._devices():
            stack.enter_context(torch.autocast(device, enabled=False))
        yield


def _stashes(optimizers):
    optimizers = list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]
    for optimizer in optimizers:
        if not hasattr(optimizer, "_amp_stash"):
            raise RuntimeError("amp.scale_loss got a %s that did not go through amp.initialize" % type(optimizer).__name__)
    return [optimizer._amp_stash for optimizer in optimizers]


def _scaler(loss_id):
    scalers = _amp_state.loss_scalers
    if not 0 <= loss_id < len(scalers):
        raise RuntimeError("amp.scale_loss: loss_id is %d, amp.initialize was told of %d losses (num_losses)" % (loss_id, len(scalers)))
    return scalers[loss_id]


@contextlib.contextmanager
def scale_loss(loss, optimizers, loss_id=0, model=None, delay_unscale=False, delay_overflow_check=False):
    """`with amp.scale_loss(loss, optimizer) as scaled_loss: scaled_loss.backward()`; gradients are unscaled afterwards.

    delay_unscale: more backwards come before the step; delay_overflow_check: a later scale_loss with this loss_id checks.
    """
    if _amp_state.opt_properties is None:
        raise RuntimeError("amp.scale_loss before amp.initialize: call model, optimizer = amp.initialize(model, optimizer) first")
    if not _amp_state.enabled:
        yield loss
        return
    scaler, stashes = _scaler(loss_id), _stashes(optimizers)
    if not _amp_state.opt_properties.master_weights and not scaler.dynamic and scaler.loss_scale() == 1.0:
        with disable_casts():
            yield loss.float()
        return
    if not any(s.params_have_scaled_gradients for s in stashes):
        scaler.before_backward(loss.device)
    for stash in stashes:
        stash.prepare()
    try:
        with disable_casts():  # a backward does not cast: its tensors have the types of the forward
            yield loss.float() * scaler.loss_scale()
    except BaseException:
        for stash in stashes:
            stash.give_back()
        raise
    if delay_unscale:
        for stash in stashes:
            stash.params_have_scaled_gradients = True
        return
    with disable_casts():
        for stash in stashes:
            stash.finish(scaler)
    if not delay_overflow_check and scaler.update_scale():
        for stash in stashes:
            stash.skip.append((loss_id, scaler.loss_scale()))


class Handle:
    """What amp.init returns. Losses are scaled with optimizers that amp.initialize knows."""

    def is_active(self):
        return functions._casts.dtype is not None

    def scale_loss(self, *_):
        raise RuntimeError("the handle's scale_loss is Apex's first interface: use amp.initialize and "
                           "`with amp.scale_loss(loss, optimizer) as scaled_loss`")

    wrap_optimizer = scale_loss


def init(enabled=True, loss_scale="dynamic", enable_caching=True, verbose=False, allow_banned=False):
    """Casts as O1 does, without models and optimizers."""
    functions.remove()
    if enabled:
        functions.install(torch.float16)
    _amp_state.handle = Handle()
    return _amp_state.handle
