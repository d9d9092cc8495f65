"""The log: ASCEND_* variables, folders, names, lines, rotation; and `updraft explain`, which reads it."""
import os
import re
import subprocess
import sys
import textwrap

import pytest

from . import disks

FAILING_CALL = """
    import ctypes, os
    import updraft._tree as tree
    lib = ctypes.CDLL([p for p in tree.libraries() if p.endswith(tree.PRIVATE)][0])
    lib.aclInit(None)
    for _ in range(int(os.environ.get("CALLS", "1"))):
        lib.aclrtMalloc(None, ctypes.c_size_t(8), 0)
    lib.aclFinalize()
"""
LINE = re.compile(r"^\[(ERROR|WARNING|EVENT|INFO|DEBUG)\] [A-Z]+\(\d+,[^)]+\):\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} \[[\w.]+:\d+\]\S.*$")


def run(folder, code=FAILING_CALL, **variables):
    """(output, {file below the folder: text})"""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], text=True, capture_output=True, timeout=120,
                          env=dict(os.environ, ASCEND_PROCESS_LOG_PATH=str(folder / "log"), **variables))
    assert done.returncode == 0, done.stderr[-3000:]
    files = {str(p.relative_to(folder / "log")): p.read_text() for p in sorted((folder / "log").rglob("*.log"))}
    return done.stdout + done.stderr, files


def test_errors_are_kept_and_events_are_not(tmp_path):
    _, files = run(tmp_path)
    assert [re.sub(r"\d+", "N", name) for name in files] == ["debug/plog/plog-N_N.log"]
    lines = next(iter(files.values())).splitlines()
    assert all(LINE.match(line) for line in lines) and "aclrtMalloc failed with" in lines[0]


def test_a_missing_folder_is_made(tmp_path):
    _, files = run(tmp_path / "one" / "two" / "three")
    assert files


def test_a_log_that_cannot_be_written_is_told_once(tmp_path):
    (tmp_path / "log").write_text("a file, where the folder should be")
    output, _ = run(tmp_path, CALLS="3", ASCEND_GLOBAL_EVENT_ENABLE="1")
    assert output.count("updraft: the log is not written, the program goes on") == 1 and "Not a directory" in output
    assert (tmp_path / "log").read_text().startswith("a file")
    output, _ = run(tmp_path, CALLS="3", ASCEND_GLOBAL_LOG_LEVEL="4")  # nothing would be written
    assert "the log is not written" not in output


@disks.wants_mounts
@pytest.mark.parametrize("options, prepare, why", disks.REFUSALS, ids=["full", "no_inodes", "read_only"])
def test_a_log_on_a_disk_that_takes_nothing(tmp_path, options, prepare, why):
    (tmp_path / "disk").mkdir()
    code = textwrap.dedent(FAILING_CALL) + "print('went on')"
    text = disks.run_on_disk(tmp_path / "disk", [sys.executable, "-c", code], options, prepare, ASCEND_PROCESS_LOG_PATH=tmp_path / "disk" / "log", CALLS="3")
    assert "went on" in text and text.count("updraft: the log is not written, the program goes on") == 1 and why in text, text


def test_events_have_a_folder(tmp_path):
    _, files = run(tmp_path, ASCEND_GLOBAL_EVENT_ENABLE="1", ASCEND_GLOBAL_LOG_LEVEL="4")
    assert [re.sub(r"\d+", "N", name) for name in files] == ["run/plog/plog-N_N.log"]
    lines = next(iter(files.values())).splitlines()
    assert all(LINE.match(line) and line.startswith("[EVENT]") for line in lines)
    assert any("aclInit" in line for line in lines) and any("aclFinalize" in line for line in lines)


