"""Writes the seeds of the fuzz target comparison into corpus/comparison beside this file: graphs, mappings, choices and a debug output."""

import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "comparison"


def attribute(key, **value):
    return {"key": key, "value": value}


def operator(name, kind, number, inputs, originals, **more):
    desc = {"attr": [attribute("_datadump_origin_name", s=originals[-1]), attribute("_datadump_origin_output_index", i=0),
                     attribute("_datadump_origin_format", s="NCHW"), attribute("origin_shape", list={"i": [2, 2]})]}
    return {"name": name, "type": kind, "id": number, "input": inputs, "output_desc": [desc],
            "attr": [attribute("_datadump_original_op_names", list={"s": originals})], **more}


def graph(*operators):
    return json.dumps({"graph": [{"name": "net", "op": operators}]})


DATA = operator("x", "Data", 0, [], ["x"])
FUSED = graph(DATA, operator("a", "Relu", 1, ["x:0"], ["a"]), operator("b", "Relu", 2, ["a:0"], ["b", "c"]))
PLAIN = graph(DATA, operator("a", "Relu", 1, ["x:0"], ["a"]), operator("b", "Relu", 2, ["a:0", ":-1"], ["b"]),
              operator("c", "Add", 3, ["b:0", "b:0"], ["c"]))
MAPPING = "1,Relu.long_name.1.0.101\r\n2,c.0.101.npy\nno comma\n"
DEBUG = struct.pack("<QQQQ", 1, 2, 3, 4).ljust(2048, b"\0")
SEEDS = {
    "fused": (FUSED,), "unfused": (FUSED, PLAIN), "mapping": (FUSED, "", MAPPING), "range": (FUSED, "", "", "1,-1,1"), "select": (FUSED, "", "", "s1,2"),
    "overflow": ("", "", "", "", DEBUG), "empty": (), "no_graph": ('{"graph": [1, {"op": [{"name": 1}]}]}',),
    "itself": (graph(operator("a", "Relu", 1, ["b:0"], ["b"]), operator("b", "Relu", 2, ["a:0"], ["a"])),) * 2,
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, parts in SEEDS.items():
        (FOLDER / name).write_bytes(b"\x1e".join(p if isinstance(p, bytes) else p.encode() for p in parts))
