"""pyACL (import acl): scripts in a Python without torch and beside torch_npu, the example, the stubs and the table."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
WITHOUT_TORCH = ROOT / ".venv-onnxruntime" / "bin" / "python"
NAMES = ["start_and_devices", "memory_and_copies", "streams_and_events", "model_of_fixed_shape", "model_from_memory",
         "damaged_models", "model_of_any_rows", "two_threads_one_model", "callbacks", "single_operators", "prepared_operators", "util", "refusals",
         "gears_are_named_where_they_are_missing", "every_function_keeps_to_its_form", "nothing_leaks", "a_thousand_models", "end"]


def tree():
    import updraft

    return pathlib.Path(updraft.home())


def run(*command, **more):
    updraft = pathlib.Path(sys.executable).parent / "updraft"
    environment = {**os.environ, "UPDRAFT_STRICT": "1", "UPDRAFT_INLINE": "0", **more}
    return subprocess.run([updraft, "run", *map(str, command)], env=environment, capture_output=True, text=True, timeout=600)


def good(done):
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def train(folder):
    """Handwritten digits: weights for pyacl_models.py, and ten pictures that training has not seen."""
    import torch
    from PIL import Image
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    data = load_digits()
    images, labels = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images[:1600]), labels[:1600]).backward()
        optimizer.step()
    w, b, m, k = (p.detach().numpy() for p in net.parameters())
    np.savez(folder / "weights.npz", w=w, b=b, m=m, k=k)
    pictures = {}  # by name: what torch's CPU says of the class and its probability
    for i in range(1600, 1610):
        pixels = (data.images[i] * 255 / 16).round().astype(np.uint8)
        Image.fromarray(pixels).save(folder / ("digit_%d.png" % i))
        said = net(torch.tensor(pixels / 255.0, dtype=torch.float32)[None, None]).softmax(1)[0]
        pictures["digit_%d.png" % i] = (int(said.argmax()), said.max().item())
    return pictures


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    pictures = train(folder)
    subprocess.run([WITHOUT_TORCH, HERE / "pyacl_models.py", folder, folder / "weights.npz"], check=True, timeout=300)
    library, program = tree() / "lib64", folder / "om_of_onnx"
    subprocess.run(["c++", "-std=c++17", "-I", ROOT / "include", HERE / "om_of_onnx.cpp", "-o", program, "-L", library,
                    "-lfmk_onnx_parser", "-lge_compiler", "-lgraph", "-Wl,-rpath-link,%s" % library], check=True, timeout=300)
    for model in sorted(folder.glob("*.onnx")):
        good(run(program, model, model.with_suffix("")))
    return folder, pictures


@pytest.fixture(scope="module")
def answers(models):
    done = run(WITHOUT_TORCH, HERE / "pyacl_programs.py", models[0])
    found = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    assert found, done.stderr[-4000:]
    return {answer["name"]: answer for answer in found}


@pytest.mark.parametrize("name", NAMES)
def test_script(answers, name):
    assert name in answers, "the process ended before it: %s" % list(answers)[-1:]
    answer = answers[name]
    assert "error" not in answer, answer["error"] + "\n" + answer["trace"]
    assert answer.get("difference", 0) <= 2e-5, answer


def test_all_scripts_are_tested():
    lines = (HERE / "pyacl_programs.py").read_text().splitlines()
    assert [line[4:-3] for before, line in zip(lines, lines[1:]) if before == "@program"] == NAMES[:-1]


def test_models_on_the_driver_of_torch_npu(models):
    """torch_npu first, then acl: one device, one runtime, and torch's stream and memory are ints for acl."""
    code = """
import torch, torch_npu, acl, numpy as np
t = torch.arange(6, dtype=torch.float32, device='npu:0') * 2
assert acl.init() in (0, 100002)
assert acl.rt.get_device() == (0, 0)
stream = torch.npu.current_stream().npu_stream
assert acl.rt.synchronize_stream(stream) == 0
host = np.zeros(6, np.float32)
assert acl.rt.memcpy(acl.util.numpy_to_ptr(host), 24, t.data_ptr(), 24, 2) == 0
assert host.tolist() == [0, 2, 4, 6, 8, 10], host
model, ret = acl.mdl.load_from_file(%r)
assert ret == 0
x, y, best = torch.randn(2, 3, 8, 8).npu(), torch.zeros(2, 5).npu(), torch.zeros(2, dtype=torch.int64).npu()
torch.npu.synchronize()
sets = []
for tensors in ([x], [y, best]):
    sets.append(acl.mdl.create_dataset())
    for one in tensors:
        acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(one.data_ptr(), one.nbytes))
assert acl.mdl.execute_async(model, *sets, stream) == 0
assert torch.allclose(y.sum(1).cpu(), torch.ones(2), atol=1e-5) and (y.argmax(1) == best).all()
assert acl.mdl.unload(model) == 0
print('maps', len({l.split()[-1] for l in open('/proc/self/maps') if l.rstrip().endswith('/libupdraft.so')}))
""" % str(models[0] / "net.om")
    assert "maps 1" in good(run(sys.executable, "-W", "ignore", "-c", code))


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("tidy", [True, False])
def test_order_of_calls(models, strict, tidy):
    """aclInit first and once, aclFinalize once; a process that leaves out the end ends well all the same."""
    code = """
import acl
assert acl.rt.set_device(0) == 0
early, ret = acl.mdl.load_from_file(%r)
assert ret == (100001 if %s else 0), ret
assert acl.init() == 0 and acl.init() == 100002
model, ret = acl.mdl.load_from_file(%r)
assert ret == 0
if %r:
    assert acl.mdl.unload(model) == 0 and acl.mdl.unload(model) == 145003
    assert acl.rt.reset_device(0) == 0
    assert acl.finalize() == 0 and acl.finalize() == 100037
print("over")
""" % (str(models[0] / "net.om"), strict, str(models[0] / "net.om"), tidy)
    assert good(run(WITHOUT_TORCH, "-c", code, UPDRAFT_STRICT=strict)) == "over\n"


