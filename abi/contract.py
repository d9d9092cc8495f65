"""Reads abi/*.toml: which names each library exports, how they return and whether a client can do without."""

import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

PRESENCES = ("required", "fallback")

# kind of return -> C type and the function of the runtime that answers for a name that is not implemented
KINDS = {
    "int": ("int", "updraft_stub_int"),
    "aclnn": ("int", "updraft_stub_aclnn"),
    "hccl": ("int", "updraft_stub_hccl"),
    "pointer": ("void*", "updraft_stub_pointer"),
    "u64": ("unsigned long", "updraft_stub_u64"),
    "size": ("unsigned long", "updraft_stub_u64"),
    "void": ("void", "updraft_stub_void"),
}


@dataclass(frozen=True)
class Name:
    name: str
    presence: str
    kind: str
    since: str = ""


@dataclass
class Library:
    soname: str
    names: dict = field(default_factory=dict)  # name -> Name, sorted
    operators: list = field(default_factory=list)  # the [[operators]] tables: tier, group, required, fallback

    @property
    def stem(self):
        return self.soname.removesuffix(".so")

    def having(self, presence):
        return [n.name for n in self.names.values() if n.presence == presence]


def operator_functions(operator):
    """The two functions of an operator of the aclnn interface."""
    return operator, operator + "GetWorkspaceSize"


def read_library(path):
    with open(path, "rb") as file:
        data = tomllib.load(file)
    if "soname" not in data:
        return None
    found = {}

    def add(name, presence, kind):
        if kind not in KINDS:
            raise ValueError(f"{path}: {name} returns {kind!r}; known are {', '.join(KINDS)}")
        if name in found:
            raise ValueError(f"{path}: {name} is listed twice")
        found[name] = Name(name, presence, kind, data.get("since", {}).get(name, ""))

    for presence in PRESENCES:
        for kind, names in data.get(presence, {}).items():
            for name in names:
                add(name, presence, kind)
    operators = data.get("operators", [])
    for table in operators:
        for presence in PRESENCES:
            for operator in table.get(presence, []):
                for function in operator_functions(operator):
                    add(function, presence, "aclnn")
    return Library(data["soname"], dict(sorted(found.items())), operators)


def read(folder):
    """All libraries, in order of their names. A name has one presence and kind wherever it is listed."""
    libraries = [lib for lib in map(read_library, sorted(pathlib.Path(folder).glob("*.toml"))) if lib]
    seen = {}
    for library in libraries:
        for name in library.names.values():
            other = seen.setdefault(name.name, (name, library.soname))
            if (other[0].presence, other[0].kind) != (name.presence, name.kind):
                raise ValueError(f"{name.name}: {library.soname} and {other[1]} disagree")
    return libraries


def library_symbols(path):
    """Names that a shared library defines: strong ones, and weak ones (its stubs)."""
    text = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    strong, weak = set(), set()
    for line in text.splitlines():
        kind, name = line.split()[-2:]
        name = re.sub(r"@.*", "", name)
        (weak if kind in "WV" else strong).add(name)
    return strong, weak


def accepted(path):
    """Functions that a library marks as accepted, without effect (src/base/accepted.h): name -> (reason, in Chinese)."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["objcopy", "-O", "binary", "--only-section=updraft_accepted", path, file.name], check=True,
                       capture_output=True)
        marks = pathlib.Path(file.name).read_bytes().decode("utf-8")
    found = {}
    for mark in filter(None, marks.split("\0")):
        name, *reasons = mark.split("\t")
        if len(reasons) != 2 or name in found:
            raise ValueError(f"{path}: the mark of {name} is malformed or stands twice")
        found[name] = tuple(reasons)
    return dict(sorted(found.items()))
