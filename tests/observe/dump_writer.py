"""A dump file by hand: one operator with one output. bench/observe/compare.py takes it from here."""


def varint(n):
    made = b""
    while n > 127:
        made, n = made + bytes([n & 127 | 128]), n >> 7
    return made + bytes([n])


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def write_dump(path, array, layout=2, original=None):
    """`array` is float32; `layout` is the number of aclFormat (2: ND), `original` the shape without it."""
    def shape(field, dims):
        return message(field, message(1, b"".join(map(varint, dims))))

    output = varint(1 << 3) + varint(1) + varint(2 << 3) + varint(layout) + shape(3, array.shape) + varint(6 << 3) + varint(array.nbytes) + \
        shape(7, array.shape if original is None else original)
    header = message(1, b"2.0") + message(3, output) + message(6, b"op")
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        array.tofile(file)
