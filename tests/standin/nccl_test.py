"""The stand-in NCCL, used by programs of several ranks as they would use the real one."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
STANDINS = " ".join(str(BUILD / "lib/standin" / name) for name in ("libcudart.so.13", "libnccl.so.2"))


class Job:
    """Ranks of one program; `end` waits for all of them and gives their exit codes and standard errors.

    `hosts`, if given, has a network name space for each rank. In the value of an environment variable "{rank}" and
    "{host}" stand for the rank's own.
    """

    def __init__(self, directory: Path, size: int, *command: str, hosts=None, **environment: str):
        program = BUILD / "bin" / command[0]
        self.ranks = [
            subprocess.Popen(
                [*(["ip", "netns", "exec", hosts[rank]] if hosts else []), program, *command[1:]],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "LD_PRELOAD": STANDINS, "NCCL_DEBUG": "WARN",
                     "RANK": str(rank), "WORLD_SIZE": str(size), "JOB_DIR": str(directory),
                     **{name: value.format(rank=rank, host=hosts and hosts[rank])
                        for name, value in environment.items()}},
            )
            for rank in range(size)
        ]

    def end(self, timeout_s: float = 120):
        try:
            errors = [rank.communicate(timeout=timeout_s)[1] for rank in self.ranks]
        finally:
            for rank in self.ranks:
                rank.kill()
        return [rank.returncode for rank in self.ranks], errors


@pytest.fixture
def run(tmp_path):
    def start_and_wait(size: int, *command: str, **environment: str):
        return Job(tmp_path, size, *command, **environment).end()

    return start_and_wait


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_every_function_type_and_reduction_gives_the_right_numbers(run, size):
    codes, errors = run(size, "nccl_numerics")
    assert codes == [0] * size, "".join(errors)


# As with a GPU's CUDA runtime, where the stand-in's operations work on copies in the host's memory.
STAGED = {"STANDIN_NCCL_STAGING": "1", "LD_PRELOAD": f"{BUILD / 'lib/tests/libfar_memory.so'} {STANDINS}"}


@pytest.mark.parametrize("size", [1, 2, 5])
def test_numbers_are_right_where_the_host_cannot_reach_device_memory(run, size):
    codes, errors = run(size, "nccl_numerics", **STAGED)
    assert codes == [0] * size, "".join(errors)


@pytest.mark.parametrize("scenario,size", [("messages-between-collectives", 4), ("messages-to-oneself", 2),
                                           ("two-streams-keep-the-order-of-issue", 2), ("group-over-two-streams", 2)])
def test_staged_operations_keep_their_order(run, scenario, size):
    codes, errors = run(size, "nccl_order", scenario, **STAGED)
    assert codes == [0] * size, "".join(errors)


def test_without_staging_such_memory_is_out_of_reach(run):
    codes, _ = run(1, "nccl_numerics", **{**STAGED, "STANDIN_NCCL_STAGING": "0"})
    assert codes == [-signal.SIGSEGV]


MISMATCHES = ["count", "count-over-the-hub-limit", "datatype", "reduction", "kind", "two-roots", "small-broadcast",
              "message-size"]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("mismatch", MISMATCHES)
def test_mismatch_hangs_names_the_other_rank_and_is_released_by_abort(run, mismatch, size):
    codes, errors = run(size, "nccl_mismatch", mismatch)
    assert codes == [0] * size, "".join(errors)
    said = [line for error in errors for line in error.splitlines() if "neither can complete" in line]
    assert said and all(f"rank {size - 1}" in line for line in said), "".join(errors)


def test_equal_calls_match_by_order_so_the_last_one_hangs(run):
    codes, errors = run(3, "nccl_mismatch", "one-call-fewer")
    assert codes == [0] * 3, "".join(errors)
    assert "neither can complete" not in "".join(errors)


# Scenario, ranks, and the exit code of the last rank if it is killed.
ENDINGS = [
    ("peer-dies", 2, -9),
    ("peer-dies", 4, -9),
    ("peer-dies-with-a-living-child", 2, -9),
    ("fork-and-go-on", 2, 0),
    ("exit-with-pending-operation", 3, 0),
    ("root-leaves-before-the-others-come", 2, 0),
    ("root-leaves-before-the-others-come", 4, 0),
    ("revoke-releases-and-refuses", 3, 0),
    ("abort-with-an-operation-queued", 2, 0),
    ("aborter-comes-before-who-waits", 2, 0),
    ("shrink-around-a-dead-rank", 4, -9),
    ("split-and-rank-0-leaves", 5, 0),
    ("maker-of-the-id-leaves", 8, 0),
    ("split-beside-a-hanging-operation", 2, 0),
    ("abort-an-initialisation", 1, 0),
    ("finalized-and-destroyed-are-refused", 2, 0),
    ("waiting-sleeps", 2, 0),
]


@pytest.mark.parametrize("scenario,size,last", ENDINGS)
def test_ending(run, scenario, size, last):
    codes, errors = run(size, "nccl_endings", scenario)
    assert codes == [0] * (size - 1) + [last], "".join(errors)


def test_data_arrives_although_its_sender_exits_at_once(run):
    codes, errors = run(4, "nccl_endings", "exit-after-last-operation")
    assert codes == [0] * 4, "".join(errors)


ORDERS = [
    ("ring-of-messages", 2),
    ("ring-of-messages", 5),
    ("messages-between-collectives", 4),
    ("root-runs-ahead", 2),
    ("root-runs-ahead", 5),
    ("messages-to-oneself", 2),
    ("group-starts-at-its-end", 3),
    ("two-streams-keep-the-order-of-issue", 2),
    ("group-over-two-streams", 2),
    ("all-ranks-in-one-process", 1),
    ("shared-device-refused", 2),
    ("shared-device-refused", 8),
    ("wrong-arguments-are-refused", 2),
    ("threads-block-signals", 1),
]


@pytest.mark.parametrize("scenario,size", ORDERS)
def test_order_and_arguments(run, scenario, size):
    codes, errors = run(size, "nccl_order", scenario)
    assert codes == [0] * size, "".join(errors)


@pytest.mark.parametrize("switch", [{"NCCL_MULTI_RANK_GPU_ENABLE": "1"}, {"NCCL_HOSTID": "host {rank}"}])
def test_switches_of_nccl_allow_a_shared_device(run, switch):
    codes, errors = run(2, "nccl_order", "shared-device-allowed", **switch)
    assert codes == [0, 0], "".join(errors)


def test_link_model_sets_the_least_duration(run):
    codes, errors = run(2, "nccl_order", "link-model-sets-the-least-duration", STANDIN_LINK="300ms,1GB/s")
    assert codes == [0, 0], "".join(errors)


def test_unreadable_link_model_is_refused(run):
    codes, errors = run(1, "nccl_order", "unreadable-link-model-is-refused", STANDIN_LINK="fast")
    assert codes == [0], "".join(errors)


def test_what_is_not_provided_is_said_once_with_its_caller(run):
    codes, errors = run(1, "nccl_order", "what-is-not-provided-says-so", NCCL_DEBUG="")
    assert codes == [0], errors[0]
    said = [line for line in errors[0].splitlines() if "ncclDevCommCreate is not provided" in line]
    assert len(said) == 1 and "nccl_order" in said[0], errors[0]


def test_buffers_are_registered(run):
    codes, errors = run(1, "nccl_order", "buffers-are-registered")
    assert codes == [0], errors[0]


@pytest.mark.parametrize("size", [2, 4])
def test_several_ids_make_a_communicator(run, size):
    codes, errors = run(size, "nccl_order", "averages-on-several-ids")
    assert codes == [0] * size, "".join(errors)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("scenario", ["creation-need-not-block", "creations-of-a-group-need-not-block"])
def test_creation_in_progress(run, scenario, size):
    codes, errors = run(size, "nccl_order", scenario)
    assert codes == [0] * size, "".join(errors)


def test_without_nccl_debug_nothing_is_printed(run):
    _, errors = run(2, "nccl_mismatch", "count", NCCL_DEBUG="")
    assert errors == ["", ""]


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def remove(names):
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


@pytest.fixture
def two_hosts():
    """Two network name spaces joined by a cable: what one rank binds to loopback, the other cannot reach."""
    if not shutil.which("ip"):
        pytest.skip("no network name spaces here: iproute2 is not installed")
    names = [f"ddpscope-{os.getpid()}-{side}" for side in "ab"]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "cable-a", "netns", names[0], "type", "veth", "peer", "name", "cable-b", "netns", names[1])
        for number, (name, cable) in enumerate(zip(names, ("cable-a", "cable-b")), start=1):
            ip("-n", name, "addr", "add", f"10.213.7.{number}/24", "dev", cable)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", cable, "up")
    except subprocess.CalledProcessError as error:
        remove(names)
        pytest.skip(f"no network name spaces here: {error}")
    yield names
    remove(names)


@pytest.mark.parametrize("program", [["nccl_endings", "split-and-rank-0-leaves"], ["nccl_order", "ring-of-messages"]])
def test_ranks_on_two_hosts(tmp_path, two_hosts, program):
    hosts = [two_hosts[rank * 2 // 4] for rank in range(4)]
    codes, errors = Job(tmp_path, 4, *program, hosts=hosts, NCCL_HOSTID="{host}").end()
    assert codes == [0] * 4, "".join(errors)


def symbols(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1]: line.split()[-2] for line in listing.splitlines()}


def exports():
    """Name to nm's letter: W for what is refused."""
    return symbols(BUILD / "lib/standin/libnccl.so.2")


