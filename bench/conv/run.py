"""The convolutions of ResNet-50, layer by layer: this library against PyTorch's CPU device, interleaved.

    python bench/conv/run.py [--batch 8] [--repeat 5] [--dtype float32] [--kinds forward,data,weight] [--layers 0,3]

Prints milliseconds (the best of the repeats) of both and the ratio peer / ours (above 1: ours is faster). On a machine
that others use, --clock cpu with one thread (UPDRAFT_THREADS=1 OMP_NUM_THREADS=1) counts processor time instead.
"""

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import torch
import torch_npu  # noqa: F401

from bench.measure import heading, machine

# channels in, channels out, kernel, stride, padding, input size, how often it occurs
LAYERS = [
    (3, 64, 7, 2, 3, 224, 1),
    (64, 64, 1, 1, 0, 56, 1),
    (64, 64, 3, 1, 1, 56, 3),
    (64, 256, 1, 1, 0, 56, 4),
    (256, 64, 1, 1, 0, 56, 2),
    (256, 128, 1, 1, 0, 56, 1),
    (128, 128, 3, 2, 1, 56, 1),
    (128, 512, 1, 1, 0, 28, 4),
    (256, 512, 1, 2, 0, 56, 1),
    (512, 128, 1, 1, 0, 28, 3),
    (128, 128, 3, 1, 1, 28, 3),
    (512, 256, 1, 1, 0, 28, 1),
    (256, 256, 3, 2, 1, 28, 1),
    (256, 1024, 1, 1, 0, 14, 6),
    (512, 1024, 1, 2, 0, 28, 1),
    (1024, 256, 1, 1, 0, 14, 5),
    (256, 256, 3, 1, 1, 14, 5),
    (1024, 512, 1, 1, 0, 14, 1),
    (512, 512, 3, 2, 1, 14, 1),
    (512, 2048, 1, 1, 0, 7, 3),
    (1024, 2048, 1, 2, 0, 14, 1),
    (2048, 512, 1, 1, 0, 7, 2),
    (512, 512, 3, 1, 1, 7, 2),
]
MASKS = {"data": [True, False, False], "weight": [False, True, False], "both": [True, True, False]}


def measure(layer, kind, batch, dtype, repeat, clock):
    c, o, k, s, p, size, _ = layer
    x = torch.randn(batch, c, size, size).to(dtype)
    w = torch.randn(o, c, k, k).to(dtype)
    y = torch.ops.aten.convolution(x, w, None, [s, s], [p, p], [1, 1], False, [0, 0], 1)
    g = torch.randn_like(y)
    tensors = {"npu": [t.npu() for t in (x, w, g)], "cpu": [x, w, g]}
    best = {"npu": 1e9, "cpu": 1e9}
    for i in range(repeat + 1):
        for device, (dx, dw, dg) in tensors.items():
            start = clock()
            if kind == "forward":
                torch.ops.aten.convolution(dx, dw, None, [s, s], [p, p], [1, 1], False, [0, 0], 1)
            else:
                if kind == "data" and c == 3:
                    return 0.0, 0.0
                mask = MASKS[kind]
                if c == 3:
                    mask = [False, True, False]
                torch.ops.aten.convolution_backward(
                    dg, dx, dw, None, [s, s], [p, p], [1, 1], False, [0, 0], 1, mask)
            if device == "npu":
                torch.npu.synchronize()
            if i:
                best[device] = min(best[device], (clock() - start) * 1e3)
    return best["npu"], best["cpu"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--kinds", default="forward,data,weight,both")
    parser.add_argument("--layers", default="")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"])
    args = parser.parse_args()
    kinds = args.kinds.split(",")
    chosen = [int(i) for i in args.layers.split(",")] if args.layers else range(len(LAYERS))
    print(f"{heading(machine(), './dev bench conv')}; torch threads {torch.get_num_threads()}, batch {args.batch}, {args.dtype}")
    total = {k: [0.0, 0.0] for k in kinds}
    for i in chosen:
        layer = LAYERS[i]
        text = "{:2d} {:4d}->{:4d} k{} s{} {:3d} x{}".format(i, *layer[:4], *layer[5:])
        for kind in kinds:
            ours, peer = measure(layer, kind, args.batch, getattr(torch, args.dtype), args.repeat,
                                 time.process_time if args.clock == "cpu" else time.perf_counter)
            total[kind][0] += ours * layer[6]
            total[kind][1] += peer * layer[6]
            text += f" | {kind} {ours:7.2f} {peer:7.2f} {peer / ours if ours else 0:5.2f}x"
        print(text, flush=True)
    for kind in kinds:
        ours, peer = total[kind]
        print(f"{kind:8s} ours {ours:8.1f} ms, torch {peer:8.1f} ms, ratio {peer / ours:.2f}")


if __name__ == "__main__":
    main()
