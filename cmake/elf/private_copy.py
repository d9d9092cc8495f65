#!/usr/bin/env python3
"""Makes a private copy of a shared library, which does not meet another of its kind in the same process.

The copy has a SONAME of its own, so it answers no DT_NEEDED that asks for the original. The functions wanted of it are
offered as __wrap_NAME: that is the name into which `ld --wrap=NAME` turns the references of whoever links it, and nobody
else asks for it or defines it. Everything else that it defines is a local symbol without a name. So the copy's references
bind to itself, whatever the process has loaded before. What it needs of others (the C library, libgomp) stays as it is.

The tables are written into the room that the old ones had, so no address changes. The names that go make room for the
prefix; a library that offers hardly anything beside what is kept is refused.
"""

import argparse
import os
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from image import (DT_SONAME, DT_STRSZ, SHF_ALLOC, SHT_DYNSYM, SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED,  # noqa: E402
                   SHT_GNU_VERSYM, SHT_HASH, SHT_REL, SHT_RELA, STRINGS, Image, Refused, Symbol, gnu_buckets, gnu_hash,
                   gnu_table, sysv_table)

PREFIX = b"__wrap_"
REPLACED = b"updraft_"
STT_FUNC, STV_HIDDEN = 2, 2


class Strings:
    """A string table in the making."""

    def __init__(self):
        self.content, self.places = bytearray(b"\0"), {b"": 0}

    def add(self, text):
        if text not in self.places:
            self.places[text] = len(self.content)
            self.content += text + b"\0"
        return self.places[text]


def relocations(image):
    """The sections of relocations that the dynamic linker works on."""
    table = image.sections.index(image.one(SHT_DYNSYM, "dynamic symbols"))
    for section in image.sections:
        if section.flags & SHF_ALLOC and section.type == SHT_REL:
            raise Refused("relocations without addends")
        if section.flags & SHF_ALLOC and section.type == SHT_RELA and section.link == table:
            yield section


def referenced(image):
    return {struct.unpack_from("<Q", image.data, at + 8)[0] >> 32 for section in relocations(image)
            for at in range(section.offset, section.offset + section.size, 24)}


def wanted(symbols, keep):
    """Indices of the functions that the copy offers."""
    return {i for i, s in enumerate(symbols) if s.section and not s.local and s.kind == STT_FUNC and keep.fullmatch(s.name)}


def arrange(symbols, used, kept, replace):
    """The new symbols, and for each old index the new one: locals, what is undefined, then what is offered, by hash."""
    undefined = [i for i, s in enumerate(symbols) if i and s.section == 0]
    locals_ = [i for i, s in enumerate(symbols) if s.section and i in used and i not in kept]
    offered = sorted(kept, key=lambda i: (gnu_hash(PREFIX + symbols[i].name) % gnu_buckets(kept), i))
    made, places = [symbols[0]], {0: 0}
    for i in locals_:
        s = symbols[i]
        places[i] = len(made)
        made.append(Symbol(b"", s.kind, STV_HIDDEN, s.section, s.value, s.size))
    first_global = len(made)
    for i in undefined:
        places[i] = len(made)
        s = symbols[i]
        if replace and replace.fullmatch(s.name):
            s = Symbol(REPLACED + s.name, s.info, s.visibility, s.section, s.value, s.size, 1)
        made.append(s)
    first_offered = len(made)
    for i in offered:
        s = symbols[i]
        places[i] = len(made)
        made.append(Symbol(PREFIX + s.name, 1 << 4 | STT_FUNC, 0, s.section, s.value, s.size, 1))
    return made, places, first_global, first_offered


def move_strings(image, strings, soname):
    """Places the names of libraries and versions in the new table."""
    old = image.bytes_of(image.sections[image.one(SHT_DYNSYM, "dynamic symbols").link])
    text = lambda at: old[at:old.index(b"\0", at)]
    for at, tag, value in image.dynamic():
        if tag in STRINGS:
            image.set_dynamic(at, strings.add(soname if tag == DT_SONAME else text(value)))
    versions = image.one(SHT_GNU_VERNEED, "")
    at = versions.offset if versions else None
    while at is not None:
        _, count, file, aux, following = struct.unpack_from("<HHIII", image.data, at)
        struct.pack_into("<I", image.data, at + 4, strings.add(text(file)))
        entry = at + aux
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<IHHII", image.data, entry)
            struct.pack_into("<I", image.data, entry + 8, strings.add(text(name)))
            entry += step
        at = at + following if following else None


def private_copy(data, soname, keep, replace=None):
    """(the copy's bytes, the names of the functions it offers)"""
    image = Image(data)
    if image.one(SHT_GNU_VERDEF, ""):
        raise Refused("it defines symbol versions")
    symbols = image.symbols()
    kept = wanted(symbols, keep)
    if not kept:
        raise Refused("it defines no function like %s" % keep.pattern.decode())
    if DT_SONAME not in (tag for _, tag, _ in image.dynamic()):
        raise Refused("it has no SONAME")
    made, places, first_global, first_offered = arrange(symbols, referenced(image), kept, replace)
    names = [s.name for s in made[first_offered:]]

    strings = Strings()
    move_strings(image, strings, soname.encode())
    for section in relocations(image):
        for at in range(section.offset, section.offset + section.size, 24):
            (info,) = struct.unpack_from("<Q", image.data, at + 8)
            struct.pack_into("<Q", image.data, at + 8, places[info >> 32] << 32 | info & 0xFFFFFFFF)
    table = image.one(SHT_DYNSYM, "dynamic symbols")
    image.write(table, b"".join(struct.pack("<IBBHQQ", strings.add(s.name), s.info, s.visibility, s.section, s.value, s.size)
                                for s in made), "the table of symbols")
    struct.pack_into("<I", image.data, table.header + 44, first_global)
    image.write(image.sections[table.link], bytes(strings.content), "the table of names")
    for at, tag, _ in image.dynamic():
        if tag == DT_STRSZ:
            image.set_dynamic(at, len(strings.content))
    versions = image.one(SHT_GNU_VERSYM, "")
    if versions:
        image.write(versions, struct.pack("<%dH" % len(made), *(s.version for s in made)), "the versions")
    table = image.one(SHT_GNU_HASH, "")
    if table:
        image.write(table, gnu_table(names, first_offered), "the hash table")
    table = image.one(SHT_HASH, "" if table else "a hash table")
    if table:
        (buckets,) = struct.unpack_from("<I", image.data, table.offset)
        image.write(table, sysv_table(names, first_offered, buckets), "the hash table (DT_HASH)")
    return bytes(image.data), sorted(name[len(PREFIX):].decode() for name in names)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.chmod(0o755)
    os.replace(part, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("copy", type=pathlib.Path, help="its name becomes the SONAME")
    parser.add_argument("--keep", required=True, help="regular expression of the functions that the copy offers")
    parser.add_argument("--replace", help="regular expression of the functions of others that ours take the place of")
    parser.add_argument("--wrap", required=True, type=pathlib.Path, help="file that gets the linker's options: ld @FILE")
    arguments = parser.parse_args()
    try:
        content, names = private_copy(arguments.library.read_bytes(), arguments.copy.name, re.compile(arguments.keep.encode()),
                                      re.compile(arguments.replace.encode()) if arguments.replace else None)
    except (OSError, Refused) as why:
        sys.exit("private_copy.py: cannot copy %s: %s" % (arguments.library, why))
    write(arguments.copy, content)
    arguments.wrap.parent.mkdir(parents=True, exist_ok=True)
    arguments.wrap.write_text("".join("--wrap=%s\n" % name for name in names))


if __name__ == "__main__":
    main()
