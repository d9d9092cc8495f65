"""amp.initialize and what it chooses from an opt_level and the caller's own settings; checkpoints of the loss scales."""

import collections
import dataclasses
import warnings

import torch

from apex.amp import functions, models as _models, stash as _stash
from apex.amp._amp_state import _amp_state, maybe_print, warn_or_err
from apex.amp.scaler import LossScaler


@dataclasses.dataclass
class Properties:
    enabled: bool
    opt_level: str
    cast_model_type: object
    patch_torch_functions: bool
    keep_batchnorm_fp32: object
    master_weights: object
    loss_scale: object
    cast_model_outputs: object = None


#             cast_model_type, patch_torch_functions, keep_batchnorm_fp32, master_weights, loss_scale
LEVELS = {
    "O0": (torch.float32, False, None, False, 1.0),
    "O1": (None, True, None, None, "dynamic"),
    "O2": (torch.float16, False, True, True, "dynamic"),
    "O3": (torch.float16, False, False, False, 1.0),
}
TELLS = {
    "O0": "pure fp32 training",
    "O1": "convolutions and products in fp16, weights and the rest in fp32",
    "O2": "fp16 training with fp32 batch norm and fp32 master weights",
    "O3": "pure fp16 training",
}


def _boolean(name, value):
    if value in (True, False, None):
        return value
    if value in ("True", "False"):
        return value == "True"
    raise ValueError("%s is %r, wanted True, False or None" % (name, value))


def _scale(value):
    if value is None or value == "dynamic":
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise ValueError('loss_scale is %r, wanted "dynamic" or a number above 0' % (value,))
    return number


def _choose(enabled, opt_level, overrides):
    if opt_level not in LEVELS:
        raise RuntimeError("opt_level is %r, wanted 'O0', 'O1', 'O2' or 'O3' (the letter O, not zero)" % (opt_level,))
    chosen = Properties(enabled, opt_level, *LEVELS[opt_level])
    for name in ("patch_torch_functions", "keep_batchnorm_fp32", "master_weights"):
        overrides[name] = _boolean(name, overrides[name])
    overrides["loss_scale"] = _scale(overrides["loss_scale"])
    for name, value in overrides.items():
        if value is not None:
            setattr(chosen, name, value)
    if chosen.cast_model_type is False:  # as good as None
        chosen.cast_model_type = None
    for name in ("cast_model_type", "cast_model_outputs"):
        value = getattr(chosen, name)
        if value is not None and not (isinstance(value, torch.dtype) and value.is_floating_point):
            raise ValueError("%s is %r, wanted a floating-point torch.dtype" % (name, value))
    if chosen.patch_torch_functions:
        if chosen.cast_model_type not in (None, torch.float32):
            warn_or_err("with %s functions are cast and the model's weights stay fp32: cast_model_type=%s needs opt_level O2 or "
                        "O3" % (opt_level, chosen.cast_model_type))
        for name in ("keep_batchnorm_fp32", "master_weights"):
            if getattr(chosen, name):
                warn_or_err("%s belongs to opt_level O2: with %s the weights are fp32 already" % (name, opt_level))
        chosen.cast_model_type = None
    if chosen.master_weights and chosen.cast_model_type in (None, torch.float32):
        chosen.master_weights = False  # the weights are fp32
    return chosen


def _listed(value, kind, what):
    if isinstance(value, kind):
        return [value], False
    if isinstance(value, (list, tuple)) and all(isinstance(v, kind) for v in value):
        return list(value), True
    raise TypeError("amp.initialize: %s is %s, wanted %s or a list of them" % (what, type(value).__name__, kind.__name__))


def _tell(chosen, overrides):
    maybe_print("Selected optimization level %s:  %s." % (chosen.opt_level, TELLS[chosen.opt_level]), True)
    given = ", ".join("%s=%s" % item for item in overrides.items() if item[1] is not None)
    if given:
        maybe_print("Processing user overrides: " + given, True)
    for field in dataclasses.fields(chosen):
        maybe_print("%-22s : %s" % (field.name, getattr(chosen, field.name)), True)


