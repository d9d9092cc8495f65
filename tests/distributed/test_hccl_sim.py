"""hccl_sim as a program: what it reads and writes, what it refuses, its page in headless Chromium."""
import json
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from updraft import home

from tests.distributed import jobs

PROGRAM = os.environ.get("UPDRAFT_HCCL_SIM") or os.path.join(home(), "bin", "hccl_sim")
HCCL_TEST = Path(PROGRAM).with_name("hccl_test")


def sim(*words, status=0):
    ended, = jobs.run([PROGRAM, *words])
    assert ended.status == status, ended.output
    return ended.output


MODEL = """
import torch
def make():
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8, bias=False))
    return model, torch.randn(32, 64)
def unused():
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 4), "b": torch.nn.Linear(4, 4)})
    model.forward = lambda x: {"out": model["a"](x)}
    return model, {"x": torch.randn(2, 4)}, lambda output: output["out"].square().mean()
def wrong():
    return 3
"""


def gradients(folder, function, status=0):
    (folder / "my_model.py").write_text(MODEL)
    ended = subprocess.run([sys.executable, "-m", "updraft.gradients", f"my_model:{function}", "-o", "gradients.json", "--steps", "2"],
                           cwd=folder, text=True, capture_output=True, timeout=200, env=dict(os.environ, PYTHONPATH=PYTHON))
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended


# the tree's own parts, where they are newer than what is installed
PYTHON = os.environ.get("UPDRAFT_PYTHON", "")


@pytest.mark.timeout(300)
def test_a_model_of_torch(tmp_path):
    gradients(tmp_path, "make")
    found = json.loads((tmp_path / "gradients.json").read_text())
    assert {g["name"]: g["bytes"] for g in found["gradients"]} == {"0.weight": 4 * 64 * 256, "0.bias": 4 * 256, "2.weight": 4 * 256 * 8}
    assert found["gradients"][0]["name"] == "2.weight"  # the last layer's is ready first
    times = [g["ready_ms"] for g in found["gradients"]]
    assert 0 < found["forward_ms"] <= times[0] <= times[-1] <= (found["forward_ms"] + found["backward_ms"]) * 1.01
    text = sim("--servers", 4, "--model", tmp_path / "gradients.json", "--bucket-mb", 0, "--forward-ms", 5, "--backward-ms", 10)
    assert "0.1 MB of gradients in 3 buckets, 15.000 ms of computation" in text


@pytest.mark.timeout(300)
def test_parameters_without_a_gradient(tmp_path):
    assert "without a gradient: b.weight, b.bias" in gradients(tmp_path, "unused").stderr
    assert "must return (model, inputs)" in gradients(tmp_path, "wrong", status=1).stderr


def test_scaling_to_16384_ranks(tmp_path):
    sim("--servers", 2048, "--json", tmp_path / "out.json")
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["cluster"]["ranks"] == 16384 and out["scaling"][-1]["ranks"] == 16384
    assert all(step["simulated"] for step in out["scaling"][-1]["steps"])
    assert re.fullmatch(r"level0:NA;level1:[\w-]+", out["choice"]["HCCL_ALGO"])
    # what is written describes the cluster again
    (tmp_path / "again.json").write_text(json.dumps(out["cluster"]))
    assert "16384 ranks" in sim("--cluster", tmp_path / "again.json", "--bytes", "64K")


def test_what_if(tmp_path):
    text = sim("--preset", "910b-server", "--servers", 64, "--compare", "inter.bandwidth_GBps=2.5", "--compare",
               "inter.bandwidth_GBps=250,servers=2", "--json", tmp_path / "out.json", "--scale-to", 16)
    slow, fast = json.loads((tmp_path / "out.json").read_text())["what_if"]
    assert slow["best"]["step_s"] > fast["best"]["step_s"] and fast["cluster"]["servers"] == 2
    assert "what if" in text and "inter.bandwidth_GBps=2.5" in text


KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")
SIZES = [1 << k for k in range(16, 25)]


def host_us(kind, ranks, size):
    """What ranks of a host with 2 cores take, told once more: 3 µs to begin, 5 µs for each of two meetings and 1 µs more for each rank
    above two, 0.1 ns a byte that a rank reads or writes, 0.2 ns a byte that it combines; all of it in turns on the cores."""
    share, others = size / ranks, ranks - 1
    moved = {"all_reduce": 2 * size, "reduce_scatter": size + share, "all_gather": size + share, "broadcast": size}[kind]
    combined = share * others if kind in ("all_reduce", "reduce_scatter") else 0
    return (3 + 2 * (5 + ranks - 2) + moved * 1e-4 + combined * 2e-4) * max(1, ranks / 2)


