"""Collectives timed by pairs of events: right, with nothing changed for the program. Each story is a function of
gpu_events_guest.cpp."""
import os
import re
import subprocess

import pytest

import records
from traces import BUILD

GUEST = BUILD / "bin" / "inject" / "gpu_events_guest"


class Run:
    def __init__(self, folder, story, timing="events", runs=True, by_hand=None, cpu=True):
        """by_hand: DDPSCOPE_GPU_TIMING beside `run`. cpu: `run` puts the stand-ins in front; else the loader finds them."""
        self.trace = folder / "trace"
        command = [GUEST, story] if by_hand is None else ["env", f"DDPSCOPE_GPU_TIMING={by_hand}", GUEST, story]
        if runs:
            command = [BUILD / "bin" / "ddpscope", "run", *["--cpu"] * cpu, "--gpu-timing", timing, "-o", self.trace, "--", *command]
        self.done = subprocess.run([str(word) for word in command], cwd=folder, text=True, timeout=120,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(runs and cpu))
        self.collectives = [work for work in records.device_work(self.trace) if work.kind == "collective"] if runs else []

    @staticmethod
    def environment(finds_standins):
        environment = {key: text for key, text in os.environ.items() if not key.startswith("DDPSCOPE_")}
        if not finds_standins:
            environment["LD_LIBRARY_PATH"] = str(BUILD / "lib" / "standin")
        return environment

    def timings(self):
        return [(record["tier"], record["reason"]) for record in records.read(self.trace) if record.call == "device_timing"]

    def health(self, name):
        info = subprocess.run([BUILD / "bin" / "ddpscope", "info", self.trace], text=True, stdout=subprocess.PIPE, check=True)
        return sum(map(int, re.findall(rf"{name} (\d+)", info.stdout)))


@pytest.fixture
def run(tmp_path):
    return lambda story, **settings: Run(tmp_path, story, **settings)


def test_times_are_those_of_the_programs_own_events(run):
    guest = run("peers")
    assert guest.done.returncode == 0, guest.done.stderr
    own = {int(device): float(ms) * 1e-3
           for device, ms in re.findall(r"device (\d) took ([\d.]+) ms", guest.done.stdout)}
    measured = {work["device"]: work for work in guest.collectives if work["sequence"] == 1}
    assert set(own) == set(measured) == {0, 1}
    assert own[0] > 0.06 > own[1]  # the first one waits for the second
    for device in own:  # the program's pair lies around ours
        assert measured[device].took <= own[device] + 1e-6
        # Between the two a thread of the stand-in may lose its processor for some turns.
        assert measured[device].took == pytest.approx(own[device], rel=0.05, abs=10e-3)
    assert measured[0].begin < measured[1].begin - 0.05
    assert abs(measured[0].end - measured[1].end) < 0.02


def test_each_is_linked_to_its_call(run):
    guest = run("peers")
    calls = {(record["communicator"], record["sequence"]): record for record in records.read(guest.trace)
             if record.call == "ncclAllReduce"}
    assert len(guest.collectives) == len(calls) == 4
    for work in guest.collectives:
        call = calls[work["communicator"], work["sequence"]]
        assert work["call"] == "ncclAllReduce" and float(work["at"]) == pytest.approx(call.begin, abs=1e-9)
        assert work.begin >= call.begin


def test_a_group_has_one_time_for_all(run):
    guest = run("group")
    assert [work["sequence"] for work in guest.collectives] == [0, 1, 2]
    assert len({(work.begin, work.end) for work in guest.collectives}) == 1
    end_of_group = next(record for record in records.read(guest.trace) if record.call == "ncclGroupEnd")
    assert guest.collectives[0].begin > end_of_group.begin + 0.02  # behind the work before it


@pytest.mark.parametrize("wish, why", [("garbage", "taken for auto"), ("Cupti", "taken for auto"), ("auto", ""), ("", "")])
def test_what_nobody_can_wish_for_is_told(run, wish, why):
    """As it is set by hand: `run` refuses it."""
    guest = run("peers", by_hand=wish)
    [(tier, reason)] = guest.timings()
    assert tier == "events" and len(guest.collectives) == 4
    assert why in reason if why else reason == "-"


@pytest.mark.parametrize("story", ["elsewhere", "split_elsewhere"])
def test_another_device_may_be_current(run, story):
    """Not at the thread's first: CUDA would make a context on the way back, before NCCL does."""
    plain, timed = run(story, runs=False), run(story)
    assert plain.done.returncode == timed.done.returncode == 0, timed.done.stderr
    assert plain.done.stdout == timed.done.stdout == 5 * "current 0, last error 0\n"
    assert [(work["sequence"], work["device"]) for work in timed.collectives] == [(i, 1) for i in range(1, 5)]
    assert timed.timings() == [("events", "-")] and timed.health("device_work_untimed") == 1


def test_the_default_stream_is_that_of_the_communicators_device(run):
    guest = run("default_stream_elsewhere")
    assert guest.done.returncode == 0, guest.done.stderr
    (work,) = guest.collectives
    assert work["sequence"] == 1 and work.begin > float(work["at"]) + 0.02  # behind the work before it


