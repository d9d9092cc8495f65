"""Checks what a compiler does not: the direction of includes, file lengths and folder names (docs: design rules).

    acl aclnn atb hccl ge atc    entry points
    frontends  om                what makes and keeps graphs
    ops | graph | collective | media | blas   do not include each other; graph/ knows ops/ by its registry alone
    kernels  tensor  device
    base

Arrows point down or stay within a level, except that those of the second level stay apart. Generated files and
third_party are left out. The migration tool, migrate/, stands beside src/ and takes nothing of it but base/.

usage: check_includes.py [ROOT]
"""

import pathlib
import re
import sys

LEVELS = {"acl": 4, "aclnn": 4, "atb": 4, "hccl": 4, "ge": 4, "atc": 4, "frontends": 3, "om": 3, "ops": 2, "graph": 2, "collective": 2, "media": 2, "blas": 2,
          "kernels": 1, "tensor": 1, "device": 1, "base": 0}
APART = {"ops", "graph", "collective", "media", "blas"}
# what graph/ may include of ops/: calls of operators by their names, and what they are made of
REGISTRY = {"ops/call.h", "ops/infer.h", "ops/ir_op.h", "ops/op.h", "ops/parameter.h", "ops/handles.h",
            "ops/reach.h"}
# whole programs and observers stand outside the levels: they may look at anything, and nothing below looks at them
OUTSIDE = {"observe", "tuning", "facade"}
MIGRATE = {"migrate", "base", "arena.h", "parse.h", "tree-sitter", "tree-sitter-python"}
FORBIDDEN = {"util", "utils", "common", "misc", "helpers"}
LONGEST = 800
CODE = {".h", ".hpp", ".cpp", ".cc", ".c", ".py", ".cmake", ".sh"}
FOLDERS = ["abi", "include", "src", "migrate", "tools", "python", "tests", "bench", "examples", "cmake", "packaging"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def includes(source):
    """Each include of a source below the folder: its file, its line, and the path that it names."""
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".h", ".hpp", ".cpp", ".cc", ".c"):
            continue
        text = path.read_text(errors="replace")
        for match in INCLUDE.finditer(text):
            yield path, text.count("\n", 0, match.start()) + 1, match.group(1)


def direction(root):
    for path, line, header in includes(root / "migrate"):
        there = header.split("/")[0]
        if there not in MIGRATE:
            yield "%s:%d: migrate/ takes nothing of %s/ (of src/ only base/)" % (path.relative_to(root), line, there)
    source = root / "src"
    for path, line, header in includes(source):
        there = header.split("/")[0]
        here = path.relative_to(source).parts[0]
        if there == "migrate":
            yield "%s:%d: the library takes nothing of migrate/" % (path.relative_to(root), line)
        if there in OUTSIDE and here in LEVELS:
            yield "%s:%d: %s/ must not include %s/ (it stands outside)" % (path.relative_to(root), line, here, there)
        if here not in LEVELS or there not in LEVELS or here == there:
            continue
        if LEVELS[there] > LEVELS[here]:
            yield "%s:%d: %s/ must not include %s/ (arrows point down)" % (path.relative_to(root), line, here, there)
        elif {here, there} <= APART and not (here == "graph" and header in REGISTRY):
            yield "%s:%d: %s/ and %s/ do not include each other" % (path.relative_to(root), line, here, there)


def shape(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if "__pycache__" in path.parts:
                continue
            name = path.relative_to(root)
            if path.is_dir() and path.name in FORBIDDEN:
                yield "%s: say what is in it: no folder is named %s" % (name, path.name)
            if path.is_file() and path.suffix in CODE:
                length = len(path.read_text(errors="replace").splitlines())
                if length > LONGEST:
                    yield "%s: %d lines, %d at most" % (name, length, LONGEST)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    problems = [*direction(root), *shape(root)]
    print("\n".join(problems) if problems else "includes, lengths and names are right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
