"""Reads abi/*.toml: which names each library exports, how they return and whether a client can do without."""

import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace

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

# What a table [required.symbols] or [fallback.symbols] may say beside these: functions of C++, and objects.
# docs/internals/facades.md says what each of them does while it is not implemented.
FUNCTIONS = {
    "status": (),
    "bool": (),
    "number": ("answer",),
    "text": (),
    "constructor": ("size",),
    "destructor": (),
    "object": ("size",),
}
OBJECTS = {
    "vtable": ("slots", "size"),
    "typeinfo": ("base", "size"),
    "typeinfo name": (),
    "data": ("size",),
    "constant": ("size",),
}
SLOTS = (*KINDS, *(kind for kind in FUNCTIONS if not FUNCTIONS[kind]))
WORD = 8
STUB_MARK = "updraft_stub_of_"  # before the name of a vtable or typeinfo that is a stub


@dataclass(frozen=True)
class Name:
    name: str
    presence: str
    kind: str
    since: str = ""
    readable: str = ""  # of a name of C++
    size: int = 0  # bytes of an object, of what a constructor makes, of what is returned through a hidden pointer
    answer: int = 0  # what kind "number" returns while it is not implemented
    slots: tuple = ()  # the kinds of a vtable's functions
    base: str = ""  # the typeinfo of a class's only base

    @property
    def text(self):
        """As a person reads it."""
        return self.readable or self.name

    @property
    def is_object(self):
        return self.kind in OBJECTS


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


def read_symbol(name, presence, entry):
    """A row of a table of symbols: NAME = { name = "as c++filt writes it", kind = "status", … }."""
    entry = dict(entry)
    kind, readable = entry.pop("kind", None), entry.pop("name", "")
    known = {**{kind: () for kind in KINDS}, **FUNCTIONS, **OBJECTS}
    if kind not in known:
        raise ValueError(f"{name} is of kind {kind!r}; known are {', '.join(known)}")
    if name.startswith("_Z") and not readable:
        raise ValueError(f"{name}: name = \"…\" is missing, as c++filt writes it")
    for key in entry:
        if key not in known[kind]:
            raise ValueError(f"{name}: a {kind} has no {key}")
    optional = {"typeinfo": ("base", "size"), "vtable": ("slots",) if "size" in entry else ("size",)}.get(kind, ())
    for key in known[kind]:
        if key not in entry and key not in optional:
            raise ValueError(f"{name}: a {kind} needs {key} = …")
    if kind in ("vtable", "typeinfo") and "size" in entry and presence == "required":
        raise ValueError(f"{name}: no stub can stand for a class with several bases (size): fallback only")
    return Name(name, presence, kind, readable=readable, size=object_size(name, kind, entry), answer=entry.get("answer", 0),
                slots=vtable_slots(name, entry), base=entry.get("base", ""))


def vtable_slots(name, entry):
    slots = tuple(entry.get("slots", ()))
    for kind in slots:
        if kind not in SLOTS:
            raise ValueError(f"{name}: a slot of kind {kind!r}; known are {', '.join(SLOTS)}")
    return slots


def object_size(name, kind, entry):
    """Bytes; what the C++ ABI fixes is computed. Classes with several or virtual bases say the size of vtable and typeinfo."""
    if "size" in entry:
        return entry["size"]
    if kind == "vtable":  # offset to top, typeinfo, functions
        return (2 + len(entry["slots"])) * WORD
    if kind == "typeinfo":  # vtable, name, base
        return (3 if entry.get("base") else 2) * WORD
    if kind == "typeinfo name":
        return len(name.removeprefix("_ZTS")) + 1
    return 0


def read_library(path):
    with open(path, "rb") as file:
        data = tomllib.load(file)
    if "soname" not in data:
        return None
    found = {}

    def add(name):
        if name.name in found:
            raise ValueError(f"{path}: {name.name} is listed twice")
        found[name.name] = name

    def add_plain(name, presence, kind):
        if kind not in KINDS:
            raise ValueError(f"{path}: {name} returns {kind!r}; known are {', '.join(KINDS)}")
        add(Name(name, presence, kind, data.get("since", {}).get(name, "")))

    for presence in PRESENCES:
        for kind, names in data.get(presence, {}).items():
            if kind == "symbols":
                for name, entry in names.items():
                    add(read_symbol(name, presence, entry))
                continue
            for name in names:
                add_plain(name, presence, kind)
    operators = data.get("operators", [])
    for table in operators:
        for presence in PRESENCES:
            for operator in table.get(presence, []):
                for function in operator_functions(operator):
                    add_plain(function, presence, "aclnn")
    return Library(data["soname"], dict(sorted(found.items())), operators)


def read(folder):
    """All libraries, in order of their names. A name is the same wherever it is listed."""
    libraries = [lib for lib in map(read_library, sorted(pathlib.Path(folder).glob("*.toml"))) if lib]
    seen = {}
    for library in libraries:
        for name in library.names.values():
            other = seen.setdefault(name.name, (name, library.soname))
            if replace(other[0], since="") != replace(name, since=""):
                raise ValueError(f"{name.name}: {library.soname} and {other[1]} disagree")
    return libraries


def library_symbols(path):
    """Names that a shared library defines: implementations, and stubs (which are weak; vtables and typeinfo always are)."""
    text = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    strong, weak, marked = set(), set(), set()
    for line in text.splitlines():
        kind, name = line.split()[-2:]
        name = re.sub(r"@.*", "", name)
        if name.startswith(STUB_MARK):
            marked.add(name.removeprefix(STUB_MARK))
        else:
            (weak if kind in "WV" else strong).add(name)
    made = {name for name in weak if re.match("_ZT[VIS]", name)} - marked
    return strong | made, weak - made


def marks(path, section):
    """The texts that macros of ours have left in a section of a library."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["objcopy", "-O", "binary", f"--only-section={section}", path, file.name], check=True,
                       capture_output=True)
        return [mark for mark in pathlib.Path(file.name).read_bytes().decode("utf-8").split("\0") if mark]


def refused(path):
    """Functions that a library marks as there to say why they do nothing (src/base/refused.h)."""
    return set(marks(path, "updraft_refused"))


def accepted(path):
    """Functions that a library marks as accepted, without effect (src/base/accepted.h): name -> (reason, in Chinese)."""
    found = {}
    for mark in marks(path, "updraft_accepted"):
        name, *reasons = mark.split("\t")
        if len(reasons) != 2 or name in found:
            raise ValueError(f"{path}: the mark of {name} is malformed or stands twice")
        found[name] = tuple(reasons)
    return dict(sorted(found.items()))
