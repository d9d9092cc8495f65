"""Inference of ONNX models through onnxruntime: our execution provider against its CPU provider, both in processes of their own, with
the same threads, in turn. The models are exported from PyTorch with random weights, or lie in the rapidocr wheel.

    ./dev bench graph [--models resnet50-b1,bert-b1] [--rounds 5] [--threads 2]
    ./dev bench graph --compiled [--models resnet50,llama-step]      torch.compile against our own eager (compiled.py)
"""
import argparse
import math
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
MODELS = ["resnet50-b1", "resnet50-b8", "bert-b1", "bert-b8", "vit-s-b1", "ocr-det", "ocr-rec"]
FOLDER = ROOT / "build" / "bench" / "graph"
CLIENT = ROOT / ".venv-onnxruntime" / "bin" / "python"


def export(name):
    """PyTorch's model, once: build/bench/graph/NAME.onnx."""
    path = FOLDER / f"{name}.onnx"
    if path.exists() or name.startswith("ocr"):
        return
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    from tests.clients.training import models
    torch.manual_seed(0)
    kind, batch = name.rsplit("-b", 1)
    inputs = (torch.randn(int(batch), 3, 224, 224),)
    if kind == "bert":
        from transformers import BertConfig, BertModel
        model = BertModel(BertConfig(attn_implementation="eager"), add_pooling_layer=False)
        inputs = (torch.randint(30000, (int(batch), 128)), torch.ones(int(batch), 128, dtype=torch.int64))
    elif kind == "resnet50":
        model = models.resnet50()
    else:
        model = models.ViT(image=224, patch=16, width=384, heads=6, layers=12)
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(model.eval(), inputs, path, dynamo=False, opset_version=17)


def images_of(name):
    """rapidocr's model and the size of its input."""
    import glob

    import rapidocr
    folder = os.path.join(os.path.dirname(rapidocr.__file__), "models")
    path, = glob.glob(os.path.join(folder, "*_det_*.onnx" if name == "ocr-det" else "*_rec_*.onnx"))
    return path, ((1, 3, 480, 640) if name == "ocr-det" else (4, 3, 48, 320))


def session(name, provider, threads):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    path, size = images_of(name) if name.startswith("ocr") else (str(FOLDER / f"{name}.onnx"), None)
    # ours would keep the compiled model in the working directory, and find it there the next time
    own = {"dump_om_model": "0"} if provider.startswith("CANN") else {}
    ran = onnxruntime.InferenceSession(path, options, providers=[(provider, own)])
    assert ran.get_providers()[0] == provider, ran.get_providers()
    random = np.random.default_rng(0)
    feeds = {}
    for i in ran.get_inputs():
        if "int64" in i.type:  # tokens; a mask of ones
            feeds[i.name] = random.integers(30000, size=i.shape) if not feeds else np.ones(i.shape, np.int64)
        else:
            n, channels, high, wide = size or i.shape
            # a picture of bars: noise would make numbers that are too small for the CPU's fast path
            bars = np.sin(np.arange(wide) / 9) * np.cos(np.arange(high) / 5)[:, None]
            feeds[i.name] = (np.broadcast_to(bars, (n, channels, high, wide)) + 0.1 * random.standard_normal((n, channels, high, wide))).astype(np.float32)

    def step(values=False):
        out = ran.run(None, feeds)
        return out[0] if values else None

    return step


def measure(options):
    import numpy as np

    from bench.measure import PART, InProcess, interleave, machine, report
    os.environ["UPDRAFT_THREADS"] = str(options.threads)
    before, rows = machine(), {}
    for name in options.models.split(","):
        ours = InProcess(session, name, "CANNExecutionProvider", options.threads)
        peer = InProcess(session, name, "CPUExecutionProvider", options.threads)
        ours(True), peer(True)
        error = np.abs(ours.value - peer.value).max() / np.abs(peer.value).max()
        assert error < 1e-2, (name, error)
        rows[name] = interleave(ours, peer, options.rounds)
        print(name, f"error {error:.1e}", rows[name], flush=True)
        ours.close(), peer.close()
    if len(rows) > 1:
        print("geometric mean", round(math.exp(sum(math.log(r["ratio"]) for r in rows.values()) / len(rows)), 3))
    whole = options.models == ",".join(MODELS) and options.threads == len(os.sched_getaffinity(0))
    report("graph" + ("" if whole else PART), rows, "./dev bench graph " + " ".join(a for a in sys.argv[1:] if a != "--measure"),
           "onnxruntime CPU", before)


def measure_compiled(options):
    os.environ["UPDRAFT_THREADS"] = str(options.threads)
    from bench.graph import compiled
    from bench.measure import PART, machine, report
    names = options.models.split(",") if options.models else list(compiled.MODELS)
    for name in names:
        if name not in compiled.MODELS:
            sys.exit(f"no model {name}, want one of {', '.join(compiled.MODELS)}")
    before = machine()
    rows = compiled.measure(names, options.rounds)
    whole = names == list(compiled.MODELS) and options.threads == len(os.sched_getaffinity(0))
    report("graph-compiled" + ("" if whole else PART), rows, "./dev bench graph " + " ".join(sys.argv[1:]), "our eager", before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models")
    parser.add_argument("--compiled", action="store_true", help="torch.compile with the wheel's npu backend against our own eager")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compiled:
        return measure_compiled(options)
    options.models = options.models or ",".join(MODELS)
    if options.measure:
        return measure(options)
    for name in options.models.split(","):
        if name not in MODELS:
            sys.exit(f"no model {name}, want one of {', '.join(MODELS)}")
        export(name)
    if not CLIENT.exists():
        sys.exit(f"no {CLIENT}: ./dev test graph makes it")
    updraft = str(pathlib.Path(sys.executable).with_name("updraft"))
    os.execv(updraft, [updraft, "run", str(CLIENT), os.path.abspath(__file__), "--measure", *sys.argv[1:]])


if __name__ == "__main__":
    main()
