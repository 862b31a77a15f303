"""cmake --install, the man page, bash's completion, the package configuration."""
import json
import os
import re
import shutil
import subprocess

import ddpscope
import pytest

BUILD = ddpscope.BUILD


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Installed, and moved elsewhere."""
    first = tmp_path_factory.mktemp("installed") / "first"
    run("cmake", "--install", BUILD, "--prefix", first)
    return first.rename(first.parent / "moved")


def record_and_report(command, folder):
    trainer = [BUILD / "bin/reference_trainer", "--ranks", 2, "--workdir", folder / "out", "--epochs", 1]
    run(command, "run", "--cpu", "-o", folder / "trace", "--", *trainer)
    return json.loads(run(command, "report", folder / "trace", "--format", "json"))


def test_an_installed_command_records_and_reports(prefix, tmp_path):
    report = record_and_report(prefix / "bin/ddpscope", tmp_path)
    assert report["job"]["ranks"] == 2 and report["findings"] == []
    environment = [line for line in run(prefix / "bin/ddpscope", "dump", tmp_path / "trace").splitlines() if "LD_PRELOAD" in line]
    assert environment and all(str(prefix) in line and str(BUILD) not in line for line in environment)


@pytest.mark.skipif(not (BUILD / "bin/ddpscope-viewer").exists(), reason="the viewer was not built")
def test_an_installed_viewer_draws(prefix, tmp_path):
    record_and_report(prefix / "bin/ddpscope", tmp_path)
    run(prefix / "bin/ddpscope", "view", tmp_path / "trace", "--screenshot", tmp_path / "picture.png", "--size", "640x480")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_a_project_finds_the_command(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES NONE)
find_package(ddpscope 0.1 REQUIRED)
get_target_property(command ddpscope::ddpscope LOCATION)
execute_process(COMMAND ${command} --version COMMAND_ERROR_IS_FATAL ANY)
""")
    said = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert re.search(r"^\d+\.\d+\.\d+", said, re.M)


def test_the_version_names_the_commit_if_there_is_one():
    source = BUILD.parent.parent
    repository = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True).returncode == 0
    said = re.fullmatch(r"\d+\.\d+\.\d+( \(commit (\w+)(-dirty)?\))?\n", run(BUILD / "bin/ddpscope", "--version"))
    assert said and bool(said[1]) == repository
    if repository:
        run("git", "cat-file", "-e", said[2], cwd=source)


def test_the_changelog_begins_with_this_version():
    changes = (BUILD.parent.parent / "CHANGELOG.md").read_text()
    assert re.search(r"^## (\d+\.\d+\.\d+)", changes, re.M)[1] == run(BUILD / "bin/ddpscope", "--version").split()[0]


def test_the_man_page_is_well_formed_and_has_all_that_help_has(prefix):
    page = prefix / "share/man/man1/ddpscope.1"
    checked = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
    assert checked.returncode == 0 and checked.stderr == ""
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", checked.stdout).translate({ord("‐"): "-", ord("−"): "-"})
    options, commands = re.search(r"^OPTIONS\n(.*)^COMMANDS\n(.*)^EXIT STATUS", shown, re.M | re.S).groups()
    told = dict(re.findall(r"^   ddpscope ([a-z]+)\n((?: {7}.*\n|\n)*)", commands, re.M), **{"": options})
    assert set(told) == {"", *commands_of(prefix)}
    for command, text in told.items():
        named = {name for names in re.findall(r"^ {7}(-[-a-z,]+)", text, re.M) for name in names.split(",")}
        assert named == options_of(prefix, command), command


def help_of(prefix, command, program="ddpscope"):
    return run(prefix / "bin" / program, *[command] * bool(command), "--help")


def commands_of(prefix):
    return re.findall(r"^  ([a-z]+) ", help_of(prefix, "").split("Subcommands:")[1], re.M)


def options_of(prefix, command, program="ddpscope"):
    """All that `--help` names, "-h" and "--help" alike."""
    listed = re.findall(r"^  (-[-a-z,]+)", help_of(prefix, command, program), re.M)
    return {name for names in listed for name in names.split(",")}


def complete(prefix, *words):
    """What bash offers when Tab is pressed at the end of these words."""
    program = words[0]
    script = f"""source {prefix}/share/bash-completion/completions/{program}
COMP_WORDS=({' '.join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
$(complete -p {program} | sed 's/.*-F //; s/ .*//'); printf '%s\\n' "${{COMPREPLY[@]}}\""""
    return set(run("bash", "-c", script).split())


def test_bash_completes_all_that_help_has(prefix):
    for command in commands_of(prefix):
        long = {name for name in options_of(prefix, command) if name.startswith("--") or name == "-o"}
        assert complete(prefix, "ddpscope", command, "-") == long, command


@pytest.mark.skipif(not (BUILD / "bin/ddpscope-viewer").exists(), reason="the viewer was not built")
def test_the_viewer_and_the_command_in_front_of_it_take_the_same(prefix):
    own = options_of(prefix, "", "ddpscope-viewer") - {"--version"}
    assert own == options_of(prefix, "view") and {"--goto", "--reduced-motion"} <= own
    assert complete(prefix, "ddpscope-viewer", "--") == complete(prefix, "ddpscope", "view", "--")
    assert complete(prefix, "ddpscope-viewer", "--theme", "c") == {"colorblind"}
    page = run("groff", "-s", "-man", "-Tutf8", "man1/ddpscope-viewer.1", cwd=prefix / "share/man")
    assert "ddpscope view" in page and page == run("groff", "-man", "-Tutf8", "man1/ddpscope.1", cwd=prefix / "share/man")


def test_bash_completes_commands_options_and_values(prefix, tmp_path):
    assert {"run", "report", "diff"} <= complete(prefix, "ddpscope", "")
    assert complete(prefix, "ddpscope", "rep") == {"report"}
    assert complete(prefix, "ddpscope", "report", "--f") == {"--format", "--fail-on", "--fail-on-failure"}
    assert complete(prefix, "ddpscope", "report", "--format", "s") == {"sarif"}
    assert complete(prefix, "ddpscope", "run", "--gpu-timing", "c") == {"cupti"}
    assert complete(prefix, "ddpscope", "explain", "skipped") == {"skipped-barrier"}
    assert complete(prefix, "ddpscope", "report", "--only", "strag") == {"straggler"}
    assert complete(prefix, "ddpscope", "view", "--goto", "strag") == {"straggler"}
    assert complete(prefix, "ddpscope", "report", "--attempt", "") == set()


def test_a_library_that_is_missing_is_named(prefix, tmp_path):
    lonely = tmp_path / "bin/ddpscope"
    lonely.parent.mkdir()
    shutil.copy(prefix / "bin/ddpscope", lonely)
    done = subprocess.run([lonely, "run", "-o", tmp_path / "trace", "--", "true"], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 2 and "a library of ddpscope is missing" in done.stderr
