"""Architectures of transformers on the NPU: a sample, in the long form all that were right when the page was written."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SAMPLE = ("bert,clip,deberta-v2,deepseek_v3,falcon,gemma2,gpt2,gpt_oss,llama,llava,mamba,mixtral,olmo2,phi3,qwen3_moe,rwkv,segformer,swin,t5,"
          "vit,wav2vec2,whisper").split(",")
RIGHT = [n for n, (kind, _) in json.loads((HERE / "results.json").read_text()).items() if kind == "right"]
NAMES = RIGHT if os.environ.get("UPDRAFT_TEST_LONG") else SAMPLE


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    file = tmp_path_factory.mktemp("architectures") / "results.json"
    done = subprocess.run([sys.executable, "-m", "tests.clients.architectures.run", "--names", ",".join(NAMES), "--json", file],
                          cwd=HERE.parents[2], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert file.exists(), done.stdout[-4000:]
    return json.loads(file.read_text())


@pytest.mark.limit(1200)
@pytest.mark.parametrize("name", NAMES)
def test_architecture(results, name):
    assert results[name] == ["right", ""]
