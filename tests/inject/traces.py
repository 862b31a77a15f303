"""Runs a guest under the preload."""
import os
import pathlib
import struct
import subprocess

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
INJECTOR = BUILD / "lib" / "libddpscope.so"


def start(command, folder, injector=None, trace=None, variables=()):
    """(exit code, output) of a command in a new, empty folder."""
    folder.mkdir()
    environment = {key: text for key, text in os.environ.items() if not key.startswith("DDPSCOPE_")}
    if injector:
        environment |= {"LD_PRELOAD": str(injector), "DDPSCOPE_TRACE": str(trace)}
    environment |= dict(variables)
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
    left = set(hooks)  # a name may stand there several times, once a version
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name_at = names + struct.unpack_from("<I", image, at)[0]
        name = image[name_at:image.index(b"\0", name_at)].decode()
        if name in hooks:
            struct.pack_into("<HQ", image, at + 6, 0, 0)  # st_shndx, st_value
            left.discard(name)
    assert not left, f"the injector has no {left}"
    path.write_bytes(image)
    return path