def initialize(models, optimizers=None, enabled=True, opt_level="O1", cast_model_type=None, patch_torch_functions=None,
               keep_batchnorm_fp32=None, master_weights=None, loss_scale=None, cast_model_outputs=None, num_losses=1,
               verbosity=1, dynamic_init_scale=2.0**16, scale_growth_factor=2.0, scale_backoff_factor=0.5,
               scale_window=2000, min_loss_scale=None, max_loss_scale=2.0**24, combine_grad=None, combine_ddp=None,
               ddp_replica_count=4, user_cast_preferred=None, check_combined_tensors=None):
    """Prepares models and optimizers; returns them as they were given, alone or in lists."""
    if combine_ddp:
        raise NotImplementedError("combine_ddp=True lets amp average gradients over ranks: wrap the model in "
                                  "torch.nn.parallel.DistributedDataParallel instead")
    if _amp_state.opt_properties is not None:
        warnings.warn("amp.initialize was called before in this process: its loss scales and opt_level replace the earlier "
                      "ones", RuntimeWarning, stacklevel=2)
    _amp_state.verbosity = verbosity
    overrides = dict(cast_model_type=cast_model_type, patch_torch_functions=patch_torch_functions,
                     keep_batchnorm_fp32=keep_batchnorm_fp32, master_weights=master_weights, loss_scale=loss_scale,
                     cast_model_outputs=cast_model_outputs)
    chosen = _choose(enabled, opt_level, overrides)
    model_list, models_listed = _listed(models, torch.nn.Module, "models")
    optimizer_list, optimizers_listed = ([], False) if optimizers is None else _listed(
        optimizers, torch.optim.Optimizer, "optimizers")
    if enabled:
        for model in model_list:
            _models.check(model)
        for optimizer in optimizer_list:
            if hasattr(optimizer, "_amp_stash"):
                raise RuntimeError("this %s went through amp.initialize before: make a new one" % type(optimizer).__name__)
        _tell(chosen, overrides)
    functions.remove()
    _amp_state.opt_properties = chosen
    _amp_state.loss_scalers = []
    if enabled:
        _amp_state.loss_scalers = [
            LossScaler(chosen.loss_scale, dynamic_init_scale, scale_growth_factor, scale_window, min_loss_scale,
                       max_loss_scale, scale_backoff_factor) for _ in range(num_losses)]
        _prepare(chosen, model_list, optimizer_list)
    returned = model_list if models_listed else model_list[0]
    if optimizers is None:
        return returned
    return returned, (optimizer_list if optimizers_listed else optimizer_list[0])


def _prepare(chosen, models, optimizers):
    for model in models:
        if chosen.cast_model_type is not None:
            _models.cast_weights(model, chosen.cast_model_type, chosen.keep_batchnorm_fp32)
            _models.cast_forward(model, chosen.cast_model_type, chosen.cast_model_outputs or torch.float32)
            if chosen.master_weights:
                _models.checkpoints_in_fp32(model)
        elif chosen.cast_model_outputs is not None:
            _models.cast_forward(model, None, chosen.cast_model_outputs)
    for optimizer in optimizers:
        _stash.attach(optimizer, bool(chosen.master_weights))
    if chosen.patch_torch_functions:
        functions.install(torch.float16)


def state_dict(destination=None):
    """The loss scales, for a checkpoint."""
    destination = collections.OrderedDict() if destination is None else destination
    for i, scaler in enumerate(_amp_state.loss_scalers):
        destination["loss_scaler%d" % i] = scaler.state_dict()
    return destination


def load_state_dict(state_dict):
    scalers = _amp_state.loss_scalers
    wanted = {"loss_scaler%d" % i: scaler for i, scaler in enumerate(scalers)}
    unexpected = [key for key in state_dict if not (key.startswith("loss_scaler") and key[len("loss_scaler"):].isdigit())]
    if unexpected:
        raise RuntimeError("amp.load_state_dict: not of amp.state_dict(): " + ", ".join(map(repr, unexpected)))
    if set(state_dict) != set(wanted):
        warnings.warn("amp.load_state_dict: the checkpoint has %d loss scalers, amp.initialize made %d (num_losses); those "
                      "of both are loaded" % (len(state_dict), len(scalers)), RuntimeWarning, stacklevel=2)
    for key, scaler in wanted.items():
        if key in state_dict:
            scaler.load_state_dict(state_dict[key])
