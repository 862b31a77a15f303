"""The packages on the systems of others: root file systems of Debian with Python and Mesa, and nothing else of ours.

In CI the oldest; DDPSCOPE_RANKS=all takes every one.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest
from packages import SOURCE, find_package, find_pytorch, find_wheel, run

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ddpscope/roots"
PACKAGES = "python3,python3-venv,libegl1,libgl1,libgl1-mesa-dri"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("debootstrap"), reason="it takes root and debootstrap")

# What a new user does.
INSTALL = {"wheel": """set -e
python3 -m venv /opt/ddpscope
/opt/ddpscope/bin/pip install --quiet --no-index /mnt/*.whl
export PATH=/opt/ddpscope/bin:$PATH HOME=/root
""", "deb": """set -e
export HOME=/root
dpkg --install /mnt/ddpscope_*.deb >/dev/null
! ddpscope view /tmp 2>/tmp/said
grep -q "ddpscope-viewer have it" /tmp/said
dpkg --install /mnt/ddpscope-viewer_*.deb >/dev/null
test -z "$(dpkg --verify ddpscope ddpscope-viewer)"
"""}
# Mesa is hidden at first: the picture's error names what is missing.
DEMONSTRATION = """rm -r /usr/share/common-licenses  # other systems have none
ddpscope-demo --ranks 2 --out /tmp/demo
mv /usr/lib/x86_64-linux-gnu/libEGL.so.1 /tmp/
if ddpscope view /tmp/demo/unsharded-sampler.trace --screenshot /tmp/picture.png --size 640x480 || [ -e /tmp/picture.png ]; then exit 1; fi
ddpscope report /tmp/demo/unsharded-sampler.trace --format html --fail-on none -o /tmp/report.html
grep -q "OpenGL is missing here" /tmp/report.html
mv /tmp/libEGL.so.1 /usr/lib/x86_64-linux-gnu/
ddpscope view /tmp/demo/unsharded-sampler.trace --screenshot /tmp/picture.png --size 640x480
head -c 4 /tmp/picture.png | grep -q PNG
mv $(dirname $(command -v ddpscope))/../share/ddpscope/fonts /tmp/  # there are no others
ddpscope view /tmp/demo/unsharded-sampler.trace --screenshot /tmp/plain.png --size 640x480
if cmp -s /tmp/picture.png /tmp/plain.png; then exit 1; fi
"""
# Without a compiler: PyTorch's operators are those that the package carries.
PYTORCH = """echo "127.0.0.1 localhost $(hostname)" >/etc/hosts
cd /tmp
export PYTHONPATH=/mnt/site-packages
timeout 200 ddpscope run --cpu -o trace -- python3 -m torch.distributed.run --nproc-per-node 2 /mnt/train.py 2>said || { cat said >&2; exit 1; }
if grep "^standin torch: " said; then exit 1; fi
ddpscope report trace --fail-on none
"""


def debian_mirror():
    return run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian").split()[0]


def root_of(release):
    """Made once; other checkouts may ask at the same time."""
    root = CACHE / release
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{release}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make_root(release, root)
    return root


def make_root(release, root):
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", f"--keyring={KEYS}", f"--include={PACKAGES}", release, root, debian_mirror())
        (root / "complete").touch()


def run_in(root, folder, script, below=None):
    """In a copy of its own that is gone afterwards, with `folder`'s mnt at /mnt; processes that are left end with it. `below`: names of
    folders that appear below /mnt, and what they are."""
    binds = ""
    for name, source in (below or {}).items():
        (folder / "mnt" / name).mkdir()
        binds += f"mount --bind -o ro {source} {folder}/root/mnt/{name}\n"
    inside = f"""mount -t overlay overlay -o lowerdir={root},upperdir={folder}/upper,workdir={folder}/work {folder}/root
mount -t proc proc {folder}/root/proc
mount --rbind /dev {folder}/root/dev
mount -t tmpfs tmpfs {folder}/root/tmp
mount --bind {folder}/mnt {folder}/root/mnt
{binds}exec chroot {folder}/root bash /mnt/script"""
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    (folder / "mnt/script").write_text(script)
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "bash", "-ec", inside], capture_output=True, text=True, timeout=600,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})


def copy_packages(mnt):
    mnt.mkdir()
    for package in (find_wheel(), find_package("ddpscope", "deb"), find_package("ddpscope-viewer", "deb")):
        shutil.copy(package, mnt)


@pytest.mark.parametrize("how", INSTALL)
@pytest.mark.parametrize("release", ["bullseye", pytest.param("bookworm", marks=pytest.mark.long),
                                     pytest.param("trixie", marks=pytest.mark.long)])
def test_a_new_user_finds_the_four_bugs(release, how, tmp_path):
    root = root_of(release)
    copy_packages(tmp_path / "mnt")
    done = run_in(root, tmp_path, INSTALL[how] + DEMONSTRATION)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "each of the 4 bugs found as exactly itself" in done.stdout
    (missing,) = [line for line in done.stderr.splitlines() if line.startswith("error: OpenGL is missing here: ")]
    assert "libEGL.so.1" in missing and "Debian and Ubuntu have it in libegl1, libgl1" in done.stderr


@pytest.mark.long
def test_pytorch_runs_where_nothing_else_is_installed(tmp_path):
    """On Debian 12, whose Python is that of the environment of tests/torch_cuda, which is seen there."""
    environment = find_pytorch()
    root = root_of("bookworm")
    copy_packages(tmp_path / "mnt")
    shutil.copy(SOURCE / "docs/dry-run/train.py", tmp_path / "mnt")
    (packages,) = environment.glob("lib/python3.11/site-packages")
    done = run_in(root, tmp_path, INSTALL["wheel"] + PYTORCH, below={"site-packages": packages})
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    line = (SOURCE / "docs/dry-run/train.py").read_text().split("loss.backward()")[0].count("\n") + 1
    assert "redundant-accumulation-sync (certain)" in done.stdout and f"/mnt/train.py:{line} " in done.stdout
