"""What `updraft run --record` left."""

import json
import os

from updraft._texts import t
from updraft.record.command import FORMAT


class Wrong(Exception):
    """A folder that is no record, with what to do."""


class Run:
    """One recorded run. `processes` trained something, by rank."""

    def __init__(self, folder):
        self.folder = folder
        path = os.path.join(folder, "run.json")
        if not os.path.isfile(path):
            raise Wrong(t("%s: no record (there is no run.json): make one by  updraft run --record %s CMD",
                          "%s：不是记录（没有 run.json）：请用  updraft run --record %s CMD 生成") % (folder, folder))
        self.whole = self._load(path)
        if self.whole.get("format") != FORMAT:
            raise Wrong(t("%s: format %s, this is a program for format %d: record again", "%s：格式 %s，本程序支持格式 %d：请重新记录")
                        % (path, self.whole.get("format"), FORMAT))
        self.processes = sorted((self._load(os.path.join(folder, n)) for n in os.listdir(folder) if n.startswith("rank") and n.endswith(".json")),
                                key=lambda p: (p["rank"], p["process"]))

    @staticmethod
    def _load(path):
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise Wrong("%s: %s" % (path, error)) from None

    @property
    def name(self):
        return os.path.basename(os.path.normpath(self.folder))

    @property
    def first(self):
        """The process that tells of the training: the first one with an optimizer, else the first."""
        return next((p for p in self.processes if p.get("optimizers")), self.processes[0] if self.processes else {})

    @property
    def ranks(self):
        """A process for each rank: the one that trained."""
        made = {}
        for p in self.processes:
            if p["rank"] not in made or p.get("optimizers") and not made[p["rank"]].get("optimizers"):
                made[p["rank"]] = p
        return [made[r] for r in sorted(made)]

    @property
    def world(self):
        return max((p.get("world", 1) for p in self.processes), default=1)

    @property
    def product(self):
        return self.whole["environment"].get("UPDRAFT_SOC", "Ascend910B2")

    @property
    def on_npu(self):
        return "npu" in self.first.get("devices", []) or "precision_mode" in self.first.get("notes", {})

    @property
    def products(self):
        """How many outputs of layers that multiply by a matrix are of which type."""
        return self.first.get("products", {})

    @property
    def half(self):
        """The share of these that is float16 or bfloat16, and which; (None, "") where nothing is known."""
        total = sum(self.products.values())
        if not total:
            return None, ""
        kinds = {k: n for k, n in self.products.items() if k in ("float16", "bfloat16")}
        return sum(kinds.values()) / total, max(kinds, key=kinds.get) if kinds else ""

    @property
    def steps(self):
        return sum(o["steps"] for o in self.first.get("optimizers", []))

    def series(self):
        """Rows of losses, by where they come from: [(name, [value])]; what backward() began with, and what was printed."""
        made = [("backward()", self.first["losses"])] if self.first.get("losses") else []
        printed = {}
        for row in self.first.get("printed", []):
            printed.setdefault(row["label"].lower(), []).append(float(row["text"]))
        return made + sorted(printed.items())
