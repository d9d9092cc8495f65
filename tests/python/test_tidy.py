"""tools/lint/tidy.py on a tree of its own, with a clang-tidy that objects to sources in which BAD stands."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools/lint/tidy.py"
TIDY = """#!/bin/sh
[ "$1" = --version ] && { cat "$0.version"; exit; }
for source; do :; done
echo "$source" >>"$0.checked"
! grep BAD "$source"
"""


class Tree:
    def __init__(self, root):
        self.root, self.tidy = root, root / "bin/clang-tidy-16"
        for folder in ("tools/lint", "src/part", "migrate", "build/clang", "bin"):
            (root / folder).mkdir(parents=True)
        shutil.copy(TOOL, root / "tools/lint/tidy.py")
        self.tidy.write_text(TIDY)
        self.tidy.chmod(0o755)
        self.write("bin/clang-tidy-16.version", "16.0.6")
        self.write(".clang-tidy", "Checks: bugprone-*")
        self.write("src/part/deep.h", "#pragma once\n")
        self.write("src/part/shallow.h", '#include "part/deep.h"\n')
        self.write("src/part/one.cpp", '#include "part/shallow.h"\n')
        self.write("migrate/two.cpp", "int two;\n")
        self.configure("-O2")

    def write(self, path, text):
        (self.root / path).write_text(text)

    def configure(self, flags, names=("one", "two")):
        sources = {"one": "src/part/one.cpp", "two": "migrate/two.cpp"}
        commands = [{"directory": str(self.root / "build/clang"), "file": str(self.root / sources[name]),
                     "command": f"c++ {flags} -I{self.root}/src -o {name}.o -c {self.root}/{sources[name]}"}
                    for name in names]
        self.write("build/clang/compile_commands.json", json.dumps(commands))

    def lint(self, *arguments):
        """Whether all is well, and the names of what was checked."""
        checked = Path(f"{self.tidy}.checked")
        checked.write_text("")
        run = subprocess.run([sys.executable, "tools/lint/tidy.py", *arguments], cwd=self.root, capture_output=True, text=True,
                             env={**os.environ, "PATH": f"{self.tidy.parent}:{os.environ['PATH']}"})
        self.output = run.stdout + run.stderr
        return run.returncode == 0, sorted(Path(path).stem for path in checked.read_text().split())


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_what_passed_is_not_checked_again(tree):
    assert tree.lint() == (True, ["one", "two"])
    assert tree.lint() == (True, [])
    assert "2 passed before" in tree.output


@pytest.mark.parametrize("path, text, checked", [
    ("src/part/one.cpp", '#include "part/shallow.h"\nint one;\n', ["one"]),
    ("src/part/deep.h", "#pragma once\nint deep;\n", ["one"]),
    (".clang-tidy", "Checks: -*", ["one", "two"]),
    ("bin/clang-tidy-16.version", "16.0.7", ["one", "two"]),
])
def test_what_changed_is_checked_again(tree, path, text, checked):
    tree.lint()
    tree.write(path, text)
    assert tree.lint() == (True, checked)
    assert tree.lint() == (True, [])


def test_other_flags_are_another_check(tree):
    tree.lint()
    tree.configure("-O3")
    assert tree.lint() == (True, ["one", "two"])


def test_a_lost_header_is_no_pass(tree):
    tree.lint()
    (tree.root / "src/part/deep.h").unlink()
    for _ in range(2):
        assert tree.lint() == (False, [])
        assert "part/deep.h" in tree.output and "1 fail" in tree.output


def test_what_fails_is_checked_until_it_passes(tree):
    tree.write("migrate/two.cpp", "int two;  // BAD\n")
    for checked in (["one", "two"], ["two"]):
        assert tree.lint() == (False, checked)
        assert "BAD" in tree.output and "1 fail" in tree.output
    tree.write("migrate/two.cpp", "int two;\n")
    assert tree.lint() == (True, ["two"])


def test_an_error_beyond_the_tool_is_no_pass(tree):
    tree.tidy.write_text(TIDY.replace("! grep", "kill -9 $$; ! grep"))
    assert tree.lint("migrate/two.cpp") == (False, ["two"])
    assert "ended with -9" in tree.output
    assert tree.lint("migrate/two.cpp") == (False, ["two"])


def test_only_the_paths_named(tree):
    assert tree.lint("migrate/two.cpp") == (True, ["two"])
    assert tree.lint("src/part") == (True, ["one"])
    assert tree.lint("src/nowhere")[0] is False
    assert "src/nowhere" in tree.output


def test_a_source_outside_the_build_is_named(tree):
    tree.configure("-O2", names=["one"])
    assert tree.lint() == (True, ["one"])
    assert "migrate/two.cpp is no part of this build" in tree.output
