"""The demonstration finds its four bugs and nothing else, and prints what docs/demonstration.md shows of it; pictures of these bugs
are left in the build folder's artefacts/."""
import committed
import ddpscope
import pages
import pytest

BUGS = ["skipped-barrier", "duplicate-checkpoint-write", "unsharded-sampler", "redundant-accumulation-sync"]


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """How it ended, and the folder that it was run in."""
    folder = tmp_path_factory.mktemp("demonstration")
    return ddpscope.start(["bash", pages.ROOT / "reference_trainer/demo.sh", "--out", folder / "ddpscope-demo"], folder,
                          env={"DDPSCOPE_BUILD": str(ddpscope.BUILD)}), folder


def test_it_prints_what_its_page_shows(demonstration):
    done, folder = demonstration
    printed = done.stdout.replace(str(folder), "…")
    assert done.code == 0, printed + done.stderr
    (block,) = pages.blocks("docs/demonstration.md")
    (command,) = pages.commands(block)
    shown = "".join(line for line in command.shown.splitlines(True) if not line.startswith("building "))
    assert pages.agrees(shown, printed), f"{printed}\n{committed.HOW}"


@pytest.mark.skipif(not (ddpscope.BUILD / "bin" / "ddpscope-viewer").exists(), reason="the viewer is not built")
@pytest.mark.parametrize("bug", BUGS)
def test_pictures_of_its_bugs_are_left(demonstration, bug):
    _, folder = demonstration
    picture = ddpscope.BUILD / "artefacts" / f"{bug}.png"
    picture.parent.mkdir(exist_ok=True)
    picture.unlink(missing_ok=True)
    done = ddpscope.start([ddpscope.DDPSCOPE, "view", folder / "ddpscope-demo" / f"{bug}.trace", "--goto", bug, "--screenshot",
                           picture, "--size", "1600x900"], folder)
    assert done.code == 0 and picture.stat().st_size > 50_000, done.stderr
