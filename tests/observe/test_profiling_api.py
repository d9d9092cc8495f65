"""The profiling API from C, PROFILING_MODE, acl.json and msprof, on real devices."""

import json
import re
import subprocess
import sys
import textwrap

import pytest

from . import traces
from .disks import REFUSALS, run_on_disk, wants_mounts
from .programs import environment, python, run, table, timeline, UPDRAFT

HERE = __import__("pathlib").Path(__file__).parent
ADDS = """
    import torch, torch_npu
    x = torch.ones(8, 16).npu()
    for _ in range(10): x = x + 1
    torch.npu.synchronize()
    print(float(x.sum()))
"""

# the same without torch, whose import takes longer than all else
FILL = """
    import ctypes, sys
    lib = ctypes.CDLL("libascendcl.so")
    assert lib.aclInit(None) == 0 and lib.aclrtSetDevice(0) == 0
    p = ctypes.c_void_p()
    assert lib.aclrtMalloc(ctypes.byref(p), ctypes.c_size_t(4096), 0) == 0
    assert lib.aclrtMemset(p, ctypes.c_size_t(4096), 0, ctypes.c_size_t(4096)) == 0
"""


@pytest.fixture(scope="module")
def tree():
    done = subprocess.run([str(UPDRAFT), "run", "sh", "-c", "echo $ASCEND_HOME_PATH"], capture_output=True, text=True, env=environment())
    return done.stdout.strip()


