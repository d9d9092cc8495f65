"""Every page of docs/start and docs/use, and README.md, has a Chinese twin of the same shape, and no page has a dead link.

A page and its twin (X.md, X.zh.md) have the same headings by level, the same code but for comments, the same tables by rows
and columns, as many items in each list, and name each other. Links into the repository are followed, to headings as well.

usage: check_translations.py [ROOT]
"""
import pathlib
import re
import sys

FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")
COMMENT = re.compile(r"\s+#\s.*$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def parse(text):
    """The page as a list of (kind, value, line): what a translation may not change."""
    parts, fence, code, rows, items = [], None, [], [], 0

    def close(line):
        nonlocal rows, items
        if rows:
            parts.append(("table", rows, line))
        if items:
            parts.append(("list", items, line))
        rows, items = [], 0

    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence[0]) and not mark.group(2):
                parts.append(("code", (fence[1], tuple(code)), number))
                fence = None
            else:
                code.append(COMMENT.sub("", line).rstrip())
            continue
        if mark:
            close(number)
            fence, code = (mark.group(1), mark.group(2)), []
        elif re.match(r"#{1,6} ", line):
            close(number)
            parts.append(("heading", len(line) - len(line.lstrip("#")), number))
        elif line.startswith("|"):
            if not rows:
                close(number)
            # a column's bar, not one within code
            rows.append(re.sub(r"`[^`]*`", "", line).replace("\\|", "").count("|") - 1)
        elif re.match(r"\s*([-*]|\d+\.) ", line):
            if rows:
                close(number)
            items += 1
        elif not line.strip():
            close(number)
    close(number)
    if fence:
        parts.append(("code", "never ends", number))
    return parts


def say(part):
    kind, value, _ = part
    return {"heading": "a heading of level %s" % (value,), "list": "a list of %s" % (value,),
            "table": "a table of %d rows, columns %s" % (len(value), sorted(set(value))) if kind == "table" else ""}.get(kind) or \
        "code %r" % (value[1] if isinstance(value, tuple) else value,)


def compare(page, twin):
    ours, theirs = parse(page.read_text()), parse(twin.read_text())
    for one, other in zip(ours, theirs):
        if one[:2] != other[:2]:
            yield "%s:%d: %s, but %s:%d: %s" % (page, one[2], say(one), twin, other[2], say(other))
            return
    if len(ours) != len(theirs):
        longer, at = (page, ours) if len(ours) > len(theirs) else (twin, theirs)
        extra = at[min(len(ours), len(theirs))]
        yield "%s:%d: %s is not in its twin" % (longer, extra[2], say(extra))
    if twin.name not in page.read_text() or page.name not in twin.read_text():
        yield "%s: a page and its twin name each other in their first lines" % page


def anchors(path):
    found, seen, fenced = set(), {}, False
    for line in path.read_text().split("\n"):
        fenced ^= bool(FENCE.match(line))
        match = None if fenced else re.match(r"#{1,6} (.*)", line)
        if match:
            name = re.sub(r"[^\w\- ]", "", match.group(1).strip().lower().replace("`", "")).replace(" ", "-")
            found.add(name + ("-%d" % seen[name] if name in seen else ""))
            seen[name] = seen.get(name, 0) + 1
    return found


def links(page):
    fenced = False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        fenced ^= bool(FENCE.match(line))
        for target in [] if fenced else LINK.findall(re.sub(r"`[^`]*`", "`", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = page.parent / name if name else page
            if not there.exists():
                yield "%s:%d: %s is not there" % (page, number, target)
            elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                yield "%s:%d: %s has no heading #%s" % (page, number, there, anchor)


def findings(root):
    pages = [p for p in [root / "README.md", *sorted((root / "docs").glob("start/*.md")), *sorted((root / "docs").glob("use/*.md"))]
             if p.exists() and not p.name.endswith(".zh.md")]
    for page in pages:
        twin = page.with_name(page.stem + ".zh.md")
        if twin.exists():
            yield from compare(page, twin)
        else:
            yield "%s: no Chinese twin, %s" % (page, twin.name)
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        yield from links(page)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(findings(root))
    for finding in found:
        print(finding, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
