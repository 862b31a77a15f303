"""The commands of the documentation that take PyTorch's CUDA wheel: they run, and print what the page says."""
import os
import pathlib
import subprocess
import sys

import ddpscope
import pytest
import wheel

sys.path.append(str(pathlib.Path(__file__).parents[1] / "docs"))
import pages

REASON = "it takes PyTorch's CUDA wheel; tests/torch_cuda/test_pages.py runs it"
BLOCKS = {page: [block for block in pages.blocks(page) if block.kind == "console" and block.reason == REASON] for page in pages.PAGES}


def test_there_are_such_pages():
    assert {page for page in BLOCKS if BLOCKS[page]} == {"README.md", "docs/dry-run.md"}


@pytest.mark.parametrize("page", [page for page in BLOCKS if BLOCKS[page]])
def test_commands(page, tmp_path):
    # Home stays: the compiled operators are kept there.
    path = f"{ddpscope.BUILD / 'bin'}:{wheel.python().parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "DDPSCOPE_SOURCE": str(pages.ROOT), "OMP_NUM_THREADS": "1"}
    for command in (command for block in BLOCKS[page] for command in pages.commands(block)):
        done = subprocess.run(["bash", "-c", command.text], cwd=tmp_path, env=environment, timeout=600, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed = done.stdout.replace(str(tmp_path), "/tmp/job")
        assert done.returncode == command.code, f"{command.block}: {command.text}\n{printed[-3000:]}"
        if command.shown.strip():
            assert pages.agrees(command.shown, printed), f"{command.block}: {command.text} prints\n{printed}"
