"""The operators of a run's graphs: from ge_proto_…_Build.txt in debug_N/graph, by atc --mode=5."""

import glob
import json
import os

from precision_tool.lib import places
from precision_tool.lib.config import config
from precision_tool.lib.panel import log


def _value(attribute):
    value = attribute["value"]
    if "list" in value:
        return next((v for k, v in value["list"].items() if k != "val_type"), [])
    return next(iter(value.values()), None)


class Descriptor:
    """An input or output: type, layout, shape."""

    def __init__(self, json):
        self.dtype, self.layout = json.get("dtype", ""), json.get("layout", "")
        self.shape = json.get("shape", {}).get("dim", [])

    def __str__(self):
        return "[%s][%s][%s]" % (self.dtype, self.layout, ", ".join(map(str, self.shape)))


class Op:
    def __init__(self, graph, json):
        self.graph, self.name, self.type = graph, json["name"], json["type"]
        self.attributes = {a["key"]: _value(a) for a in json.get("attr", [])}
        self.inputs = [i for i in json.get("input", [])]  # "producer:0", "producer:-1" for a control edge, "" for none
        self.input_descriptors = [Descriptor(d) for d in json.get("input_desc", [])]
        self.outputs = [Descriptor(d) for d in json.get("output_desc", [])]
        self.consumers = {}

    @property
    def fusion_pass(self):
        return self.attributes.get("PassName") or ""

    @property
    def originals(self):
        return self.attributes.get("OriginOp") or self.attributes.get("_datadump_original_op_names") or []

    @property
    def kernel(self):
        return self.attributes.get("kernelname") or self.attributes.get("_kernelname") or ""


class Graph:
    def __init__(self, path):
        with open(path) as file:
            model = json.load(file)
        self.path, self.ops, self.names = path, {}, []
        for graph in model.get("graph", []):
            self.names.append(graph.get("name", ""))
            for op in graph.get("op", []):
                self.ops[op["name"]] = Op(graph.get("name", ""), op)
        for op in self.ops.values():
            for entry in op.inputs:
                producer, _, index = entry.rpartition(":")
                if producer in self.ops and index != "-1":
                    self.ops[producer].consumers.setdefault(int(index), []).append(op.name)


def build_json(run):
    """The graphs of a run as JSON files, made once."""
    folder = places.npu(run, "graph")
    texts = sorted(glob.glob(os.path.join(folder, "**", "ge_proto_*%s*.txt" % config.BUILD_JSON_GRAPH_NAME), recursive=True))
    made = []
    for text in texts:
        target = os.path.join(places.temp("op_graph", run), os.path.basename(text) + ".json")
        if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(text):
            places.toolkit("atc", "--mode=5", "--om=" + text, "--json=" + target)
        made.append(target)
    return made


def graphs(run):
    files = build_json(run)
    if not files:
        log("WARNING", "no graph in %s: run the script with the action dump" % places.npu(run, "graph"))
    return [Graph(f) for f in files]


def find(run, name="", op_type="", fusion_pass="", kernel=""):
    """Operators of which each given text is a part, whatever the case."""
    has = lambda text, part: part.lower() in text.lower()
    return [op for g in graphs(run) for op in g.ops.values()
            if has(op.name, name) and has(op.type, op_type) and has(op.fusion_pass, fusion_pass) and has(op.kernel, kernel)]
