"""Programs in C++ that build graphs of ge::op:: classes: built by CMake as a user's are, and compared with PyTorch."""

import math
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples" / "ge_cnn"
STEPS, BATCH, SIZE, CLASSES = 20, 16, 12, 4


def run(*command, **options):
    updraft = pathlib.Path(sys.executable).with_name("updraft")
    return subprocess.run([str(updraft), "run", *map(str, command)], capture_output=True, text=True, timeout=300, **options)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ge_cnn")
    configured = run("cmake", "-S", SOURCE, "-B", folder)
    assert configured.returncode == 0, configured.stdout + configured.stderr
    built = run("cmake", "--build", folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "ge_cnn"


class Numbers:
    """The program's made numbers, in float32 as there."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return numpy.float32(self.state >> 8) / numpy.float32(16777216)


def make_batch(seed):
    numbers = Numbers(seed)
    images = numpy.empty((BATCH, 1, SIZE, SIZE), numpy.float32)
    for i in range(BATCH):
        label = i % CLASSES
        for row in range(SIZE):
            for column in range(SIZE):
                wave = math.sin((row if label % 2 else column) * (0.7 if label < 2 else 1.9))
                noise = numpy.float32(0.5) * (numbers.next() - numpy.float32(0.5))
                images[i, 0, row, column] = numpy.float32(wave) + noise
    return torch.tensor(images, dtype=torch.float64), torch.arange(BATCH) % CLASSES


def first_parameters():
    numbers = Numbers(7)
    parameters = []
    for dims, spread in (((4, 1, 3, 3), 0.6), ((4,), 0), ((8, 4, 3, 3), 0.3), ((8,), 0), ((72, 4), 0.2), ((4,), 0)):
        values = [numpy.float32(spread) * (numpy.float32(2) * numbers.next() - numpy.float32(1))
                  for _ in range(math.prod(dims))]
        parameters.append(torch.tensor(numpy.array(values, numpy.float32), dtype=torch.float64).reshape(dims))
    return [p.requires_grad_() for p in parameters]


def logits(x, parameters):
    w1, b1, w2, b2, w3, b3 = parameters
    F = torch.nn.functional
    x = F.max_pool2d(F.relu(F.conv2d(x, w1, b1, padding=1)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, w2, b2, padding=1)), 2)
    return x.flatten(1) @ w3 + b3


def test_losses_are_pytorchs(program):
    """Twenty steps in float64 of PyTorch on the CPU, from the same values: the losses of the graph engine's float32 steps are
    theirs, and so are the classes after them."""
    done = run(program, STEPS, env=dict(os.environ, UPDRAFT_STRICT="1"))
    assert done.returncode == 0, done.stdout + done.stderr
    losses = [float(loss) for loss in re.findall(r"step \d+ loss (\S+)", done.stdout)]
    assert len(losses) == STEPS
    parameters = first_parameters()
    optimizer = torch.optim.SGD(parameters, lr=float(numpy.float32(0.05)), momentum=float(numpy.float32(0.9)))
    for step in range(STEPS):
        images, labels = make_batch(100 + step)
        loss = torch.nn.functional.cross_entropy(logits(images, parameters), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert losses[step] == pytest.approx(loss.item(), rel=2e-4, abs=1e-5), step
    assert losses[-1] < 0.5 * losses[0]
    images, labels = make_batch(99)
    right = int((logits(images, parameters).argmax(1) == labels).sum())
    assert f"{right} of {BATCH} images recognised" in done.stdout


@pytest.mark.parametrize("abi", [1, 0])
def test_the_program_of_the_page(tmp_path, abi):
    """The page's program, as it stands there in both languages, and the command that builds it; with each of the two ABIs of
    std::string."""
    pages = [(ROOT / "docs" / "use" / name).read_text() for name in ("graph.md", "graph.zh.md")]
    codes = [re.search(r"```cpp\n(.*?)```", page, re.S).group(1) for page in pages]
    assert codes[0] == codes[1]
    command = re.search(r"updraft run sh -c '(.*?total)'", pages[0]).group(1)

    def result(code):
        (tmp_path / "total.cpp").write_text(code)
        built = run("sh", "-c", command.replace("g++", f"g++ -D_GLIBCXX_USE_CXX11_ABI={abi}"), cwd=tmp_path)
        assert built.returncode == 0, built.stdout + built.stderr
        return run(tmp_path / "total", env=dict(os.environ, UPDRAFT_STRICT="1"))

    done = result(codes[0])
    assert done.stdout == "3 30\n", done.stdout + done.stderr
    refused = result(codes[0].replace(".set_input_ref(total).set_input_value(x)", ".set_input_ref(total)"))
    assert refused.returncode == 1
    assert "add (AssignAdd): input value is missing: set_input_value" in refused.stdout


OFFERED = """\
product refused
joined [2, 4]
concat_dim 1 N 2
data_format NHWC groups 1 dilations 4 groups
dtype 3
callback refused
joined 3 4 1 -2 7 8 5 6
second -3 -4 -7 -8
choice 1 0 25 36
"""


def test_what_classes_offer(tmp_path):
    """Functions of the classes that the example does not call."""
    source = pathlib.Path(__file__).with_name("ge_classes.cpp")
    built = run("sh", "-c", f"g++ -std=c++11 -Wall -Wextra -Werror {source} -I$ASCEND_HOME_PATH/include -L$ASCEND_HOME_PATH/lib64"
                " -lgraph -lge_runner -o classes", cwd=tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    done = run(tmp_path / "classes", env=dict(os.environ, UPDRAFT_STRICT="1"))
    assert done.stdout == OFFERED, done.stdout + done.stderr


def test_headers_compile_alone_and_together(program, tmp_path):
    """Each header of ge::op:: classes, in the oldest C++ that clients use, without warnings."""
    include = pathlib.Path(run(sys.executable, "-c", "import os; print(os.environ['ASCEND_HOME_PATH'])").stdout.strip()) / "include"
    headers = sorted(str(path.relative_to(include)) for path in (include / "graph" / "ops").glob("*.h"))
    assert len(headers) > 20
    for header in ["all_ops.h", *headers[::6]]:
        done = subprocess.run(["g++", "-x", "c++", "-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", "-"],
                              input=f'#include "{header}"\n', capture_output=True, text=True, timeout=150)
        assert done.returncode == 0, done.stderr