def test_example_classifies(models):
    folder, pictures = models
    text = good(run(WITHOUT_TORCH, ROOT / "examples" / "pyacl_classification.py", folder / "digits.om", *[folder / p for p in pictures]))
    assert re.search(r"device: Ascend", text)
    found = {name: (int(label), float(score)) for name, label, score in re.findall(r"(digit_\d+\.png): class (\d+) \(([\d.]+)\)", text)}
    assert found.keys() == pictures.keys(), text
    for name, (label, score) in pictures.items():
        assert found[name][0] == label and abs(found[name][1] - score) < 2e-3, (name, found[name], score)


@pytest.mark.parametrize("page", ["pyacl.md", "pyacl.zh.md"])
def test_code_of_the_page_runs(models, page):
    code, = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "use" / page).read_text(), re.S)
    text = good(run(WITHOUT_TORCH, "-c", "import os; os.chdir(%r)\n%s" % (str(models[0]), code)))
    assert re.fullmatch(r"\d \(\{'name': 'probabilities', 'dimCount': 2, 'dims': \[1, 10\]\}, 0\)\n", text), text


def test_example_says_what_failed(models, tmp_path):
    (tmp_path / "no.om").write_bytes(b"onnx")
    done = run(WITHOUT_TORCH, ROOT / "examples" / "pyacl_classification.py", tmp_path / "no.om", "x.png")
    assert done.returncode == 1 and "acl.mdl.load_from_file failed" in done.stderr and "no.om" in done.stderr


def test_python_ends_beside_a_thread_that_does_not():
    """A daemon thread that comes out of a call while Python ends is not unwound: that would abort the process."""
    code = """
import sys, time, types, acl
class Late:
    def __init__(self, sleep=time.sleep): self.sleep = sleep
    def __del__(self):
        self.sleep(0.3); print('late', flush=True)
sys.modules['late'] = types.ModuleType('late')
sys.modules['late'].object = Late()
assert acl.init(None) == 0 and acl.rt.set_device(0) == 0
stream, _ = acl.rt.create_stream()
def serve(arguments):
    acl.rt.set_device(0)
    while True: acl.rt.process_report(20)
thread, _ = acl.util.start_thread(serve, [])
acl.rt.subscribe_report(thread, stream)
acl.rt.launch_callback(print, 'called', 1, stream)
acl.rt.synchronize_stream(stream)
"""
    assert good(run(WITHOUT_TORCH, "-c", code)) == "called\nlate\n"


def described():
    code = "import acl, json; print(json.dumps(acl._acl._describe()))"
    return json.loads(good(run(WITHOUT_TORCH, "-c", code)))


def test_stubs_are_of_the_table():
    package = tree() / "python" / "site-packages" / "acl"
    functions = described()
    for module in {f["module"] for f in functions}:
        path = package / ("__init__.pyi" if module == "acl" else module[4:] + ".pyi")
        stubs = {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}
        table = {f["name"]: f for f in functions if f["module"] == module}
        assert list(stubs) == list(table)
        for name, stub in stubs.items():
            assert [a.arg for a in stub.args.posonlyargs] == table[name]["inputs"] and not stub.args.args, name
            kinds = table[name]["result_types"]
            text = ast.unparse(stub.returns)
            assert text == (kinds[0] if len(kinds) == 1 else "tuple[%s]" % ", ".join(kinds) if kinds else "None"), name
    assert (package / "py.typed").exists()


def test_pages_name_every_function():
    wanted = [(f["module"], f["name"]) for f in described()]
    for page in ("pyacl.md", "pyacl.zh.md"):
        found, module = [], ""
        for line in (ROOT / "docs" / "reference" / page).read_text().splitlines():
            module = line[3:] if line.startswith("## ") else module
            found += [(module, name) for name in re.findall(r"^\| `(\w+)\(", line)]
        assert found == wanted, "run ./dev docs"


def test_any_python_of_the_limited_interface():
    """The extension asks for nothing that Python 3.10 has not: its names are of the limited interface."""
    extension = tree() / "python" / "site-packages" / "acl" / "_acl.abi3.so"
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", extension], check=True, capture_output=True, text=True).stdout
    asked = {line.split()[7] for line in symbols.splitlines() if " UND Py" in line or " UND _Py" in line}
    assert asked and not {name for name in asked if name.startswith("_Py") and name not in
                          ("_Py_Dealloc", "_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct")}
    script = "import sys; sys.path.insert(0, %r); import acl; print(len(dir(acl.rt)))" % str(extension.parents[1])
    for version in ("python3.10", "python3.12", "python3.13", "python3.14"):
        probe = subprocess.run([version, "-S", "-c", "print(1)"], capture_output=True, text=True) if any(
            os.access(os.path.join(p, version), os.X_OK) for p in os.get_exec_path()) else None
        if probe is not None and probe.returncode == 0:
            done = subprocess.run([version, "-S", "-c", script], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and int(done.stdout) > 100, (version, done.stderr)
