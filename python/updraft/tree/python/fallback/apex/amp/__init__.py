"""apex.amp: mixed precision as amp.initialize(models, optimizers, opt_level="O1") and amp.scale_loss(loss, optimizer)."""

from apex.amp._amp_state import _amp_state, master_params
from apex.amp.frontend import initialize, load_state_dict, state_dict
from apex.amp.functions import (float_function, half_function, promote_function, register_float_function,
                                register_half_function, register_promote_function)
from apex.amp.handle import disable_casts, init, scale_loss

__all__ = ["_amp_state", "disable_casts", "float_function", "half_function", "init", "initialize", "load_state_dict",
           "master_params", "promote_function", "register_float_function", "register_half_function",
           "register_promote_function", "scale_loss", "state_dict"]
