"""Runs a guest under the preload and reads what it left, by `ddpscope dump`."""
import os
import pathlib
import re
import struct
import subprocess

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
INJECTOR = BUILD / "lib" / "libddpscope.so"
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
RECORD = re.compile(r"^[0-9.]+ (\+(\d+)ns|\(inside\)) \S+?:(\d+) .*?thread (\d+) (\w+) ")
ITEM = re.compile(r"^()()item \S+?:(\d+) .*?thread (\d+)() ")


class Record(dict):
    """The fields of a record, numbers as numbers, with call ("item" for an item), pid and inside."""

    def __init__(self, line, match):
        super().__init__((key, value(text)) for key, text in FIELD.findall(line.split(" @ ")[0]))
        self.call, self.pid, self.inside = match[5] or "item", int(match[3]), match[1] == "(inside)"


def value(text):
    if text.startswith('"'):
        return text[1:-1]
    try:
        return int(text, 0)
    except ValueError:
        return text


def read(trace):
    """All records of a folder of traces."""
    if not list(pathlib.Path(trace).glob("*.ddps")):
        return []
    dump = subprocess.run([BUILD / "bin" / "ddpscope", "dump", trace], stdout=subprocess.PIPE, text=True, timeout=60,
                          check=True)
    matches = ((line, RECORD.match(line) or ITEM.match(line)) for line in dump.stdout.splitlines())
    return [Record(line, match) for line, match in matches if match]


def start(command, folder, injector=None, trace=None):
    """(exit code, output) of a command in a new, empty folder."""
    folder.mkdir()
    environment = {key: text for key, text in os.environ.items() if not key.startswith("DDPSCOPE_")}
    if injector:
        environment |= {"LD_PRELOAD": str(injector), "DDPSCOPE_TRACE": str(trace)}
    done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout


def injector_without(hooks, path):
    """A copy of the injector that does not offer these functions: their entries become undefined symbols."""
    image = bytearray(INJECTOR.read_bytes())
    start_of_sections, = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, start_of_sections + i * size) for i in range(count)]
    symbols = next(section for section in sections if section[1] == 11)  # SHT_DYNSYM
    names = sections[symbols[6]][4]
    left = set(hooks)
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name_at = names + struct.unpack_from("<I", image, at)[0]
        name = image[name_at:image.index(b"\0", name_at)].decode()
        if name in left:
            struct.pack_into("<HQ", image, at + 6, 0, 0)  # st_shndx, st_value
            left.remove(name)
    assert not left, f"the injector has no {left}"
    path.write_bytes(image)
    return path
