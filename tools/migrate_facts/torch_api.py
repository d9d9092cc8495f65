"""Makes migrate/support/data/torch_api.tsv from the support lists of torch_npu's documentation.

The lists say per API and product whether it works, and which limits it has; this takes those facts, not the sentences.
An API is one row for each run of torch versions with the same facts.

usage: torch_api.py DOCS [OUT]      DOCS is docs/zh/api/native_api of a checkout of https://gitcode.com/Ascend/pytorch
"""

import pathlib
import re
import sys

VERSIONS = ["2.7.1", "2.11.0", "2.12.0", "2.13.0"]
PRODUCTS = ["Atlas A2 训练系列产品", "Atlas A3 训练系列产品", "Ascend 950DT", "Atlas 训练系列产品"]
OUT = pathlib.Path(__file__).parents[2] / "migrate/support/data/torch_api.tsv"
HEAD = """\
# PyTorch APIs on NPU, by torch version; made by tools/migrate_facts/torch_api.py from the support lists of torch_npu
# (https://gitcode.com/Ascend/pytorch, docs/zh/api/native_api). Sorted by name, then version.
# marks: A2, A3, 950DT, training series; y works, n does not, ? nobody says
# limits: PARAMETERS: DTYPES (no others), cpu-fallback (may run on the CPU), cpu-only, inference-only,
# members (the class itself is not listed, its members are), other (see the page)
"""

HEADING = re.compile(r"^#{2,6} (.*)")
MEMBER = re.compile(r'^> *<font size="3">(.*)</font>')
LINK = re.compile(r"^\*\*原生文档\*\*.*?\[(.*?)\]\(")
NPU = re.compile(r"^\*\*NPU *形式名称\*\*：\s*`?([\w.]+)")
MARK = re.compile(r"^\|\s*<term>(.*?)</term>\s*\|\s*([✔✘])")
DTYPES = re.compile(r"^(?:- )?((?:`\w+`)(?:、`\w+`|，`\w+`)*)仅支持([a-z0-9，、, ]+)$")
FLAGS = {"可能回退至CPU执行": "cpu-fallback", "回退至CPU执行": "cpu-fallback", "仅CPU支持": "cpu-only",
         "当前仅支持推理场景，不支持训练场景": "inference-only"}
NAMED_DTYPES = {"bf16", "fp16", "fp32", "fp64", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64",
                "complex128", "complex32", "double"}


def limit(line):
    line = line.strip().rstrip("。")
    found = DTYPES.match(line)
    if found:
        dtypes = [d for d in re.split(r"[，、, ]+", found[2]) if d]
        if dtypes and set(dtypes) <= NAMED_DTYPES:
            return "%s: %s" % (",".join(re.findall(r"`(\w+)`", found[1])), " ".join(dtypes))
    return FLAGS.get(line.removeprefix("- "), "other")


def entries(path):
    """Yields (name, NPU name, marks, limits) of one page."""
    owner = member = name = None
    marks, limits, npu, inside = {}, [], "", False

    def finish():
        if name and marks:
            order = sorted(set(limits), key=lambda text: (":" not in text, text == "other", limits.index(text)))
            return name, npu, "".join(marks.get(p, "?") for p in PRODUCTS), "; ".join(order)
        return None

    for line in [*path.read_text().splitlines(), "## end"]:
        heading, sub = HEADING.match(line), MEMBER.match(line)
        if heading or sub:
            done = finish()
            if done:
                yield done
            name, marks, limits, npu, inside = None, {}, [], "", False
            if heading:
                owner, member = re.sub(r"<[^>]*>", "", heading[1]).strip().split(" ")[-1].replace("\\", ""), None
                owner = owner.replace("torch.sparse.Tensor", "torch.Tensor")
            else:
                member = sub[1].strip().removesuffix("()").replace("\\", "")
            continue
        link = LINK.match(line)
        if link:
            name = owner + "." + member if member else owner
            if name.startswith("profile."):
                name = "torch.autograd.profiler." + name
        elif NPU.match(line):
            npu = NPU.match(line)[1]
        elif MARK.match(line):
            product, mark = MARK.match(line).groups()
            marks[product] = "y" if mark == "✔" else "n"
        elif line.startswith("**限制与说明**"):
            inside = True
            rest = line.removeprefix("**限制与说明**").lstrip("：: ")
            if rest:
                limits.append(limit(rest))
        elif line.startswith("</div>"):
            inside = False
        elif inside and line.strip():
            limits.append(limit(line))


def classes_of_members(facts):
    """Some classes stand on a page as a heading only: what all of their members have is theirs."""
    members = {}
    for name, (marks, _, _, page) in facts.items():
        members.setdefault(name.rpartition(".")[0], []).append((marks, page))
    for owner, list_ in members.items():
        last = owner.split(".")[-1]
        if owner not in facts and owner.count(".") > 0 and last.lstrip("_")[:1].isupper():
            marks = "".join(column[0] if len(set(column)) == 1 else "?" for column in zip(*(m for m, _ in list_)))
            facts[owner] = (marks, "", "members", list_[0][1])


def main():
    docs = pathlib.Path(sys.argv[1])
    facts = {}  # name: {index of the version: fact}
    for index, version in enumerate(VERSIONS):
        pages = sorted((docs / ("pytorch_" + version.replace(".", "-"))).glob("*.md"))
        if not pages:
            sys.exit("no pages of torch %s under %s: wanted docs/zh/api/native_api of Ascend/pytorch" % (version, docs))
        found = {}
        for page in pages:
            for name, npu, marks, limits in entries(page):
                if re.fullmatch(r"torch(\.\w+)+", name):
                    found.setdefault(name, (marks, npu, limits, page.stem))
                else:
                    print("%s: left out: %r" % (page, name))
        classes_of_members(found)
        for name, fact in found.items():
            facts.setdefault(name, {})[index] = fact
    rows = []
    for name in sorted(facts):
        runs = []
        for index, fact in sorted(facts[name].items()):
            if runs and runs[-1][1] == index - 1 and runs[-1][2] == fact:
                runs[-1][1] = index
            else:
                runs.append([index, index, fact])
        rows += ["\t".join((name, VERSIONS[a], VERSIONS[b], *fact)) for a, b, fact in runs]
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    out.write_text(HEAD + "api\tsince\tuntil\tmarks\tnpu\tlimits\tpage\n" + "\n".join(rows) + "\n")
    print("%s: %d APIs, %d rows" % (out, len(facts), len(rows)))


if __name__ == "__main__":
    main()