@pytest.mark.parametrize("level, kept", [("3", True), ("4", False), ("5", True), ("", True), ("x", True), ("0x", True), ("-1", True)])
def test_levels(tmp_path, level, kept):
    _, files = run(tmp_path, ASCEND_GLOBAL_LOG_LEVEL=level)
    assert bool(files) == kept
    wrong = "[WARNING]" in "".join(files.values())
    assert wrong == (level not in ("", "3", "4")) == ("ASCEND_GLOBAL_LOG_LEVEL=%s is not a level, want 0 to 4" % level in "".join(files.values()))
    assert not any("[DEBUG]" in text or "[INFO]" in text for text in files.values())


@pytest.mark.parametrize("level, named", [("5", True), ("-1x", True), ("x", False)])
def test_torch_npu_is_kept_from_hanging_on_a_level_that_there_is_not(tmp_path, level, named):
    text, _ = run(tmp_path, "import torch, torch_npu; print((torch.ones(2).npu() + 1).tolist())", ASCEND_GLOBAL_LOG_LEVEL=level, UPDRAFT_LANG="en")
    assert "[2.0, 2.0]" in text
    assert (f"ASCEND_GLOBAL_LOG_LEVEL={level} is not a level" in text) == named, text


def test_levels_of_modules(tmp_path):
    assert run(tmp_path, ASCEND_GLOBAL_LOG_LEVEL="4", ASCEND_MODULE_LOG_LEVEL="GE=0:ASCENDCL=3")[1]
    files = run(tmp_path / "other", ASCEND_MODULE_LOG_LEVEL="ASCENDCL=4:NOBODY=0")[1]
    text = "".join(files.values())
    assert "NOBODY" in text and "RUNTIME" in text and "aclrtMalloc" not in text
    files = run(tmp_path / "wrong", ASCEND_MODULE_LOG_LEVEL="FMK=x:ASCENDCL=9:IDEDD=0:GE=")[1]
    text = "".join(files.values())
    assert "ASCEND_MODULE_LOG_LEVEL=FMK=x is not a level" in text and "ASCEND_MODULE_LOG_LEVEL=ASCENDCL=9 is not a level" in text
    assert text.count("is not a level") == 2 and "writes nothing here" not in text and "aclrtMalloc" in text


@pytest.mark.parametrize("value, printed", [("1", True), ("0", False), ("2", False)])
def test_to_the_screen(tmp_path, value, printed):
    output, files = run(tmp_path, ASCEND_SLOG_PRINT_TO_STDOUT=value)
    assert ("aclrtMalloc failed" in output) == printed and bool(files) != printed


def sizes(folder):
    return sorted(p.stat().st_size for p in (folder / "log" / "debug" / "plog").iterdir())


def test_files_are_changed_at_20_MB_and_the_oldest_goes(tmp_path):
    # a line has some 115 bytes
    run(tmp_path, CALLS="420000", ASCEND_HOST_LOG_FILE_NUM="2")
    kept = sizes(tmp_path)
    assert len(kept) == 2 and 20 << 20 <= kept[-1] < 21 << 20
    run(tmp_path / "one", CALLS="210000", ASCEND_HOST_LOG_FILE_NUM="1")
    assert len(sizes(tmp_path / "one")) == 1
    run(tmp_path / "illegal", CALLS="420000", ASCEND_HOST_LOG_FILE_NUM="0")
    assert len(sizes(tmp_path / "illegal")) == 3


def test_a_failing_task_is_in_the_log_of_the_device(tmp_path):
    _, files = run(tmp_path, """
        import torch, torch_npu
        x = torch.arange(4).npu()
        try:
            y = x[torch.tensor([9]).npu()]
            torch.npu.synchronize()
        except RuntimeError:
            pass
    """)
    by_folder = {name.rsplit("/", 1)[0]: text for name, text in files.items()}
    assert "task exception: stream" in by_folder["debug/plog"]
    assert "task exception: stream" in by_folder["debug/device-0"]
    assert any(re.fullmatch(r"debug/device-0/device-\d+_\d+\.log", name) for name in files)


