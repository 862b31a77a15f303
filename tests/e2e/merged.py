"""What a trace and its merged file hold, as `dump` prints both."""
import collections
import re
import subprocess

import ddpscope

DUMP_FIELDS = re.compile(r"(?P<time>\S+ \S+ \S+) (?:rank \d+ )?(?P<rest>thread .*)")
# Records that are no events: what a process is, and what the analysis derives other things from.
NO_EVENTS = {"environment", "argument", "mount", "thread", "digest", "value_read", "device", "waiting_site", "released",
             "store_key", "device_timing", "device_clock", "thread_seen", "processor_wait", "job_watched", "process_outlived",
             "folder_listing"}


def command(*words, code=0, cwd=None):
    done = subprocess.run([str(word) for word in (ddpscope.DDPSCOPE, *words)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    return done


# Tracks that show something else than calls.
NO_CALLS = re.compile(r"rank -?\d+ (steps|stream|sightings) ")


def events_of(text):
    """Lines as `dump` prints them, without rank, stack and what stands before the time in a merged file."""
    events = collections.Counter()
    for line in text.splitlines():
        if NO_CALLS.match(line):
            continue
        line = re.sub(r'^rank -?\d+ [a-z ]+ "[^"]*" depth \d+: ', "", line).split(" @ ")[0]
        if (match := DUMP_FIELDS.match(line)) and match["rest"].split()[2] not in NO_EVENTS:
            events[f"{match['time']} {match['rest']}"] += 1
    return events


def assert_every_call_is_there(trace, merged, least):
    of_trace = events_of(command("dump", trace).stdout)
    of_merged = events_of(command("dump", merged).stdout)
    assert len(of_trace) > least
    assert not of_trace - of_merged and not of_merged - of_trace
