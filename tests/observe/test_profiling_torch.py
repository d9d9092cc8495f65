"""torch_npu.profiler, unmodified: what it makes of a profile, and that it has nothing to complain about."""

import collections
import csv
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

import pytest

from . import traces
from .programs import environment, python, run, table

RANKS = pathlib.Path(__file__).with_name("ranks.py")
TRAIN = """
    import sys, torch, torch_npu
    P = torch_npu.profiler
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).npu()
    opt = torch.optim.SGD(net.parameters(), lr=.1)
    def train(out, level, metrics="AiCoreNone", export=("text",), shapes=True, **more):
        config = P._ExperimentalConfig(profiler_level=getattr(P.ProfilerLevel, level), aic_metrics=getattr(P.AiCMetrics, metrics),
                                       export_type=list(export), data_simplification=False, mstx=True, **more)
        with P.profile(activities=[P.ProfilerActivity.CPU, P.ProfilerActivity.NPU], schedule=P.schedule(wait=1, warmup=1, active=2, repeat=1),
                       on_trace_ready=P.tensorboard_trace_handler(out), record_shapes=shapes, profile_memory=True, with_stack=True,
                       experimental_config=config) as profile:
            for _ in range(5):
                x = torch.randn(32, 64).npu()
                loss = net(x).sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
                torch_npu.npu.mstx.mark("a mark")
                torch.npu.synchronize()
                profile.step()
"""


def complaints(text):
    """Lines of warnings and errors, but for what torch_npu says with a card, too: of memory from before the profile."""
    lines = [line for line in text.splitlines() if re.search(r"WARN|ERROR|not support|does not exist|Traceback|failed", line, re.I)]
    return [line for line in lines if "memory record(s) are incomplete" not in line and "32 padding size" not in line]


@pytest.fixture(scope="module")
def level1(tmp_path_factory):
    folder = tmp_path_factory.mktemp("level1")
    text = python(TRAIN + "\n    train(sys.argv[1], 'Level1', 'PipeUtilization')", folder)
    assert not complaints(text), text
    (made,) = folder.iterdir()
    return made


def output(profile):
    return profile / "ASCEND_PROFILER_OUTPUT"


def test_every_file_is_made(level1):
    assert {p.name for p in output(level1).iterdir()} >= {
        "trace_view.json", "kernel_details.csv", "operator_details.csv", "op_statistic.csv", "step_trace_time.csv", "api_statistic.csv",
        "memory_record.csv", "operator_memory.csv", "task_time.csv", "npu_module_mem.csv"}
    for log in (level1 / "logs").iterdir():
        assert not complaints(log.read_text()), log.read_text()


def test_the_folder_is_as_the_tools_expect(level1):
    (profile,) = [p for p in level1.iterdir() if p.name.startswith("PROF_")]
    assert re.fullmatch(r"PROF_\d{6}_\d{17}_[A-Z]+", profile.name)
    start = json.loads((profile / "host" / "start_info").read_text())
    assert set(start) == {"collectionTimeBegin", "clockMonotonicRaw"}
    assert list((profile / "host" / "data").iterdir()) and list((profile / "device_0" / "data").iterdir())


def test_the_timeline_keeps_the_rules_and_joins_python_with_kernels(level1):
    events = json.loads((output(level1) / "trace_view.json").read_text())
    ours = [e for e in events if e.get("cat") not in ("fwdbwd", "async_task_queue", "async_npu", "python_function", "cpu_op", "enqueue", "dequeue")]
    traces.check(ours)
    assert traces.processes(events) >= {"Python", "CANN", "Ascend Hardware", "Overlap Analysis", "MSTX"}
    # torch_to_npu: from the operator of Python to its kernel
    arrows = collections.defaultdict(dict)
    for event in events:
        if event.get("cat") == "async_npu":
            arrows[event["id"]][event["ph"]] = event
    kernels = {(e["pid"], e["tid"], e["ts"]): e["name"] for e in events if e["ph"] == "X"}
    joined = collections.Counter(kernels[a["f"]["pid"], a["f"]["tid"], a["f"]["ts"]] for a in arrows.values())
    assert all(set(a) == {"s", "f"} for a in arrows.values())
    # two steps of a network of two layers
    assert joined["aclnnAddmm"] == 4 and joined["aclnnRelu"] == 2, joined
    assert joined["aclnnMm"] >= 6


