"""The demonstration finds its four bugs and nothing else, and prints what docs/demonstration.md shows of it."""
import committed
import ddpscope
import pages


def test_it_prints_what_its_page_shows(tmp_path):
    done = ddpscope.start(["bash", pages.ROOT / "reference_trainer/demo.sh", "--out", tmp_path / "ddpscope-demo"], tmp_path,
                          env={"DDPSCOPE_BUILD": str(ddpscope.BUILD)})
    printed = done.stdout.replace(str(tmp_path), "…")
    assert done.code == 0, printed + done.stderr
    (block,) = pages.blocks("docs/demonstration.md")
    (command,) = pages.commands(block)
    shown = "".join(line for line in command.shown.splitlines(True) if not line.startswith("building "))
    assert pages.agrees(shown, printed), f"{printed}\n{committed.HOW}"
