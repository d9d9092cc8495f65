"""The layouts and values that clients were compiled with (abi/structs.toml, abi/values/) are those of include/."""

import pathlib
import shutil
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no g++")


def read(name):
    with open(ROOT / "abi" / name, "rb") as file:
        return tomllib.load(file)


def check(assertions):
    headers = "".join(f"#include <{header}>\n" for header in read("structs.toml")["headers"])
    source = "#include <cstddef>\n" + headers + "".join(assertions)
    done = subprocess.run(["g++", "-x", "c++", "-std=c++17", "-fsyntax-only", f"-I{ROOT / 'include'}", "-"],
                          input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_structs():
    lines = []
    for name, layout in read("structs.toml")["struct"].items():
        lines.append(f'static_assert(sizeof(struct {name}) == {layout["size"]}, "sizeof {name}");\n')
        for field, offset in layout["fields"].items():
            lines.append(f'static_assert(offsetof(struct {name}, {field}) == {offset}, "{name}.{field}");\n')
    assert len(lines) > 300
    check(lines)


def test_values():
    lines = [f'static_assert(static_cast<long long>({name}) == {value}LL, "{name}");\n'
             for file in sorted((ROOT / "abi" / "values").glob("*.toml"))
             for values in read(file).values() for name, value in values.items()]
    assert len(lines) > 800
    check(lines)


def test_a_wrong_offset_is_noticed():
    with pytest.raises(AssertionError):
        check(['static_assert(offsetof(struct aclrtMemLocation, type) == 0, "wrong on purpose");\n'])
