"""Writes the seeds of the fuzz target onnx: small models of most kinds of fields, into corpus/onnx beside this file."""

import pathlib
import struct

FLOAT, INT64, BOOL = 1, 7, 9


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def info(name, kind, dims):
    shape = b"".join(part(1, part(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return part(1, name) + part(2, part(1, number(1, kind) + part(2, shape)))


def tensor(name, kind, dims, raw):
    return b"".join(number(1, d) for d in dims) + number(2, kind) + part(8, name) + part(9, raw)


def floats(name, dims, *values):
    return tensor(name, FLOAT, dims, struct.pack("<%df" % len(values), *values))


def integers(name, dims, *values):
    return tensor(name, INT64, dims, struct.pack("<%dq" % len(values), *values))


def attribute(name, value):
    if isinstance(value, int):
        return part(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, float):
        return part(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, str):
        return part(1, name) + part(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return part(1, name) + part(6, value) + number(20, 5)
    return part(1, name) + b"".join(number(8, v) for v in value) + number(20, 7)


def node(kind, inputs, outputs, domain="", **attributes):
    return (b"".join(part(1, i) for i in inputs) + b"".join(part(2, o) for o in outputs) + part(4, kind)
            + b"".join(part(5, attribute(k, v)) for k, v in attributes.items()) + (part(7, domain) if domain else b""))


def graph(nodes, inputs, outputs, constants=(), sparse=()):
    return (b"".join(part(1, n) for n in nodes) + part(2, "g") + b"".join(part(5, c) for c in constants)
            + b"".join(part(11, i) for i in inputs) + b"".join(part(12, o) for o in outputs)
            + b"".join(part(15, s) for s in sparse))


def model(body, opset=17, functions=()):
    return number(1, 8) + part(7, body) + part(8, number(2, opset)) + b"".join(part(25, f) for f in functions)


X, Y = info("x", FLOAT, ["n", 4]), info("y", FLOAT, [])
branch = graph([node("Neg", ["x"], ["r"])], [], [info("r", FLOAT, [])])
turn = graph([node("Add", ["v", "x"], ["w"]), node("Identity", ["go"], ["on"])],
             [info("i", INT64, []), info("go", BOOL, []), info("v", FLOAT, [1])], [info("on", BOOL, []), info("w", FLOAT, [1])])
leak = (part(1, "Leak") + part(4, "a") + part(5, "b") + part(6, "slope") + part(10, "mine")
        + part(7, part(1, "a") + part(2, "b") + part(4, "LeakyRelu") + part(5, part(1, "alpha") + part(21, "slope") + number(20, 1))))

SEEDS = {
    "add": model(graph([node("Add", ["x", "w"], ["y"])], [X], [Y], [floats("w", [4], 1, 2, 3, 4)])),
    "shape": model(graph([node("Shape", ["x"], ["s"]), node("Reshape", ["x", "s"], ["y"])], [X], [Y])),
    "conv": model(graph([node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2])],
                        [info("x", FLOAT, [1, 1, 5, "w"])], [Y], [floats("w", [1, 1, 3, 3], *range(9))])),
    "if": model(graph([node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [X, info("c", BOOL, [])], [Y])),
    "loop": model(graph([node("Loop", ["m", "", "x"], ["y"], body=turn)], [info("x", FLOAT, [1])], [Y], [integers("m", [], 3)])),
    "function": model(graph([node("Leak", ["x"], ["y"], domain="mine", slope=0.5)], [X], [Y]), functions=[leak]),
    "sparse": model(graph([node("Add", ["x", "w"], ["y"])], [X], [Y], (),
                          [part(1, floats("w", [1], 5)) + part(2, integers("", [1], 2)) + number(3, 1) + number(3, 4)])),
    "sequence": model(graph([node("SplitToSequence", ["x"], ["s"], axis=1), node("ConcatFromSequence", ["s"], ["y"], axis=0)], [X], [Y])),
    "slice": model(graph([node("Slice", ["x", "b", "e"], ["y"])], [X], [Y], [integers("b", [1], -2), integers("e", [1], 2**63 - 1)])),
    "external": model(graph([node("Add", ["x", "w"], ["y"])], [X], [Y],
                            [number(1, 4) + number(2, 1) + part(8, "w") + part(13, part(1, "location") + part(2, "w.bin")) + number(14, 1)])),
    "resize": model(graph([node("Resize", ["x", "", "s"], ["y"], mode="linear")], [info("x", FLOAT, [1, 1, 2, 3])], [Y],
                          [floats("s", [4], 1, 1, 2, 0.5)])),
}

if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "corpus" / "onnx"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (folder / name).write_bytes(data)
