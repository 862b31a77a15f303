"""The table of traps is whole: a trap that no program tries, or a guard that nobody takes out, fails here."""
import ast

import pytest

import guards
from recording import SOURCE


def functions(path):
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", guards.TRAPS)
def test_row(name):
    row = guards.TRAPS[name]
    path, function = guards.function_of(row)
    assert row["what"] and function in functions(path)
    assert ("guard" in row) != bool(row.get("unguarded")), "its guard, or why there is none"
    if "guard" in row:
        changes, sources = guards.changes_of(row)
        assert sources and all((SOURCE / source).exists() for source in sources)
        for file, text, without in changes:
            assert text in (SOURCE / file).read_text() and text != without


def test_guards_are_used():
    assert set(guards.SHARED) == {row["guard"] for row in guards.TRAPS.values() if isinstance(row.get("guard"), str)}


@pytest.mark.parametrize("module", ["test_traps.py", "test_regular.py", "test_life.py", "test_hand_overs.py"])
def test_every_trap_has_a_row(module):
    tried = {guards.function_of(row) for row in guards.TRAPS.values()}
    path = guards.FOLDER / module
    for name, node in functions(path).items():
        is_trap = [argument.arg for argument in node.args.args][:1] == ["run"] and \
            len(node.args.args) - len(node.args.defaults) == 1
        assert not is_trap or (path, name) in tried or any(
            isinstance(call, ast.Call) and getattr(call.func, "id", "") == name
            for other in functions(path).values() for call in ast.walk(other)), f"{name} has no row"
