#!/usr/bin/env python3
"""Takes the names of a facade out of the dynamic linker's sight; those who link against it still see them.

A link editor reads the table of dynamic symbols, the dynamic linker reads the hash table that leads into it. With an empty
hash table a program that was linked with libascendcl.so, and dlsym on its handle, find nothing in the facade itself and
everything in the library that it needs, libupdraft.so.

usage: link_only.py LIBRARY
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from image import SHT_DYNSYM, SHT_GNU_HASH, SHT_HASH, Image, Refused, gnu_table  # noqa: E402


def link_only(data):
    image = Image(data)
    symbols = image.one(SHT_DYNSYM, "dynamic symbols").size // 24
    if image.one(SHT_HASH, ""):
        raise Refused("it has a DT_HASH: link it with --hash-style=gnu")
    table = image.one(SHT_GNU_HASH, "a hash table (DT_GNU_HASH)")
    image.write(table, gnu_table([], symbols), "the hash table")
    return bytes(image.data)


def main():
    path = pathlib.Path(sys.argv[1])
    try:
        path.write_bytes(link_only(path.read_bytes()))
    except (OSError, Refused) as why:
        sys.exit("link_only.py: %s: %s" % (path, why))


main()
