"""Programs that know nothing of the preload: same exit code, same output, same files with it and without."""
import hashlib
import pathlib
import shutil
import subprocess
import sys

import pytest

import records
import traces

HERE = pathlib.Path(__file__).parent
DATES = "export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z;"
SHELL = {
    "git": DATES + "git init -q . && seq 5000 > a && git add . && git -c user.name=a -c user.email=b commit -qm x &&"
                   " git gc -q && git log --format=%H && git fsck",
    "tar": "mkdir d && seq 9999 > d/a && ln -s a d/b && tar --mtime=@0 -cf x.tar d && tar xf x.tar -C . && tar tf x.tar",
    "coreutils": "seq 9999 > a && cp -r a b && mv b c && sort -r c | head -1 && rm a && dd if=c of=d bs=7 count=9"
                 " 2>/dev/null && ls && (exit 9)",
    "pipeline": "seq 100000 | gzip -n | gunzip | tail -1 | tee kept | wc -c",
}


def content(folder):
    """What each file holds; databases and archives keep times of their own, their names must do."""
    own_time = (".pt", ".npz", ".db", ".git/index")
    return {str(path.relative_to(folder)): None if str(path).endswith(own_time) else
            hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_unchanged(command, tmp_path):
    plain = traces.start(command, tmp_path / "plain")
    preloaded = traces.start(command, tmp_path / "loaded", traces.INJECTOR, tmp_path / "trace")
    assert preloaded == plain
    assert content(tmp_path / "loaded") == content(tmp_path / "plain")
    assert records.read(tmp_path / "trace"), "nothing was recorded: the comparison says nothing"
    return plain


@pytest.mark.parametrize("name", SHELL)
def test_shell(name, tmp_path):
    if name == "git" and not shutil.which("git"):
        pytest.skip("no git")
    assert_unchanged(["sh", "-c", SHELL[name]], tmp_path)


def test_python(tmp_path):
    code, _ = assert_unchanged([sys.executable, HERE / "transparency_guest.py"], tmp_path)
    assert code == 4


def test_rust(tmp_path):
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    subprocess.run(["rustc", "-O", HERE / "rust_guest.rs", "-o", tmp_path / "guest"], check=True, timeout=300)
    code, _ = assert_unchanged([tmp_path / "guest"], tmp_path)
    assert code == 0
