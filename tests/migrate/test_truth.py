"""What the reports say agrees with what was done."""
import csv
import json
import os

import pytest


@pytest.fixture
def migrated(tool, tmp_path):
    """migrated({path: text}, *options): the folder of the output, its findings by file, and what was printed."""

    def run(files, *options):
        for name, text in files.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = tool(tmp_path / "project", "-o", tmp_path / "out", *options)
        out = tmp_path / "out" / "project_msft"
        report = json.loads((out / "migration_report.json").read_text())
        return out, {f["path"]: f for f in report["files"]}, done.stderr.decode()

    return run


def test_a_project_of_both_frameworks(migrated):
    out, files, _ = migrated({"a.py": "import torch\nx = torch.ones(1).cuda()\n",
                              "b.py": "import tensorflow as tf\nif __name__ == '__main__':\n    ds = tf.data.Dataset.range(8).batch(2)\n"})
    assert ".npu()" in (out / "a.py").read_text()
    assert "npu_device" in (out / "b.py").read_text() and "drop_remainder=True" in (out / "b.py").read_text()
    assert {"a.py", "b.py"} <= set(files)


def test_other_programs_of_a_mixed_project_open_no_npu(migrated):
    """Neither a program without TensorFlow nor one that has torch beside it."""
    command = "if __name__ == '__main__':\n    print(1)\n"
    convert = "import torch\nimport tensorflow as tf\nif __name__ == '__main__':\n    print(torch.tensor(tf.constant(1).numpy()))\n"
    out, _, _ = migrated({"a.py": "import torch\nx = torch.ones(1).cuda()\n", "b.py": "import tensorflow as tf\nx = tf.constant(1)\n",
                          "cli.py": command, "convert.py": convert})
    assert (out / "cli.py").read_text() == command and (out / "convert.py").read_text() == convert


def test_notebooks_and_requirements_of_tensorflow(migrated):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
            "source": ["import tensorflow as tf\n", "ds = tf.data.Dataset.range(8).batch(2)\n"]}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    out, files, _ = migrated({"train.py": "import tensorflow as tf\nprint(tf.__version__)\n", "n.ipynb": notebook, "run.sh": "nvidia-smi\n",
                              "requirements.txt": "tensorflow-gpu==2.6\nbitsandbytes\n"}, "-f", "tensorflow")
    assert "drop_remainder=True" in (out / "n.ipynb").read_text()
    assert (out / "run.sh").read_text() == "npu-smi info\n"
    assert files["requirements.txt"]["findings"]


def test_a_part_of_a_package(tool, tmp_path):
    """A folder of a larger package: sources name each other in full, and what lies around the folder was not read."""
    guard = "if __name__ == '__main__':\n    fit()\n"
    sources = {"big/__init__.py": "", "big/core.py": "import tensorflow as tf\ndef fit():\n    tf.ones(1)\n",
               "big/part/__init__.py": "", "big/part/model.py": "import tensorflow as tf\ndef fit():\n    tf.ones(1)\n",
               "big/part/own.py": "from big.part.model import fit\n" + guard, "big/part/train.py": "from big.core import fit\n" + guard,
               "big/part/up.py": "from ..core import fit\n" + guard, "big/part/other.py": "from elsewhere.core import fit\n" + guard}
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tool(tmp_path / "big/part", "-f", "tensorflow", "-o", tmp_path / "out")
    out = tmp_path / "out" / "part_msft"
    files = {f["path"]: f for f in json.loads((out / "migration_report.json").read_text())["files"]}
    assert "npu.open()" in (out / "own.py").read_text()
    for name in ("train.py", "up.py"):
        (finding,) = files[name]["findings"]
        assert finding["rule"] == "TF001" and not finding["applied"] and "around this folder" in finding["message"]["en"]
        assert (out / name).read_text() == sources["big/part/" + name]
    assert "other.py" not in files


def test_a_package_that_names_itself(migrated):
    """The folder is the package: what is imported by its full name is of the project."""
    out, _, _ = migrated({"__init__.py": "", "config.py": "import os\nDEVICE = 'cuda'\n",
                          "net.py": "import torch\nfrom project.config import DEVICE\nx = torch.ones(1, device=DEVICE)\n"})
    assert "DEVICE = 'npu'" in (out / "config.py").read_text()