def test_kernels_have_shapes_cores_and_modelled_metrics(level1):
    rows = table(output(level1), "kernel_details")
    addmm = [r for r in rows if r["Name"] == "aclnnAddmm" and r["Step Id"]]
    assert len(addmm) == 4
    assert {r["Input Shapes"] for r in addmm} == {"64;32,64;64,64", "10;32,64;64,10"}
    assert {(r["Type"], r["Accelerator Core"], r["Input Data Types"], r["Input Formats"]) for r in addmm} == {
        ("Addmm", "AI_CORE", "FLOAT;FLOAT;FLOAT", "ND;ND;ND")}
    assert {r["Step Id"] for r in addmm} == {"2", "3"}
    assert all(float(r["Duration(us)"]) > 0 for r in addmm)
    columns = list(rows[0])
    metrics = columns[columns.index("Context ID") + 1:]
    assert metrics and all(column.endswith("(modelled)") for column in metrics)
    assert 0 < float(addmm[0]["aic_mac_ratio(modelled)"]) <= 1 and float(addmm[0]["aiv_vec_ratio(modelled)"]) == 0


def test_statistics_agree_with_the_kernels(level1):
    kernels, statistic = table(output(level1), "kernel_details"), table(output(level1), "op_statistic")
    sums = collections.defaultdict(float)
    for row in kernels:
        sums[row["Type"]] += float(row["Duration(us)"])
    assert {r["OP Type"] for r in statistic} == set(sums)
    for row in statistic:
        assert float(row["Total Time(us)"]) == pytest.approx(sums[row["OP Type"]], abs=0.01)
        assert float(row["Min Time(us)"]) <= float(row["Avg Time(us)"]) <= float(row["Max Time(us)"])
    assert sum(float(r["Ratio(%)"]) for r in statistic) == pytest.approx(100, abs=0.1)


def test_operators_steps_calls_and_memory(level1):
    operators = table(output(level1), "operator_details")
    addmm = [r for r in operators if r["Name"] == "aten::addmm"]
    assert len(addmm) == 4 and all(float(r["Device Total Duration(us)"]) > 0 for r in addmm)
    assert all("forward" in r["Call Stack"] for r in addmm) and all(r["Input Shapes"] for r in addmm)
    steps = table(output(level1), "step_trace_time")
    assert [r["Step"] for r in steps] == ["2", "3"] and all(float(r["Computing"]) > 0 for r in steps)
    calls = {r["API Name"]: r for r in table(output(level1), "api_statistic")}
    assert int(calls["aclnnAddmm"]["Count"]) == 4 and calls["aclnnAddmm"]["Level"] == "acl"
    assert int(calls["launch"]["Count"]) >= 20 and calls["launch"]["Level"] == "node"
    assert {r["Component"] for r in table(output(level1), "memory_record")} >= {"PTA", "APP"}
    memory = table(output(level1), "operator_memory")
    assert any(r["Name"] == "aten::addmm" and float(r["Size(KB)"]) >= 8 for r in memory)


def test_levels_metrics_and_databases(tmp_path):
    metrics = ["PipeUtilization", "ArithmeticUtilization", "Memory", "MemoryL0", "MemoryUB", "ResourceConflictRatio", "L2Cache", "MemoryAccess"]
    code = TRAIN + """
    out = sys.argv[1]
    train(out + "/level0", "Level0", shapes=False)
    train(out + "/none", "Level_none")
    train(out + "/both", "Level2", "Memory", export=("text", "db"), op_attr=True)
    train(out + "/db", "Level1", "PipeUtilization", export=("db",))
    """
    text = python(code, tmp_path, timeout=200)
    assert not complaints(text), text
    level0 = next((tmp_path / "level0").iterdir())
    rows = table(output(level0), "kernel_details")
    assert len([r for r in rows if r["Name"] == "aclnnAddmm"]) == 4 and "Input Shapes" not in rows[0]
    assert (output(next((tmp_path / "none").iterdir())) / "trace_view.json").exists()
    for name in ("both", "db"):
        made = output(next((tmp_path / name).iterdir()))
        with sqlite3.connect(made / "ascend_pytorch_profiler.db") as db:
            names = [row[0] for row in db.execute("select s.value from COMPUTE_TASK_INFO c join STRING_IDS s on s.id = c.name")]
            assert names.count("aclnnAddmm") == 4
            joined = db.execute("select count(*) from TASK t join CANN_API a on a.connectionId = t.connectionId where a.type = 10000").fetchone()
            assert joined[0] >= 20
            assert db.execute("select count(*) from MSTX_EVENTS").fetchone()[0] >= 2
            if name == "both":
                (attributes,) = db.execute("select s.value from COMPUTE_TASK_INFO c join STRING_IDS s on s.id = c.attrInfo join STRING_IDS n on n.id = c.name"
                                           " where n.value = 'aclnnAddmm' limit 1").fetchone()
                assert "alpha=1" in attributes, attributes
        with sqlite3.connect(made / "analysis.db") as db:
            assert db.execute("select count(*) from StepTraceTime").fetchone()[0] == 2
    # the groups of metrics differ in the export alone: one recording serves all
    profile = next(p for p in next((tmp_path / "both").iterdir()).iterdir() if p.name.startswith("PROF_"))
    sample = profile / "host" / "sample.json"
    for group in metrics:
        settings = json.loads(sample.read_text())
        settings["aicMetrics"] = group
        sample.write_text(json.dumps(settings))
        subprocess.run([sys.executable.replace("/python", "/updraft"), "run", "msprof", "--export=on", "--output=%s" % profile],
                       env=environment(), check=True, stdout=subprocess.DEVNULL, timeout=60)
        newest = max((profile / "mindstudio_profiler_output").glob("op_summary_*.csv"), key=os.path.getmtime)
        with open(newest, newline="") as file:
            header = next(csv.reader(file))
        assert any(column.endswith("(modelled)") for column in header), group
        for path in (profile / "mindstudio_profiler_output").iterdir():
            path.unlink()


