"""Which cases of whole jobs run, at which of their rank counts: CI has no time for all of them.

Cases marked `long` say little that another one does not; they run with DDPSCOPE_RANKS=all (tests/run.sh --long). Of the
cases of a test marked `one_of(n)`, which are alike, every n-th runs otherwise.
A folder's conftest.py chooses. DDPSCOPE_RANKS="2 4 8" runs all the counts that it lists, DDPSCOPE_RANKS=all every one;
a test that knows none of those listed runs at its own. A count is the parameter `ranks`, `ranks_per_host` or `ranks_a_host`.
"""
import os
import zlib

import pytest

COUNTS = ("ranks", "ranks_per_host", "ranks_a_host")
LISTED = os.environ.get("DDPSCOPE_RANKS", "")


def know_long(config):
    config.addinivalue_line("markers", "long: takes long, or says little that another case does not")
    config.addinivalue_line("markers", "one_of(n): its cases are alike; every n-th is not long")


def leave_long_out(config, items):
    cases = {}  # of each test
    for item in items:
        if alike := item.get_closest_marker("one_of"):
            of_test = cases.setdefault((item.path, item.originalname), {})
            number = of_test.setdefault(case_of(item), len(of_test))
            if (number + zlib.crc32(item.originalname.encode())) % alike.args[0]:
                item.add_marker("long")
    kept = [item for item in items if not item.get_closest_marker("long")]
    if kept:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = kept
    for item in items if not kept else ():  # a file of long tests says that it was skipped
        item.add_marker(pytest.mark.skip(reason="only in tests/run.sh --long"))


def one_in_turn(folder):
    """A hook for pytest: of what is not long each case at one of its counts, the next case at the next; files begin at different ones.

    Only the tests below `folder` are chosen from, as pytest asks the hook of every folder about all tests.
    """

    def pytest_collection_modifyitems(config, items):
        if LISTED == "all":
            return
        leave_long_out(config, items)
        cases = {}
        for item in items:
            if folder in item.path.parents and isinstance(count_of(item), int):
                cases.setdefault(case_of(item), []).append(item)
        left_out, turns = set(), {}
        for (path, *_), same in cases.items():
            turns[path] = turns.get(path, zlib.crc32(path.name.encode())) + 1
            counts = sorted({count_of(item) for item in same})
            listed = set(counts) & {int(count) for count in LISTED.split()}
            kept = listed or (set(counts) if LISTED else {counts[turns[path] % len(counts)]})
            left_out |= {item for item in same if count_of(item) not in kept}
        if left_out:
            config.hook.pytest_deselected(items=[item for item in items if item in left_out])
            items[:] = [item for item in items if item not in left_out]

    return pytest_collection_modifyitems


def count_of(item):
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return next((params[name] for name in COUNTS if name in params), None)


def case_of(item):
    """What the runs of one test at several counts have in common."""
    others = [(name, repr(value)) for name, value in sorted(item.callspec.params.items()) if name not in COUNTS]
    return item.path, item.originalname, *others
