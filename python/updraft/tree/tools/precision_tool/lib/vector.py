"""vc and vcs: whole runs against each other, and the operators of the result that are off."""

import csv
import glob
import os

from precision_tool.lib import graph, places
from precision_tool.lib.panel import box, log


def steps(folder):
    """The folders below it that hold dump files or arrays themselves."""
    found = []
    for here, _, names in os.walk(folder):
        if any(not n.startswith("Opdebug") and n.count(".") >= 3 for n in names):
            found.append(here)
    return sorted(found)


def _steps_of(folder, what):
    if not os.path.isdir(folder):
        raise places.Trouble("%s: there is no folder %s" % (what, folder))
    found = steps(folder)
    if not found:
        raise places.Trouble("%s: no dump file lies below %s" % (what, folder))
    return found


def _operators(folder):
    """Names of the operators whose files lie in a folder: TYPE.NAME.TASK….TIME of a dump, NAME.INDEX.TIME.npy of a reference."""
    parts = [name.split(".") for name in os.listdir(folder)]
    return {p[0] if p[-1] == "npy" and len(p) == 4 else p[1] for p in parts if len(p) >= 4}


def _pair(left, right):
    """Of each side the step or graph that has most operators in common with one of the other; of equal ones that with most files."""
    lefts, rights = _steps_of(left, "-lt"), _steps_of(right, "-rt")
    names = {f: _operators(f) for f in lefts + rights}
    best = max(((l, r) for l in lefts for r in rights), key=lambda p: (len(names[p[0]] & names[p[1]]), len(names[p[0]]) + len(names[p[1]])))
    for what, found, chosen in (("-lt", lefts, best[0]), ("-rt", rights, best[1])):
        if len(found) > 1:
            log("INFO", "%s: of %d steps or graphs %s has most in common with the other side (give a path to choose another):" % (what, len(found), chosen))
            for f in found:
                log("INFO", "  " + f)
    return best


def _graph_of(run, folder):
    """The graph whose name is in the folder's path; else the one with most operators."""
    graphs = graph.graphs(run)
    named = [g for g in graphs if any(n and n in folder.split(os.sep) for n in g.names)]
    return max(named or graphs, key=lambda g: len(g.ops), default=None)


def compare(left=None, right=None, rule=None):
    """left: what is judged. Without paths debug_0 against tf/dump, or else against debug_1. The csv files' folder."""
    runs = places.runs()
    if left is None:
        left = places.npu("debug_0", "dump")
    if right is None:
        right = places.tf_dump() if os.path.isdir(places.tf_dump()) and os.listdir(places.tf_dump()) else places.npu("debug_1", "dump")
    left, right = _pair(left, right)
    of_npu = any(os.path.abspath(right).startswith(os.path.abspath(places.npu(r)) + os.sep) for r in runs)
    arguments = ["compare", "-m", left, "-g", right]
    if rule:
        arguments += ["-f", rule]
    elif not of_npu and "debug_0" in left.split(os.sep):
        found = _graph_of("debug_0", left)  # an NPU's operators against those of the network: by the graph
        if found:
            arguments += ["-f", found.path]
    target = places.temp("vector_compare", places.stamp())
    log("INFO", "%s against %s" % (left, right))
    for line in places.toolkit("msaccucmp.py", *arguments, "-out", target).splitlines():
        log("INFO", line)
    return target


def _results(path):
    if path:
        if not os.path.isfile(path):
            raise places.Trouble("-f: there is no file %s" % path)
        return [path]
    folder = os.path.join(places.data(), "temp", "vector_compare")
    folders = sorted(d for d in (os.listdir(folder) if os.path.isdir(folder) else []))
    if not folders:
        raise places.Trouble("nothing was compared yet (%s is empty): vc does it" % folder)
    log("INFO", "Sub path num:[%d]. Dirs[%s], choose[%s]" % (len(folders), folders, folders[-1]))
    found = sorted(glob.glob(os.path.join(folder, folders[-1], "result_*.csv")))
    log("DEBUG", "Find %s result files in dir %s" % (found, os.path.join(folder, folders[-1])))
    return found


def _number(text):
    try:
        return float(text)
    except ValueError:
        return float("nan")


def below(threshold, path=None):
    """{(index, left): rows} of the operators that have an output with a cosine of at most the threshold; NaN is passed over."""
    found = {}
    for file in _results(path):
        with open(file, newline="") as handle:
            for row in csv.DictReader(handle):
                found.setdefault((row["Index"], row["NPUDump"]), []).append(row)
    return {key: rows for key, rows in found.items()
            if any(":output:" in r["TensorIndex"] and _number(r["CosineSimilarity"]) <= threshold for r in rows)}


def show(threshold=0.98, most=3, path=None):
    """The count of operators below the threshold."""
    found = below(threshold, path)
    log("INFO", "Find %d ops less then %s in %s" % (len(found), threshold, path or "the latest comparison"))
    for (index, left), rows in list(found.items())[:most]:
        lines = ["Left:  ['%s']" % left, "Right: ['%s']" % rows[0]["GroundTruth"]]
        for side in ("Input", "Output"):
            of = [r for r in rows if ":%s:" % side.lower() in r["TensorIndex"]]
            if of:
                lines.append(side + ":")
                lines.append(" " + "  ".join("- [%s]%s" % (r["TensorIndex"].rsplit(":", 1)[1], r["CosineSimilarity"]) for r in of))
        box("[%s] %s" % (index, left), lines)
    return len(found)
