"""The command line, what it writes, and what it does with input that nobody would wish for."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

SCRIPT = """import torch

model = torch.nn.Linear(2, 2).cuda()
x = torch.ones(3, 2, device="cuda")
print(model(x).sum())
"""
MIGRATED = """import torch
import torch_npu

model = torch.nn.Linear(2, 2).npu()
x = torch.ones(3, 2, device="npu")
print(model(x).sum())
"""


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "package").mkdir(parents=True)
    (root / "train.py").write_text(SCRIPT)
    (root / "train.py").chmod(0o755)
    (root / "package" / "__init__.py").write_text("")
    (root / "package" / "plain.py").write_text("x = 1  # nothing here\n")
    (root / "data.bin").write_bytes(bytes(range(256)))
    (root / "notes.txt").write_text("cuda\n")
    os.symlink("train.py", root / "link.py")
    os.symlink("nowhere", root / "dangling")
    os.symlink("..", root / "package" / "loop")
    return root


def files(folder):
    return {str(p.relative_to(folder)): (os.readlink(p) if p.is_symlink() else p.read_bytes())
            for p in sorted(folder.rglob("*")) if p.is_symlink() or p.is_file()}


def test_copy(tool, project, tmp_path):
    before = files(project)
    tool(project, "-o", tmp_path / "out")
    out = tmp_path / "out" / "project_msft"
    assert (out / "train.py").read_text() == MIGRATED
    assert stat.S_IMODE((out / "train.py").stat().st_mode) == 0o755
    made = files(out)
    for name, content in before.items():
        if name != "train.py":
            assert made[name] == content, name
    reports = {"change_list.csv", "unsupported_api.csv", "unknown_api.csv", "cuda_op_list.csv", "msFmkTranspltlog.txt",
               "migration_report.html", "migration_report.json", "migration_report.sarif", "migration.diff"}
    assert reports <= set(made)
    assert files(project) == before, "the input is never altered"


def test_a_second_run_changes_nothing(tool, project, tmp_path):
    tool(project, "-o", tmp_path / "one")
    done = tool(tmp_path / "one" / "project_msft", "--check")
    assert b"0 changed in 0 places" in done.stderr


def test_check_diff_json(tool, project):
    assert tool(project, "--check", status=1).stdout == b""
    diff = tool(project, "--diff").stdout
    subprocess.run(["git", "apply", "--check"], input=diff, cwd=project, check=True)
    subprocess.run(["git", "apply"], input=diff, cwd=project, check=True)
    assert (project / "train.py").read_text() == MIGRATED
    result = json.loads(tool(project, "--json").stdout)
    assert not [f for entry in result["files"] for f in entry["findings"] if f["category"] == "change"]
    tool(project, "--check")


def test_in_place(tool, project):
    before = files(project)
    tool(project, "--in-place")
    after = files(project)
    assert {n for n in before if before[n] != after.get(n)} == {"train.py"} and set(after) == set(before)
    assert stat.S_IMODE((project / "train.py").stat().st_mode) == 0o755


def test_one_file_and_stdin(tool, rewrite, project, tmp_path):
    tool(project / "train.py", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "train_msft" / "train.py").read_text() == MIGRATED
    assert rewrite(SCRIPT) == MIGRATED
    assert rewrite("x = 1\n") == "x = 1\n"


def test_names_of_the_guide(tree, project, tmp_path):
    script = tree / "tools" / "ms_fmk_transplt" / "pytorch_gpu2npu.sh"
    subprocess.run([script, "-i", project, "-o", tmp_path / "out", "-v", "1.11.0"], check=True, capture_output=True, timeout=60)
    assert (tmp_path / "out" / "project_msft" / "train.py").read_text() == MIGRATED
    script = tree / "tools" / "ms_fmk_transplt" / "pytorch_analyse.sh"
    subprocess.run([script, "-i", project, "-o", tmp_path / "out", "-v", "2.1", "-m", "third_party"], check=True, capture_output=True,
                   timeout=60)
    assert (tmp_path / "out" / "project_analysis" / "full_unsupported_results.csv").is_file()


def test_updraft_migrate(project):
    done = subprocess.run([sys.executable, "-m", "updraft", "migrate", str(project), "--check"], capture_output=True, timeout=60)
    assert done.returncode == 1, done.stderr


def test_automatic(tool, project):
    (project / "train.py").write_text(SCRIPT + '\nif __name__ == "__main__":\n    pass\n')
    tool(project, "--auto", "--in-place")
    text = (project / "train.py").read_text()
    assert text.startswith("import torch\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n")
    assert '.cuda()' in text and 'device="cuda"' in text
    tool(project, "--auto", "--check")


@pytest.mark.parametrize("arguments, words", [
    (["nowhere"], ["nowhere", "no such file"]),
    (["project", "-o", "project/out"], ["stands in the input", "-o"]),
    (["project", "-v", "junk"], ["junk"]),
    (["project", "-p", "H100"], ["H100"]),
    (["project", "-r", "absent.yaml"], ["absent.yaml"]),
    (["project", "-r", "bad.yaml"], ["bad.yaml:3", "mach", "known"]),
    (["project", "-r", "wrong.yaml"], ["wrong.yaml:4", "api, member"]),
    (["project", "--min-confidence", "high"], ["certain"]),
])
def test_refusals(tool, project, tmp_path, arguments, words):
    (tmp_path / "bad.yaml").write_text("rules:\n  - id: X\n    mach: api\n    reason: r\n")
    (tmp_path / "wrong.yaml").write_text("rules:\n  - id: X\n    reason: r\n    match: apy\n    name: a\n")
    before = files(project)
    text = tool(*arguments, status=2, cwd=tmp_path).stderr.decode()
    for word in words:
        assert word in text, text
    assert files(project) == before


def test_a_used_folder_is_not_written_over(tool, project, tmp_path):
    out = tmp_path / "out" / "project_msft"
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("precious")
    assert b"--force" in tool(project, "-o", tmp_path / "out", status=2).stderr
    assert files(out) == {"mine.txt": b"precious"}
    tool(project, "-o", tmp_path / "out", "--force")
    assert (out / "mine.txt").read_text() == "precious" and (out / "train.py").read_text() == MIGRATED


def test_user_rules(tool, project, tmp_path):
    (project / "mine.py").write_text("import lib\nlib.old(1, 2)\nlib.kept(1)\n")
    (tmp_path / "rules.yaml").write_text("""
