"""MindSpore's own dump (MINDSPORE_DUMP_CONFIG) of graphs: tensors, statistics by the host and by the device, what overflows."""
import csv
import json

import numpy as np
import pytest
from programs import LONG, mindspore

INPUTS = [np.arange(8).reshape(2, 4) + step for step in range(2)]
WEIGHT = np.arange(12).reshape(3, 4)


def dumped(folder, program="plain", by="host", **common):
    """The folder of files of both steps."""
    settings = {"op_debug_mode": 0, "dump_mode": 0, "path": str(folder / "files"), "net_name": "Net", "iteration": "all", "saved_data": "tensor",
                "file_format": "npy", "input_output": 0, "kernels": [], "support_device": [0], **common}
    (folder / "dump.json").write_text(json.dumps({"common_dump_settings": settings, "e2e_dump_settings": {"enable": True, "trans_flag": True, "stat_calc_mode": by}}))
    out, _ = mindspore(folder, "dumped.py", program, MINDSPORE_DUMP_CONFIG=str(folder / "dump.json"))
    return folder / "files/rank_0/Net/0", json.loads(out.splitlines()[-1].replace("Infinity", "1e999"))


def test_tensors(tmp_path):
    files, results = dumped(tmp_path)
    for step, x in enumerate(INPUTS):
        product = x @ WEIGHT.T
        for name, wanted in (("MatMul.*.input.0", x), ("MatMul.*.input.1", WEIGHT), ("MatMul.*.output.0", product), ("Sub.*.output.0", product - 20),
                             ("ReLU.*.output.0", np.maximum(product - 20, 0))):
            file, = (files / str(step)).glob(name + ".DefaultFormat.float32.npy")
            assert np.array_equal(np.load(file), wanted), (file, np.load(file), wanted)
        assert np.array_equal(results[step], np.maximum(product - 20, 0))


@pytest.mark.parametrize("by", ["device"] + (["host"] if LONG else []))
def test_statistics(tmp_path, by):
    files, _ = dumped(tmp_path, by=by, saved_data="statistic", statistic_category=["max", "min", "avg", "l2norm"])
    for step, x in enumerate(INPUTS):
        with open(files / str(step) / "statistic.csv") as file:
            rows = {(row["Op Type"], row["IO"], row["Slot"]): row for row in csv.DictReader(file)}
        wanted = x @ WEIGHT.T - 20
        row = rows["Sub", "output", "0"]
        found = [float(row[name]) for name in ("Max Value", "Min Value", "Avg Value", "L2Norm Value")]
        np.testing.assert_allclose(found, [wanted.max(), wanted.min(), wanted.mean(), np.linalg.norm(wanted)], rtol=1e-5)


@pytest.mark.long
def test_what_overflows(tmp_path):
    """op_debug_mode 3 keeps only operators whose results are not finite: the division by zero, not what is before it."""
    files, _ = dumped(tmp_path, "divide", op_debug_mode=3)
    for step in range(2):
        names = {file.name.split(".")[0] for file in (files / str(step)).glob("*.npy")}
        assert names == {"Div"}, names
