"""Fills in the tables of operators which data types Updraft itself takes: each operator's sample is planned with every type
in place of its first tensor's. Run by ./dev docs: accepted.py docs/reference/operators.md …"""
import os
import re
import sys
from pathlib import Path

os.environ.pop("UPDRAFT_FIDELITY", None)  # what Updraft takes, not what a card would
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "ops"))
import torch_npu  # noqa: F401
from samples import TYPES, Case, sampled

EMPTY = "·"  # what updraft_describe writes


def accepted(name):
    found = []
    for dtype in TYPES:
        try:
            if Case(name, dtype=dtype).accepted():
                found.append(dtype)
        except (ValueError, RuntimeError):  # the sample's numbers are none of that type
            continue
    return found


def main():
    types = {name: " ".join(accepted(name)) for name in sampled()}
    for page in map(Path, sys.argv[1:]):
        text = page.read_text()
        for name, found in types.items():
            if found:
                text = re.sub(rf"^(\| {name} \|.*)\| {EMPTY} \|", lambda m, found=found: f"{m[1]}| {found} |", text, flags=re.M)
        page.write_text(text)


if __name__ == "__main__":
    main()
