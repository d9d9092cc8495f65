"""`updraft run --record` and `updraft check`: a planted difference of each kind is told by its line, and a clean pair passes."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

from .programs import UPDRAFT, environment

SCRIPT = pathlib.Path(__file__).with_name("checked.py")
IDS = ["repeatable", "reference-precision", "precision", "loss-scale", "overflow-share", "data-files", "data-order", "sharding", "flow", "hyper-parameters"]


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_data(folder)
    return folder


def make_data(folder, first_label=None):
    torch.manual_seed(1)
    torch.save(torch.randn(160, 16), folder / "images.pt")
    labels = [i % 4 for i in range(160)]
    if first_label is not None:
        labels[0] = first_label
    (folder / "labels.txt").write_text(" ".join(map(str, labels)))


def record(out, data_folder, planted="", device="cpu", status=0, ranks=1, options=(), **env):
    if device == "cpu":
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    command = [sys.executable, SCRIPT, data_folder, device]
    if ranks > 1:
        command = [pathlib.Path(sys.executable).with_name("torchrun"), "--nproc-per-node", ranks, "--master-port=0", "--rdzv-endpoint=localhost:0",
                   "--rdzv-backend=c10d"] + command[1:]
    done = subprocess.run([str(x) for x in [UPDRAFT, "run", "--record", out, *options, *command]], text=True, capture_output=True, timeout=120,
                          env=environment(PLANTED=planted, UPDRAFT_LANG="en", **env))
    assert done.returncode == status, done.stderr[-4000:]
    return done.stdout + done.stderr


def check(*folders, options=(), lang="en"):
    """(exit status, lines by id, what was printed)"""
    out = folders[-1].parent / (folders[-1].name + ".check.json")
    done = subprocess.run([str(x) for x in [UPDRAFT, "check", *folders, "--json", out, *options]], text=True, capture_output=True, timeout=60,
                          env=environment(UPDRAFT_LANG=lang))
    lines = {line["id"]: line for line in json.loads(out.read_text())["lines"]} if done.returncode < 2 else {}
    return done.returncode, lines, done.stdout + done.stderr


def status_of(lines):
    return {k: v["status"] for k, v in lines.items()}


READS = "import sys; [open(sys.argv[1] + '/' + n, 'rb').read() for n in ('images.pt', 'labels.txt')]; print('loss: 0.5'); sys.exit(int(sys.argv[2]))"


def read_only(out, data_folder, *options, status=0):
    """Records a program that reads the data and trains nothing: quicker."""
    done = subprocess.run([str(x) for x in [UPDRAFT, "run", "--record", out, *options, sys.executable, "-c", READS, data_folder, status]], text=True,
                          capture_output=True, timeout=60, env=environment(UPDRAFT_LANG="en"))
    assert done.returncode == status, done.stderr
    return out


@pytest.fixture(scope="module")
def runs(data_folder, tmp_path_factory):
    """Records a run once and gives its folder."""
    made, root = {}, tmp_path_factory.mktemp("runs")

    def get(planted="", **options):
        key = planted + str(sorted(options.items()))
        if key not in made:
            made[key] = root / ("run%d-%s" % (len(made), planted.replace(",", "-") or "clean"))
            record(made[key], data_folder, planted, **options)
        return made[key]

    return get


def test_a_clean_pair_passes(runs, data_folder, tmp_path):
    record(tmp_path / "again", data_folder)
    page = tmp_path / "page.html"
    status, lines, said = check(runs(), tmp_path / "again", options=["--html", page])
    assert status == 0 and list(lines) == IDS
    assert set(status_of(lines).values()) == {"PASS"}, said
    assert "equal in every number" in " ".join(lines["repeatable"]["evidence"])
    text = page.read_text()
    assert all('id="%s"' % name in text for name in IDS) and "http" not in text and "<script" not in text


def test_the_reference_on_the_cpu_and_the_run_on_the_npu(runs):
    status, lines, said = check(runs(), runs(device="npu"))
    assert status == 0, said
    assert status_of(lines) == dict.fromkeys(IDS, "PASS") | {"repeatable": "NOT KNOWN"}, said  # other commands: not repeats


@pytest.mark.long
def test_loss_scales_of_the_cpu_and_of_the_npu(runs):
    status, lines, said = check(runs("float16"), runs("float16", device="npu"))
    assert status == 0 and lines["loss-scale"]["status"] == lines["precision"]["status"] == "PASS", said
    assert "GradScaler" in said and "float16" in said


@pytest.mark.parametrize("reference, planted, lines_and_evidence", [
    ("", "order,weights", [("data-order", "sampler"), ("flow", "begin with other values")]),
    ("", "preprocessing", [("data-order", "batch 1: tensor 1 has the mean")]),
    ("", "batch,decay,schedule", [("hyper-parameters", "16 samples in the reference and 8 in the run"), ("hyper-parameters", "weight_decay 0.0001 / 0.001"),
                                  ("hyper-parameters", "step 11 lr becomes 0.01"), ("flow", "30 in the reference, 60 in the run")]),
    ("float16", "", [("precision", "The reference computes in float16, the run in float32"), ("loss-scale", "the run does not")]),
    pytest.param("", "float16,unscaled", [("loss-scale", "without a loss scale")], marks=pytest.mark.long),
    ("float16", "float16,growth,overflow", [("loss-scale", "interval 2000 / 1000"), ("overflow-share", "4 of 30 steps overflowed")]),
])
def test_planted_differences(runs, reference, planted, lines_and_evidence):
    status, lines, said = check(runs(reference), runs(planted))
    assert status == 1
    for line, evidence in lines_and_evidence:
        assert lines[line]["status"] == "FAIL" and lines[line]["advice"], said
        assert evidence in " ".join(lines[line]["evidence"]), said
    # what has nothing to do with it stays as it is
    untouched = {"data-files", "sharding", "data-order", "hyper-parameters", "precision"} - {line for line, _ in lines_and_evidence}
    for other in untouched - ({"data-order"} if "batch" in planted else set()):
        assert lines[other]["status"] == "PASS", said


def edited(folder, out, change):
    """A copy of a record whose process says what `change` makes of it."""
    shutil.copytree(folder, out)
    for path in out.glob("rank*.json"):
        process = json.loads(path.read_text())
        change(process)
        path.write_text(json.dumps(process))
    return out


@pytest.mark.parametrize("batch, overflows, status, said", [
    (16, 4, "PASS", "4 of 1000 steps overflowed after the first scale that fits (0.40 %, allowed 0.5 %"), (16, 5, "FAIL", "(0.50 %, allowed 0.5 %"),
    (2048, 1, "FAIL", "(0.10 %, allowed 0.1 % for a batch of 2048)"), (2047, 1, "PASS", "allowed 0.5 % for a batch of 2047")])
def test_the_share_of_overflows(runs, tmp_path, batch, overflows, status, said):
    """A large batch may have fewer of them."""
    def change(process):
        for scaler in process["scalers"]:
            scaler.update(checks=1002, overflows=overflows + 2, until_first_step=2)  # the first two find the scale
        for loader in process["loaders"]:
            loader["batch_size"] = batch

    _, lines, text = check(runs("float16"), edited(runs("float16"), tmp_path / "many", change))
    line = lines["overflow-share"]
    assert line["status"] == status and said in " ".join(line["evidence"]), text


@pytest.mark.parametrize("product, usual", [("Ascend910A", "allow_fp32_to_fp16"), ("Ascend910B2", "must_keep_origin_dtype")])
def test_the_product_and_the_mode_of_precision(runs, tmp_path, product, usual):
    def change(process):
        process.setdefault("notes", {})["precision_mode"] = "allow_mix_precision"  # as npu_device notes what a script sets

    out = edited(runs(), tmp_path / "run", change)
    whole = json.loads((out / "run.json").read_text())
    whole["environment"]["UPDRAFT_SOC"] = product
    (out / "run.json").write_text(json.dumps(whole))
    _, lines, text = check(runs(), out)
    assert "%s: precision_mode is %s by default, allow_mix_precision in this run." % (product, usual) in lines["precision"]["evidence"], text


def test_repeats_that_do_not_agree(runs):
    folders = [runs(), runs("order,weights")]
    status, lines, said = check(*folders, runs())
    assert lines["repeatable"]["status"] == "FAIL" and "ends" in lines["repeatable"]["evidence"][0], said
    _, lines, _ = check(*folders, runs(), options=["--tolerance", "10"])
    assert lines["repeatable"]["status"] == "PASS"


def test_seeds_that_are_not_fixed_are_not_known(runs, data_folder):
    # by chance two such runs may end within the usual hundredth of each other
    status, lines, said = check(runs(), runs("unseeded"), options=["--tolerance", "1e-7"])
    assert lines["flow"]["status"] == "NOT KNOWN" and "seeds differ" in " ".join(lines["flow"]["evidence"]), said
    assert lines["repeatable"]["status"] == "NOT KNOWN"  # one reference, and the run differs from it
    assert lines["data-order"]["status"] == "PASS"  # its generator has a seed of its own


def test_workers_open_files_and_change_no_order(runs):
    status, lines, said = check(runs(), runs("workers"))
    assert status == 0 and lines["data-order"]["status"] == "PASS" and "workers 0 / 2" in said, said


def test_other_data(data_folder, tmp_path):
    other = tmp_path / "data"
    other.mkdir()
    make_data(other, first_label=3)
    theirs = read_only(tmp_path / "theirs", data_folder)
    status, lines, said = check(theirs, read_only(tmp_path / "ours", other))
    assert lines["data-files"]["status"] == "FAIL" and "labels.txt" in lines["data-files"]["evidence"][0], said
    assert "images.pt" not in lines["data-files"]["evidence"][0]


def test_data_sets_that_are_named(data_folder, tmp_path):
    other = tmp_path / "data"
    other.mkdir()
    make_data(other)
    (other / "more.bin").write_bytes(b"more")
    theirs = read_only(tmp_path / "theirs", data_folder, "--data", data_folder)
    status, lines, said = check(theirs, read_only(tmp_path / "ours", other, "--data", other))
    assert lines["data-files"]["status"] == "FAIL" and "more.bin" in lines["data-files"]["evidence"][0], said
    status, lines, said = check(theirs, read_only(tmp_path / "again", data_folder))
    assert lines["data-files"]["status"] == "NOT KNOWN"


def test_failing_runs_keep_their_status_and_fail_the_flow(data_folder, tmp_path):
    theirs = read_only(tmp_path / "theirs", data_folder)
    status, lines, said = check(theirs, read_only(tmp_path / "ours", data_folder, status=3))
    assert lines["flow"]["status"] == "FAIL" and "exit status 3" in said


def test_ranks(runs):
    """Two ranks: each has its part, and they end alike."""
    status, lines, said = check(runs(ranks=2), runs(ranks=2, device="npu"))
    assert status == 0 and "2 ranks share 160 samples, 80 each" in said and "2 ranks end with the same parameters" in said, said
    assert "rank 1: batch, learning rate" in json.dumps(lines["hyper-parameters"]["rows"])


@pytest.mark.long
def test_ranks_that_know_nothing_of_each_other(runs):
    status, lines, said = check(runs(ranks=2), runs("unshared,alone,weights", ranks=2))
    assert lines["sharding"]["status"] == "FAIL" and "given to more than one rank" in said, said


def test_wrong_uses(runs, data_folder, tmp_path):
    assert check(tmp_path)[0] == 2
    status, _, said = check(runs(), tmp_path)
    assert status == 2 and "updraft run --record" in said
    (tmp_path / "precious").write_text("x")
    said = record(tmp_path, data_folder, status=2)
    assert "holds no record of ours" in said and (tmp_path / "precious").exists()
    assert "goes with --record" in record_options(["--data", str(data_folder)])
    assert "no such file" in record_options(["--record", str(tmp_path / "new"), "--data", str(tmp_path / "none")])


def record_options(options):
    done = subprocess.run([str(UPDRAFT), "run", *options, sys.executable, "-c", "print('ran')"], text=True, capture_output=True, timeout=60,
                          env=environment(UPDRAFT_LANG="en"))
    assert done.returncode == 2 and "ran" not in done.stdout
    return done.stderr


def test_chinese(runs):
    _, _, said = check(runs(), runs("batch,decay,schedule"), lang="zh")
    assert "不通过" in said and "优化器" in said


def test_a_program_that_prints_only(tmp_path):
    """No PyTorch: what is printed and which files are read."""
    (tmp_path / "d.txt").write_text("1 2 3")
    code = "import sys; x = open(%r).read(); [print('step', i, 'loss:', 1 / (i + int(sys.argv[1]))) for i in range(20)]; sys.stdout.flush()" % str(tmp_path / "d.txt")
    for name, start in (("a", 1), ("b", 1), ("c", 9)):
        done = subprocess.run([str(UPDRAFT), "run", "--record", str(tmp_path / name), sys.executable, "-c", code, str(start)], text=True, capture_output=True,
                              env=environment(UPDRAFT_LANG="en"), timeout=60)
        assert done.returncode == 0 and done.stdout.count("loss:") == 20, done.stderr
    status, lines, said = check(tmp_path / "a", tmp_path / "b")
    assert status == 0 and lines["repeatable"]["status"] == lines["data-files"]["status"] == "PASS", said
    assert lines["data-order"]["status"] == lines["hyper-parameters"]["status"] == "NOT KNOWN"
    status, lines, said = check(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert lines["repeatable"]["status"] == "PASS"
    status, lines, said = check(tmp_path / "a", tmp_path / "c", tmp_path / "b")
    assert lines["repeatable"]["status"] == "FAIL", said
