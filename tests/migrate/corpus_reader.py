"""The labelled corpus: what a script says before, and what runs on torch_npu instead.

A .case file holds cases:

    === name of the case
    defect: to-copy             a defect of the original tools (defects.toml) that this case is about
    finds: PT218                a rule that must have said something; may be given again
    options: --min-confidence review
    command: gpu2npu distributed -m main.py -t model      the guide's command line instead, with -i and -o
    run: no, why                the result is not executed (by default every Python result is)
    --- before [path]           what the project holds (main.py where no path is given)
    --- after [path]            what must come out of it
    --- keep [path]             both: must not be touched
    --- check                   Python executed after the result, in its namespace, on the virtual NPU
"""

import dataclasses
import pathlib
import shlex

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


@dataclasses.dataclass
class Case:
    topic: str
    name: str
    line: int
    defect: str = ""
    finds: list = dataclasses.field(default_factory=list)
    options: list = dataclasses.field(default_factory=list)
    command: list = dataclasses.field(default_factory=list)
    why_not_run: str = ""
    before: dict = dataclasses.field(default_factory=dict)
    after: dict = dataclasses.field(default_factory=dict)
    check: str = ""

    @property
    def id(self):
        return f"{self.topic}-{self.name.replace(' ', '_')}"

    @property
    def main(self):
        """The script that is executed; None where the case has none."""
        if self.why_not_run:
            return None
        return "main.py" if "main.py" in self.after else next((p for p in self.after if p.endswith((".py", ".ipynb"))), None)


def read(path):
    cases, section = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        where = f"{path.name}:{number}"
        if line.startswith("=== "):
            cases.append(Case(path.stem, line[4:].strip(), number))
            section = "head"
        elif section is None:
            assert line.startswith("#") or not line.strip(), f"{where}: text before the first case"
        elif line.startswith("--- "):
            kind, _, name = line[4:].strip().partition(" ")
            assert kind in ("before", "after", "keep", "check"), f"{where}: --- before, after, keep or check, not {kind}"
            section = (kind, name or "main.py")
            for files in {"before": [cases[-1].before], "after": [cases[-1].after], "keep": [cases[-1].before, cases[-1].after],
                          "check": []}[kind]:
                assert section[1] not in files, f"{where}: {section[1]} is given twice"
                files[section[1]] = ""
        elif section == "head":
            key, colon, value = line.partition(":")
            value = value.strip()
            if not line.strip() or line.startswith("#"):
                continue
            assert colon and key in ("defect", "finds", "options", "command", "run"), f"{where}: no such key: {line!r}"
            if key == "defect":
                cases[-1].defect = value
            elif key == "finds":
                cases[-1].finds.append(value)
            elif key in ("options", "command"):
                setattr(cases[-1], key, shlex.split(value))
            else:
                assert value.startswith("no, "), f"{where}: say why it is not run"
                cases[-1].why_not_run = value[4:]
        else:
            kind, name = section
            if kind == "check":
                cases[-1].check += line
            if kind in ("before", "keep"):
                cases[-1].before[name] += line
            if kind in ("after", "keep"):
                cases[-1].after[name] += line
    for case in cases:
        for files in (case.before, case.after):  # the empty line before the next case is not the file's
            for name in files:
                files[name] = files[name].rstrip("\n") + "\n"
        assert case.before, f"{path.name}:{case.line}: nothing to migrate"
        for name in case.before:
            case.after.setdefault(name, case.before[name])
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), f"{path.name}: {sorted(n for n in names if names.count(n) > 1)} stand there twice"
    return cases


def read_all():
    return [case for path in sorted(CORPUS.glob("*.case")) for case in read(path)]
