"""Dump files of a run, decoded to npy files where somebody looks at them."""

import glob
import os
import re
from collections import namedtuple

import numpy as np

from precision_tool.lib import places

# OpType.OpName.TaskId[.StreamId].timestamp
_NAME = re.compile(r"^([\w-]+)\.([\w-]+)\.(\d+)(?:\.(\d+))?\.(\d{13,16})$")
_DECODED = re.compile(r"\.(input|output)\.(\d+)\.(?:.*\.)?npy$")

File = namedtuple("File", "path type name task time")
Tensor = namedtuple("Tensor", "path side index")


def parse(path):
    """What a dump file's name says; None when it is none."""
    match = _NAME.match(os.path.basename(path))
    return match and File(path, match.group(1), match.group(2), int(match.group(3)), int(match.group(5)))


def clean(name):
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def files(folder):
    """Dump files below a folder, in the order of their times."""
    found = (parse(path) for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True))
    return sorted((f for f in found if f and os.path.isfile(f.path)), key=lambda f: f.time)


def of_operator(run, name):
    return [f for f in files(places.npu(run, "dump")) if f.name == clean(name)]


def decode(path, kind="dump_decode"):
    """The tensors of a dump file as npy files, inputs first, by index."""
    folder = places.temp("decode", kind)
    base = os.path.basename(path)

    def there():
        tensors = []
        for made in glob.glob(os.path.join(folder, glob.escape(base) + ".*npy")):
            match = _DECODED.search(made[len(folder):])
            if match:
                tensors.append(Tensor(made, match.group(1), int(match.group(2))))
        return sorted(tensors, key=lambda t: (t.side, t.index))

    return there() or (places.toolkit("msaccucmp.py", "convert", "-d", path, "-out", folder), there())[1]


def figures(array):
    """"[Shape: …] [Dtype: …] [Max: …] [Min: …] [Mean: …]"."""
    text = "[Shape: %s] [Dtype: %s]" % (array.shape, array.dtype)
    if array.size and array.dtype.kind in "biufc":
        with np.errstate(all="ignore"):
            wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
            text += " [Max: %s] [Min: %s] [Mean: %s]" % (array.max(), array.min(), wide.mean())
    return text


def load(path):
    try:
        return np.load(path)
    except (OSError, ValueError) as error:
        raise places.Trouble("%s cannot be read as npy: %s" % (path, error))