def times(path, law, noise=0.0, ranks=(2, 3, 4)):
    """A file of times by a law, each wrong by about `noise`, the same in every run."""
    chance = random.Random(7)
    rows = [f"{kind},{n},{size},{law(kind, n, size) * math.exp(chance.gauss(0, noise)):.4f},2" for kind in KINDS for n in ranks for size in SIZES]
    path.write_text("operation,ranks,bytes,us,cores\n" + "\n".join(rows) + "\n")
    return path


def errors(text):
    """[(median, nine of ten, largest), …] in percent."""
    return [tuple(map(int, found)) for found in re.findall(r"error: median (\d+) %, nine of ten within (\d+) %, largest (\d+) %", text)]


def calibrated(tmp_path, law, **more):
    text = sim("--calibrate", times(tmp_path / "times.csv", law, **more), "--json", tmp_path / "links.json")
    fitted, unseen = errors(text)
    return json.loads((tmp_path / "links.json").read_text()), fitted, unseen


def test_calibration_finds_a_host(tmp_path):
    """Of times that are wrong by 10 % it finds what they are made of, and predicts what it has not seen about as well as it can be."""
    links, fitted, unseen = calibrated(tmp_path, host_us, noise=0.1)
    assert 3 <= fitted[0] <= 10 and 3 <= unseen[0] <= 12 and unseen[1] <= 30, (fitted, unseen)
    assert links["intra"]["memory"] and links["intra"]["beta"] == pytest.approx(1e-10, rel=0.15)
    assert links["intra"]["gamma"] == pytest.approx(2e-10, rel=0.4)
    assert links["launch"] + 2 * links["intra"]["alpha"] == pytest.approx(13e-6, rel=0.2)
    # more ranks than it was fitted to
    times(tmp_path / "more.csv", host_us, ranks=(8,))
    (median, _, largest), = errors(sim("--validate", tmp_path / "more.csv", "--cluster", tmp_path / "links.json"))
    assert median <= 12 and largest <= 45


def test_calibration_shows_what_the_model_has_not(tmp_path):
    """Times of another law than the model's give large errors, in the fit and more so held out."""
    _, fitted, unseen = calibrated(tmp_path, lambda kind, n, size: (size / 1000) ** 1.7)
    assert fitted[0] >= 20 and fitted[2] >= 60 and unseen[0] >= 20, (fitted, unseen)
    # ranks that get in each other's way by far more than they are
    _, fitted, unseen = calibrated(tmp_path, lambda kind, n, size: host_us(kind, 2, size) * {2: 1, 3: 9, 4: 2}[n])
    assert fitted[2] >= 40 and unseen[2] >= 40, (fitted, unseen)


def test_validation_shows_wrong_links(tmp_path):
    path = times(tmp_path / "times.csv", host_us)
    links, fitted, unseen = calibrated(tmp_path, host_us)
    assert fitted[2] <= 1 and unseen[2] <= 1, (fitted, unseen)
    links["intra"]["beta"] *= 2
    links["intra"]["gamma"] *= 2
    (tmp_path / "links.json").write_text(json.dumps(links))
    text = sim("--validate", path, "--cluster", tmp_path / "links.json")
    (_, _, largest), = errors(text)
    assert 90 <= largest <= 101
    last = re.search(r"broadcast +4 .* 16777216 .*", text).group().split()
    assert last[-1] == "+98%" or last[-1] == "+97%" or last[-1] == "+99%", last


@pytest.mark.skipif(not HCCL_TEST.exists(), reason="hccl_test is not beside hccl_sim")
@pytest.mark.timeout(300)
def test_measuring_this_machine(tmp_path):
    text = sim("--measure", tmp_path / "times.csv", "--ranks", "2", "--calibrate", tmp_path / "times.csv")
    lines = (tmp_path / "times.csv").read_text().splitlines()
    assert lines[0] == "operation,ranks,servers,algorithm,bytes,us,cores" and len(lines) == 1 + 4 * 8
    assert "of 32 measurements" in text and '"intra"' in text


@pytest.mark.skipif(not HCCL_TEST.exists(), reason="hccl_test is not beside hccl_sim")
@pytest.mark.timeout(300)
def test_measuring_servers_on_this_machine(tmp_path):
    sim("--measure", tmp_path / "times.csv", "--ranks", "2,3", "--spread", "2", "--algorithm", "NHR", "--host", "127.0.0.1", "--host",
        "127.0.0.2=env UPDRAFT_LOG=")
    rows = [line.split(",") for line in (tmp_path / "times.csv").read_text().splitlines()[1:]]
    assert {(row[1], row[2], row[3]) for row in rows} == {("2", "2", "NHR")} and len(rows) == 4 * 8
    ended, = jobs.run([PROGRAM, "--measure", tmp_path / "none.csv", "--ranks", "3", "--spread", "2"])
    assert ended.status == 1 and "spread over --spread servers evenly" in ended.output