def test_it_exports_every_function_with_its_twin():
    exported = exports().keys()
    public = {name for name in exported if name.startswith("nccl")} - {"ncclResetDebugInitInternal"}
    assert exported == public | {"p" + name for name in public} | {"ncclResetDebugInitInternal"}


def nvidia_libraries():
    """NVIDIA's libraries that are here: the installed one, and what DDPSCOPE_NCCL_LIBRARIES names, with colons between."""
    named = os.environ.get("DDPSCOPE_NCCL_LIBRARIES", "").split(":")
    installed = [f"/usr/local/cuda/{folder}/libnccl.so.2" for folder in ("lib", "lib64")]
    return [library for library in installed + named if os.path.exists(library)]


@pytest.mark.skipif(not nvidia_libraries(), reason="no libnccl.so.2 of NVIDIA's")
def test_it_exports_what_nvidias_library_exports():
    for library in nvidia_libraries():
        missing = {name for name in symbols(library) if name.lstrip("p").startswith("nccl")} - exports().keys()
        assert not missing, library


def test_the_page_lists_every_function_with_what_was_built():
    page = (Path(__file__).parents[2] / "docs/standin-nccl.md").read_text()
    rows = dict(re.findall(r"^\| `(nccl\w+)` \| (?:yes|no) \| (yes|refused)", page, re.MULTILINE))
    built = {name: "refused" if letter == "W" else "yes" for name, letter in exports().items()}
    assert rows == {name: what for name, what in built.items() if name.startswith("nccl") and "Internal" not in name}