def test_a_group_of_several_devices(run):
    """A thread's first group is timed on the device alone that is current."""
    guest = run("devices")
    assert guest.done.returncode == 0, guest.done.stderr
    first = [(sequence, 7) for sequence in range(2)]
    assert sorted((work["sequence"], work["device"]) for work in guest.collectives) == sorted(
        first + [(sequence, device) for sequence in range(2, 6) for device in range(8)])
    assert guest.health("device_work_untimed") == 2 * 7 and guest.timings() == [("events", "-")]


def test_the_programs_last_error_stays(run):
    plain, timed = run("errors", runs=False), run("errors")
    assert plain.done.returncode == timed.done.returncode == 0
    assert plain.done.stdout == timed.done.stdout and "then 0" in timed.done.stdout
    assert len(timed.collectives) == 1 and timed.health("device_work_untimed") == 1


def test_what_is_too_much_is_counted(run):
    guest = run("crowd")
    assert guest.done.returncode == 0
    assert 500 <= len(guest.collectives) < 2000
    assert len(guest.collectives) + guest.health("device_work_untimed") == 2000
    sequences = [work["sequence"] for work in guest.collectives]
    assert len(set(sequences)) == len(sequences)


def test_behind_one_communicator_no_other_waits(run):
    guest = run("one_behind")
    assert guest.done.returncode == 0, guest.done.stderr
    assert [work["sequence"] for work in guest.collectives] == [0, 1, 2]
    assert len({work["communicator"] for work in guest.collectives}) == 1
    assert guest.health("device_work_untimed") == 3  # those that the device had not come to at the end


def test_what_ended_before_it_began_is_counted(run):
    guest = run("restless_clock")
    assert guest.done.returncode == 0, guest.done.stderr
    assert all(work.took >= 0 for work in guest.collectives)
    collectives = int(re.search(r"collectives (\d+)", guest.done.stdout)[1])
    assert 0 < guest.health("device_work_untimed") <= collectives - len(guest.collectives)


def test_what_costs_too_much_is_left_out_after_the_first_half_minute(run):
    """And is timed again once it costs less."""
    guest = run("dear")
    assert guest.done.returncode == 0, guest.done.stderr
    first, second, last = map(int, re.search(r"collectives (\d+) (\d+) (\d+)", guest.done.stdout).groups())
    left_out, untimed = guest.health("device_work_left_out"), guest.health("device_work_untimed")
    assert len(guest.collectives) + left_out + untimed == first + second + last
    assert 0.9 * second <= left_out <= second
    sequences = {work["sequence"] for work in guest.collectives}
    assert {*range(first + second, first + second + last)} <= sequences
    assert len(sequences & {*range(first)}) >= 0.9 * first


def test_what_lies_too_far_behind_an_anchor_is_counted(run):
    guest = run("old_anchor", cpu=False)
    assert guest.done.returncode == 0, guest.done.stderr
    before, behind = map(int, re.search(r"collectives (\d+) (\d+)", guest.done.stdout).groups())
    assert (len(guest.collectives), guest.health("device_work_untimed")) == (before, behind)


@pytest.mark.parametrize("story, code", [("quick_end", 7), ("normal_end", 0)])
def test_the_end_loses_nothing(run, story, code):
    guest = run(story)
    assert guest.done.returncode == code
    assert [work["sequence"] for work in guest.collectives] == list(range(5))


def test_a_child_of_a_process_without_cuda_is_timed(run):
    guest = run("fork_before")
    assert guest.done.stdout == "child 0\n" and len(guest.collectives) == 5


def test_a_child_of_a_process_with_cuda_is_left_alone(run):
    guest = run("fork_after")
    assert guest.done.stdout == "child 0\n" and len(guest.collectives) == 5


def test_one_thread_more_and_only_if_asked(run, tmp_path):
    plain = run("threads", runs=False)
    (tmp_path / "timed").mkdir(), (tmp_path / "untimed").mkdir()
    timed, untimed = Run(tmp_path / "timed", "threads"), Run(tmp_path / "untimed", "threads", timing="none")
    count = [int(re.search(r"threads (\d+)", guest.done.stdout)[1]) for guest in (plain, untimed, timed)]
    assert count[1] == count[0] and count[2] == count[0] + 1
    assert not untimed.collectives and untimed.timings() == [("none", "it was asked for")]
    assert timed.timings() == [("events", "-")]


def test_signals_go_to_the_programs_threads(run):
    plain, timed = run("signals", runs=False), run("signals")
    assert plain.done.stdout == timed.done.stdout


def test_auto_is_events(run):
    assert run("normal_end", timing="auto").timings() == [("events", "-")]


def test_without_cuda_there_is_no_thread_and_no_word(tmp_path):
    done = subprocess.run([BUILD / "bin" / "ddpscope", "run", "-o", tmp_path / "trace", "--", "sh", "-c",
                           "echo x > made; ls /proc/$$/task | wc -l"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "1"
    assert not [record for record in records.read(tmp_path / "trace") if record.call == "device_timing"]
