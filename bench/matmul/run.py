"""Linear layers and attention of a GPT-2-like model on the NPU against PyTorch's CPU, interleaved in one process.

Run: python bench/matmul/run.py [--only NAME] [--repeats N] [--threads N]
Prints milliseconds of the peer and of us (median, spread) and the ratio peer / us: above 1 we are faster.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import torch
import torch.nn.functional as F

from bench.measure import heading, machine


def case_linear(m, k, n, dtype):
    def make(device):
        generator = torch.Generator().manual_seed(0)
        def rand(*shape):
            return torch.randn(shape, generator=generator).to(dtype).to(device)
        x, w, b, g = rand(m, k), rand(n, k), rand(n), rand(m, n)
        return {"forward": lambda: torch.addmm(b, x, w.t()), "no bias": lambda: x @ w.t(),
                "dgrad": lambda: g @ w, "wgrad": lambda: g.t() @ x}
    return make


def case_attention(b, n, s, d, dtype, causal):
    def make(device):
        generator = torch.Generator().manual_seed(0)
        x = torch.randn((b, s, 3, n, d), generator=generator).to(dtype).to(device)
        q, k, v = (x[:, :, i].transpose(1, 2).detach().requires_grad_() for i in range(3))
        g = torch.randn((b, n, s, d), generator=generator).to(dtype).to(device)
        if device == "npu":
            import torch_npu
            mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1).to(device) if causal else None
            def run(q, k, v):
                return torch_npu.npu_fusion_attention(q, k, v, n, "BNSD", scale=d**-0.5, atten_mask=mask,
                                                      sparse_mode=2 if causal else 0)[0]
        else:
            def run(q, k, v):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        def forward():
            with torch.no_grad():
                return run(q, k, v)
        def both():
            return torch.autograd.grad(run(q, k, v), (q, k, v), g)
        return {"forward": forward, "forward+backward": both}
    return make


CASES = {}
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    short = str(dtype).split(".")[1]
    CASES[f"linear 1024x512x2048 {short}"] = case_linear(1024, 512, 2048, dtype)
    if dtype != torch.float16:
        CASES[f"linear 1024x2048x512 {short}"] = case_linear(1024, 2048, 512, dtype)
        CASES[f"linear 1x768x3072 {short}"] = case_linear(1, 768, 3072, dtype)
    CASES[f"attention 4x8x256x64 causal {short}"] = case_attention(4, 8, 256, 64, dtype, True)
    CASES[f"attention 4x8x128x64 {short}"] = case_attention(4, 8, 128, 64, dtype, False)
    CASES[f"attention 1x8x1024x128 causal {short}"] = case_attention(1, 8, 1024, 128, dtype, True)
CASES["mm 512 float64"] = case_linear(512, 512, 512, torch.float64)
CASES["mm 512 complex64"] = case_linear(512, 512, 512, torch.complex64)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    import torch_npu  # noqa: F401
    print(f"{heading(machine(), './dev bench matmul')}; {options.threads} threads of the peer")
    for name, make in CASES.items():
        if options.only not in name:
            continue
        ours, theirs = make("npu"), make("cpu")
        for step in ours:
            times = {"npu": [], "cpu": []}
            for i in range(options.repeats + 3):
                for where, run in (("cpu", theirs[step]), ("npu", ours[step])):
                    start = time.perf_counter()
                    run()
                    if where == "npu":
                        torch.npu.synchronize()
                    if i >= 3:
                        times[where].append((time.perf_counter() - start) * 1e3)
            median = {k: statistics.median(v) for k, v in times.items()}
            spread = {k: (sorted(v)[-2] - min(v)) / median[k] for k, v in times.items()}
            print(f"{name:40s} {step:17s} torch {median['cpu']:8.3f} (min {min(times['cpu']):8.3f})  updraft {median['npu']:8.3f} "
                  f"(min {min(times['npu']):8.3f})  ratio {median['cpu'] / median['npu']:5.2f} "
                  f"min {min(times['cpu']) / min(times['npu']):5.2f}{'  unstable' if max(spread.values()) > 0.5 else ''}", flush=True)


if __name__ == "__main__":
    main()