def explain(*args, lang="en", **more):
    return subprocess.run([sys.executable, "-m", "updraft", "explain", *map(str, args)], text=True, capture_output=True, timeout=60,
                          env=dict(os.environ, UPDRAFT_LANG=lang), **more)


@pytest.mark.parametrize("code, said", [("507015", "ASCEND_LAUNCH_BLOCKING"), ("ei0006", "HCCL_CONNECT_TIMEOUT"), ("ERR01100", "AscendCL"),
                                        ("9", "HCCL_E_TIMEOUT"), ("ACL_ERROR_RT_MEMORY_ALLOCATION", "UPDRAFT_MEMORY")])
def test_codes(code, said):
    done = explain(code)
    assert done.returncode == 0 and said in done.stdout
    assert explain(code, lang="zh").stdout != done.stdout


def test_unknown_code():
    done = explain("123456")
    assert done.returncode == 2 and "neither a code" in done.stderr and not done.stdout


def test_every_code_that_the_library_raises_is_explained():
    """Of the runtime and the graph compiler: where an error text begins with a code, that code is in the table."""
    from pathlib import Path

    from updraft.explain import codes

    known = codes.table()
    sources = Path(__file__).resolve().parents[2] / "src"
    raised = set()
    for path in sources.rglob("*.cpp"):
        raised |= set(re.findall(r'"(E[IZEL]\d{4}|E\d{5})\b', path.read_text(errors="replace")))
    numbers = re.findall(r"inline constexpr int k(\w+) = (\d+);", (sources / "base" / "error.h").read_text())
    raised |= {number for name, number in numbers if number != "0"}
    assert len(raised) > 30 and not raised - set(known), sorted(raised - set(known))


def test_a_log_is_read(tmp_path):
    run(tmp_path)
    done = explain(tmp_path / "log")
    assert "1 errors in the log" in done.stdout and "ASCENDCL: calls of the C interface" in done.stdout and "ACL_ERROR_RT_PARAM_INVALID" in done.stdout


def test_output_of_a_run_is_read():
    text = "RuntimeError: HcclAllreduce failed\n[ERROR] 2026-01-01-00:00:00 (PID:1, Device:0, RankID:0) ERR02200 DIST call hccl api failed.\nEI0006: rank 1 has gone\n"
    done = explain("-", input=text)
    assert done.stdout.index("ERR02200") < done.stdout.index("EI0006")


def test_nothing_in_it(tmp_path):
    (tmp_path / "plain.txt").write_text("hello 12345\n")
    assert "no error lines and no code" in explain(tmp_path / "plain.txt").stdout


def test_modules_alone():
    assert "HCCL" in explain().stdout and "集合通信" in explain(lang="zh").stdout


@pytest.mark.parametrize("lang, about, advice", [("en", "graphs: checks, shapes, compilation", "DUMP_GE_GRAPH=2"), ("zh", "集合通信：建链与数据交换", "先看最先失败的 rank")])
def test_the_doctor_says_where_to_look_by_module(tmp_path, lang, about, advice):
    def doctor(log):
        env = dict(os.environ, UPDRAFT_LANG=lang, ASCEND_PROCESS_LOG_PATH=str(log))
        return subprocess.run([sys.executable, "-m", "updraft", "doctor", "--quick"], text=True, capture_output=True, timeout=120, env=env).stdout

    said = doctor(tmp_path / "log" / "of" / "it")
    assert "ok    " in next(line for line in said.splitlines() if str(tmp_path) in line) and not (tmp_path / "log").exists()
    for name in ("ASCENDCL", "RUNTIME", "GE, FE", "OP", "HCCL", "TDT", "PROFILING"):
        assert re.search(r"^ +%s\b" % re.escape(name), said, re.M), name
    assert about in said and advice in said
    (tmp_path / "file").write_text("")
    assert "note  " in next(line for line in doctor(tmp_path / "file").splitlines() if str(tmp_path) in line)
