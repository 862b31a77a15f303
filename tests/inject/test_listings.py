"""Which names a listing has told is recorded of folders that other hosts may see, by whatever function it is read; when
in doubt nothing is; the guest sees no difference."""
import subprocess

import caching_mount
import pytest

import records
import traces

NAMES = [f"Shard_{i}.bin" for i in range(3)]
# How the folder is listed, and the hooks of which each is needed.
TOLD = [("by_readdir", ["opendir", "readdir"]), ("by_readdir64", ["readdir64"]), ("by_readdir_r", ["readdir_r"]),
        ("by_readdir64_r", ["readdir64_r"]), ("by_fdopendir", ["fdopendir", "open"]), ("by_rewinddir", ["rewinddir"]),
        ("by_scandir", ["scandir"]), ("by_scandir64", ["scandir64"]), ("by_scandirat", ["scandirat"]),
        ("by_scandirat64", ["scandirat64"]), ("by_link", ["opendir"])]
# How part of it is passed by, and the hook without which what is told would be wrong.
UNTOLD = [("in_part", None), ("moved", "seekdir"), ("from_the_middle", None), ("filtered", None), ("by_threads", None),
          ("by_child", None), ("past_libc", "syscall"), ("past_the_stream", "getdents64"), ("too_many", None)]


@pytest.fixture
def shared(tmp_path):
    (tmp_path / "backing").mkdir()
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "shared") as folder:
        yield folder


def run(trap, folder, injector=None, trace=None):
    return traces.start([traces.BUILD / "bin" / "inject" / "listings_guest", trap], folder, injector, trace)


def listings(trace):
    return [r for r in records.read(trace) if r.call == "listing"]


def words_of(names, folder):
    """The bits of a listing that tells these names, as the writer of test traces makes them."""
    text = f'process r0 rank=0 world=1\nr0 1.0 +0 listing path="/listed" tells="{",".join(names)}"\n'
    (folder / "words.txt").write_text(text)
    subprocess.run([traces.BUILD / "bin" / "text_trace", folder / "words.txt", folder / "words"], check=True, timeout=60)
    return bits(listings(folder / "words")[0])


def bits(record):
    return [record[word] for word in ("first", "second", "third")]


@pytest.mark.parametrize("trap", [trap for trap, _ in TOLD])
def test_told(trap, shared, tmp_path):
    expected = run(trap, shared / "plain")
    assert run(trap, shared / "preloaded", traces.INJECTOR, tmp_path / "trace") == expected
    told, = listings(tmp_path / "trace")
    assert told["path"] == str(shared / "preloaded" / "listed")
    assert (told["entries"], told["block"], told["blocks"]) == (3, 0, 1)
    assert bits(told) == words_of(NAMES, tmp_path)


@pytest.mark.parametrize("trap,hook", [(trap, hook) for trap, hooks in TOLD for hook in hooks])
def test_not_told_without_the_hook(trap, hook, shared, tmp_path):
    without = traces.injector_without([hook], tmp_path / "libddpscope.so")
    run(trap, shared / "work", without, tmp_path / "trace")
    assert not listings(tmp_path / "trace")


@pytest.mark.parametrize("trap", [trap for trap, _ in UNTOLD])
def test_not_told_when_in_doubt(trap, shared, tmp_path):
    expected = run(trap, shared / "plain")
    assert run(trap, shared / "preloaded", traces.INJECTOR, tmp_path / "trace") == expected
    assert not listings(tmp_path / "trace")


@pytest.mark.parametrize("trap,hook", [(trap, hook) for trap, hook in UNTOLD if hook])
def test_doubt_needs_the_hook(trap, hook, shared, tmp_path):
    without = traces.injector_without([hook], tmp_path / "libddpscope.so")
    run(trap, shared / "work", without, tmp_path / "trace")
    assert listings(tmp_path / "trace")


def test_what_tells_nothing_new(shared, tmp_path):
    run("again", shared / "work", traces.INJECTOR, tmp_path / "trace")
    told = listings(tmp_path / "trace")
    assert [(r["entries"], r["block"], r["blocks"]) for r in told] == [(3, 0, 1)] + [(40, block, 4) for block in range(4)]


def test_a_disk_of_its_own(tmp_path):
    run("by_readdir", tmp_path / "work", traces.INJECTOR, tmp_path / "trace")
    assert not listings(tmp_path / "trace")
