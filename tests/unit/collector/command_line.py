"""Runs the command ddpscope and looks at how it ended; makes traces from text."""

import os
import subprocess
from pathlib import Path

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
DDPSCOPE = str(BUILD / "bin" / "ddpscope")

# In front of a command: root, too, may only what the permissions of a file say.
AS_ANYBODY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []

TWO_HEALTHY_RANKS = """
for r in 0..1 {
  process r$r rank=$r world=2 until=2
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
  r$r 1.0 +0.1 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
}
"""


def ddpscope(*words, before=(), **options):
    command = [*before, DDPSCOPE, *map(str, words)]
    return subprocess.run(command, **{"capture_output": True, "text": True, "timeout": 60, **options})


def assert_cannot_run(result, words):
    """Exit code 2 and one line that says what is wrong, perhaps one what to do; nothing a terminal would obey."""
    assert result.returncode == 2, result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    hints = [line for line in result.stderr.splitlines() if line.startswith("hint: ")]
    assert len(errors) == 1 and words in errors[0], result.stderr
    assert result.stderr.count("\n") == len(errors) + len(hints) and len(hints) <= 1, result.stderr
    assert "\x1b" not in result.stderr


def compile_trace(text, folder):
    source = folder.with_suffix(".txt")
    source.write_text(text)
    subprocess.run([BUILD / "bin" / "text_trace", source, folder], check=True, timeout=60)
    return folder


def compile_program(program, source, *compiler):
    file = program.with_suffix(".c")
    file.write_text(source)
    subprocess.run([*compiler, file, "-o", program], check=True, timeout=60)
    return program


# A header and a segment: nothing here could link one.
HEAD_OF_32_BITS = bytes.fromhex(
    "7f454c46010101000000000000000000" "02000300010000005480040834000000" "00000000000000003400200001000000"
    "00000000" "010000000000000000800408008004086000000060000000" "0500000000100000")


def write_program_of_32_bits(program, code):
    """`code` is 12 bytes of instructions, in hexadecimal."""
    program.write_bytes(HEAD_OF_32_BITS + bytes.fromhex(code))
    program.chmod(0o755)
