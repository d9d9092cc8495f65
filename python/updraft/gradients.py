"""What hccl_sim wants to know of a model: its gradients' sizes, and when in the backward pass they are ready.

    python -m updraft.gradients MODULE:FUNCTION -o gradients.json      then: hccl_sim --model gradients.json …

FUNCTION takes nothing and returns (model, inputs) or (model, inputs, loss): inputs is a tensor, a tuple or a dict of arguments, loss takes
the model's output (default: output.loss where there is one, else the sum of its floating tensors). In a training script of one's own:

    from updraft.gradients import record
    record(model, lambda: criterion(model(x), y), "gradients.json")

The times are those of the device that the model is on; hccl_sim --forward-ms and --backward-ms bring them to those of another card.
"""

import argparse
import importlib
import json
import os
import statistics
import sys
import time


class _HostClock:
    """Moments of work that is done when the call returns."""

    def mark(self):
        return time.perf_counter() * 1e3

    def milliseconds(self, begin, end):
        return end - begin

    def wait(self):
        pass


class _DeviceClock:
    """Moments of work on a device's stream."""

    def __init__(self, device):
        import torch
        self.module = getattr(torch, device.type)

    def mark(self):
        event = self.module.Event(enable_timing=True)
        event.record()
        return event

    def milliseconds(self, begin, end):
        return begin.elapsed_time(end)

    def wait(self):
        self.module.synchronize()


def profile(model, loss, steps=5, warmup=2, name=None):
    """The description as a dict. `loss()` runs the forward pass and returns a scalar; medians of `steps` steps."""
    parameters = [(label, p) for label, p in model.named_parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameters that want gradients: give one that is trained")
    device = parameters[0][1].device
    clock = _HostClock() if device.type == "cpu" else _DeviceClock(device)
    marks = {}
    handles = [p.register_post_accumulate_grad_hook(lambda _, label=label: marks.__setitem__(label, clock.mark())) for label, p in parameters]
    forward, backward, ready = [], [], {}
    try:
        for turn in range(warmup + steps):
            model.zero_grad(set_to_none=True)
            marks.clear()
            clock.wait()
            begin = clock.mark()
            value = loss()
            middle = clock.mark()
            value.backward()
            end = clock.mark()
            clock.wait()
            if turn < warmup:
                continue
            forward.append(clock.milliseconds(begin, middle))
            backward.append(clock.milliseconds(middle, end))
            for label, mark in marks.items():
                ready.setdefault(label, []).append(clock.milliseconds(begin, mark))
    finally:
        for handle in handles:
            handle.remove()
    gradients = [{"name": label, "bytes": p.grad.numel() * p.grad.element_size(), "ready_ms": round(statistics.median(ready[label]), 4)}
                 for label, p in parameters if label in ready and p.grad is not None]
    model.zero_grad(set_to_none=True)
    if not gradients:
        raise ValueError("the backward pass reached no parameter: the loss must depend on the model's output")
    gradients.sort(key=lambda g: g["ready_ms"])
    return {"name": name or type(model).__name__, "forward_ms": round(statistics.median(forward), 4),
            "backward_ms": round(statistics.median(backward), 4), "gradients": gradients,
            "unused": [label for label, _ in parameters if label not in ready]}


def record(model, loss, path, **options):
    """profile(), into a file for hccl_sim --model."""
    found = profile(model, loss, **options)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    return found


def _tensors(output):
    import torch
    if isinstance(output, torch.Tensor):
        return [output] if output.is_floating_point() else []
    values = output.values() if isinstance(output, dict) else output if isinstance(output, (list, tuple)) else []
    return [tensor for value in values for tensor in _tensors(value)]


def _default_loss(output):
    loss = getattr(output, "loss", None)
    if loss is not None:
        return loss
    tensors = _tensors(output)
    if not tensors:
        raise ValueError(f"the model returned {type(output).__name__} without floating tensors: let FUNCTION return a loss as its third")
    return sum(tensor.float().sum() for tensor in tensors)


def _load(where):
    module, _, function = where.partition(":")
    if not module or not function:
        raise ValueError(f"wanted MODULE:FUNCTION, such as train:make_model, got {where!r}")
    sys.path.insert(0, os.getcwd())
    made = getattr(importlib.import_module(module), function)()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise ValueError(f"{where} must return (model, inputs) or (model, inputs, loss), got {type(made).__name__}")
    model, inputs, loss = (*made, _default_loss)[:3]
    if isinstance(inputs, dict):
        return model, lambda: loss(model(**inputs))
    return model, lambda: loss(model(*(inputs if isinstance(inputs, tuple) else (inputs,))))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m updraft.gradients", description="A model's gradients for hccl_sim --model")
    parser.add_argument("model", metavar="MODULE:FUNCTION", help="returns (model, inputs) or (model, inputs, loss)")
    parser.add_argument("-o", "--output", default="gradients.json", help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=5, help="that are measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        if options.steps < 1:
            raise ValueError(f"--steps must be 1 or more, got {options.steps}")
        model, loss = _load(options.model)
        found = record(model, loss, options.output, steps=options.steps)
    except (ValueError, ImportError, AttributeError, OSError) as error:
        print(f"python -m updraft.gradients: {error}", file=sys.stderr)
        return 1
    size = sum(g["bytes"] for g in found["gradients"])
    print(f"{found['name']}: {len(found['gradients'])} gradients, {size / 1e6:.1f} MB; forward {found['forward_ms']:.3f} ms, "
          f"backward {found['backward_ms']:.3f} ms: {options.output}")
    if found["unused"]:
        print(f"without a gradient: {', '.join(found['unused'][:5])}{'…' if len(found['unused']) > 5 else ''}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
