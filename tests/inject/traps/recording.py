"""Runs a guest under the preload, or under one from which a guard was taken out, and reads what it left."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
TRAPS = BUILD / "bin" / "inject" / "traps"
INJECTOR = BUILD / "lib" / "libddpscope.so"
LINE = re.compile(r"^(?P<begin>[0-9.]+) (?P<took>\S+) \S+?:(?P<pid>\d+) .*?thread (?P<thread>\d+) (?P<call>\w+) ?(?P<rest>.*)$")
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


class Record(dict):
    """The fields of a record as text; call, pid, thread, inside (it has no end), stack (frames, innermost first), begin and
    end (ns since the job's start)."""

    def __init__(self, match):
        fields, _, stack = match["rest"].partition(" @ ")
        super().__init__((key, text.strip('"')) for key, text in FIELD.findall(fields))
        self.call, self.pid, self.thread = match["call"], int(match["pid"]), int(match["thread"])
        self.inside = "inside" in match["took"]
        self.begin = int(match["begin"].replace(".", ""))
        self.end = None if self.inside else self.begin + int(match["took"].strip("+ns"))
        self.stack = stack.split(" < ") if stack else []


class Trace:
    def __init__(self, folder):
        self.files = sorted(pathlib.Path(folder).glob("*.ddps")) if pathlib.Path(folder).is_dir() else []
        self.records, self.health = [], {}
        if not self.files:
            return
        dump, info = (subprocess.run([BUILD / "bin" / "ddpscope", command, folder], capture_output=True, text=True,
                                     timeout=120, check=True).stdout for command in ("dump", "info"))
        self.records = [Record(match) for match in map(LINE.match, dump.splitlines()) if match]
        for name, count in re.findall(r"^  (?:loss|degraded|note) +(\w+) (\d+)", info, re.MULTILINE):
            self.health[name] = self.health.get(name, 0) + int(count)

    def calls(self, *names):
        return [record for record in self.records if record.call in names]

    def counts(self, call="ncclAllReduce"):
        return [int(record["count"]) for record in self.calls(call)]


def run(command, folder, injector=INJECTOR, before=(), after=(), trace="trace", environment=(), **settings):
    """Exit code, output and the trace of a guest started in `folder`."""
    variables = {**os.environ, "DDPSCOPE_TRACE": str(folder / trace), "LD_LIBRARY_PATH": str(TRAPS),
                 "LD_PRELOAD": ":".join(map(str, [*before, injector, *after])), **dict(environment)}
    guest = subprocess.run(list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True,
                           timeout=120, **settings)
    return guest, Trace(folder / trace)


def compile_commands():
    """By source, as the library has it: some are compiled into tests, too."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    return {entry["file"]: entry for entry in entries if " -o tests/" not in entry["command"]}


def build_mutant(changes, sources):
    """The injector with some text of its own replaced; `sources` are compiled anew, headers are found changed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ddpscope-mutant-"))
    for name, old, new in changes:
        target = folder / name
        text = (target if target.exists() else SOURCE / name).read_text()
        assert old in text, f"{name} no longer has: {old}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace(old, new))
    link = shlex.split(subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "lib/libddpscope.so"], text=True,
                                      capture_output=True, check=True).stdout.splitlines()[-1])
    link = link[link.index("&&") + 1:len(link) - link[::-1].index("&&") - 1] if "&&" in link else link
    objects = []
    for source in sources:
        entry = compile_commands()[str(SOURCE / source)]
        command = shlex.split(entry["command"])
        output = command[command.index("-o") + 1]
        changed = folder / source if (folder / source).exists() else SOURCE / source
        made = folder / (pathlib.Path(source).name + ".o")
        command = [str(made) if word == output else str(changed) if word == entry["file"] else word for word in command]
        if "-include" in command:  # precompiled headers are not the changed ones
            del command[command.index("-include"):command.index("-include") + 2]
        command.insert(command.index("-c"), "-Wno-error")
        command[1 if "ccache" not in command[0] else 2:0] = ["-I" + str(folder)]
        subprocess.run(command, cwd=entry["directory"], check=True, timeout=120)
        objects.append(str(made))
        link = [word for word in link if word != output]
    library = folder / "libddpscope.so"
    link[link.index("-o") + 1] = str(library)
    link[link.index("-o") + 2:link.index("-o") + 2] = objects
    subprocess.run(link, cwd=BUILD, check=True, timeout=120)
    return library
