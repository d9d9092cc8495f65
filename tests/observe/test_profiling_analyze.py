"""PyPI's msprof-analyze reads what torch_npu makes of our profiles: advisor, compare and cluster, of text and of databases."""

import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

from .programs import ROOT, environment

ANALYZE = ROOT / ".venv-msprof-analyze" / "bin" / "msprof-analyze"
RANKS = pathlib.Path(__file__).with_name("ranks.py")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=[(1, "text"), (4, "text"), (4, "db")], ids=lambda p: "%d-%s" % p)
def job(request, tmp_path_factory):
    ranks, kind = request.param
    out = tmp_path_factory.mktemp("job")
    done = subprocess.run([sys.executable.replace("/python", "/torchrun"), "--nproc-per-node=%d" % ranks, "--standalone", str(RANKS), str(out), kind],
                          env=environment(), text=True, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(out.iterdir())) == ranks
    return ranks, kind, out


def analyze(*arguments):
    done = subprocess.run([str(ANALYZE), *map(str, arguments)], text=True, capture_output=True, timeout=240, env={**os.environ, "PYTHONPATH": ""})
    text = done.stdout + done.stderr
    assert done.returncode == 0 and "Traceback" not in text and "[ERROR]" not in text, text[-4000:]
    return text


def test_cluster(job, tmp_path):
    ranks, kind, out = job
    text = analyze("cluster", "-m", "all", "-d", out, "-o", tmp_path)
    made = {p.name: p for p in tmp_path.rglob("*") if p.is_file()}
    if kind == "db":
        with sqlite3.connect(made["cluster_analysis.db"]) as db:
            assert db.execute("select count(*) from ClusterStepTraceTime").fetchone()[0] >= 2 * ranks
            assert db.execute("select count(*) from ClusterCommunicationTime").fetchone()[0] > 0
        return
    assert {"cluster_step_trace_time.csv", "cluster_communication.json", "cluster_communication_matrix.json", "communication_group.json"} <= set(made)
    rows = made["cluster_step_trace_time.csv"].read_text().splitlines()
    assert len(rows) - 1 >= 2 * ranks, text  # two steps of each rank


def test_compare(job, tmp_path):
    ranks, kind, out = job
    first, second = (sorted(out.iterdir()) * 2)[:2]  # one rank: with itself
    text = analyze("compare", "-d", first, "-bp", second, "-o", tmp_path)
    assert "Model Profiling Time Distribution" in text
    assert list(tmp_path.glob("performance_comparison_result_*.xlsx"))


def test_advisor(job, tmp_path):
    ranks, kind, out = job
    analyze("advisor", "all", "-d", sorted(out.iterdir())[0], "-o", tmp_path)
    (page,) = tmp_path.glob("mstt_advisor_*.html")
    assert "dynamic shape" not in page.read_text().lower()  # nothing is compiled for a shape here
