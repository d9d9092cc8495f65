"""What is checked in beside the harness: exclusions, known failures, tiers."""
import functools
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ABI = HERE.parents[2] / "abi" / "libopapi.toml"
TIERS = """# Written by `python -m tests.clients.opinfo.run --publish`. Of each entry of op_db the highest tier of the aclnn operators that its first
# sample in float32 reaches (0: none), who computes its samples forward and their gradients (updraft, cpu: torch_npu's fallback, mixed:
# both, none: views, metadata and copies; -: not compared), and these operators.
"""


def tiers():
    return {row[0]: int(row[1]) for row in tier_rows()}


def tier_rows():
    return [line.split("\t") for line in (HERE / "tiers.tsv").read_text().splitlines() if not line.startswith("#")]


def write_tiers(section):
    """section: op_db float32, forward or backward. What the other direction says stays."""
    of_operator = {name: table["tier"] for table in tomllib.loads(ABI.read_text())["operators"]
                   for name in table.get("required", []) + table.get("fallback", [])}
    rows = {row[0]: (row + [""] * 5)[:5] for row in tier_rows()}
    for e in section["entries"]:
        row = rows.setdefault(e["name"], [e["name"], "0", "-", "-", ""])
        if section["direction"] == "backward":
            row[3] = e["by"] or "-"
        else:
            row[1] = str(max((of_operator.get(name, 0) for name in e["operators"]), default=0))
            row[2], row[4] = e["by"] or "-", " ".join(e["operators"])
    (HERE / "tiers.tsv").write_text(TIERS + "".join("\t".join(rows[name]) + "\n" for name in sorted(rows)))


@functools.cache
def rules(kind):
    """excluded.toml's [[kind]]."""
    return tomllib.loads((HERE / "excluded.toml").read_text()).get(kind, [])


def rule(kind, name, text, direction=None):
    """The reason of the first rule of this kind for the entry, in this direction, whose pattern is found in the text; None."""
    return next((x["reason"] for x in rules(kind)
                 if name in x["names"] and x.get("direction", direction) == direction and re.search(x["text"], text)), None)


def differences(name):
    """One pattern of what excluded.toml's [[difference]] say of an entry; None."""
    listed = [x["text"] for x in rules("difference") if name in x["names"]]
    return re.compile("|".join(f"(?:{text})" for text in listed)) if listed else None


def excluded(suite, dtype, direction):
    """{entry: reason}; an exclusion without dtype or direction holds for all."""
    return {x["name"]: x["reason"] for x in rules("entry")
            if x.get("suite", "op") == suite and x.get("dtype", dtype) == dtype and x.get("direction", direction) == direction}


def known_file(suite, dtype, direction):
    return HERE / f"known_failures_{'' if suite == 'op' else suite + '_'}{dtype}_{direction}.txt"


def known_failures(suite, dtype, direction):
    file = known_file(suite, dtype, direction)
    if not file.exists():
        return set()
    return {line.split("#")[0].strip() for line in file.read_text().splitlines()} - {""}


def write_known(suite, dtype, direction, failing):
    """failing: {entry: why}"""
    lines = ["# Entries that fail on the virtual NPU. This file may only shrink; `--update` takes away what passes."]
    lines += [f"{name}  # {why}" for name, why in sorted(failing.items())]
    known_file(suite, dtype, direction).write_text("\n".join(lines) + "\n")
