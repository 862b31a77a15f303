"""Damages trace files where it hurts: header fields, chunk headers, whole chunks, records, table entries.

What is damaged is what trace/format.h can tell from a recording; the fields of a call have no check sum.
"""
import struct

PAGE = 4096
CHUNK_MAGIC = 0x4B4E4843
RECORDS, BULK, TABLES = 1, 2, 3

# (name, offset, bytes) of FileHeader and ChunkHeader.
HEADER_FIELDS = [
    ("version", 8, 4), ("header_bytes", 12, 4), ("record_bytes", 16, 4), ("clock", 20, 4), ("tick_hz", 24, 8), ("pid", 104, 4),
    ("opened.ticks", 128, 8), ("opened.monotonic", 136, 8), ("opened.realtime", 144, 8), ("latest.ticks", 152, 8),
    ("latest.monotonic", 160, 8), ("latest.realtime", 168, 8), ("file_bytes", 176, 8), ("ring_bytes", 184, 8), ("bulk_bytes", 192, 8),
    ("chunks", 200, 8), ("threads", 208, 4), ("strings", 212, 4), ("stacks", 216, 4), ("ended", 224, 4),
    *((f"health {i}", 232 + 8 * i, 8) for i in range(18)), ("content_bytes", 744, 8), ("whole_chunks", 760, 8),
]  # fmt: skip
CHUNK_FIELDS = [
    ("magic", 0, 4), ("kind", 4, 1), ("signatures", 5, 1), ("thread", 6, 2), ("bytes", 8, 4), ("used", 12, 4), ("generation", 16, 4),
    ("number", 24, 8), ("offset", 32, 8), ("opened.ticks", 40, 8), ("opened.monotonic", 48, 8), ("opened.realtime", 56, 8),
]  # fmt: skip
OFFSET = {name: (at, size) for name, at, size in HEADER_FIELDS}


def get(content, at, size):
    return int.from_bytes(content[at : at + size], "little")


def put(content, at, size, value):
    content[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def set_header(content, name, value):
    put(content, *OFFSET[name], value)


def chunks(content):
    """(offset, bytes, kind, bytes used) of each chunk."""
    found, at = [], PAGE
    while at + 64 <= len(content):
        magic, kind, _, _, size, used = struct.unpack_from("<IBBHII", content, at)
        if magic == CHUNK_MAGIC and PAGE <= size <= 64 * PAGE:
            found.append((at, size, kind, min(used, size - 64)))
            at += size
        else:
            at += PAGE
    return found


def records(content, kinds=(RECORDS, BULK)):
    """Offsets of all records that are not folded."""
    return [at + 64 + 64 * i for at, _, kind, used in chunks(content) if kind in kinds for i in range(used // 64)]


def extreme(rng, size, old):
    most = (1 << 8 * size) - 1
    return rng.choice([0, 1, most, most >> 1, (most >> 1) + 1, rng.getrandbits(8 * size), old ^ 1 << rng.randrange(8 * size)])


def field(content, rng, fields, base):
    name, at, size = rng.choice(fields)
    old = get(content, base + at, size)
    new = extreme(rng, size, old)
    put(content, base + at, size, new)
    return f"{name} at {base + at}: {old} -> {new}"


def header(content, rng):
    return "header " + field(content, rng, HEADER_FIELDS, 0)


def chunk_header(content, rng):
    return "chunk " + field(content, rng, CHUNK_FIELDS, rng.choice(chunks(content))[0])


def blocks(content, rng):
    """A chunk or a page becomes zeros, changes place with another, or is gone."""
    at, size, kind, _ = rng.choice(chunks(content))
    other, other_size, _, _ = rng.choice(chunks(content))
    page = PAGE * rng.randrange(1, len(content) // PAGE)
    how = rng.choice(["zero chunk", "zero chunk header", "zero page", "swap", "delete", "copy page"])
    if how == "zero chunk":
        content[at : at + size] = bytes(size)
    elif how == "zero chunk header":
        content[at : at + 64] = bytes(64)
    elif how == "zero page":
        content[page : page + PAGE] = bytes(PAGE)
    elif how == "swap":
        least = min(size, other_size)
        content[at + 64 : at + least], content[other + 64 : other + least] = content[other + 64 : other + least], content[at + 64 : at + least]
    elif how == "delete":
        del content[page : page + rng.choice([1, 64, PAGE, 100_000])]
    else:
        content[at : at + PAGE] = content[page : page + PAGE]
    return f"{how}: chunk at {at} of kind {kind}, {other}, page {page}"


def record(content, rng):
    """The head of a record: begin, end, call, thread; all of it; or its place among the others."""
    at = rng.choice(records(content) or [0])
    if at == 0:
        return "no records"
    how = rng.choice(["begin", "end", "call", "thread", "reversed", "zero", "swap"])
    if how == "reversed":
        content[at : at + 8], content[at + 8 : at + 16] = content[at + 8 : at + 16], content[at : at + 8]
    elif how == "zero":
        content[at : at + 64] = bytes(64)
    elif how == "swap":
        other = rng.choice(records(content))
        content[at : at + 64], content[other : other + 64] = content[other : other + 64], content[at : at + 64]
    else:
        offset, size = {"begin": (0, 8), "end": (8, 8), "call": (16, 2), "thread": (18, 2)}[how]
        most = (1 << 8 * size) - 1
        put(content, at + offset, size, rng.choice([1, most, most >> 1, (most >> 1) + 1]))
    return f"record at {at}: {how}"


def table(content, rng):
    """Id, kind, length or text of a string or stack."""
    entries = []
    for at, _, kind, used in chunks(content):
        entry = at + 64
        while kind == TABLES and entry + 16 <= at + 64 + used:
            entries.append(entry)
            entry += 16 + (get(content, entry + 8, 4) + 7) // 8 * 8
    at = rng.choice(entries)
    if rng.random() < 0.25:
        size = get(content, at + 8, 4)
        content[at + 16 : at + 16 + size] = rng.randbytes(size)
        return f"entry at {at}: other text"
    return "entry " + field(content, rng, [("id", 0, 4), ("kind", 4, 2), ("bytes", 8, 4)], at)


KINDS = [header, chunk_header, blocks, record, table]