@pytest.fixture(scope="module")
def program(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "profiled"
    subprocess.run(["gcc", "-Wall", "-Werror", "-I%s/include" % tree, str(HERE / "profiled.c"), "-L%s/lib64" % tree, "-lascendcl", "-lopapi",
                    "-lnnopbase", "-lmsprofiler", "-lpthread", "-ldl", "-Wl,-rpath-link,%s/lib64" % tree, "-o", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def recorded(program, tmp_path_factory):
    out = tmp_path_factory.mktemp("recorded")
    assert "done" in run(program, out)
    run("msprof", "--export=on", "--output=%s" % out)
    return out


def exported(out, *options):
    run("msprof", "--export=on", "--output=%s" % out, *options)
    return out


def test_operators_of_all_threads_are_recorded(recorded):
    rows = [r for r in table(recorded, "op_summary") if r["Op Name"] == "aclnnAdd"]
    shapes = [r["Input Shapes"] for r in rows]
    assert shapes.count("16;16") == 200 and shapes.count("1000;1000") == 1 and shapes.count("4000;4000") == 1
    assert "3000;3000" not in shapes  # between stop and start
    assert len(list(recorded.iterdir())) == 1
    traces.check(timeline(recorded))


def test_steps_are_a_trace_of_iterations(recorded):
    (row,) = table(recorded, "step_trace")
    times = {k: row[k] for k in ("FP Start(us)", "BP End(us)", "Iteration End(us)")}
    assert float(times["FP Start(us)"]) < float(times["BP End(us)"]) < float(times["Iteration End(us)"])
    assert float(row["FP to BP Time(us)"]) == pytest.approx(float(row["BP End(us)"]) - float(row["FP Start(us)"]), abs=0.5)
    assert float(row["Iteration Refresh(us)"]) == pytest.approx(float(row["Iteration End(us)"]) - float(row["BP End(us)"]), abs=0.5)
    assert row["Data Aug Bound(us)"] == "N/A" and row["Iteration ID"] == "1"
    assert not any(column.startswith("Reduce") for column in row)  # one device
    assert "1" in run("msprof", "--query=on", "--output=%s" % recorded)


def test_marks_and_ranges(recorded):
    rows = {r["message"]: r for r in table(recorded, "msprof_tx")}
    assert set(rows) == {'a "mark", with a comma', "on the stream", "in a domain", "extended", "pushed"}
    stream = rows["on the stream"]
    assert float(stream["Device Start_time(us)"]) < float(stream["Device End_time(us)"])
    assert rows["in a domain"]["domain"] == "own" and rows["pushed"]["domain"] == "default"
    assert rows['a "mark", with a comma']["Device Start_time(us)"] == "N/A"


def test_copies_are_tasks_and_marks_want_their_switch(tmp_path):
    script = tmp_path / "copies.py"
    script.write_text(textwrap.dedent(FILL + """
    q = ctypes.c_void_p()
    assert lib.aclrtMalloc(ctypes.byref(q), ctypes.c_size_t(4096), 0) == 0
    assert lib.aclrtMemcpy(q, ctypes.c_size_t(4096), p, ctypes.c_size_t(4096), 3) == 0
    ctypes.CDLL("libms_tools_ext.so").mstxMarkA(b"here", None)
    """))
    for switch in ("on", "off"):
        out = tmp_path / switch
        run("msprof", "--output=%s" % out, "--task-time=l0", "--msproftx=%s" % switch, sys.executable, script)
        rows = table(out, "task_time")
        assert [r["kernel_name"] for r in rows] == ["MEMSET", "MEMCPY"]
        for r in rows:
            assert float(r["task_start(us)"]) <= float(r["task_stop(us)"])
        assert bool(list(out.rglob("msprof_tx_*.csv"))) == (switch == "on")


def test_samples_of_memory_and_host(recorded):
    assert {r["event"] for r in table(recorded, "npu_mem")} == {"APP", "Device"}
    assert all(float(r["Resident(KB)"]) > 1000 for r in table(recorded, "process_mem"))


def test_samples_of_the_processor(tmp_path):
    script, out = tmp_path / "busy.py", tmp_path / "out"
    script.write_text(textwrap.dedent(FILL + """
    import time
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
    """))
    run("msprof", "--output=%s" % out, "--host-sys=cpu,mem", "--host-sys-usage=cpu,mem", sys.executable, script)
    for name in ("process_cpu_usage", "host_cpu_usage"):
        rows = table(out, name)
        assert any(float(r["User(%)"]) > 0 for r in rows)
        for r in rows:
            assert float(r["Total(%)"]) == pytest.approx(float(r["User(%)"]) + float(r["System(%)"]), abs=0.02)
    total = re.search(r"MemTotal: +(\d+)", open("/proc/meminfo").read())[1]
    assert all(r["Total(KB)"] == total and 0 < int(r["Used(KB)"]) < int(total) for r in table(out, "host_mem_usage"))


def test_executions_of_graphs_by_layer(tmp_path):
    script, out = tmp_path / "graph.py", tmp_path / "out"
    script.write_text(textwrap.dedent(FILL + """
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    size = ctypes.c_size_t(4096)
    assert lib.aclrtCreateStream(ctypes.byref(stream)) == 0 and lib.aclmdlRICaptureBegin(stream, 0) == 0
    assert lib.aclrtMemsetAsync(p, size, 1, size, stream) == 0 and lib.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == 0
    for _ in range(3): assert lib.aclmdlRIExecuteAsync(graph, stream) == 0
    assert lib.aclrtSynchronizeStream(stream) == 0
    """))
    run("msprof", "--output=%s" % out, sys.executable, script)
    rows = table(out, "ai_stack_time")
    assert [(r["Infer ID"], r["Module"], r["API"]) for r in rows] == [(str(i), "ACL", "aclmdlRIExecuteAsync") for i in range(3)]
    starts = [int(r["Start Time(ns)"]) for r in rows]
    assert starts == sorted(starts) and all(int(r["Duration(ns)"]) > 0 for r in rows)


def test_msprof_profiles_a_program_and_gives_its_status(tmp_path):
    script = tmp_path / "adds.py"
    script.write_text(textwrap.dedent(ADDS) + "\nimport sys; sys.exit(int(sys.argv[1]))\n")
    out = tmp_path / "out"
    text = run("msprof", "--output=%s" % out, "--msproftx=on", "--sys-hardware-mem=on", "--l2=on", sys.executable, script, 3, status=3)
    assert "--l2=on changes nothing" in text and "1408.0" in text
    rows = table(out, "op_summary")
    assert sum(r["OP Type"] in ("Add", "Adds") for r in rows) == 10
    assert table(out, "npu_mem")
    # what the whole command line says in quotes is the same
    again, script = tmp_path / "again", tmp_path / "a fill.py"
    script.write_text(textwrap.dedent(FILL))
    run("msprof", "--output=%s" % again, "--task-time=l0", "--application=%s '%s' 0" % (sys.executable, script))
    assert [r["kernel_name"] for r in table(again, "task_time")] == ["MEMSET"]
    (sample,) = again.rglob("sample.json")
    assert json.loads(sample.read_text())["dataTypeConfig"] & 0x802 == 0x800
    assert "left no profile" in run("msprof", "--output=%s" % tmp_path, "true")


@pytest.mark.parametrize("options, said", [
    (["--export=maybe", "--output=."], "--export is \"maybe\", want on|off"),
    (["--exprot=on"], "did you mean --export?"),
    (["--sys-hardware-mem-freq=0", "true"], "[1, 100] (default 50)"),
    (["--aic-metrics=Speed", "true"], "PipeUtilization"),
    (["--storage-limit=1MB", "true"], "[200, 4294967296]"),
    (["--dynamic=on", "--pid=1"], "process 1 cannot be profiled"),
    (["--export=on"], "--output is missing"),
    (["--export=on", "--output=/nowhere/at/all"], "/nowhere/at/all"),
    (["--export=on", "--output=/proc"], "holds no profile"),
    (["--analyze=on", "--rule=x", "--output=/tmp"], "communication_matrix"),
    (["--output=/tmp"], "nothing to do"),
    (["--application=echo 'x", "--output=/tmp"], "ends within quotes"),
    (["--aic-mode=sample-based", "true"], "sample-based"),
])
def test_wrong_command_lines_are_told(options, said, tmp_path, recorded):
    options = [o if o != "--output=/tmp" or "--analyze=on" not in options else "--output=%s" % recorded for o in options]
    text = run("msprof", *options, status=None)
    assert said in text, text


def test_help_has_every_option_in_its_group():
    text = run("msprof", "--help")
    effect, nothing, refused = re.split(r"Accepted, and nothing.*|Refused, because:", text)
    for option in ("application", "output", "export", "analyze", "type", "summary-format", "iteration-id", "model-id", "storage-limit"):
        assert "--%s=" % option in effect
    assert "--l2=" in nothing and "--host-sys-pid=" in refused and "--dynamic=" not in refused


def test_summaries_as_json_and_one_iteration(recorded, tmp_path):
    text = run("msprof", "--export=on", "--summary-format=json", "--iteration-id=1", "--output=%s" % recorded)
    path = next(line.split()[-1] for line in text.splitlines() if "/op_summary_" in line and line.endswith(".json"))
    rows = json.loads(open(path).read())
    assert [r["Input Shapes"] for r in rows] == ["1000;1000", "2000;2000"]
    assert "has no iteration 7" in run("msprof", "--export=on", "--iteration-id=7", "--output=%s" % recorded, status=1)
    for line in text.splitlines():  # other tests read the first export
        if line.startswith("[INFO]   /"):
            __import__("os").unlink(line.split()[-1])


def test_profiling_mode(tmp_path):
    (tmp_path / "out").mkdir()
    options = {"output": str(tmp_path / "out"), "training_trace": "on", "task_trace": "on", "aic_metrics": "Memory", "aicpu": "maybe"}
    python(ADDS, PROFILING_MODE="true", PROFILING_OPTIONS=json.dumps(options))
    out = exported(tmp_path / "out")
    rows = table(out, "op_summary")
    assert sum(r["OP Type"] in ("Add", "Adds") for r in rows) == 10
    assert "main_mem_bytes(modelled)" in rows[0]
    (profile,) = out.iterdir()
    assert "counts as off" in (profile / "host" / "sample.json").read_text()
    for mode in ("false", "maybe"):
        (tmp_path / mode).mkdir()
        python(FILL, PROFILING_MODE=mode, PROFILING_OPTIONS=json.dumps({"output": str(tmp_path / mode)}))
        assert not list((tmp_path / mode).iterdir())


def test_a_wrong_profiling_mode_stops_acl_init(tmp_path):
    code = "import ctypes\nlib = ctypes.CDLL('libascendcl.so')\nlib.aclGetRecentErrMsg.restype = ctypes.c_char_p\nprint(lib.aclInit(None), lib.aclGetRecentErrMsg())"
    for options, said in (("", "PROFILING_OPTIONS is not set"), ('{"task_trace":"on"}', "output is missing"), ("{", "byte")):
        text = python(code, PROFILING_MODE="true", PROFILING_OPTIONS=options)
        assert "100010" in text and said in text, text


@wants_mounts
@pytest.mark.parametrize("options, prepare, why", REFUSALS, ids=["full", "no_inodes", "read_only"])
def test_a_disk_that_takes_nothing_stops_no_program(tmp_path, options, prepare, why):
    """Neither by PROFILING_MODE, nor by acl.json, nor under msprof: one line, and no folder is left."""
    (tmp_path / "out").mkdir()
    configuration = tmp_path / "acl.json"
    configuration.write_text(json.dumps({"profiler": {"switch": "on", "output": str(tmp_path / "out")}}))
    script = tmp_path / "fill.py"
    script.write_text(textwrap.dedent(FILL + """
    assert lib.aclFinalize() == 0
    print("went on")
    """).replace("aclInit(None)", "aclInit(sys.argv[1].encode() if sys.argv[1:] else None)"))
    program = [sys.executable, script]
    ways = [(program, {"PROFILING_MODE": "true", "PROFILING_OPTIONS": json.dumps({"output": str(tmp_path / "out")})}), (program + [configuration], {})]
    if why != "Read-only file system":  # msprof itself says so before it starts the program
        ways.append((["msprof", "--output=%s" % (tmp_path / "out"), *program], {}))
    for command, env in ways:
        text = run_on_disk(tmp_path / "out", command, options, prepare, after="ls | sed s/^PROF/remains:/", **env)
        assert "went on" in text and why in text and "remains:" not in text, text
        assert text.count("updraft: nothing is profiled, the program goes on: ") == 1, text


@wants_mounts
def test_a_disk_that_fills_up_loses_records_alone(tmp_path):
    """Of what is lost one line tells, the calls give no error, and the rest is exported."""
    (tmp_path / "out").mkdir()
    script = tmp_path / "many.py"
    script.write_text(textwrap.dedent(FILL + """
    for _ in range(20000): assert lib.aclrtMemset(p, ctypes.c_size_t(4096), 0, ctypes.c_size_t(4096)) == 0
    assert lib.aclFinalize() == 0
    print("went on")
    """))
    options = json.dumps({"output": str(tmp_path / "out")})
    copy = "cp -r PROF_* %s" % tmp_path
    text = run_on_disk(tmp_path / "out", [sys.executable, script], "size=1m", after=copy, PROFILING_MODE="true", PROFILING_OPTIONS=options)
    assert "went on" in text and len(re.findall("the profile is not whole: .* of records .* could not be written: No space left on device", text)) == 1, text
    rows = table(exported(next(tmp_path.glob("PROF_*"))), "task_time")
    assert 0 < len(rows) < 20000 and {r["kernel_name"] for r in rows} == {"MEMSET"}
    # under msprof the tables have no room, either, and the status is the program's
    text = run_on_disk(tmp_path / "out", ["msprof", "--output=%s" % (tmp_path / "out"), sys.executable, script], "size=1m")
    assert "went on" in text and "the tables are not whole" in text, text


def test_acl_json(tmp_path):
    (tmp_path / "out").mkdir()
    path = tmp_path / "acl.json"
    path.write_text(json.dumps({"profiler": {"switch": "on", "output": str(tmp_path / "out"), "aicpu": "on"}}))
    code = """
    import ctypes, sys
    lib = ctypes.CDLL("libascendcl.so")
    assert lib.aclInit(sys.argv[1].encode()) == 0
    assert lib.aclrtSetDevice(0) == 0
    p = ctypes.c_void_p()
    assert lib.aclrtMalloc(ctypes.byref(p), ctypes.c_size_t(4096), 0) == 0
    assert lib.aclrtMemset(p, ctypes.c_size_t(4096), 0, ctypes.c_size_t(4096)) == 0
    assert lib.aclFinalize() == 0
    assert lib.aclInit(None) == 0  # and nothing more is recorded
    """
    python(code, path)
    rows = table(exported(tmp_path / "out"), "task_time")
    assert [r["kernel_name"] for r in rows] == ["MEMSET"]


def test_a_forked_child_writes_into_no_profile(tmp_path):
    code = """
    import ctypes, os
    lib, libc = ctypes.CDLL("libascendcl.so"), ctypes.CDLL(None)
    assert lib.aclInit(None) == 0 and lib.aclrtSetDevice(0) == 0
    p = ctypes.c_void_p()
    assert lib.aclrtMalloc(ctypes.byref(p), ctypes.c_size_t(4096), 0) == 0
    def fill():
        return lib.aclrtMemset(p, ctypes.c_size_t(4096), 0, ctypes.c_size_t(4096))
    assert fill() == 0
    child = os.fork()
    if child == 0:
        fill()
        libc.exit(0)  # with all that runs at exit
    assert os.waitpid(child, 0)[1] == 0
    assert fill() == 0
    """
    (tmp_path / "out").mkdir()
    python(code, PROFILING_MODE="true", PROFILING_OPTIONS=json.dumps({"output": str(tmp_path / "out")}))
    assert [r["kernel_name"] for r in table(exported(tmp_path / "out"), "task_time")] == ["MEMSET", "MEMSET"]


def test_the_script_beside_msprof(recorded, tree):
    script = tree + "/tools/profiler/profiler_tool/analysis/msprof/msprof.py"
    text = run(sys.executable, script, "query", "-dir", next(recorded.iterdir()))
    assert "Iteration" in text
