"""Makes the pages of updraft run --report and --sanitize, updraft check and msaccucmp from real runs, what a terminal shows of a dump and
of precision_tool, and pictures of all of them.

usage: pages.py FOLDER [NAME…]    writes NAME.png there (wants Chromium), of all below without names: docs/use/pictures is made by
                                  UPDRAFT_LANG=en python tests/observe/pages.py docs/use/pictures
"""

import html
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
UPDRAFT = pathlib.Path(sys.executable).with_name("updraft")
WIDTHS = 1200, 390

TRAIN = """
    import time, torch, torch_npu
    torch.manual_seed(0)
    weights = [torch.randn(32, 32).npu().requires_grad_() for _ in range(4)]
    optimizer = torch.optim.AdamW(weights, 1e-3)
    for step in range(20):
        time.sleep(0.01)
        x = torch.randn(2, 32, 32).npu()
        q, k, v = (x @ w for w in weights[:3])
        y = torch.softmax(q @ k.transpose(-1, -2) / 6, -1) @ v @ weights[3]
        loss = (torch.nn.functional.silu(y) * y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        torch.linalg.eigvalsh(x[0].t() @ x[0])
"""


REUSE = """
    import torch, torch_npu

    other = torch.npu.Stream()

    def normalise(x):
        with torch.npu.stream(other):
            return x * 2

    def step():
        x = torch.ones(1 << 20, device="npu")
        other.wait_stream(torch.npu.current_stream())
        y = normalise(x)
        del x
        return y, torch.zeros(1 << 20, device="npu")

    kept = step()
    weights = torch.ones(64, 64, device="npu")
    with torch.npu.stream(other):
        product = weights @ weights
    torch.npu.synchronize()
    empty = torch.empty(16, device="npu") + 1
    empty.cpu()
"""

FUSED = """
    import sys, torch, torch_npu, torchair
    import precision_tool.tf_config as tool

    end = tool.torch_dump_config("dump")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).npu()
    if "fault" in sys.argv:
        with torch.no_grad():
            net[2].weight[::2] *= -1
    net = torch.compile(net, backend=torchair.get_npu_backend(), dynamic=False)
    with torch.no_grad():
        net(torch.randn(2, 8).npu())
    end()
"""


def run(*command, status=0, cwd=None, **env):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=200, cwd=cwd,
                          env={**os.environ, **{k: str(v) for k, v in env.items()}})
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


def terminal(page, *lines):
    """A page of what was typed and answered."""
    text = html.escape("\n".join(lines).rstrip())
    page.write_text("<!doctype html><meta charset=utf-8><title>terminal</title><style>body{margin:0;background:#16181d;color:#e4e6eb}"
                    "pre{margin:16px;font:13px/1.35 monospace;white-space:pre-wrap;overflow-wrap:anywhere}</style><pre>" + text + "</pre>")
    return page


def readiness(folder, language):
    (folder / "train.py").write_text(textwrap.dedent(TRAIN))
    run(UPDRAFT, "run", "--report", folder / "readiness.html", sys.executable, folder / "train.py", UPDRAFT_LANG=language)
    return folder / "readiness.html"


def check(folder, language):
    data = folder / "data"
    data.mkdir()
    import torch

    torch.manual_seed(1)
    torch.save(torch.randn(160, 16), data / "images.pt")
    (data / "labels.txt").write_text(" ".join(str(i % 4) for i in range(160)))
    for name, planted in (("reference", "float16"), ("mine", "float16,growth,batch")):
        run(UPDRAFT, "run", "--record", folder / name, sys.executable, HERE / "checked.py", data, "cpu", PLANTED=planted, TORCH_DEVICE_BACKEND_AUTOLOAD=0)
    run(UPDRAFT, "check", folder / "reference", folder / "mine", "--html", folder / "check.html", status=1, UPDRAFT_LANG=language)
    return folder / "check.html"


