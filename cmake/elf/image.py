"""A shared library (64 bit, little endian) whose dynamic tables are read, and written again in the room that they have."""

import struct
from dataclasses import dataclass

SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_REL, SHT_DYNSYM = 4, 5, 6, 9, 11
SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED, SHT_GNU_VERSYM = 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
SHF_ALLOC = 2
DT_STRSZ, DT_SONAME = 10, 14
# the dynamic entries whose values are places in the string table
STRINGS = {1: "NEEDED", DT_SONAME: "SONAME", 15: "RPATH", 29: "RUNPATH", 0x6FFFFEFA: "CONFIG", 0x6FFFFEFB: "DEPAUDIT",
           0x6FFFFEFC: "AUDIT", 0x7FFFFFFD: "AUXILIARY", 0x7FFFFFFF: "FILTER"}


class Refused(Exception):
    """The file is none that these tools can change; the text says why."""


@dataclass
class Section:
    header: int  # where its header lies in the file
    type: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass
class Symbol:
    name: bytes
    info: int
    visibility: int
    section: int  # 0: undefined here
    value: int
    size: int
    version: int = 0

    @property
    def kind(self):
        return self.info & 15

    @property
    def local(self):
        return self.info >> 4 == 0


class Image:
    def __init__(self, data):
        self.data = bytearray(data)
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise Refused("no 64 bit little endian ELF file")
        (self.table,) = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        self.sections = []
        for i in range(count):
            at = self.table + i * size
            _, kind, flags, _, offset, length, link = struct.unpack_from("<IIQQQQI", self.data, at)
            self.sections.append(Section(at, kind, flags, offset, length, link))

    def one(self, kind, what):
        """The section of a kind; None where `what` is empty and there is none."""
        found = [s for s in self.sections if s.type == kind]
        if len(found) > 1 or (what and not found):
            raise Refused("%d sections for %s, wanted one" % (len(found), what or hex(kind)))
        return found[0] if found else None

    def bytes_of(self, section):
        return bytes(self.data[section.offset:section.offset + section.size])

    def write(self, section, content, what):
        """Replaces a section's content in place; what is left of its room becomes zeros."""
        if len(content) > section.size:
            raise Refused("%s needs %d bytes and has %d" % (what, len(content), section.size))
        self.data[section.offset:section.offset + section.size] = content.ljust(section.size, b"\0")
        section.size = len(content)
        struct.pack_into("<Q", self.data, section.header + 32, section.size)

    def dynamic(self):
        """(place in the file, tag, value) of each entry."""
        section = self.one(SHT_DYNAMIC, "the dynamic entries")
        for at in range(section.offset, section.offset + section.size, 16):
            tag, value = struct.unpack_from("<QQ", self.data, at)
            if tag == 0:
                return
            yield at, tag, value

    def set_dynamic(self, at, value):
        struct.pack_into("<Q", self.data, at + 8, value)

    def symbols(self):
        table = self.one(SHT_DYNSYM, "dynamic symbols")
        strings = self.bytes_of(self.sections[table.link])
        versions = self.one(SHT_GNU_VERSYM, "")
        found = []
        for i in range(table.size // 24):
            name, info, other, section, value, size = struct.unpack_from("<IBBHQQ", self.data, table.offset + 24 * i)
            version = struct.unpack_from("<H", self.data, versions.offset + 2 * i)[0] if versions else 0
            found.append(Symbol(strings[name:strings.index(b"\0", name)], info, other & 3, section, value, size, version))
        return found


def gnu_hash(name):
    h = 5381
    for byte in name:
        h = (h * 33 + byte) & 0xFFFFFFFF
    return h


def sysv_hash(name):
    h = 0
    for byte in name:
        h = (h << 4) + byte
        high = h & 0xF0000000
        h = (h ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return h


def gnu_buckets(names):
    return max(1, len(names) * 3 // 4)


def gnu_table(names, first):
    """DT_GNU_HASH for the symbols from index `first` on, which are in the order of hash % gnu_buckets(names)."""
    buckets, hashes = [0] * gnu_buckets(names), [gnu_hash(name) for name in names]
    words = 1
    while words * 64 < len(names) * 12:
        words *= 2
    bloom = [0] * words
    shift = 26
    chain = []
    for i, h in enumerate(hashes):
        bucket = h % len(buckets)
        bloom[h // 64 % words] |= 1 << h % 64 | 1 << (h >> shift) % 64
        buckets[bucket] = buckets[bucket] or first + i
        last = i + 1 == len(hashes) or hashes[i + 1] % len(buckets) != bucket
        chain.append(h & ~1 | last)
    return struct.pack("<IIII", len(buckets), first, words, shift) + struct.pack("<%dQ" % words, *bloom) + struct.pack(
        "<%dI" % len(buckets), *buckets) + struct.pack("<%dI" % len(chain), *chain)


def sysv_table(names, first, buckets):
    """DT_HASH of that many buckets, in which only the symbols from index `first` on are found."""
    heads, chain = [0] * buckets, [0] * (first + len(names))
    for i, name in enumerate(names, first):
        bucket = sysv_hash(name) % buckets
        heads[bucket], chain[i] = i, heads[bucket]
    return struct.pack("<%dI" % (2 + buckets + len(chain)), buckets, len(chain), *heads, *chain)
