"""What the processes of a run left in the folder, as one record."""

import json
import linecache
import os
from collections import defaultdict

from updraft.readiness.inside import COUNTED

# Frames of what lies below a user's own lines.
_PACKAGES = ("/torch/", "/torch_npu/", "/updraft/", "/torchair/")


def own(where):
    """The user's line of a stack: the innermost frame that is not torch's. None where there is none (the backward pass, the end)."""
    for frame in where:
        path = frame["file"].replace(os.sep, "/")
        inside = "site-packages" in path or "dist-packages" in path
        if not path.startswith("<") and not (inside and any(p in path for p in _PACKAGES)):
            return frame
    return None


def place(where):
    """That line as text, file:line, function and what stands there; "" without one."""
    frame = own(where)
    if frame is None:
        return ""
    path = os.path.relpath(frame["file"]) if frame["file"].startswith(os.getcwd() + os.sep) else frame["file"]
    text = linecache.getline(frame["file"], frame["line"]).strip()
    return "%s:%d %s%s" % (path, frame["line"], frame["function"], "\n" + text if text else "")


def _sum(rows, key, numbers):
    """Rows with the same key as one; `numbers` are added up."""
    made = {}
    for row in rows:
        k = key(row)
        if k not in made:
            made[k] = dict(row)
            continue
        for n in numbers:
            made[k][n] += row[n]
    return list(made.values())


class Record:
    """What all processes recorded. Rows are dicts as the library writes them (src/observe/readiness/json.cpp), and of `counted` as
    inside.py does."""

    def __init__(self, processes, counted):
        self.processes = processes
        every = defaultdict(list)
        for process in processes:
            for name in ("operators", "signatures", "refusals", "waits", "chains", "gaps", "devices"):
                every[name] += process[name]
        self.product = processes[0]["product"] if processes else ""
        self.operators = sorted(_sum(every["operators"], lambda r: r["name"], ("count", "nanoseconds", "flops", "bytes")),
                                key=lambda r: -r["nanoseconds"])
        self.signatures = self._signatures(every["signatures"])
        self.refusals = _sum(every["refusals"], lambda r: (r["operator"], r["why"]), ())
        self.waits = _sum(every["waits"], lambda r: (r["call"], place(r["where"])), ("count", "nanoseconds"))
        self.chains = _sum(every["chains"], lambda r: r["name"], ("count",))
        self.gaps = _sum(every["gaps"], lambda r: (r["before"], r["behind"]), ("count", "nanoseconds"))
        self.devices = every["devices"]
        self.missing = defaultdict(int)
        for process in processes:
            for name, count in process["missing"].items():
                self.missing[name] += count
        self.checks = max((p["loss_scaling"]["checks"] for p in processes), default=0)
        self.overflows = max((p["loss_scaling"]["overflows"] for p in processes), default=0)
        self.fallbacks, self.lost_gradients = (_sum([r for c in counted for r in c[name]], lambda r: place(r["where"]), ("count",))
                                               for name in COUNTED)

    @staticmethod
    def _signatures(rows):
        made = {}
        for row in rows:
            key = row["operator"], row["types"]
            if key not in made:
                made[key] = dict(row, shapes=set(row["shapes"]))
                continue
            made[key]["count"] += row["count"]
            made[key]["shapes"] |= set(row["shapes"])
            made[key]["more_shapes"] |= row["more_shapes"]
            made[key]["new_at"] = max(made[key]["new_at"], row["new_at"], key=len)  # of one of the processes
        return list(made.values())

    @property
    def busy(self):
        """Nanoseconds of all operators."""
        return sum(o["nanoseconds"] for o in self.operators)

    @property
    def span(self):
        return max((d["span"] for d in self.devices), default=0)

    @property
    def peak_memory(self):
        return max((d.get("peak_memory", 0) for d in self.devices), default=0)


def read(folder):
    processes, counted = [], []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".json"):
            with open(path) as file:
                record = json.load(file)
            if record["operators"] or record["missing"]:
                processes.append(record)
        elif name.endswith(".python"):
            with open(path) as file:
                counted.append(json.load(file))
    return Record(processes, counted)
