"""The program as a user meets it without a window: pictures without a display, errors that help."""

import contextlib
import os
import shutil
import struct
import subprocess
import time

import pytest
from ddpscope import BUILD, DDPSCOPE
from viewer_window import VIEWER, display, without_display


def run(*words, program=VIEWER, **options):
    settings = {"capture_output": True, "text": True, "timeout": 60, "env": without_display(), **options}
    return subprocess.run([program, *map(str, words)], **settings)


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def test_a_picture_needs_no_display(trace, tmp_path):
    picture = tmp_path / "a.png"
    result = run("view", trace, "--screenshot", picture, "--size", "1200x800", "--goto", "skipped-barrier", program=DDPSCOPE)
    assert result.returncode == 0, result.stderr
    assert png_size(picture) == (1200, 800)
    other = tmp_path / "b.png"
    assert run(trace, "--screenshot", other, "--size", "1200x800", "--theme", "light").returncode == 0
    assert other.read_bytes() != picture.read_bytes()


def test_a_picture_of_a_stretch(trace, tmp_path):
    """As much as is asked for, whatever the finding; an end is the run's where none is given."""

    def picture(*words):
        file = tmp_path / "a.png"
        result = run("view", trace, "--screenshot", file, "--size", "1200x800", *words, program=DDPSCOPE)
        assert result.returncode == 0, result.stderr
        return file.read_bytes()

    usual, part = picture(), picture("--from", "1.95", "--to", "2.125")
    assert part != usual
    assert picture("--from", "1.95", "--to", "2.125", "--goto", "1") == part
    assert picture("--from", "1950e-3", "--to", "2.1250") == part
    assert picture("--from", "1.95") == picture("--from", "1.95", "--to", "1000") != part
    assert picture("--to", "2.125") == picture("--from", "0", "--to", "2.125") != part


def test_a_picture_takes_nothings_place(trace, tmp_path):
    """Links stay and lead to it, what is no file is written as it is: by root, a device would be gone."""
    target, link, pipe = tmp_path / "target.png", tmp_path / "link.png", tmp_path / "pipe"
    link.symlink_to(target)
    assert run(trace, "--screenshot", link, "--size", "400x400").returncode == 0
    assert link.is_symlink() and png_size(target) == (400, 400)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    viewer = subprocess.Popen([VIEWER, trace, "--screenshot", pipe, "--size", "400x400"], env=without_display())
    part, deadline = b"", time.monotonic() + 60
    while (b"IEND" not in part) and time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            part += os.read(reader, 1 << 16)
        time.sleep(0.01)
    os.close(reader)
    assert viewer.wait(timeout=60) == 0 and part.startswith(b"\x89PNG") and pipe.is_fifo()


def test_another_build_of_the_version_takes_no_merged_file_from_the_cache(trace, tmp_path):
    """It may find, and tell, something else. The same build takes it, wherever it was copied to."""
    shutil.copytree(trace, tmp_path / "trace", ignore=shutil.ignore_patterns(".*"))
    same, other, note = tmp_path / "same", tmp_path / "other", tmp_path / "note"
    shutil.copyfile(VIEWER, same)
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.note.gnu.build-id", VIEWER, note], check=True, timeout=60)
    note.write_bytes(note.read_bytes()[:-1] + bytes([note.read_bytes()[-1] ^ 1]))
    subprocess.run(["objcopy", "--update-section", f".note.gnu.build-id={note}", VIEWER, other], check=True, timeout=60)

    def made_by(program):
        program.chmod(0o755)
        result = run(tmp_path / "trace", "--screenshot", tmp_path / "a.png", "--size", "400x400", program=program)
        assert result.returncode == 0, result.stderr
        (file,) = (tmp_path / "trace" / ".ddpscope-cache").iterdir()  # what was there before is gone
        return file.name, file.stat().st_ino

    first = made_by(VIEWER)
    assert made_by(same) == first
    second = made_by(other)
    assert second[0] != first[0]
    assert made_by(other) == second


def test_what_differs_from_another_trace_is_in_the_picture(trace, tmp_path):
    alone, beside = tmp_path / "a.png", tmp_path / "b.png"
    assert run(trace, "--screenshot", alone, "--size", "1200x800").returncode == 0
    result = run("view", trace, trace, "--screenshot", beside, "--size", "1200x800", program=DDPSCOPE)
    assert result.returncode == 0, result.stderr
    assert alone.read_bytes() != beside.read_bytes()


