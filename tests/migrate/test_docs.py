"""What docs/use/migrate*.md and the pre-commit hook say is what happens."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

yaml = pytest.importorskip("yaml")
ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "use" / "migrate.md").read_text()
RULES = (ROOT / "docs" / "use" / "migrate-rules.md").read_text()


def blocks(text, language):
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.M | re.S)


@pytest.fixture
def shell(tmp_path):
    """A shell in which `updraft` is ours."""
    binary = tmp_path / "bin"
    binary.mkdir()
    (binary / "updraft").write_text("#!/bin/sh\nexec %s -m updraft \"$@\"\n" % shlex.quote(sys.executable))
    (binary / "updraft").chmod(0o755)
    env = dict(os.environ, PATH="%s:%s" % (binary, os.environ["PATH"]), UPDRAFT_LANG="en")

    def run(command, cwd=tmp_path):
        return subprocess.run(["bash", "-ec", command], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)

    return run


def test_commands_of_the_guide(shell, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = shell(blocks(GUIDE, "bash")[0])
    assert done.returncode == 0, done.stderr
    assert "x = model.npu()" in done.stdout
    assert (tmp_path / "out" / "examples_msft" / "migration_report.html").is_file()
    assert (tmp_path / "out" / "examples_analysis" / "analysis_report.html").is_file()
    assert json.loads((tmp_path / "found.json").read_text())["files"]


def test_kept_line(rewrite):
    line = blocks(GUIDE, "python")[0]
    text = "import torch\nimport torch.distributed as dist\n" + line + "dist.init_process_group(backend)\n"
    assert line in rewrite(text) and 'backend = "hccl"' in rewrite(text.replace("  # updraft: keep", ""))


# Spellings of the guide's command line, and options of jobs and scripts that the text speaks of.
OF_THE_ORIGINAL = {"--amp_model", "--data_url", "--train_url", "--data-dir", "--output-dir"}


def test_options_exist(tool):
    text = tool("--help").stdout.decode()
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", GUIDE)) - {"--epochs"} - OF_THE_ORIGINAL:  # --epochs: of the script in the example
        assert option in text, option


def test_rule_ids_are_real():
    sources = "".join(p.read_text() for p in (ROOT / "migrate" / "rewrite" / "options").glob("*.cpp"))
    assert set(re.findall(r"PT8\d\d", GUIDE)) == set(re.findall(r'"(PT8\d\d)"', sources))


def test_rules_of_the_schema_page(tool, tmp_path):
    text = blocks(RULES, "yaml")[0]
    (tmp_path / "rules.yaml").write_text(text)
    for rule in yaml.safe_load(text)["rules"]:
        for example in rule["examples"]:
            before = example.get("keep", example.get("before"))
            done = tool("-", "-r", tmp_path / "rules.yaml", input=before.encode())
            assert done.stdout.decode() == example.get("after", before), rule["id"]


def test_keys_of_the_schema_page():
    known = re.search(r'only\(node, \{("id".*?)\}\)', (ROOT / "migrate" / "rules" / "rule.cpp").read_text(), re.S)
    table = "".join(line.split("|")[1] for line in RULES.splitlines() if line.startswith("| `"))
    assert set(re.findall(r'"(\w+)"', known.group(1))) == set(re.findall(r"`(\w+)`", table)), "keys of a rule"


def test_rules_json_of_the_original(tool, tmp_path):
    (tmp_path / "rules.json").write_text(blocks(RULES, "json")[0])
    done = tool("-", "-r", tmp_path / "rules.json", input=b"import lib\nlib.old(1)\nlib.gpu.f()\nlib.make('gpu')\n")
    assert done.stdout == b"import lib\nlib.new(1)\nlib.npu.f()\nlib.make('npu')\n"


def test_pre_commit_hook(shell, tmp_path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    used = yaml.safe_load(next(b for b in blocks(GUIDE, "yaml") if "hooks" in b))
    assert used["repos"] == [{"repo": "local", "hooks": [{k: v for k, v in hook.items() if k != "description"}]}]
    assert {"id", "name", "entry", "language"} <= set(hook) and hook["language"] == "system" and not hook["pass_filenames"]
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    done = shell(hook["entry"], project)
    assert done.returncode == 1 and (project / "a.py").read_text().endswith(".cuda()\n")
    (project / "a.py").write_text("import torch\nimport torch_npu\nx = torch.ones(1).npu()\n")
    assert shell(hook["entry"], project).returncode == 0
