"""What the programs have in common: DEVICE RESULT OPTIONS, and torch_npu where the device is npu."""
import json
import os
import sys

DEVICE, RESULT = sys.argv[1:3]
OPTIONS = json.loads(sys.argv[3])

import torch  # noqa: E402

if DEVICE == "npu":
    import torch_npu  # noqa: E402, F401


def give(**results):
    """The last thing that a program does."""
    if int(os.environ.get("RANK", 0)) == 0:
        with open(RESULT, "w") as file:
            json.dump(results, file)
    if DEVICE == "cpu":
        # Python must not end as usual: a thread of PyTorch's gloo that drops a tensor meanwhile wants the GIL, and aborts
        sys.stdout.flush()
        os._exit(0)


def numbers(tensor):
    return tensor.detach().double().cpu().reshape(-1).tolist()


def curve(trainer, *names):
    """These values of a transformers Trainer's log."""
    return {n: [entry[n] for entry in trainer.state.log_history if n in entry] for n in names}