rules:
  - {id: MINE, match: api, name: lib.old, to: lib.new, reason: renamed}
""")
    tool(project, "-r", tmp_path / "rules.yaml", "--in-place")
    assert (project / "mine.py").read_text() == "import lib\nlib.new(1, 2)\nlib.kept(1)\n"
    (tmp_path / "rules.json").write_text(json.dumps({"rules": {
        "FuncNameModifyRule": [{"old_name": "lib.new", "new_name": "lib.newer"}],
        "ArgsModifyRule": [{"func_name": "lib.kept", "arg_idx": 0, "arg_new": "2"}]}}))
    tool(project, "-r", tmp_path / "rules.json", "--in-place")
    assert (project / "mine.py").read_text() == "import lib\nlib.newer(1, 2)\nlib.kept(2)\n"


SOURCES = {
    "crlf": (b"import torch\r\nx = torch.ones(1).cuda()\r\n", b"import torch\r\nimport torch_npu\r\nx = torch.ones(1).npu()\r\n"),
    "no newline at the end": (b"import torch\nx = torch.ones(1).cuda()", b"import torch\nimport torch_npu\nx = torch.ones(1).npu()"),
    "bom": (b"\xef\xbb\xbfimport torch\nx = torch.ones(1).cuda()\n", b"\xef\xbb\xbfimport torch\nimport torch_npu\nx = torch.ones(1).npu()\n"),
    "latin-1": (b"# -*- coding: latin-1 -*-\nimport torch\ns = 'caf\xe9'\nx = torch.ones(1).cuda()  # \xe9\xe8\n",
                b"# -*- coding: latin-1 -*-\nimport torch\nimport torch_npu\ns = 'caf\xe9'\nx = torch.ones(1).npu()  # \xe9\xe8\n"),
    "gbk": ("# coding: gbk\nimport torch\ns = '誠'\nx = torch.ones(1).cuda()\n".encode("gbk"),
            "# coding: gbk\nimport torch\nimport torch_npu\ns = '誠'\nx = torch.ones(1).npu()\n".encode("gbk")),
    "invalid bytes": (b"import torch\ns = '\xff\xfe\x80'\nx = torch.ones(1).cuda()\n",
                      b"import torch\nimport torch_npu\ns = '\xff\xfe\x80'\nx = torch.ones(1).npu()\n"),
    "nul": (b"import torch\ns = 'a\0b'\nx = torch.ones(1).cuda()\n", b"import torch\nimport torch_npu\ns = 'a\0b'\nx = torch.ones(1).npu()\n"),
    "semicolons": (b"import os; import torch; x = torch.ones(1).cuda()\n",
                   b"import os; import torch; import torch_npu; x = torch.ones(1).npu()\n"),
    "tabs": (b"def f():\n\timport torch\n\treturn torch.ones(1).cuda()\n", b"def f():\n\timport torch\n\timport torch_npu\n\treturn torch.ones(1).npu()\n"),
    "docstring and future": (b'"""About cuda."""\nfrom __future__ import annotations\nimport torch\nx = torch.ones(1).cuda()\n',
                             b'"""About cuda."""\nfrom __future__ import annotations\nimport torch\nimport torch_npu\nx = torch.ones(1).npu()\n'),
    "an error elsewhere": (b"import torch\nx = torch.ones(1).cuda()\ndef f(:\n    pass\n", b"import torch\nimport torch_npu\nx = torch.ones(1).npu()\ndef f(:\n    pass\n"),
    "newer syntax": (b"import torch\nclass C[T = int]:\n    pass\nx = torch.ones(1).cuda()\n",
                     b"import torch\nimport torch_npu\nclass C[T = int]:\n    pass\nx = torch.ones(1).npu()\n"),
    "python 2": (b"import torch\nprint 'x'\nx = torch.ones(1).cuda()\n", b"import torch\nimport torch_npu\nprint 'x'\nx = torch.ones(1).npu()\n"),
    "form feed": (b"import torch\n\x0c\nx = torch.ones(1).cuda()\n", b"import torch\nimport torch_npu\n\x0c\nx = torch.ones(1).npu()\n"),
    "a broken call": (b"import torch\np.add_argument('--device', ,default='cuda', c\x01(hoices=['cyda', 'cpu'])\n",
                      b"import torch\nimport torch_npu\np.add_argument('--device', ,default='npu', c\x01(hoices=['cyda', 'cpu'])\n"),
    "empty": (b"", b""),
}


@pytest.mark.parametrize("name", SOURCES)
def test_bytes_that_are_not_ours_stay(tool, name):
    before, after = SOURCES[name]
    assert tool("-", input=before).stdout == after


def test_sources_that_cannot_be_read_do_not_stop_the_run(tool, project):
    (project / "wide.py").write_text(SCRIPT, encoding="utf-16")
    (project / "broken.ipynb").write_text('{"cells": [')
    os.mkfifo(project / "pipe.py")
    done = tool(project, "--in-place")
    assert (project / "train.py").read_text() == MIGRATED
    assert b"1 failed" in done.stderr or b"2 failed" in done.stderr
    result = json.loads(tool(project, "--json").stdout)
    failed = {entry["path"]: entry for entry in result["files"] if any(f["category"] == "failure" for f in entry["findings"])}
    assert "wide.py" in failed and "broken.ipynb" in failed


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(tool, project):
    (project / "secret.py").write_text(SCRIPT)
    (project / "secret.py").chmod(0)
    result = json.loads(tool(project, "--json").stdout)
    assert any(entry["path"] == "secret.py" for entry in result["files"])


@pytest.mark.parametrize("text", [
    "(" * 20000 + "1" + ")" * 20000,
    "x" + ".cuda" * 20000 + "()",
    "x" + "[0]" * 20000,
    "x = " + "not " * 20000 + "1",
    "\n".join(" " * i + "if x.cuda:" for i in range(2000)),
    "x = " + "[" * 50000,
    "f(" * 20000,
    "'cuda' + " * 20000 + "'cpu'",
    "a = b = " * 10000 + "'cuda'",
    "x = " + "lambda: " * 20000 + "'cuda'",
    "torch.device(" * 5000 + "'cuda'" + ")" * 5000,
    "x = " + "'cuda' if y else " * 10000 + "'cpu'",
], ids=range(12))
def test_deep_nesting(tool, text):
    tool("-", input=("import torch\n" + text + "\n").encode())


def test_fifty_megabytes(tool, tmp_path):
    """Ten sources of 5 MiB; one of more than 8 MiB is refused, and the others go on."""
    line = "x = torch.ones(3).cuda()\n"
    text = "import torch\n" + "y = [1, 2, 3]  # filler\n" * (5 * 2**20 // 24) + line * 100
    root = tmp_path / "project"
    root.mkdir()
    for i in range(10):
        (root / f"m{i}.py").write_text(text)
    large = text * 2
    (root / "large.py").write_text(large)
    (root / "main.py").write_text("import torch\nfrom large import x\nx.cuda()\n")
    tool(root, "-o", tmp_path / "out")
    for i in range(10):
        out = (tmp_path / "out" / "project_msft" / f"m{i}.py").read_text()
        assert out.count(".npu()") == 100 and len(out) == len(text) + len("import torch_npu\n") - 100
    assert (tmp_path / "out" / "project_msft" / "large.py").read_text() == large
    assert "x.npu()" in (tmp_path / "out" / "project_msft" / "main.py").read_text()
    result = json.loads(tool(root, "--json").stdout)
    (refused,) = [f for entry in result["files"] if entry["path"] == "large.py" for f in entry["findings"]]
    assert refused["rule"] == "IO007" and "8 MiB" in refused["message"]["en"]


def test_a_large_source_from_stdin_is_refused(tool):
    text = b"import torch\nx = torch.ones(3).cuda()\n" + b"y = [1, 2, 3]  # filler\n" * (8 * 2**20 // 24)
    done = tool("-", input=text, status=1)
    assert done.stdout == text and b"8 MiB" in done.stderr


def test_the_framework_is_seen_from_the_imports(tool, tmp_path):
    root = tmp_path / "keras"
    root.mkdir()
    (root / "main.py").write_text("import tensorflow as tf\n\ndef main():\n    print(tf.abs(1))\n\nif __name__ == '__main__':\n    main()\n")
    assert b"+import npu_device as npu" in tool(root, "--diff").stdout
    assert tool(root, "--diff", "-f", "pytorch").stdout == b""


def test_the_guides_tensorflow_tool(tree, tmp_path):
    root = tmp_path / "keras"
    root.mkdir()
    (root / "main.py").write_text("import tensorflow as tf\n\ndef main():\n    print(tf.abs(1))\n\nif __name__ == '__main__':\n    main()\n")
    program = tree / "tfplugin/latest/python/site-packages/npu_device/convert_tf2npu/main.py"
    done = subprocess.run([sys.executable, program, "-i", root, "-o", tmp_path / "out", "-r", tmp_path / "report"], check=True,
                          capture_output=True, timeout=60, text=True)
    assert "1.In brief: Total API: 1, in which Support: 1" in done.stdout and "Finish conver, output file:" in done.stdout
    (script,) = (tmp_path / "out").rglob("main.py")
    assert script.read_text().startswith("import npu_device as npu\nnpu.open().as_default()\n")
    names = {p.name for p in (tmp_path / "report").rglob("*") if p.is_file()}
    assert {"success_report.txt", "api_brief_report.txt", "api_analysis_report.xlsx"} <= names and "failed_report.txt" not in names


TRAINING = """import torch

