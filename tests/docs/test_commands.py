"""The commands of the documentation run, and print what it says that they print: README.md is the convention."""
import difflib
import os
import re
import shutil
import subprocess

import committed
import ddpscope
import pages
import pytest
import wheel

BIN = ddpscope.BUILD / "bin"
OF_THE_WHEEL = "<!-- torchrun: of PyTorch's wheel -->"  # not Debian's
RUNNABLE = {page: [block for block in pages.blocks(page) if block.kind == "console" and not block.reason] for page in pages.PAGES}


def run(command, folder, path=os.environ["PATH"]):
    environment = {**os.environ, "PATH": f"{BIN}:{path}", "HOME": str(folder), "DDPSCOPE_BUILD": str(ddpscope.BUILD),
                   "DDPSCOPE_SOURCE": str(pages.ROOT)}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=90, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """TRACE and BASE, once for all pages that do not record them."""
    folder = tmp_path_factory.mktemp("recorded")
    for trace, fault in (("BASE", ""), ("TRACE", "--fault duplicate-checkpoint-write/all")):
        done = run(f"ddpscope run --cpu -o {trace} -- reference_trainer --ranks 4 --workdir {trace}.out {fault}", folder)
        assert done.returncode == 0, done.stdout
    return folder


def scratch(folder, recorded, commands):
    (folder / "BUILD").symlink_to(ddpscope.BUILD)
    for trace in ("BASE", "TRACE"):
        if not any(f"-o {trace} " in command.text for command in commands):
            shutil.copytree(recorded / trace, folder / trace)


def difference(command, printed):
    lines = difflib.unified_diff(command.shown.splitlines(), printed.splitlines(), "the page", "printed now", lineterm="", n=1)
    return "\n".join([f"{command.block}: {command.text}", *lines, committed.HOW])


@pytest.mark.parametrize("page", [page for page in pages.PAGES if RUNNABLE[page]])
def test_the_commands_of_a_page_run(page, recorded, tmp_path):
    commands = [command for block in RUNNABLE[page] for command in pages.commands(block)]
    assert commands, f"{page} has a console block without a line that begins with `$ `"
    scratch(tmp_path, recorded, commands)
    path = os.environ["PATH"]
    if OF_THE_WHEEL in (pages.ROOT / page).read_text():
        path = f"{wheel.python().parent}:{path}"
    drifted = []
    for command in commands:
        done = run(command.text, tmp_path, path)
        printed = done.stdout.replace(str(tmp_path), "/tmp/job")
        assert done.returncode == command.code, f"{command.block}: {command.text}\nexit code {done.returncode}\n{printed[-3000:]}"
        if command.shown.strip() and not pages.agrees(command.shown, printed):
            drifted.append((command, printed))
    if committed.RENEW:
        renew(page, drifted)
    else:
        assert not drifted, "\n\n".join(difference(*each) for each in drifted)


def renew(page, drifted):
    path = pages.ROOT / page
    text = path.read_text()
    for command, printed in reversed(drifted):
        text = text[:command.begin] + printed + text[command.end:]
    path.write_text(text)


@pytest.mark.parametrize("page", pages.PAGES)
def test_no_command_is_left_out_without_a_reason(page):
    for block in pages.blocks(page):
        if block.kind == "console":
            assert block.reason or "$ " in block.body, f"{block}: no command in it"
        elif block.kind in ("", "sh", "bash", "shell"):
            looks = pages.LOOKS_LIKE_A_COMMAND.search(block.body)
            assert block.reason or not looks, (f"{block}: {looks[0].strip()} ... is not run: make it a console block, or say why not "
                                               "(tests/docs/README.md)")


@pytest.mark.parametrize("page", pages.PAGES)
def test_a_page_that_starts_torchrun_says_what_debians_wants(page):
    """It fails without a redirection, and whoever copies the command takes that for a fault of the recording. A block that
    takes PyTorch's wheel, or installs it, does not mean Debian's."""
    text = (pages.ROOT / page).read_text()
    for block in pages.blocks(page):
        if "PyTorch's CUDA wheel" in block.reason or "pip install torch==" in block.body:
            text = text.replace(block.body, "")
    assert not re.search(r"\btorchrun --", text) or "-r 1 -t 1" in text


def options_of(command, known={}):
    if command not in known:
        known[command] = set(re.findall(r"(?<![\w-])--?[a-z][-a-z]*", run(f"ddpscope {command} --help", pages.ROOT).stdout))
    return known[command]


@pytest.mark.parametrize("page", pages.PAGES)
def test_options_that_pages_name_are_those_of_the_command(page):
    text = (pages.ROOT / page).read_text()
    for found in re.finditer(rf"\bddpscope ({pages.COMMANDS})\b([^`\n#]*)", text):
        of_the_command = re.split(r" -- |`|\s#|\s{3,}", found[2])[0]
        named = set(re.findall(r"(?<![\w-])--[a-z][-a-z]*", of_the_command))
        assert named <= options_of(found[1]), f"{page}: {found[0].strip()}"
