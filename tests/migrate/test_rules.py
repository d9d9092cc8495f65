"""One registry of rules: choosing them, explaining them, keeping lines from them, and a user's own with their examples."""
import json

import pytest

SOURCE = "import os\nimport torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nx = torch.ones(2).cuda()\ny = torch.ones(2, device='cuda')\n"


def test_every_finding_is_of_a_rule_that_is_explained(tool, tmp_path):
    lines = tool("--list-rules").stdout.decode().splitlines()
    ids = [line.split()[0] for line in lines]
    assert ids == sorted(set(ids)) and len(ids) > 200
    for rule in ("PT101", "PT118", "TX226", "TF010", "PY001"):
        assert rule in ids
        text = tool("--explain", rule).stdout.decode()
        assert text.startswith(rule) and len(text.splitlines()) >= 2
    assert "之前" in tool("--explain", "PT101", "--lang", "zh").stdout.decode()
    assert b"no rule of that id" in tool("--explain", "PT999", status=2).stderr


@pytest.mark.parametrize("options, wanted", [
    (["--select", "PT110"], [".npu()", "device='cuda'", "CUDA_VISIBLE"]),
    (["--select", "PT2,PT5"], [".cuda()", "device='npu'", "ASCEND_RT_VISIBLE"]),
    (["--ignore", "PT110,PT501"], [".cuda()", "device='npu'", "CUDA_VISIBLE"]),
])
def test_rules_are_chosen(rewrite, options, wanted):
    text = rewrite(SOURCE, *options)
    assert all(part in text for part in wanted), text


def test_a_wrong_choice_is_refused(tool, tmp_path):
    done = tool(tmp_path, "--select", "PTX", "--check", status=2)
    assert b"no rule's id begins with PTX" in done.stderr


def test_a_line_is_kept_from_some_rules(rewrite):
    source = ("import torch\nx = torch.ones(2, device='cuda').cuda()  # updraft: keep[PT110]\n"
              "y = torch.ones(2, device='cuda').cuda()  # updraft: keep[PT2, PT110]\nz = torch.ones(1).cuda()  # updraft: keep\n"
              "w = torch.ones(1).cuda()\n")
    lines = rewrite(source).splitlines()
    assert "device='npu').cuda()" in lines[2]
    assert "device='cuda').cuda()" in lines[3] and ".cuda()" in lines[4] and ".npu()" in lines[5]


def test_examples_of_ones_own_rules_are_run(tool, tmp_path):
    rule = {"id": "MY1", "match": "api", "name": "mylib.gpu", "to": "mylib.npu", "reason": "ours",
            "examples": [{"before": "import mylib\nmylib.gpu()\n", "after": "import mylib\nmylib.npu()\n"}]}
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"rules": [rule]}))
    assert b"all examples" in tool("--check-rules", file).stdout
    rule["examples"][0]["after"] = "import mylib\nmylib.tpu()\n"
    file.write_text(json.dumps({"rules": [rule]}))
    error = tool("--check-rules", file, status=1).stderr.decode()
    assert "MY1: example 1 gives" in error and str(file) in error
