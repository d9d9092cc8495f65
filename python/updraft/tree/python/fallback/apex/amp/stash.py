"""What amp adds to an optimizer: fp32 master weights, gradients set aside while scaled ones are made, skipped steps."""

import types

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from apex.amp._amp_state import maybe_print

MASTERS = WeakTensorKeyDictionary()  # parameter of a model -> its fp32 master (one of them, if optimizers share it)
HALF = (torch.float16, torch.bfloat16)


def dense(grad):
    """The tensor that holds a gradient's values."""
    return grad._values() if grad.is_sparse else grad


class Stash:
    def __init__(self, optimizer, master_weights):
        self.optimizer = optimizer
        self.master_weights = master_weights
        self.pairs = []  # (parameter of the model, master)
        self.lazy_init_called = False
        self.params_have_scaled_gradients = False
        self.aside = None  # [(parameter, gradient from before the backward)]
        self.skip = []  # (loss_id, new scale) of overflows since the last step
        # torch_npu's fused optimizers keep all gradients in one buffer: those must be changed in place
        self.in_place = bool(getattr(optimizer, "is_fused_optimizer", False))

    # ---- master weights ----

    def make_masters(self):
        """At the first use, so that what happens to the model before it (loading, DDP's broadcast) is seen."""
        if self.lazy_init_called:
            return
        self.lazy_init_called = True
        if self.master_weights:
            for group in self.optimizer.param_groups:
                self.adopt(group)

    def adopt(self, group):
        for i, param in enumerate(group["params"]):
            if not param.requires_grad or param.dtype not in HALF:
                continue
            master = torch.nn.Parameter(param.detach().clone().float())
            group["params"][i] = master
            self.pairs.append((param, master))
            MASTERS.setdefault(param, master)
            state = self.optimizer.state.pop(param, None)
            if state is not None:
                self.optimizer.state[master] = {
                    k: v.float() if isinstance(v, torch.Tensor) and v.dtype in HALF else v for k, v in state.items()}

    @torch.no_grad()
    def masters_to_model(self):
        if self.pairs:
            torch._foreach_copy_([p for p, _ in self.pairs], [m for _, m in self.pairs])

    def drop_master_grads(self):
        """model.zero_grad() does not reach them."""
        for _, master in self.pairs:
            if not self.in_place:
                master.grad = None
            elif master.grad is not None:
                master.grad.zero_()

    # ---- around a backward ----

    def own(self):
        """Parameters that are updated as they are."""
        masters = {id(m) for _, m in self.pairs}
        return [p for g in self.optimizer.param_groups for p in g["params"] if id(p) not in masters]

    def prepare(self):
        """Gradients of earlier backwards are unscaled already: they go aside."""
        self.make_masters()
        if self.params_have_scaled_gradients or self.aside is not None:
            return
        for param, master in self.pairs:
            if param.device != master.device:
                raise RuntimeError("a parameter is on %s and its fp32 master on %s: move the model to its device before "
                                   "amp.initialize" % (param.device, master.device))
            param.grad = None
        self.aside = []
        for param in self.own():
            if param.grad is None:
                continue
            if self.in_place:
                self.aside.append((param, param.grad.clone()))
                param.grad.zero_()
            else:
                self.aside.append((param, param.grad))
                param.grad = None

    def forget(self):
        """zero_grad: nothing is aside, nothing is scaled."""
        self.aside = None
        self.params_have_scaled_gradients = False

    def give_back(self):
        """The backward raised: gradients are as before it."""
        for param, grad in self.aside or ():
            if self.in_place and param.grad is not None:
                param.grad.copy_(grad)
            else:
                param.grad = grad
        self.forget()

    @torch.no_grad()
    def finish(self, scaler):
        """Scaled gradients become fp32 (or own) gradients beside those from before."""
        own = [p for p in self.own() if p.grad is not None]
        for param in own:
            if param.grad.is_sparse and param.dtype in HALF:  # the sum of an index's values may overflow
                param.grad = param.grad.coalesce()
        fresh = [(master, param.grad.detach()) for param, master in self.pairs if param.grad is not None]
        fresh = [(master, (g.coalesce() if g.is_sparse else g).float()) for master, g in fresh]
        scaler.unscale_([dense(p.grad) for p in own] + [dense(g) for _, g in fresh])
        for param, grad in self.aside or ():
            if param.grad is None:
                param.grad = grad
            elif self.in_place or param.grad.layout == grad.layout:
                param.grad.add_(grad)
            else:
                param.grad = param.grad + grad
        for master, grad in fresh:
            if master.grad is None:
                master.grad = grad
            else:
                master.grad.add_(grad)
        for param, _ in self.pairs:
            param.grad = None
        self.forget()


def attach(optimizer, master_weights):
    """Wraps the optimizer's methods. They stay bound methods: learning-rate schedulers ask for that."""
    stash = optimizer._amp_stash = Stash(optimizer, master_weights)
    step, zero_grad = optimizer.step, optimizer.zero_grad
    add_param_group, load_state_dict = optimizer.add_param_group, optimizer.load_state_dict

    def new_step(self, closure=None, *args, **kwargs):
        if closure is not None:
            raise RuntimeError("apex.amp does not support closures: call optimizer.step() without one after the "
                               "backward in amp.scale_loss")
        stash.make_masters()
        if stash.skip:
            for loss_id, scale in stash.skip:
                maybe_print("Gradient overflow.  Skipping step, loss scaler %d reducing loss scale to %s" % (loss_id, scale))
            stash.skip = []
            stash.drop_master_grads()
            return None
        if stash.params_have_scaled_gradients:
            raise RuntimeError("optimizer.step() while gradients are scaled: the last amp.scale_loss before a step must have "
                               "delay_unscale=False")
        result = step(*args, **kwargs)
        stash.masters_to_model()
        stash.drop_master_grads()
        return result

    def new_zero_grad(self, *args, **kwargs):
        stash.make_masters()
        stash.forget()
        stash.skip = []
        zero_grad(*args, **kwargs)
        for param, _ in stash.pairs:
            param.grad = None

    def new_add_param_group(self, group):
        stash.make_masters()
        add_param_group(group)
        if master_weights:
            stash.adopt(self.param_groups[-1])

    def new_load_state_dict(self, state_dict):
        stash.make_masters()  # so that the state is that of fp32 weights
        return load_state_dict(state_dict)

    for name, method in (("step", new_step), ("zero_grad", new_zero_grad), ("add_param_group", new_add_param_group),
                         ("load_state_dict", new_load_state_dict),
                         ("_lazy_init_maybe_master_weights", lambda self: stash.make_masters())):
        setattr(optimizer, name, types.MethodType(method, optimizer))
