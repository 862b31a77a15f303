"""Reads the records of a trace, by `ddpscope dump`."""
import os
import pathlib
import re
import subprocess

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
PROCESS = r"\S+?:(?P<pid>\d+) (?:rank (?P<rank>\d+) )?.*?thread (?P<thread>\d+)"
RECORD = re.compile(rf"(?P<begin>[0-9.]+) (\+\d+ns|(?P<inside>\(inside\))) {PROCESS} (?P<call>\w+) ")
ITEM = re.compile(rf"(?P<call>item) {PROCESS} ")


class Record(dict):
    """The fields of a record, numbers as numbers, with call ("item" for an item), pid, thread, rank (None: none) and inside.

    begin: seconds since the job's start; None for an item. stack: its frames as printed, innermost first.
    """

    def __init__(self, line, match):
        fields, _, self.stack = line.partition(" @ ")
        super().__init__((key, value(text)) for key, text in FIELD.findall(fields))
        parts = match.groupdict()
        self.call, self.pid, self.inside = parts["call"], int(parts["pid"]), bool(parts.get("inside"))
        self.thread = int(parts["thread"])
        self.rank = None if parts["rank"] is None else int(parts["rank"])
        self.begin = float(parts["begin"]) if parts.get("begin") else None


DEVICE_WORK = re.compile(r"(?P<begin>[0-9.]+) \+(?P<took>\d+)ns \S+?:(?P<pid>\d+) (?:rank (?P<rank>\d+) )?gpu (?P<kind>\w+) ")


class DeviceWork(dict):
    """The fields of device work, with kind, pid, rank (None: none), begin and end in seconds since the job's start.

    If its call is known: call (its name), thread and at (seconds) are fields.
    """

    def __init__(self, line, match):
        super().__init__((key, value(text)) for key, text in FIELD.findall(line))
        self.kind, self.pid = match["kind"], int(match["pid"])
        self.rank = None if match["rank"] is None else int(match["rank"])
        self.begin = float(match["begin"])
        self.end = self.begin + int(match["took"]) * 1e-9

    @property
    def took(self):
        return self.end - self.begin


def value(text):
    if text.startswith('"'):
        return text[1:-1]
    try:
        return int(text, 0)
    except ValueError:
        return text


def dumped(trace):
    if not list(pathlib.Path(trace).glob("*.ddps")):
        return []
    dump = subprocess.run([BUILD / "bin" / "ddpscope", "dump", trace], stdout=subprocess.PIPE, text=True, timeout=60,
                          check=True)
    return dump.stdout.splitlines()


def read(trace):
    """All records of a folder of traces."""
    matches = ((line, RECORD.match(line) or ITEM.match(line)) for line in dumped(trace))
    return [Record(line, match) for line, match in matches if match]


def device_work(trace):
    """All that devices did, of a folder of traces."""
    matches = ((line, DEVICE_WORK.match(line)) for line in dumped(trace))
    return [DeviceWork(line, match) for line, match in matches if match]