def test_ten_thousand_ranks(tmp_path):
    file = tmp_path / "many.ddpm"
    subprocess.run([BUILD / "bin" / "mergedgen", "--out", file, "--events", "400000", "--rows", "40000", "--ranks-per-host", "8"],
                   check=True, timeout=60, stdout=subprocess.DEVNULL)
    result = run(file, "--screenshot", tmp_path / "a.png", "--size", "1200x800")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "words, says",
    [
        (["TRACE"], "display"),
        (["TRACE", "--goto", "no-such", "--screenshot", "x.png"], "no finding 'no-such'"),
        (["TRACE", "--screenshot", "x.jpg"], "--screenshot writes PNG, not .jpg"),
        (["TRACE", "--screenshot", "x.png", "--size", "12"], "--size"),
        (["TRACE", "--screenshot", "x.png", "--theme", "pink"], "pink"),
        (["TRACE", "--screenshot", "x.png", "--scale", "nan"], "--scale"),
        (["TRACE", "--screenshot", "x.png", "--bench"], "--bench"),
        (["TRACE", "--screenshot", "x.png", "--from", "soon"], "--from"),
        (["TRACE", "--screenshot", "x.png", "--from", "-1"], "--from"),
        (["TRACE", "--screenshot", "x.png", "--to", "nan"], "--to"),
        (["TRACE", "--screenshot", "x.png", "--from", "2", "--to", "1.5"], "--to is not after --from"),
        (["TRACE", "--screenshot", "x.png", "--to", "0"], "--to is not after the run's begin"),
        (["TRACE", "--screenshot", "x.png", "--from", "100000"], "the run is over at"),
        (["TRACE", "--screenshot", "x.png", "--from", "1", "--whole-run"], "--whole-run"),
        (["TRACE", "--screenshot", "/no/such/folder/x.png", "--size", "400x400"], "cannot be written"),
        (["/no/such/trace", "--screenshot", "x.png"], "no such file"),
        (["/dev/null", "--screenshot", "x.png"], ""),
        (["TRACE", "/no/such/trace", "--screenshot", "x.png"], "no such file"),
        ([], "TRACE"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(trace, tmp_path, words, says):
    result = run(*[trace if word == "TRACE" else word for word in words], cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and says in errors[0], result.stderr
    assert not list(tmp_path.iterdir())


def test_without_a_display_the_picture_is_pointed_to(trace):
    assert "--screenshot" in run(trace).stderr


def test_without_a_display_a_file_that_is_cut_is_still_told(trace, tmp_path):
    file = tmp_path / "cut.ddpm"
    subprocess.run([BUILD / "bin" / "mergedgen", "--out", file, "--events", "4000", "--rows", "8", "--ranks-per-host", "8"],
                   check=True, timeout=60, stdout=subprocess.DEVNULL)
    file.write_bytes(file.read_bytes()[:1000])
    result = run(file)
    assert result.returncode == 2 and "no display" not in result.stderr and str(file) in result.stderr, result.stderr


def test_an_opengl_that_is_too_old(trace, tmp_path):
    old = {**without_display(), "MESA_GL_VERSION_OVERRIDE": "2.1"}
    result = run(trace, "--screenshot", tmp_path / "a.png", env=old)
    assert result.returncode == 2 and "OpenGL 3.3" in result.stderr and "hint: " in result.stderr, result.stderr
    if not shutil.which("Xvfb"):
        pytest.skip("Xvfb is missing")
    with display() as name:
        result = run(trace, env={**old, "DISPLAY": name})
    assert result.returncode == 2 and "OpenGL 3.3" in result.stderr and "--screenshot" in result.stderr, result.stderr


def test_a_file_cut_off_is_refused(trace, tmp_path):
    run(trace, "--screenshot", tmp_path / "x.png", "--size", "400x400")
    whole = next(path for path in (trace / ".ddpscope-cache").iterdir() if path.is_file())
    cut = tmp_path / "cut.ddpm"
    for part in (0.1, 0.5, 0.95):
        data = whole.read_bytes()
        cut.write_bytes(data[: int(len(data) * part)])
        result = run(cut, "--screenshot", tmp_path / "y.png")
        assert result.returncode == 2 and "error: " in result.stderr


def test_a_cache_that_leads_elsewhere_is_told_and_not_followed(trace, tmp_path):
    linked, elsewhere = tmp_path / "trace", tmp_path / "elsewhere"
    shutil.copytree(trace, linked, ignore=shutil.ignore_patterns(".ddpscope-cache"))
    elsewhere.mkdir()
    (linked / ".ddpscope-cache").symlink_to(elsewhere)
    env = {**without_display(), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    result = run(linked, "--screenshot", tmp_path / "a.png", "--size", "400x400", env=env)
    assert result.returncode == 0 and (tmp_path / "a.png").exists(), result.stderr
    assert "warning: " in result.stderr and "symbolic link" in result.stderr and not any(elsewhere.iterdir()), result.stderr