@pytest.mark.parametrize("words, text", [
    (["--preset", "best"], "take one of 910a-server"), (["--compare", "inter"], "wanted KEY=VALUE"),
    (["--compare", "inter.speed=3"], "inter.speed: 3 is not understood"), (["--bytes", "5X"], "wanted a size such as 4096"),
    (["--servers", "9", "--cards", "1", "--messages"], "for 8 ranks at most"), (["--messages", "--root", "8"], "ranks 0 to 7"),
    (["--model", "nowhere.csv"], "nowhere.csv cannot be read"), (["--calibrate", "nowhere.csv"], "nowhere.csv cannot be read"),
    (["--messages", "--kind", "allgatherv"], "wants 8 numbers (elements of the block of each rank), got 0"),
    (["--messages", "--cards", "2", "--kind", "alltoallv", "--counts", "1,2,3"], "wants 4 numbers"),
    (["--messages", "--counts", "1"], "wants 0 numbers, got 1"), (["--compare", "transport=\"rdma\""], "transport must be"),
    (["--kind", "gather"], "hccl_sim: --kind: gather is none of allgather allgatherv"), (["--nosuch"], "hccl_sim: The following argument was not expected"),
    (["--type", "fp99"], "fp99 is none of bfp16 fp16"), (["--html", "/nowhere/page.html"], "/nowhere/page.html cannot be written"), (["--algorithm", "pipeline", "--servers", "0"], "servers")])
def test_refusals(words, text):
    ended, = jobs.run([PROGRAM, *words])
    assert ended.status not in (0, None) and text in ended.output, ended.output


def test_the_help_is_text():
    ended, = jobs.run([PROGRAM, "--help"])
    assert ended.status == 0 and all(c.isprintable() or c == "\n" for c in ended.output)
    assert "allgather allgatherv" in ended.output and "AHC" in ended.output and "bfp16" in ended.output
    assert jobs.run([PROGRAM, "--nosuch"])[0].status == 2


def test_rank_tables_say_how_many(tmp_path):
    servers = [{"server_id": f"10.0.0.{s + 1}", "device": [{"device_id": str(d), "device_ip": f"10.1.{s}.{d + 1}", "rank_id": str(2 * d + s)}
                                                            for d in range(2)]} for s in range(2)]
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps({"status": "completed", "version": "1.0", "server_count": "2", "server_list": servers}))
    # ranks 0 and 2 are on the first server
    rows = sim("--rank-table", path, "--messages", "--algorithm", "ring", "--count", 4).splitlines()
    assert "1,0,0,1,4,inter" in rows and "0,0,0,2,8,intra" in rows
    ended, = jobs.run([PROGRAM, "--rank-table", path, "--servers", 3])
    assert ended.status == 1 and "leave --servers and --cards out" in ended.output


def chromium():
    sys.path.insert(0, str(jobs.ROOT / "tests" / "migrate"))
    import browser
    return browser


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_page(tmp_path):
    if chromium().CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    pictures = Path(os.environ.get("UPDRAFT_REPORT_PICTURES") or tmp_path)
    pictures.mkdir(parents=True, exist_ok=True)
    with chromium().Browser(tmp_path / "profile") as browser:
        for language, other, heading in (("en", "zh", "Scaling"), ("zh", "en", "扩展性")):
            page = tmp_path / f"{language}.html"
            sim("--preset", "a3-super-pod", "--servers", 96, "--html", page, "--language", language, "--compare", "inter.latency_us=20")
            for width in (1200, 390):
                browser.size(width, 2600)
                browser.open(page.as_uri())
                browser.screenshot(pictures / f"hccl_sim-{language}-{width}.png")
                assert browser.complaints() == []
                assert browser.run("document.documentElement.scrollWidth") <= width
                seen = browser.run("[...document.querySelectorAll('h2')].filter(x => x.offsetParent).map(x => x.innerText)")
                assert heading in seen and len(seen) == 4
                assert browser.run("[...document.querySelectorAll('svg')].length") == 4
            browser.run(f"document.getElementById({other!r}).click()")
            assert heading not in browser.run("[...document.querySelectorAll('h2')].filter(x => x.offsetParent).map(x => x.innerText)")
