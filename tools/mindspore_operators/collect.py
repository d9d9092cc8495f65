#!/usr/bin/env python3
"""Writes abi/mindspore_types.txt: the types of graph operators that MindSpore's adapters for Ascend name.

A class ge::op::TYPE of the adapters leaves its name in the symbols of the wheel's libraries. usage: collect.py SITE/mindspore
"""

import pathlib
import re
import sys

TYPES = pathlib.Path(__file__).resolve().parents[2] / "abi" / "mindspore_types.txt"
ADAPTERS = ("plugin/ascend/libmindspore_ascend_res_manager.so", "plugin/ascend/libmindspore_graph_ir.so", "libmindspore_ge_backend.so")


def types_of(package):
    found = set()
    for library in ADAPTERS:
        data = pathlib.Path(package, "lib", library).read_bytes()
        for match in re.finditer(rb"2ge2op(\d{1,3})", data):
            name = data[match.end():match.end() + int(match[1])]
            if re.fullmatch(rb"[A-Z][A-Za-z0-9_]*", name):
                found.add(name.decode())
    return found


if __name__ == "__main__":
    TYPES.write_text("\n".join(sorted(types_of(sys.argv[1]))) + "\n")
    print("%d types in %s" % (len(TYPES.read_text().split()), TYPES))
