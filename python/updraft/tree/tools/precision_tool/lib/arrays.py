"""pt and cp: one array, and two."""

import os

import numpy as np

from precision_tool.lib import dump
from precision_tool.lib.panel import box, log, table


def _text_file(path, array):
    """The array as text beside its file."""
    target = path + ".txt"
    np.savetxt(target, array.reshape(-1) if array.ndim < 2 else array.reshape(-1, array.shape[-1]), fmt="%s")
    return target


def show(path):
    array = dump.load(path)
    lines = dump.figures(array).strip("[]").split("] [")
    box(os.path.basename(path), lines + ["Path: " + os.path.abspath(path), "TxtFile: " + _text_file(path, array)])


def cosine(left, right):
    lengths = np.linalg.norm(left) * np.linalg.norm(right)
    if lengths == 0:
        return 1.0 if not left.any() and not right.any() else float("nan")
    return float(np.dot(left, right) / lengths)


def compare(left_path, right_path, most=20, absolute=0.001, relative=0.001, save=True):
    """Two tables (elements beyond the tolerance, and those that differ most), then figures. True where all are close."""
    left, right = dump.load(left_path), dump.load(right_path)
    texts = [_text_file(p, a) for p, a in ((left_path, left), (right_path, right))] if save else []
    both = min(left.size, right.size)
    if left.size != right.size:
        log("WARNING", "%s has %s, %s has %s: only the first %d elements of both are compared" % (left_path, left.shape, right_path, right.shape, both))
    wide = np.complex128 if "c" in left.dtype.kind + right.dtype.kind else np.float64
    l, r = left.reshape(-1)[:both].astype(wide), right.reshape(-1)[:both].astype(wide)
    with np.errstate(all="ignore"):
        difference = np.abs(l - r)
        wrong = ~np.isclose(l, r, atol=absolute, rtol=relative, equal_nan=True)
        beyond = np.flatnonzero(wrong)
        greatest = np.argsort(np.where(np.isnan(difference), np.inf, difference))[::-1][:most]
    for title, places in (("Error Item Table", beyond[:most]), ("Top Item Table", greatest)):
        table(title, ["Index", "Left", "Right", "Diff"], [(i, l[i], r[i], difference[i]) for i in places])
    close = left.size == right.size and bool(np.allclose(l, r, atol=absolute, rtol=relative, equal_nan=True))
    lines = []
    for side, path, array in (("Left", left_path, left), ("Right", right_path, right)):
        lines += ["%s:" % side, " |- NpyFile: %s" % path] + ([" |- TxtFile: %s" % texts[side == "Right"]] if texts else []) + [" |- NpySpec: %s" % dump.figures(array)]
    lines += ["NumCnt: %d" % l.size, "AllClose: %s" % close, "CosSim: %s" % cosine(l, r),
              "ErrorPer: %s (rl= %s, al= %s)" % (len(beyond) / l.size if l.size else 0.0, relative, absolute)]
    box("cp", lines)
    return close
