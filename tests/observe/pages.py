"""Makes the pages of updraft run --report, updraft check and msaccucmp from real runs, and pictures of them.

usage: pages.py FOLDER    writes readiness.png, check.png and compare.png there (wants Chromium): docs/use/pictures is made by
                          UPDRAFT_LANG=en python tests/observe/pages.py docs/use/pictures
"""

import os
import pathlib
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


def run(*command, status=0, **env):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=200, env={**os.environ, **{k: str(v) for k, v in env.items()}})
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]


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


PAGES = {"readiness": readiness, "check": check, "compare": compare}


def browser_module():
    sys.path.insert(0, str(HERE.parent / "migrate"))
    import browser

    return browser


def main(out):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, browser_module().Browser(pathlib.Path(work) / "profile") as browser:
        for name, make in PAGES.items():
            folder = pathlib.Path(work) / name
            folder.mkdir()
            browser.size(1000, 760)
            browser.open(make(folder, os.environ.get("UPDRAFT_LANG", "en")).as_uri())
            browser.screenshot(out / (name + ".png"))
            print(out / (name + ".png"), (out / (name + ".png")).stat().st_size)


if __name__ == "__main__":
    main(*sys.argv[1:])
