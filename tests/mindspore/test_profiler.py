"""MindSpore's own profiler gives its tables and its timeline, with what the device did."""
import csv
import json

from programs import mindspore


def test_tables_and_timeline(tmp_path):
    out, err = mindspore(tmp_path, "profiled.py", tmp_path / "profile")
    assert out.split()[-1] == "65.0" and "failed" not in err, err[-3000:]
    output, = tmp_path.glob("profile/*_ascend_ms/ASCEND_PROFILER_OUTPUT")
    with open(output / "kernel_details.csv") as file:
        rows = list(csv.DictReader(file))
    types = [row["Type"] for row in rows]
    assert types.count("Matmul") == types.count("Relu") == 2, types
    assert all(float(row["Duration(us)"]) > 0 for row in rows)
    steps = list(csv.DictReader(open(output / "step_trace_time.csv")))
    assert len(steps) == 2 and all(float(step["Computing"]) > 0 for step in steps), steps
    events = json.loads((output / "trace_view.json").read_text())
    processes = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
    assert any("Ascend Hardware" in name for name in processes) and any("CANN" in name for name in processes), processes
    # MindSpore stamps its records with the processor's counter: they meet those of the device only where the rate is right
    assert {row["Step ID"] for row in rows} == {"0", "1"} and all("pyboost/" in row["Name"] for row in rows), rows
    assert "async_npu" in {event.get("cat") for event in events}
    for name in ("op_statistic.csv", "api_statistic.csv"):
        assert len((output / name).read_text().splitlines()) > 1, name
