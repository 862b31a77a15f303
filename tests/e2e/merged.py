"""What a trace and its merged file hold, as `dump` prints both."""
import collections
import re
import subprocess

import ddpscope

CALL = re.compile(r"\S+ \S+ \S+ (?:rank \d+ )?thread \d+ (?P<call>\S+)")
GPU = re.compile(r"\S+ \S+ \S+ (?:rank \d+ )?gpu ")
# Records that are no events: what a process is, and what the analysis derives other things from.
NO_EVENTS = {"environment", "argument", "mount", "thread", "digest", "value_read", "device", "waiting_site", "released",
             "store_key", "device_timing", "device_clock", "thread_seen", "processor_wait", "job_watched", "process_outlived",
             "folder_listing",
             "nvtxRangePush", "nvtxRangePop", "nvtxRangeStart", "nvtxRangeEnd"}  # a range is one event


def command(*words, code=0, cwd=None):
    done = subprocess.run([str(word) for word in (ddpscope.DDPSCOPE, *words)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    return done


def lines_of(text):
    """Lines of `dump` that both have, without stacks, whose native frames only a merged file resolves."""
    lines = (line.split(" @ ")[0] for line in text.splitlines())
    return collections.Counter(line for line in lines
                               if GPU.match(line) or ((call := CALL.match(line)) and call["call"] not in NO_EVENTS))


def assert_every_call_is_there(trace, merged, least):
    of_trace = lines_of(command("dump", trace).stdout)
    of_merged = lines_of(command("dump", merged).stdout)
    assert len(of_trace) > least
    lost, made_up = of_trace - of_merged, of_merged - of_trace
    assert not lost and not made_up, [list(lost)[:5], list(made_up)[:5]]
