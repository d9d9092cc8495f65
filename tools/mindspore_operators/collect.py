#!/usr/bin/env python3
"""Writes abi/mindspore_types.txt: the types of graph operators that MindSpore's adapters for Ascend name.

An adapter is a class OpAdapter<TYPE>, where TYPE is a class of a graph operator, or one named czTYPE that stands for it: their names lie in the wheel's libraries.
(The libraries also hold classes of operators for which there is no adapter, so that MindSpore never asks for them.) usage: collect.py SITE/mindspore
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
        for match in re.finditer(rb"9OpAdapterI(?:N(?:2ge2op|S\d?_))?(\d{1,3})", data):
            name = data[match.end():match.end() + int(match[1])]
            if re.fullmatch(rb"(cz)?[A-Z][A-Za-z0-9_]*", name):
                found.add(name.decode().removeprefix("cz"))
    return found


if __name__ == "__main__":
    TYPES.write_text("\n".join(sorted(types_of(sys.argv[1]))) + "\n")
    print("%d types in %s" % (len(TYPES.read_text().split()), TYPES))