def compare(folder, language):
    import numpy as np

    rng = np.random.default_rng(0)
    for side in ("mine", "golden"):
        (folder / side).mkdir(exist_ok=True)
    for i, name in enumerate(("conv1", "bn1", "relu1", "fc", "softmax")):
        x = rng.standard_normal((4, 8)).astype(np.float32)
        np.save(folder / "golden" / ("%s.0.%d.npy" % (name, 1700000000000000 + i)), x)
        np.save(folder / "mine" / ("%s.0.%d.npy" % (name, 1700000000000000 + i)), x + (rng.standard_normal((4, 8)).astype(np.float32) if i > 2 else 1e-4))
    run(UPDRAFT, "compare", "-m", folder / "mine", "-g", folder / "golden", "-out", folder / "out")
    page, = (folder / "out").glob("result_*.html")
    return page


def sanitizer(folder, language):
    (folder / "train.py").write_text(textwrap.dedent(REUSE))
    run(UPDRAFT, "run", "--sanitize", "--sanitize-report", folder / "sanitizer.html", sys.executable, folder / "train.py", status=66, UPDRAFT_LANG=language)
    return folder / "sanitizer.html"


def dump(folder, language):
    """Two operators are dumped; then what lies in one file, and which overflow."""
    target = folder / "dump"
    target.mkdir()
    (folder / "dump.json").write_text('{"dump": {"dump_path": "dump", "dump_mode": "all", "dump_op_switch": "on", "dump_list": []}}\n')
    (folder / "train.py").write_text(textwrap.dedent("""
        import torch, torch_npu
        torch_npu.npu.init_dump()
        torch_npu.npu.set_dump("dump.json")
        x = torch.linspace(-2, 2, 8).npu().half()
        y = torch.relu(x) @ torch.eye(8).npu().half()
        (y + 1).cpu()
        torch_npu.npu.finalize_dump()
    """))
    run(UPDRAFT, "run", sys.executable, "train.py", cwd=folder)
    files = sorted(p for p in target.rglob("*") if p.is_file())
    add = next(p for p in files if p.name.startswith(("Add.", "Adds.")))
    run(UPDRAFT, "compare", "convert", "-d", add, "-out", "npy", cwd=folder)
    show = "import glob, numpy\nfor f in sorted(glob.glob('npy/*')): print(f, numpy.load(f), sep='\\n  ')"
    return terminal(folder / "dump.html", "$ cat dump.json", (folder / "dump.json").read_text(), "$ python train.py", "$ find dump -type f",
                    *(str(f.relative_to(folder)) for f in files), "", "$ msaccucmp convert -d %s -out npy" % add.relative_to(folder),
                    "$ python -c \"%s\"" % show, run(sys.executable, "-c", show, cwd=folder))


def precision_tool(folder, language):
    """Two runs, the later one with a fault in its second layer."""
    home = pathlib.Path(run(sys.executable, "-c", "import updraft; print(updraft.home())").strip())
    shutil.copytree(home / "tools" / "precision_tool", folder / "precision_tool", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "train.py").write_text(textwrap.dedent(FUSED))
    more = {"cwd": folder, "ASCEND_HOME_PATH": home, "COLUMNS": 118}
    run(UPDRAFT, "run", sys.executable, "train.py", **more)
    (folder / "precision_data/npu/debug_0").rename(folder / "precision_data/npu/debug_1")
    run(UPDRAFT, "run", sys.executable, "train.py", "fault", **more)
    lines = []
    for word in ("vc", "vcs"):
        lines += ["$ python3 precision_tool/cli.py " + word, run(sys.executable, "precision_tool/cli.py", word, **more).replace(str(folder), "…")]
    return terminal(folder / "precision_tool.html", *lines)


PAGES = {"readiness": readiness, "check": check, "compare": compare, "sanitizer": sanitizer, "dump": dump, "precision_tool": precision_tool}


def browser_module():
    sys.path.insert(0, str(HERE.parent / "migrate"))
    import browser

    return browser


def main(out, *names):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, browser_module().Browser(pathlib.Path(work) / "profile") as browser:
        for name in names or PAGES:
            folder = pathlib.Path(work) / name
            folder.mkdir()
            browser.size(1000, 760)
            browser.open(PAGES[name](folder, os.environ.get("UPDRAFT_LANG", "en")).as_uri())
            browser.size(1000, min(760, int(browser.run("document.documentElement.getBoundingClientRect().height"))))
            browser.screenshot(out / (name + ".png"))
            print(out / (name + ".png"), (out / (name + ".png")).stat().st_size)


if __name__ == "__main__":
    main(*sys.argv[1:])
