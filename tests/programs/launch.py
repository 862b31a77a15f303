"""The CUDA + NCCL programs of this folder: how each is started, with or without ddpscope."""
import pathlib

import ddpscope
from ports import free_port

PROGRAMS = ddpscope.BUILD / "bin" / "programs"
SOURCES = pathlib.Path(__file__).parent
STANDINS = {"LD_PRELOAD": " ".join(str(ddpscope.BUILD / "lib" / "standin" / name)
                                   for name in ("libcudart.so.13", "libnccl.so.2"))}
# A program whose ranks disagree hangs, as it would on GPUs, until whoever started it loses patience (seconds).
LONG = 90
SHORT = 8
# --foreground: in the job's process group, where a signal to all of the job reaches it.


def all_devices(*arguments, patience=LONG):
    """One process, many devices; exit code 124 if it hung."""
    return ["timeout", str(patience), PROGRAMS / "all_devices", *map(str, arguments)]


def id_by_file(ranks, *arguments, patience=LONG):
    """A process a rank, the id through the file nccl.id."""
    return shell_loop(ranks, f"timeout {patience} {PROGRAMS / 'id_by_file'} nccl.id $rank {ranks} {words(arguments)}")


def env_rank(ranks, *arguments, patience=LONG):
    """A process a rank with a launcher's environment, the id over TCP."""
    return shell_loop(ranks, f"timeout {patience} {PROGRAMS / 'env_rank'} {words(arguments)}",
                      f"export WORLD_SIZE={ranks} MASTER_ADDR=127.0.0.1 MASTER_PORT={free_port()}")


def two_groups(ranks, *arguments, patience=SHORT):
    """A process a rank, two communicators over all of them; exit code 1 if they hang."""
    return shell_loop(ranks, f"timeout {patience} {PROGRAMS / 'two_groups'} nccl.id {words(arguments)}",
                      f"export WORLD_SIZE={ranks}")


def circles(ranks, *arguments, patience=LONG):
    """A process a rank that talks with its neighbours; exit code 1 if they hang."""
    return shell_loop(ranks, f"timeout --foreground {patience} {PROGRAMS / 'circles'} nccl.id {words(arguments)}",
                      f"export WORLD_SIZE={ranks}")


def trainer(program, ranks, *arguments, patience=LONG):
    """A process a rank that trains: one of those that begin with ranks.h."""
    return shell_loop(ranks, f"timeout --foreground {patience} {PROGRAMS / program} nccl.id {words(arguments)}",
                      f"export WORLD_SIZE={ranks}")


def words(arguments):
    return " ".join(map(str, arguments))


def shell_loop(ranks, command, setup=":"):
    """Starts command once a rank, with RANK and LOCAL_RANK set, and waits; exit code 1 if one of them failed."""
    return ["sh", "-c", f"""{setup}
        for rank in $(seq 0 {ranks - 1}); do RANK=$rank LOCAL_RANK=$rank {command} & all="$all $!"; done
        code=0
        for one in $all; do wait $one || code=1; done
        exit $code"""]


def plainly(command, cwd):
    """Runs a command on the stand-ins, without ddpscope."""
    return ddpscope.start(command, cwd, env=STANDINS)
