"""Runs programs on the virtual NPU that leave dumps, and reads dump files by the public protocol, without our own code."""

import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent
UPDRAFT = BIN / "updraft"
PROGRAMS = pathlib.Path(__file__).with_name("dump_programs.py")
PROBE = ROOT / ".venv-msprobe"

TYPES = {1: np.float32, 2: np.float16, 3: np.int8, 4: np.uint8, 5: np.int16, 6: np.uint16, 7: np.int32, 8: np.int64,
         9: np.uint32, 10: np.uint64, 11: np.bool_, 12: np.float64, 16: np.complex64, 17: np.complex128, 27: "bfloat16"}


def tree():
    import updraft

    return pathlib.Path(updraft.home())


def run(*command, status=0, env=None, **options):
    """Its output; `status`: what it must end with (None: anything)."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "UPDRAFT_LANG": "en", **(env or {})}, **options)
    said = done.stdout + done.stderr
    assert status is None or done.returncode == status, "%s ended with %s:\n%s" % (command, done.returncode, said[-6000:])
    return said


def program(name, *arguments, **options):
    """A function of dump_programs.py in a process of its own."""
    return run(sys.executable, PROGRAMS, name, *arguments, **options)


def msaccucmp(*arguments, **options):
    """Our own one."""
    return run(tree() / "bin" / "msaccucmp", *arguments, **options)


def write_json(path, value):
    path.write_text(json.dumps(value))
    return path


# --- the protocol -------------------------------------------------------------------------------------------------------

def fields(data):
    """(number, value) of a message: integers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def packed(data):
    return [v for v, _ in _varints(data)]


def _varints(data):
    at = 0
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield value, at


def read_dump(path):
    """{"op_name", "version", "inputs": [array], "outputs": [array], "addresses"}"""
    data = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", data[:8])
    made = {"inputs": [], "outputs": [], "op_name": "", "version": "", "addresses": []}
    tensors = {3: [], 4: []}
    for number, value in fields(data[8:8 + length]):
        if number in tensors:
            tensors[number].append(value)
        elif number == 1:
            made["version"] = value.decode()
        elif number == 6:
            made["op_name"] = value.decode()
    at = 8 + length
    for number, side in ((4, "inputs"), (3, "outputs")):  # the data of inputs come first
        size_field = 5 if number == 4 else 6
        for message in tensors[number]:
            kind = size = address = 0
            shape = []
            for field, value in fields(message):
                if field == 1:
                    kind = value
                elif field == 3:
                    shape = [d for f, v in fields(value) for d in packed(v)]
                elif field == size_field:
                    size = value
                elif field == size_field + 3:
                    address = value
            raw = data[at:at + size]
            at += size
            if TYPES[kind] == "bfloat16":
                array = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
            else:
                array = np.frombuffer(raw, TYPES[kind])
            made[side].append(array.reshape(shape))
            made["addresses"].append(address)
    assert at == len(data), (path, at, len(data))
    return made


def files(folder):
    return sorted((p for p in pathlib.Path(folder).rglob("*") if p.is_file()), key=lambda p: p.name.split(".")[-1])


def by_operator(folder):
    """Dump files by the second part of their names."""
    return {p.name.split(".")[1]: p for p in files(folder)}
