"""What is checked in beside the harness: exclusions, known failures, tiers."""
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def tiers():
    rows = (line.rstrip("\n").split("\t") for line in (HERE / "tiers.tsv").read_text().splitlines() if not line.startswith("#"))
    return {name: int(tier) for name, tier in rows}


def refusals():
    """One pattern for the errors that the wheel itself raises."""
    listed = tomllib.loads((HERE / "excluded.toml").read_text()).get("refusal", [])
    return re.compile("|".join(f"(?:{x['text']})" for x in listed) or r"(?!)")


def entry_patterns(table, key, name):
    """One pattern of what excluded.toml's [[difference]] or [[sample]] say of an entry."""
    listed = tomllib.loads((HERE / "excluded.toml").read_text()).get(table, [])
    return re.compile("|".join(f"(?:{x[key]})" for x in listed if name in x["names"]) or r"(?!)")


def excluded(suite, dtype, direction):
    """{entry: reason}; an exclusion without dtype or direction holds for all."""
    listed = tomllib.loads((HERE / "excluded.toml").read_text()).get("entry", [])
    return {x["name"]: x["reason"] for x in listed
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
