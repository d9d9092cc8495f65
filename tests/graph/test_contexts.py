"""One loaded model in several contexts at once, by a program in C (contexts.c): the bits are those of executions alone."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from updraft import home

from tests.graph.test_atc import EXACT, ONNX_PYTHON, compiled

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made, tree = tmp_path_factory.mktemp("contexts") / "contexts", pathlib.Path(home())
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-I", tree / "include", HERE / "contexts.c", "-o", made, "-L", tree / "lib64",
                    "-lascendcl", "-lpthread", f"-Wl,-rpath,{tree / 'lib64'}"], check=True, timeout=300)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("models")
    for models in ("atc", "quantized"):
        (made / models).mkdir()
        subprocess.run([ONNX_PYTHON, HERE / f"{models}_models.py", made / models], check=True, timeout=300)
    return made


# 2 on 2: each has a thread; 5 on 3: some wait; 2 on 8: several threads for each; 2 on 1: one after the other
@pytest.mark.parametrize("clients, threads", [(2, 2), (5, 3), (2, 8), (2, 1)])
@pytest.mark.parametrize("name, options", [("atc/convolutions", ["--input_shape=image:8,3,32,24"]), ("quantized/residual", [])],
                         ids=["convolutions", "residual"])
def test_bits_are_those_of_an_execution_alone(program, folder, name, options, clients, threads):
    om = compiled(folder, name, EXACT, *options, output=name)
    updraft = pathlib.Path(sys.executable).with_name("updraft")
    done = subprocess.run([updraft, "run", program, om, str(clients), "40"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "UPDRAFT_THREADS": str(threads)})
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert re.fullmatch(r"executions per second: .* results [0-9a-f]{16}\n", done.stdout), done.stdout
