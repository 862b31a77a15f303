"""A rank that only reads leaves a trace, from its first file of data on; other programs that do no more leave none."""
import pytest
import records
from traces import INJECTOR, start

RANK = {"RANK": "1", "WORLD_SIZE": "2"}
TWO_OF_SLURM = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}


def trace_of(program, folder, variables, interpreter=("/usr/bin/python3", "-c")):
    trace = folder / "trace"
    trace.mkdir()
    (folder / "data.json").write_text("{}")
    code, output = start([*interpreter, program.replace("FOLDER", str(folder))], folder / "work", INJECTOR, trace, variables)
    return code, output, list(records.read(trace)) if any(trace.iterdir()) else []


@pytest.mark.parametrize("variables", [RANK, TWO_OF_SLURM, {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}])
def test_a_rank_reads(tmp_path, variables):
    code, output, found = trace_of("open('FOLDER/data.json').read()", tmp_path, variables)
    assert code == 0 and output == ""
    opening, = [record for record in found if record.call == "open64" and record["path"].endswith("/data.json")]
    assert opening["error"] == 0 and opening.stack, found
    assert any(record.call == "read" and record["bytes"] == 2 for record in found), found


def test_a_rank_opens_in_vain(tmp_path):
    code, _, found = trace_of("open('FOLDER/missing.json')", tmp_path, RANK)
    assert code == 1
    opening, = [record for record in found if record.call == "open64" and record["path"].endswith("/missing.json")]
    assert opening["error"] == "ENOENT" and opening.stack, found
    assert any(record.call == "python_traceback" for record in found), found


def test_a_rank_only_looks(tmp_path):
    program = "import os; print(os.path.exists('FOLDER/data.json'), os.path.exists('FOLDER/missing.json'))"
    code, output, found = trace_of(program, tmp_path, RANK)
    assert code == 0 and output == "True False\n"
    looks = {record["path"].rsplit("/", 1)[1]: record["error"] for record in found if record.call == "stat64"}
    assert looks["data.json"] == 0 and looks["missing.json"] == "ENOENT", found
    assert any(record.call == "exit" for record in found), found


@pytest.mark.parametrize("variables", [{}, {"RANK": "0"}, {"RANK": "0", "WORLD_SIZE": "1"}])
def test_no_rank_of_several(tmp_path, variables):
    assert trace_of("open('FOLDER/data.json').read()", tmp_path, variables) == (0, "", [])


def test_a_rank_that_uses_no_data(tmp_path):
    assert trace_of("import json, decimal", tmp_path, RANK) == (0, "", [])


@pytest.mark.parametrize("variables, recorded", [(RANK, True), ({}, False)])
def test_a_rank_that_fails_before_it_uses_any(tmp_path, variables, recorded):
    """As one that cannot import a package: what it prints says where it failed."""
    code, _, found = trace_of("import json; json.no_such_function()", tmp_path, variables)
    assert code == 1
    told = [(record["exception"], record.stack) for record in found if record.call == "python_traceback"]
    assert told == ([("AttributeError", "<string>:1 <module>")] if recorded else []) and bool(found) == recorded, found


def test_a_shell_reads_its_script(tmp_path):
    (tmp_path / "script.sh").write_text("test -e missing; read line < FOLDER/data.json; exit 0".replace("FOLDER", str(tmp_path)))
    assert trace_of(str(tmp_path / "script.sh"), tmp_path, RANK, ("/bin/sh",)) == (0, "", [])


@pytest.mark.parametrize("command", [["/bin/cat", "FOLDER/data.json"], ["/bin/sh", "-c", "/bin/cat FOLDER/data.json; true"]], ids=["itself", "by a shell"])
def test_what_a_rank_starts_is_no_rank(tmp_path, command):
    """It may start one for each sample."""
    helper = [word.replace("FOLDER", str(tmp_path)) for word in command]
    program = f"import subprocess; open('FOLDER/data.json').read(); subprocess.run({helper}, stdout=subprocess.DEVNULL)"
    code, output, found = trace_of(program, tmp_path, RANK)
    assert code == 0 and output == "" and found
    assert len(list((tmp_path / "trace").iterdir())) == 1


@pytest.mark.parametrize("before", ["", "timeout 60 "])
def test_what_only_hands_the_variables_on_starts_a_rank(tmp_path, before):
    program = f"{before}/usr/bin/python3 -c \"open('{tmp_path}/data.json').read()\"; true"
    code, output, found = trace_of(program, tmp_path, RANK, ("/bin/sh", "-c"))
    assert code == 0 and output == ""
    assert any(record.call == "open64" and record["path"].endswith("/data.json") for record in found), found
