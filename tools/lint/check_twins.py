"""Refuses two classes of one name in one namespace: where both are linked into one library the linker keeps one of their
inline functions for both, and says nothing.

Seen are definitions of class, struct, union and enum at the scope of a namespace in src/ and tests/unit/, which are linked
together. Those of unnamed namespaces are a file's own; specialisations of templates have the template's name on purpose.

usage: check_twins.py [ROOT]
"""

import collections
import pathlib
import re
import sys

FOLDERS = ["src", "tests/unit"]
SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{}();<>=,]|\S")
LINKAGE = 'extern "C"'
KINDS = ("class", "struct", "union", "enum")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def without_directives(text):
    """Of #if … #else … #endif only the first branch, so that braces stay paired."""
    kept, hidden, continued = [], [], False
    for line in text.split("\n"):
        word = re.match(r"\s*#\s*(\w+)", line)
        directive = bool(word) or continued
        continued = directive and line.endswith("\\")
        if word and word.group(1) in ("if", "ifdef", "ifndef"):
            hidden.append(False)
        elif word and word.group(1) in ("else", "elif") and hidden:
            hidden[-1] = True
        elif word and word.group(1) == "endif" and hidden:
            hidden.pop()
        kept.append("" if directive or any(hidden) else line)
    return "\n".join(kept)


def definitions(text):
    """(qualified name, line) of the classes that a file defines for others to see."""
    text = without_directives(SKIPPED.sub(blank, text))
    scopes, statement = [], []  # names of namespaces, None: anything else that has braces
    for match in TOKEN.finditer(text):
        token = match.group(0)
        if token == "{":
            scope = opened(statement)
            if scope and scope[0] == "class" and None not in scopes and "" not in scopes:
                yield "::".join([*(s for s in scopes if s != LINKAGE), scope[1]]), text.count("\n", 0, match.start()) + 1
            scopes.append(scope[1] if scope and scope[0] == "namespace" else None)
            statement = []
        elif token == "}":
            if scopes:
                scopes.pop()
            statement = []
        elif token == ";":
            statement = []
        else:
            statement.append(token)


def opened(statement):
    """What begins with a brace after these words: ("namespace", name), ("class", name) or None."""
    if "namespace" in statement:
        return "namespace", "".join(t for t in statement[statement.index("namespace") + 1:] if t != "inline")
    if statement[:1] == ["extern"] and len(statement) <= 2:
        return "namespace", LINKAGE
    statement = statement[statement.index(">", last_parameter(statement)) + 1:] if statement[:1] == ["template"] else statement
    kind = next((i for i, token in enumerate(statement) if token in KINDS), None)
    if kind is None or "(" in statement[:kind] or "=" in statement[:kind]:
        return None
    rest = [t for t in statement[kind + 1:] if t not in KINDS]
    if rest[:1] == ["alignas"]:
        rest = rest[rest.index(")") + 1:]
    if not rest or not re.match(r"[A-Za-z_]", rest[0]) or rest[1:2] not in ([], ["final"], [":"]):  # unnamed, specialised, a function
        return None
    return "class", rest[0]


def last_parameter(statement):
    """Where the list of a template's parameters ends, but for its bracket."""
    depth = 0
    for i, token in enumerate(statement):
        depth += (token == "<") - (token == ">")
        if token == ">" and depth == 0:
            return i
    return 0


def twins(root):
    seen = collections.defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp", ".cc"):
                for name, line in definitions(path.read_text(errors="replace")):
                    seen[name].append((path.relative_to(root), line))
    for name, places in sorted(seen.items()):
        if len({path for path, _ in places}) > 1:
            yield "%s is defined in %s: give one another name, or put it into an unnamed namespace" % (
                name, " and in ".join("%s:%d" % place for place in places))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems = list(twins(root))
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
