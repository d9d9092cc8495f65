"""What the processes of a run found, as one list: the same place in several processes is one finding."""

import fnmatch
import json
import os

from updraft.readiness import collect as readiness


def frames(where):
    """A stack without our own frames. Code that has no file ("<string>", "<stdin>") is the user's here."""
    return [dict(f, file=f["file"] if not f["file"].startswith("<") or f["file"].startswith("<frozen") else f["file"].strip("<>"))
            for f in where if not f["file"].endswith("/updraft/sanitizer/inside.py")]


def place(where):
    return readiness.place(frames(where))


class Finding:
    """One distinct place. `first` and `second` are the two that meet, `memory` is where (see findings.cpp)."""

    def __init__(self, data, process):
        self.kind = data["kind"]
        self.count = data["count"]
        self.first, self.second = data.get("first"), data.get("second")
        self.memory, self.detail = data.get("memory"), data.get("detail", "")
        self.items, self.bytes = data.get("items", 0), data.get("bytes", 0)
        self.processes = [process]

    def key(self):
        side = lambda s: (s["name"], s["access"], place(s["where"])) if s else None
        detail = "" if self.second and readiness.own(frames(self.second["where"])) else self.detail
        return self.kind, side(self.first), side(self.second), detail

    def json(self):
        return {k: v for k, v in self.__dict__.items() if v not in (None, "", 0) or k == "count"}

    def ranks(self):
        return sorted({p["rank"] for p in self.processes if p["rank"]}, key=lambda r: (len(r), r))


class Rule:
    """A line of a file of what is not to be reported: KIND:PATTERN."""

    def __init__(self, line):
        self.kind, _, self.pattern = line.partition(":")
        if not self.pattern:
            raise ValueError(line)

    def fits(self, finding):
        if not fnmatch.fnmatchcase(finding.kind, self.kind):
            return False
        texts = [finding.detail]
        for side in (finding.first, finding.second):
            if side:
                texts += [side["name"], side["call"]]
                for frame in side["where"]:
                    texts += ["%s:%d" % (frame["file"], frame["line"]), "%s:%d" % (os.path.basename(frame["file"]), frame["line"]),
                              frame["file"], os.path.basename(frame["file"]), frame["function"]]
        return any(fnmatch.fnmatchcase(text, self.pattern) for text in texts if text)


# What PyTorch does on purpose, and what comes of it is dropped.
KNOWN = tuple(map(Rule, ("uninitialised:_forward_metadata_inference",  # pipelining runs a stage on empty tensors to learn its shapes
                         "uninitialised:infer_and_gen_sym_shape")))  # so does TorchAir with an operator that has no meta kernel


def rules(path):
    """The rules of a file; lines that begin with # are none. ValueError names the line that is no rule."""
    made = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            try:
                made.append(Rule(line))
            except ValueError:
                raise ValueError("%s:%d: %s" % (path, number, line)) from None
    return made


class Record:
    def __init__(self, processes, ignored=()):
        self.processes = [{"process": p["process"], "rank": p["rank"]} for p in processes]
        self.product = processes[0]["product"] if processes else ""
        self.left_out = sum(p["left_out"] for p in processes)
        self.suppressed = 0
        made = {}
        for data, process in zip(processes, self.processes):
            for one in data["findings"]:
                finding = Finding(one, process)
                if any(rule.fits(finding) for rule in KNOWN):
                    continue
                if any(rule.fits(finding) for rule in ignored):
                    self.suppressed += finding.count
                    continue
                same = made.setdefault(finding.key(), finding)
                if same is not finding:
                    same.count += finding.count
                    same.processes += finding.processes
        order = ("host-access", "use-after-free", "use-after-reuse", "race", "host-race", "out-of-bounds", "uninitialised", "leak")
        self.findings = sorted(made.values(), key=lambda f: order.index(f.kind))


def read(folder, ignored=()):
    processes = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                processes.append(json.load(file))
    return Record(processes, ignored)
