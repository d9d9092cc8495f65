"""MindSpore's own programs have nothing that `updraft run --sanitize` reports."""
import json
import sys
from pathlib import Path

from programs import PYTHON, run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/mindspore_bars.py"


def test_training_is_no_fault(tmp_path):
    """Its graphs keep tensors, scalars and arrays of aclnn with the executors that come again, to the end of the process."""
    report = tmp_path / "report.json"
    out, err = run(tmp_path, Path(sys.executable).with_name("updraft"), "run", "--sanitize", "--sanitize-report", report, PYTHON, EXAMPLE)
    assert "images are named rightly" in out and json.loads(report.read_text())["findings"] == [], err[-3000:]