model = torch.nn.Linear(2, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.ones(8, 2), batch_size=4, shuffle=True)
for epoch in range(2):
    for x in loader:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("one_file", [False, True])
def test_one_card_becomes_several(tool, tmp_path, one_file):
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text(TRAINING)
    source = root / "train.py" if one_file else root
    tool(source, "-o", tmp_path / "out", "--distributed", "train.py")
    out = tmp_path / "out" / (("train" if one_file else "project") + "_msft_multi")
    text = (out / "train.py").read_text()
    assert "DistributedSampler" in text and "DistributedDataParallel(model" in text and "set_epoch(epoch)" in text
    launcher = out / "run_distributed_npu.sh"
    assert os.access(launcher, os.X_OK) and "train.py" in launcher.read_text()
    assert b"+" in tool(source, "--distributed", root / "train.py", "--diff").stdout
    tool(source, "--distributed", "train.py", "--in-place")
    assert (root / "train.py").read_text() == text and (root / "run_distributed_npu.sh").read_text() == launcher.read_text()


@pytest.mark.parametrize("arguments, said", [
    (["SRC", "--distributed", "gone.py"], "--distributed gone.py: a file in SRC is wanted; there is nothing of that name"),
    (["SRC/train.py", "--distributed", "SRC/notes.txt"], "SRC/train.py is wanted"),
    (["SRC", "--main", "../outside.py"], "--main ../outside.py: a file in SRC is wanted"),
    (["SRC", "--distributed", "train.py", "--compat"], "--distributed is for PyTorch"),
    (["SRC", "--distributed", "train.py", "-f", "tensorflow"], "--distributed is for PyTorch"),
    (["SRC", "-f", "pytorch", "--strategy", "horovod"], "--strategy is for TensorFlow"),
    (["SRC", "--target-model", "net"], "--distributed"), (["-", "--compat"], "--compat needs a folder or a file")])
