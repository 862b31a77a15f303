"""A check has a name, passes or fails or is skipped, and leaves what it ran in a folder of its own."""
import dataclasses
import time
import traceback

REGISTERED = []


class Failed(Exception):
    pass


class Skipped(Exception):
    """What cannot be shown here is never passed."""


@dataclasses.dataclass
class Check:
    name: str
    seconds: int  # about as long as it takes on one H100
    run: object


@dataclasses.dataclass
class Result:
    name: str
    outcome: str  # passed, failed, skipped
    why: str
    seconds: float
    measured: dict


def check(name, seconds):
    """Registers a function of (machine, folder), which may return a dictionary of what it measured."""
    def register(function):
        REGISTERED.append(Check(name, seconds, function))
        return function
    return register


def require(holds, text):
    if not holds:
        raise Failed(text)


def run(one, machine, folder):
    begin = time.monotonic()

    def result(outcome, why="", measured=None):
        return Result(one.name, outcome, why, round(time.monotonic() - begin, 1), measured or {})

    folder.mkdir(parents=True)
    try:
        return result("passed", measured=one.run(machine, folder))
    except Skipped as reason:
        return result("skipped", str(reason))
    except Failed as reason:
        return result("failed", str(reason))
    except Exception:  # a check that breaks has failed
        text = traceback.format_exc()
        (folder / "traceback.txt").write_text(text)
        return result("failed", text.strip().splitlines()[-1])
