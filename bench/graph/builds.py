"""What it takes to make, load and hold a model, and how that grows with the nodes of the graph: atc's time, AscendCL's time to load
(beyond reading the file), another size of the same model, peak memory against onnxruntime's CPU provider.

    ./dev bench graph --builds     models          -> build/bench/graph-builds
    ./dev bench graph --growth     up to 50,000 nodes -> build/bench/graph-growth
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
NODES = (1000, 2500, 5000, 10000, 25000, 50000)
BUILDS = ("resnet50-b1", "bert-b1", "mobilenet-v3-b1")
BATCHES = {"resnet50-b1": "input.1:-1,3,224,224", "mobilenet-v3-b1": "input.1:-1,3,224,224"}  # models whose batch may change
SIZES = (1, 2, 3, 5, 8)  # of the batch: the first belongs to the build, the others are new ones


def atc(model, output, *more):
    """Seconds that it takes, those of CPU time, and its own peak of memory in bytes."""
    from updraft import home
    command = [str(pathlib.Path(home()) / "bin" / "atc"), "--framework=5", f"--model={model}", f"--output={output}",
               "--soc_version=Ascend910B2", "--precision_mode=must_keep_origin_dtype", *more]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(said)
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def child(*arguments):
    """What this file prints as JSON when it is called so."""
    done = subprocess.run([sys.executable, __file__, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    return json.loads(done.stdout.splitlines()[-1])


# --- in a process of its own ------------------------------------------------------------------------------------------


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()


def load(om, sizes):
    """Loads and runs: seconds of each, and memory. `sizes`: batches to run one after the other ("" for a fixed model)."""
    import numpy as np

    from tests.graph.offline_model import OfflineModel, acl, call
    acl.aclInit(None)
    call("aclrtSetDevice", 0)
    buffer, reading = np.ones(os.path.getsize(om), np.uint8), []
    for _ in range(3):
        start = time.perf_counter()
        with open(om, "rb", buffering=0) as file:
            assert file.readinto(buffer) == buffer.size
        reading.append(time.perf_counter() - start)
    del buffer
    reading, before = min(reading), resident()
    start, cpu = time.perf_counter(), time.process_time()
    model = OfflineModel(om)
    told = {"load_s": time.perf_counter() - start - reading, "load_cpu_s": time.process_time() - cpu, "load_bytes": resident() - before, "runs_s": [], "runs_cpu_s": []}
    for size in sizes.split(",") if sizes else [""]:
        feeds, given = {}, {}
        for i, name in enumerate(model.inputs):
            dims = [int(size) if d < 0 else d for d in model.dims("aclmdlGetInputDims", i)]
            dtype = model.input_type(i)
            feeds[name] = np.ones(dims, dtype)
            given[name] = dims
        start, cpu = time.perf_counter(), time.process_time()
        model.run(feeds, sizes=given if size else None)
        told["runs_s"].append(time.perf_counter() - start)
        told["runs_cpu_s"].append(time.process_time() - cpu)
    told["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(told))


def grown(path, nodes):
    """A graph of so many nodes: blocks of six, each of which reads the one before it, and every fourth the one four before it, too."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random, made, last = np.random.default_rng(0), [], ["x"]
    weights = [numpy_helper.from_array((0.2 * random.standard_normal((16, 16))).astype(np.float32), f"w{i}") for i in range(64)]
    weights.append(numpy_helper.from_array(np.ones(16, np.float32) / 8, "row"))
    for n in range(nodes // 6):
        y, name = last[-1], lambda part: f"{part}{n}"
        made += [helper.make_node("MatMul", [y, f"w{n % 64}"], [name("a")]), helper.make_node("Add", [name("a"), "row"], [name("b")]),
                 helper.make_node("Tanh", [name("b")], [name("c")]), helper.make_node("Transpose", [name("c")], [name("d")], perm=[1, 0]),
                 helper.make_node("Softmax", [name("d")], [name("e")], axis=-1),
                 helper.make_node("Mul", [name("e"), last[-4] if n % 4 == 3 else y], [name("f")])]
        last.append(name("f"))
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 16])
    graph = helper.make_graph(made, "grown", [info("x")], [info(last[-1])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def peer_memory(name, threads):
    """Peak of a process that loads the model into onnxruntime's CPU provider and runs it."""
    from bench.graph.run import session
    session(name, "CPUExecutionProvider", threads)()
    print(json.dumps({"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


# --- tables -----------------------------------------------------------------------------------------------------------


def measure_growth(command):
    from bench.measure import heading, machine, write
    before, rows = machine(), []
    with tempfile.TemporaryDirectory() as folder:
        for nodes in NODES:
            onnx_path, om = f"{folder}/{nodes}.onnx", f"{folder}/{nodes}"
            grown(onnx_path, nodes)
            seconds, cpu, _ = atc(onnx_path, om)
            told = child("load", f"{om}.om", "")
            rows.append({"nodes": nodes, "compile_s": seconds, "compile_cpu_s": cpu, "om_bytes": os.path.getsize(f"{om}.om"), **told})
            print(rows[-1], flush=True)
    lines = [heading(before, command), "", "| nodes | atc, s | CPU, s | CPU, us a node | om, bytes a node | load and plan, CPU, s | us a node | memory of the loaded model, "
             "bytes a node |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        n = r["nodes"]
        lines.append(f"| {n} | {r['compile_s']:.2f} | {r['compile_cpu_s']:.2f} | {r['compile_cpu_s'] / n * 1e6:.0f} | {r['om_bytes'] / n:.0f} | "
                     f"{r['load_cpu_s']:.2f} | {r['load_cpu_s'] / n * 1e6:.0f} | {r['load_bytes'] / n:.0f} |")
    write("graph-growth", lines, {"machine": before, "command": command, "rows": rows})


def touch_memory():
    """The host of a virtual machine gives memory when somebody first writes it, which takes longer than the rest: that it has is measured."""
    subprocess.run([sys.executable, "-c", "import numpy; [numpy.ones(1 << 28) for _ in range(2)]"], check=True)


def new_sizes(name):
    """Seconds of the first build (atc, load, what the first run does beside running) and of a new size beside running, of each; the best of
    three processes, because whatever else runs only adds."""
    from bench.graph.models import path_of
    builds, loads, runs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            touch_memory()
            builds.append(atc(path_of(name), f"{folder}/om", f"--input_shape={BATCHES[name]}")[0])
            told = child("load", f"{folder}/om.om", ",".join(f"{size},{size},{size}" for size in SIZES))
            loads.append(told["load_s"])
            runs.append(told["runs_s"])
    best = [min(times) for times in zip(*runs)]  # three runs of each size
    beside = [best[at] - min(best[at + 1:at + 3]) for at in range(0, len(best), 3)]
    return {"first_s": min(builds) + min(loads) + beside[0], "sizes_s": dict(zip(SIZES[1:], beside[1:]))}


def measure_builds(command, threads):
    from bench.graph.models import CLIENT, make, path_of
    from bench.measure import heading, machine, write
    before, rows = machine(), {}
    for name in BUILDS:
        make(name)
        with tempfile.TemporaryDirectory() as folder:
            touch_memory()
            seconds, cpu, used = atc(path_of(name), f"{folder}/om")
            told = sorted((child("load", f"{folder}/om.om", "") for _ in range(3)), key=lambda t: t["load_s"])[1]
        done = subprocess.run([CLIENT, __file__, "peer", name, str(threads)], capture_output=True, text=True, check=True)
        rows[name] = {"compile_s": seconds, "compile_cpu_s": cpu, "atc_bytes": used, **told, "peer_bytes": json.loads(done.stdout.splitlines()[-1])["peak_bytes"]}
        rows[name]["sizes"] = new_sizes(name) if name in BATCHES else None
        print(name, rows[name], flush=True)
    lines = [heading(before, command), "", "| model | atc, s | its CPU time, s | load beyond reading, s | its CPU time, s | peak memory of load and run, MiB | onnxruntime CPU, MiB | ours / peer "
             "(lower is better) |", "|---|---|---|---|---|---|---|---|"]
    for name, r in rows.items():
        lines.append(f"| {name} | {r['compile_s']:.2f} | {r['compile_cpu_s']:.2f} | {r['load_s']:.2f} | {r['load_cpu_s']:.2f} | {r['peak_bytes'] / 2**20:.0f} | {r['peer_bytes'] / 2**20:.0f} | "
                     f"{r['peak_bytes'] / r['peer_bytes']:.2f} |")
    lines += ["", "| model with any batch | first build (atc, load, first run beyond running), s | "
              + " | ".join(f"batch {size}, ms (of the first build)" for size in SIZES[1:]) + " |", "|---|---|" + "---|" * (len(SIZES) - 1)]
    for name, r in rows.items():
        if r["sizes"]:
            first = r["sizes"]["first_s"]
            lines.append(f"| {name} | {first:.2f} | " + " | ".join(f"{t * 1e3:.0f} ({t / first:.0%})" for t in r["sizes"]["sizes_s"].values()) + " |")
    write("graph-builds", lines, {"machine": before, "command": command, "rows": rows})


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "peer":
        peer_memory(sys.argv[2], int(sys.argv[3]))