def test_options_that_do_not_go_together(tool, project, arguments, said):
    (project.parent / "outside.py").write_text("")
    done = tool(*[a.replace("SRC", str(project)) for a in arguments], "--diff", status=2, input=b"")
    assert said.replace("SRC", str(project)) in done.stderr.decode(), done.stderr


def test_the_options_for_tensorflow(tool, tmp_path):
    root = tmp_path / "keras"
    root.mkdir()
    (root / "start.py").write_text("import tensorflow as tf\n\nprint(tf.abs(1))\n")
    assert b"npu.open()" not in tool(root, "--diff").stdout
    assert b"+npu.open().as_default()" in tool(root, "--diff", "--main", "start.py").stdout
    assert b"enable_v1()" in tool(root, "--diff", "--main", "start.py", "--compat").stdout


def test_advice_that_was_not_looked_for_is_said(tool, tmp_path):
    """Of a large project only files that hold something to migrate are looked through."""
    (tmp_path / "advice.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.nonzero()\n")

    def steps(*options):
        found = json.loads(tool(tmp_path, "--json", *options).stdout)
        return len(found["files"]), [step["what"]["en"] for step in found["summary"]["next"] if "updraft analyse" in step["what"]["en"]]

    assert steps() == (1, [])
    (tmp_path / "large.py").write_text("x = 1  # nothing to do here\n" * (5 << 15))
    files, said = steps()
    assert files == 0 and len(said) == 1 and "only in files" in said[0]
    out = tmp_path.parent / (tmp_path.name + "_out")
    tool("analyse", tmp_path, "-o", out)
    assert any("nonzero" in path.read_text(encoding="utf-8") for path in out.rglob("*.csv"))


def test_every_word_that_leads_to_a_change_is_known_to_the_filter(tool, tmp_path):
    """Of a large project only files that have one of the rules' words are parsed."""
    scripts = {"autocast": "import torch as t\non = t.is_autocast_enabled()\n", "set": "import torch as t\nt.set_autocast_enabled(True)\n",
               "smi": 'import subprocess\nsubprocess.run(["nvidia-smi"])\n', "member": 'import torch\nok = getattr(x, "is_cuda", False)\n',
               "code": 'import torch\nok = eval("torch.cuda.is_available()")\n',
               "type": 'import torch as t\nt.set_default_tensor_type("torch.cuda.FloatTensor")\n'}
    for name, text in scripts.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "large.py").write_text("x = 1  # nothing to do here\n" * (5 << 15))
    found = json.loads(tool(tmp_path, "--json").stdout)
    assert {file["path"] for file in found["files"] if any(f["applied"] for f in file["findings"])} == {f"{name}.py" for name in scripts}