def test_programs_that_stay_on_the_cpu_are_nothing_left_to_do(tool, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a_test.py").write_text("import tensorflow as tf\nif __name__ == '__main__':\n    tf.test.main()\n")
    tool("tf2npu", "-i", tmp_path / "p", "-o", tmp_path / "o", "-r", tmp_path / "r")
    assert list((tmp_path / "r").rglob("api_brief_report.txt")) and not list((tmp_path / "r").rglob("failed_report.txt"))


def test_no_entry_file_is_said(migrated):
    _, _, text = migrated({"train.py": "import tensorflow as tf\nds = tf.data.Dataset.range(8).batch(2)\n"})
    assert "No entry file was found" in text


def test_auto_without_an_entry_is_said(tool, tmp_path):
    (tmp_path / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    assert b"no entry file" in tool(tmp_path, "--auto", "-o", tmp_path.parent / "auto_out").stderr


def test_what_is_left_out_of_the_copy_is_said(migrated, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere.py").write_text("import torch\n")
    os.symlink("../elsewhere.py", tmp_path / "project" / "link.py")
    out, files, _ = migrated({"a.py": "import torch\nx = torch.ones(1).cuda()\n", "wandb/helper.py": "import torch\n", ".git/HEAD": "x\n"})
    assert not (out / "wandb").exists()
    assert {f["rule"] for f in files["wandb"]["findings"]} == {"IO006"} == {f["rule"] for f in files["link.py"]["findings"]}
    assert ".git" not in files


def test_one_finding_for_one_thing(migrated):
    """GradScaler has two names that end alike; DataParallel that was converted is not unsupported any more."""
    out, files, _ = migrated({"a.py": "import torch\ns = torch.amp.GradScaler()\n",
                              "run.sh": "export NCCL_SOCKET_IFNAME=eth0\nexport NCCL_IB_TIMEOUT=18\n"})
    for file in files.values():
        places = [(f["rule"], f["from"]["line"], f["from"]["column"]) for f in file["findings"]]
        assert len(places) == len(set(places))
    assert {f["rule"] for f in files["run.sh"]["findings"]} == {"TX311"}


def test_no_dead_hint_contradicts_a_change(migrated):
    out, files, _ = migrated({"a.py": "import torch\nmodel = torch.nn.Linear(1, 1).cuda()\nopt = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"},
                             "--affinity", "net")
    assert "NpuFusedAdamW" in (out / "a.py").read_text()
    assert "PT701" not in {f["rule"] for f in files["a.py"]["findings"]}


def test_failed_report_exists_when_something_is_left(tool, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.py").write_text("import tensorflow as tf\nds = tf.data.Dataset.range(8).batch(2)\nmodel.predict(ds)\n")
    tool("tf2npu", "-i", tmp_path / "p", "-o", tmp_path / "o", "-r", tmp_path / "r")
    (report,) = (tmp_path / "r").rglob("failed_report.txt")
    assert "left for review" in report.read_text()


def test_ready_means_that_it_runs(migrated):
    """What decides by CUDA, or asks for NPUs by itself, is not called ready."""
    _, files, _ = migrated({"a.py": "import torch\nif torch.cuda.is_available():\n    major, minor = torch.cuda.get_device_capability()\n",
                            "b.py": "import torch\nx = torch.ones(1).cuda()\n"})
    assert files["a.py"]["readiness"] != "ready" and files["b.py"]["readiness"] == "ready"


def test_a_second_run_without_compat_changes_nothing(tool, tmp_path):
    """What was migrated with --compat opens its NPU by enable_v1."""
    (tmp_path / "a.py").write_text("import tensorflow as tf\nif __name__ == '__main__':\n    with tf.compat.v1.Session() as sess:\n        pass\n")
    tool(tmp_path, "--compat", "--in-place", "-q")
    first = (tmp_path / "a.py").read_text()
    assert "enable_v1" in first
    tool(tmp_path, "-f", "tensorflow", "--in-place", "-q")
    assert (tmp_path / "a.py").read_text() == first