def test_runs_of_a_graph_are_iterations(tmp_path):
    code = """
    import torch, torch_npu
    x, w = torch.ones(64, 64).npu(), torch.ones(64, 64).npu()
    graph = torch.npu.NPUGraph()
    torch.relu(x @ w)
    torch.npu.synchronize()
    with torch.npu.graph(graph):
        y = torch.relu(x @ w) + 1
    for _ in range(3): graph.replay()
    torch.npu.synchronize()
    """
    options = {"output": str(tmp_path), "training_trace": "on", "task_trace": "on", "fp_point": "aclnnMatmul", "bp_point": "aclnnRelu"}
    python(code, PROFILING_MODE="true", PROFILING_OPTIONS=json.dumps(options))
    run("msprof", "--export=on", "--output=%s" % tmp_path)
    rows = table(tmp_path, "step_trace")
    assert [(r["Iteration ID"], r["Model ID"]) for r in rows] == [(str(i), rows[0]["Model ID"]) for i in (1, 2, 3)]
    operators = [r for r in table(tmp_path, "op_summary") if r["Model ID"] == rows[0]["Model ID"]]
    assert [r["OP Type"] for r in operators] == ["Matmul", "Relu", "Adds"] * 3
    for i, row in enumerate(rows):
        matmul, relu, _ = operators[3 * i:3 * i + 3]
        assert row["FP Start(us)"] == matmul["Task Start Time(us)"]
        end = float(relu["Task Start Time(us)"]) + float(relu["Task Duration(us)"])
        assert float(row["BP End(us)"]) == pytest.approx(end, abs=0.5)
        assert float(row["FP to BP Time(us)"]) == pytest.approx(float(row["BP End(us)"]) - float(row["FP Start(us)"]), abs=0.5)
        if i:
            waited = float(row["FP Start(us)"]) - float(rows[i - 1]["Iteration End(us)"])
            assert float(row["Data Aug Bound(us)"]) == pytest.approx(waited, abs=0.5)
    assert rows[0]["Data Aug Bound(us)"] == "N/A"


def test_two_ranks(tmp_path):
    out = tmp_path / "out"
    done = subprocess.run([sys.executable.replace("/python", "/torchrun"), "--nproc-per-node=2", "--standalone", str(RANKS), str(out)],
                          env=environment(), text=True, capture_output=True, timeout=120)
    text = done.stdout + done.stderr
    assert done.returncode == 0 and not complaints(text), text[-4000:]
    profiles = sorted(out.iterdir())
    assert len(profiles) == 2
    names = []
    for profile in profiles:
        steps = json.loads((output(profile) / "communication.json").read_text())
        collectives = {k: v for step in steps.values() for k, v in step["collective"].items() if k != "Total Op Info"}
        # two of the program, two of the gradients; DDP broadcasts its buckets once
        assert sum("allReduce" in k for k in collectives) == 4 and sum("broadcast" in k for k in collectives) >= 2
        names.append(set(collectives))
        peer = [k for step in steps.values() for k in step["p2p"] if k != "Total Op Info"]
        assert len(peer) == 2 and all(k.startswith(("hcom_send_", "hcom_receive_")) for k in peer)
        reduces = [v for k, v in collectives.items() if "allReduce" in k]
        # 1000 floats: half of them to the other rank, and the sum of the other half back; 9352 gradients
        sizes = sorted(r["Communication Bandwidth Info"]["SDMA"]["Transit Size(MB)"] for r in reduces)
        assert sizes == pytest.approx([0.004, 0.004, 0.037408, 0.037408])
        assert all(r["Communication Time Info"]["Elapse Time(ms)"] > 0 for r in reduces)
        matrix = json.loads((output(profile) / "communication_matrix.json").read_text())
        links = {link for step in matrix.values() for op in step["collective"].values() for link in op}
        assert links & {"0-1", "1-0"} and links & {"0-0", "1-1"}
        assert all(float(r["Communication"]) > 0 for r in table(output(profile), "step_trace_time"))
        metadata = json.loads((profile / "profiler_metadata.json").read_text())
        group = next(iter(collectives)).split("@")[1]
        assert group in metadata["parallel_group_info"]  # the communicator's name is torch_npu's
    assert names[0] == names[1]  # an operation has one name on all ranks
