"""Training steps of MindSpore's own layers on the virtual NPU against MindSpore's CPU device: both in processes of their own, in turn,
each step a graph (`ms.jit`). The losses of both are compared.

    ./dev bench mindspore [--models lenet,bert,resnet50] [--rounds 5] [--threads 2]
"""
import argparse
import math
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/mindspore")]
CLIENT = ROOT / ".venv-mindspore" / "bin" / "python"
MODELS = ["lenet", "bert", "resnet50"]


def build(name):
    """(network, inputs, labels)"""
    import layer_models
    import numpy as np

    rng = np.random.default_rng(0)
    if name == "lenet":
        return layer_models.LeNet(), rng.standard_normal((64, 1, 32, 32)).astype(np.float32), rng.integers(0, 10, 64).astype(np.int32)
    if name == "bert":
        return layer_models.Bert(1000, 256, 64), rng.integers(0, 1000, (8, 64)).astype(np.int32), rng.integers(0, 10, 8).astype(np.int32)
    return layer_models.MODELS["resnet50"](), rng.standard_normal((4, 3, 128, 128)).astype(np.float32), rng.integers(0, 10, 4).astype(np.int32)


def session(name, device, threads):
    os.environ["GLOG_v"] = "4"
    import mindspore as ms
    from mindspore import Tensor, nn
    from samples import weight

    ms.set_device(device, 0)
    if device == "CPU":
        ms.device_context.cpu.op_tuning.threads_num(threads)
    net, x, y = build(name)
    for p in net.trainable_params():
        p.set_data(Tensor(weight(p.name.replace("gamma", "weight").replace("beta", "bias"), p.shape)))
    net.set_train(True)
    loss_of, optimizer = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-5)

    def forward(x, y):
        return loss_of(net(x), y)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)
    x, y = Tensor(x), Tensor(y)

    @ms.jit
    def train(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    def step(values=False):
        value = float(train(x, y).asnumpy())
        return value if values else None

    return step


def measure(options):
    from bench.measure import PART, InProcess, interleave, machine, report

    os.environ["UPDRAFT_THREADS"] = str(options.threads)
    before, rows = machine(), {}
    for name in options.models.split(","):
        if name not in MODELS:
            sys.exit(f"no model {name}, want one of {', '.join(MODELS)}")
        ours, peer = InProcess(session, name, "Ascend", options.threads), InProcess(session, name, "CPU", options.threads)
        ours(True), peer(True)
        if not math.isclose(ours.value, peer.value, rel_tol=1e-3):
            sys.exit(f"{name}: the losses differ, {ours.value} and {peer.value}")
        rows[name] = interleave(ours, peer, options.rounds)
        print(name, rows[name], flush=True)
        ours.close(), peer.close()
    if len(rows) > 1:
        print("geometric mean", round(math.exp(sum(math.log(r["ratio"]) for r in rows.values()) / len(rows)), 3))
    whole = options.models == ",".join(MODELS) and options.threads == len(os.sched_getaffinity(0))
    report("mindspore" + ("" if whole else PART), rows, "./dev bench mindspore " + " ".join(a for a in sys.argv[1:] if a != "--measure"),
           "MindSpore CPU", before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.measure:
        if not CLIENT.exists():
            sys.exit("there is no .venv-mindspore: ./dev test mindspore makes it")
        os.execv(CLIENT, [str(CLIENT), __file__, *sys.argv[1:], "--measure"])
    measure(options)


if __name__ == "__main__":
    main()
