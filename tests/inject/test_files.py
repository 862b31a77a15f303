"""Each trap of libc's files, names, sockets and processes: what the guest sees is unchanged, the trace tells what
happened, and it does not when the hook is off."""
import pytest

import records
import traces


def named(records, path):
    """Records of the opening of `path` (its last component)."""
    opened = [r for r in records if r.call != "inherited_descriptor" and str(r.get("path", "")).endswith("/" + path)
              and r.get("file", 0) > 0]
    numbers = {(r.pid, r["file"]) for r in opened}
    return [r for r in records if (r.pid, r.get("file")) in numbers]


def calls(records, *names):
    return [r for r in records if r.call in names]


def total(records, *names):
    return sum(r["bytes"] for r in calls(records, *names))


def mode_argument(records):
    opened = [(r["mode"], r["path"] == "-", r["error"]) for r in calls(records, "open")]
    return opened[:1] == [(0o640, False, 0)] and opened[-1] == (0o600, True, 0)


def error_numbers(records):
    kept = calls(records, "rename")
    return named(records, "kept") and kept[0]["error"] == "EBUSY"


def folded_writes(records):
    writes = calls(named(records, "log"), "write")
    return [(w["offset"], w["bytes"], w["count"]) for w in writes] == [(0, 10000, 1000), (50, 2, 1)]


def duplicates(records):
    writes = calls(named(records, "dup"), "write")
    return sum(w["bytes"] for w in writes) == 16 and writes[-1]["next"] == 16


def reused_number(records):
    return total(named(records, "first"), "write") == 1 and total(named(records, "second"), "write") == 2


def renamed_past_libc(records):
    renames = [(r["path"].rsplit("/", 1)[1], r["target"].rsplit("/", 1)[1]) for r in calls(records, "rename")]
    temporary = renames[2][0]
    return temporary.startswith("tmp") and renames == [
        ("new1", "model"), ("new2", "model"), (temporary, "kept"), ("new3", "model"), ("before", "after")]


def append(records):
    return "O_APPEND" in calls(named(records, "appended"), "open")[0]["flags"] and \
        total(named(records, "appended"), "write") == 3


def ranges(records, path):
    return [(w["offset"], w["bytes"], w["next"]) for w in calls(named(records, path), "write", "writev", "pwritev2", "fwrite")]


def appended_by_turns(records):
    return ranges(records, "turns") == [(0, 3, 3), (3, 2, 5), (5, 1, 6), (6, 3, 9), (9, 2, 11)]


def appended_by_threads(records):
    """What is said of it is right: no two have the same bytes. Not all is known where the two come at once."""
    every = ranges(records, "shared")
    known = sorted((begin, end) for begin, _, end in every if begin >= 0)
    return sum(size for _, size, _ in every) == 20009 and known[0] == (0, 5) and known[-1] == (20005, 20009) and \
        all(one[1] <= other[0] for one, other in zip(known, known[1:]))


def appended_somewhere(records):
    return sorted(ranges(records, "family")) == [(-1, 3, -1), (0, 1, 1)] and \
        ranges(records, "held") == [(-1, 4, -1)] and \
        ranges(records, "told") == [(-1, 2, -1)] and any(r.call == "write" and (r["offset"], r["bytes"]) == (-1, 2) for r in records)


def read_to_the_end(records):
    reads = calls(named(records, "grows"), "read")
    return [(r["offset"], r["bytes"], r["count"]) for r in reads] == [(0, 6, 2), (6, 0, 3), (6, 2, 1)]


def vectors(records):
    one = named(records, "vector")
    return [(r.call, r["offset"], r["bytes"]) for r in calls(one, "writev", "pwritev2", "preadv")] == \
        [("writev", 0, 8), ("pwritev2", 8, 8), ("preadv", 4, 12)]


def streams(records):
    one, given = named(records, "stream"), named(records, "given")
    return total(one, "fwrite", "fprintf") == 8006 and total(one, "fread") == 80 and calls(one, "rewind", "fclose") \
        and total(given, "fwrite") == 4


def names(records):
    moves = [(r.call, r["path"].rsplit("/", 2)[-2:], r["target"].rsplit("/", 1)[-1])
             for r in calls(records, "renameat", "rename")]
    return moves[0] == ("renameat", ["folder", "inner"], "outer") and moves[1][0] == "rename" and \
        calls(records, "rename")[0]["target"].endswith("/folder/back") and \
        len(calls(records, "unlink", "unlinkat", "remove")) == 4 and calls(records, "rmdir", "link", "symlink")


def polling(records):
    marker = [r for r in records if str(r.get("path", "")).endswith("/marker")]
    return [(r["error"], r["count"]) for r in calls(marker, "stat")] == [("ENOENT", 5), (0, 1)] and \
        calls(marker, "open")[0]["fd"] == -4 and calls(marker, "access") and calls(marker, "statx")


def polling_for_long(records):
    """No record of these looks says that something was found; the one in hand when the chunk was moved is not lost."""
    stats, opens = ([r for r in calls(records, call) if r["path"].endswith("/marker")] for call in ("stat", "open"))
    return len(stats) > 1 < len(opens) and {r["error"] for r in stats + opens} == {"ENOENT"} and \
        sum(r["count"] for r in stats) == -sum(r["fd"] for r in opens) == 9000


def asked_for_its_size(records):
    ends = [(r["size"], r["count"], r["error"]) for r in calls(records, "seek_end")]
    states = [(r["size"], r["count"]) for r in calls(records, "fstat") if r["inode"] == calls(records, "seek_end")[0]["inode"]]
    return ends == [(3, 4, 0), (5, 1, 0), (5, 1, 0), (0, 1, "EINVAL")] and states == [(3, 5), (5, 1)]


def times_set(records):
    asked = calls(records, "utimensat", "futimens", "utimes", "futimes", "lutimes", "utime", "futimesat")
    return [(r.call, r["path"].rsplit("/", 1)[-1], r["error"]) for r in asked] == [
        ("utimensat", "aged", 0), ("futimens", "aged", 0), ("utimes", "aged", 0), ("futimes", "aged", 0),
        ("lutimes", "aged", 0), ("utime", "aged", 0), ("utimensat", "aged", 0), ("futimesat", "aged", 0),
        ("utimensat", "absent", "ENOENT")]


def found_by_links(records):
    made = {r["path"].rsplit("/", 1)[-1]: r["inode"] for r in calls(records, "mkdir", "mkdirat", "open") if r["inode"]}
    found = [(r["path"].rsplit("/", 1)[-1], r["inode"]) for r in calls(records, "access", "faccessat")]
    listed = [(r["path"].rsplit("/", 2)[-2], r["target"].rsplit("/", 2)[-2:]) for r in calls(records, "opendir")]
    return found == [("file", made["file"]), ("inner", made["inner"]), ("absent", 0)] and \
        listed == [("linked", ["folder", "inner"]), ("folder", ["-"])]


def old_stat(records):
    return calls(records, "__xstat")[0]["error"] == 0


def listing(records):
    return calls(records, "readdir")[0]["count"] == 4 and calls(records, "opendir")[0]["path"].endswith("/listed")


def transfers(records):
    moved = calls(records, "sendfile", "copy_file_range")
    return [(r["source_offset"], r["target_offset"], r["bytes"]) for r in moved] == [(0, 0, 2000), (2000, 2000, 3000)] \
        and calls(records, "pread64")[0]["bytes"] == 16


def mappings(records):
    one = named(records, "mapped")
    return len(calls(one, "mmap", "msync", "munmap")) == 3 and calls(one, "ftruncate")[0]["next"] == 100 and \
        calls(one, "fsync", "posix_fallocate")


def locks(records):
    return [r["operation"] for r in calls(named(records, "lock"), "flock", "fcntl_lock")] == [2, 1]


def further_reads(records):
    items = calls(records, "item")
    reads = [r for r in calls(records, "open") if r["flags"] == "O_RDONLY"]
    return len(reads) == 10000 and len(items) == 10 and len({i["file"] for i in items}) == 10 and \
        all(i["bytes"] == 6 and i["file"] >= 1 << 31 for i in items)


def ignored(records):
    return not records


def close_in_handler(records):
    return total(named(records, "after"), "write") == 2 and not total(named(records, "handled"), "write")


def cancelled(records):
    return total(named(records, "still"), "write") == 3


def digest(records):
    rows = [[d["hash"] for d in calls(named(records, path), "digest")]
            for path in ("whole", "pieces", "zeros", "archive-0", "archive-1")]
    return len(rows[0]) > 8 and rows[0] == rows[1] and not rows[2] and len(rows[3]) > 8 and rows[3] == rows[4]


def pair(records):
    ends = calls(records, "socketpair")[0]
    first = [r for r in records if r.get("inode") == ends["inode"] and "bytes" in r]
    other = [r for r in records if r.get("inode") == ends["peer_inode"] and "bytes" in r]
    return sum(r["bytes"] for r in calls(first, "send")) == 22 and calls(first, "send")[-1]["offset"] == 15 and \
        total(other, "recv") == 15 and total(first, "socket_read") == 3


def tcp(records):
    connect, accept = calls(records, "connect")[0], calls(records, "accept4")[0]
    return (connect["local"], connect["peer"]) == (accept["peer"], accept["local"]) and \
        total(records, "socket_write") == total(records, "recv") == 5


def unix_socket(records):
    connect, accept = calls(records, "connect")[0], calls(records, "accept")[0]
    return accept["peer_inode"] == connect["inode"] == calls(records, "send")[0]["inode"] != 0


def store(records):
    asked = [(r["operation"], r["key"], r["offset"]) for r in calls(records, "store_key")]
    return asked == [("set", "/k", 5), ("wait", "/k", 25), ("wait", "/long", 25), ("set", "/k", 57)] and \
        len({r["inode"] for r in calls(records, "store_key")} - {calls(records, "connect")[0]["inode"]}) == 0


def endings(records):
    pipe, fork = calls(records, "pipe")[0], calls(records, "fork")[0]
    closes = [r for r in calls(records, "stream_close") if r["inode"] == pipe["inode"]]
    return [r.pid for r in closes] == [fork["pid"]] and calls(records, "socket_read")[0]["flags"] == "end" and \
        calls(records, "shutdown")[0]["flags"] == "sending" and calls(records, "recv")[0]["flags"] == "end"


def pipes(records):
    return calls(records, "pipe2") and total(records, "socket_write") == total(records, "socket_read") == 3


def forked(records):
    parent, child = calls(records, "fork")[0], calls(records, "_exit")[0]
    sent = [(r.pid, r["offset"], r["bytes"]) for r in calls(records, "socket_write")]
    return parent["pid"] == child.pid and child["status"] == 7 and calls(records, "waitpid")[0]["status"] == 7 << 8 and \
        sent == [(parent.pid, 0, 6), (child.pid, 0, 3)]


def vforked(records):
    one = named(records, "parents")
    return total(one, "write") == 3 and len(calls(one, "close")) == 1 and \
        calls(records, "vfork")[0]["path"] == "/bin/true" and calls(records, "vfork")[0]["pid"] != one[0].pid


def failed_exec(records):
    return calls(records, "vfork")[0]["error"] == "ENOENT" and calls(records, "waitpid")[0]["status"] == 3 << 8


def spawned(records):
    child = calls(records, "posix_spawn")[0]
    return calls(records, "waitid")[0]["pid"] == child["pid"] and calls(records, "waitid")[0]["status"] == 5 << 8 and \
        calls(records, "system")[0]["status"] == 6 << 8


def executed(records):
    return calls(records, "execle")[0].inside


def returned(records):
    return calls(records, "exit")[0]["status"] == 11


def waiting_look(records):
    first = calls(records, "stat")[0]
    looks = [(r["error"], r.pid) for r in calls(records, "access") if r["path"].endswith("/awaited")]
    return first["path"].endswith("/work") and first.pid == looks[0][1] and looks[0][0] == "ENOENT" and \
        sum(r["count"] for r in calls(records, "access")) > 3 and looks[-1][0] == 0


def told(records, *names):
    """Of calls on queues and the like: object and calls that succeeded."""
    return [(r["space"], r["id"], r["count"]) for r in calls(records, *names)]


def system_v(records):
    queue, = {(space, number) for space, number, _ in told(records, "msgsnd", "msgrcv")}
    raised, lowered = told(records, "semop"), told(records, "semtimedop")
    return queue[0] == 1 and [count for *_, count in told(records, "msgsnd", "msgrcv")] == [2, 1] and \
        [count for *_, count in raised] == [2, 0, 0] and [count for *_, count in lowered] == [1] and \
        {(space, number) for space, number, _ in raised + lowered + told(records, "semctl")} == {raised[0][:2]} and \
        raised[0][0] == 2 and sum(count for *_, count in told(records, "semctl")) == 2 and \
        [count for *_, count in told(records, "semaphore_awaited")] == [2, 1, 1, 0, 0] and \
        [(space, count) for space, _, count in told(records, "shmat")] == [(3, 1), (3, 0)] and \
        calls(records, "semop")[1]["error"] == "EAGAIN"


def posix_queues(records):
    sends, receives = told(records, "mq_send", "mq_timedsend"), told(records, "mq_receive", "mq_timedreceive")
    return [count for *_, count in sends + receives] == [1, 1, 1, 1, 0] and sends[0][0] > 1 << 32 and \
        len({use[:2] for use in sends + receives}) == 1 and calls(records, "mq_timedreceive")[1]["error"] == "ETIMEDOUT"


def events(records):
    writes, reads = told(records, "eventfd_write"), told(records, "eventfd_read")
    one = writes[0][:2]
    return one[0] == 4 and writes == [(*one, 1), (*one, 1)] and reads[:2] == [(*one, 1), (*one, 1)] and \
        reads[2][1] not in (0, one[1]) and reads[2][2] == 0 and told(records, "inotify_read") == [(5, 0, 1)]


def anonymous(records):
    return [count for *_, count in told(records, "anonymous_memory")] == [1]


def signals(records):
    sent = [(r.call, r["status"]) for r in calls(records, "sigqueue", "tgkill", "pthread_kill", "pthread_sigqueue")
            if not r["error"]]
    return sent == [(call, 10) for call in ("sigqueue", "tgkill", "pthread_kill", "pthread_sigqueue")] and \
        {r["pid"] for r in calls(records, "sigqueue", "pthread_kill")} == {records[0].pid}


def ended_thread(records):
    return [r["error"] for r in calls(records, "pthread_kill")][-2:] == ["ESRCH", 0]


def search(records):
    return not records


def threads(records):
    return named(records, "of_thread")


# (guest, what must be in the trace, hooks without which it is not)
TRAPS = [
    ("files_guest", mode_argument, ["open"]), ("files_guest", error_numbers, ["rename"]),
    ("files_guest", folded_writes, ["write"]), ("files_guest", duplicates, ["dup"]),
    ("files_guest", duplicates, ["dup2"]), ("files_guest", duplicates, ["fcntl"]),
    ("files_guest", reused_number, ["open"]), ("files_guest", append, ["open"]),
    ("files_guest", appended_by_turns, ["write"]), ("files_guest", appended_by_turns, ["writev"]),
    ("files_guest", appended_by_turns, ["fcntl"]), ("files_guest", appended_by_threads, ["write"]),
    ("files_guest", appended_somewhere, ["fwrite"]), ("files_guest", appended_somewhere, ["pwritev2"]),
    ("files_guest", read_to_the_end, ["read"]),
    ("files_guest", vectors, ["writev"]), ("files_guest", vectors, ["pwritev2"]), ("files_guest", vectors, ["preadv"]),
    ("files_guest", streams, ["fwrite"]), ("files_guest", streams, ["fopen64"]), ("files_guest", streams, ["fread"]),
    ("files_guest", names, ["chdir"]), ("files_guest", names, ["renameat"]), ("files_guest", names, ["unlinkat"]),
    ("files_guest", polling, ["stat"]), ("files_guest", polling, ["open"]), ("files_guest", polling, ["syscall"]),
    ("files_guest", polling_for_long, ["stat"]), ("files_guest", polling_for_long, ["open"]),
    *[("looks_guest", asked_for_its_size, [hook]) for hook in ("lseek", "fseek", "fstat")],
    *[("looks_guest", times_set, [hook])
      for hook in ("utimensat", "futimens", "utimes", "futimes", "lutimes", "utime", "futimesat")],
    *[("looks_guest", found_by_links, [hook]) for hook in ("access", "faccessat", "mkdirat", "opendir")],
    ("files_guest", old_stat, ["__xstat"]), ("files_guest", listing, ["opendir"]), ("files_guest", listing, ["readdir"]),
    ("files_guest", transfers, ["sendfile"]), ("files_guest", transfers, ["copy_file_range"]),
    ("files_guest", transfers, ["syscall"]), ("files_guest", mappings, ["mmap"]), ("files_guest", mappings, ["munmap"]),
    ("files_guest", locks, ["flock"]), ("files_guest", locks, ["fcntl"]), ("files_guest", digest, ["write"]),
    ("files_guest", renamed_past_libc, ["close"]),
    ("files_guest", further_reads, ["read"]),
    ("files_guest", close_in_handler, ["write"]), ("files_guest", cancelled, ["write"]),
    ("processes_guest", pair, ["socketpair"]), ("processes_guest", pair, ["send"]), ("processes_guest", pair, ["recv"]),
    ("processes_guest", tcp, ["connect"]), ("processes_guest", tcp, ["accept4"]),
    ("processes_guest", unix_socket, ["accept"]), ("processes_guest", unix_socket, ["connect"]),
    ("processes_guest", endings, ["close"]), ("processes_guest", endings, ["shutdown"]),
    ("processes_guest", store, ["send"]), ("processes_guest", store, ["connect"]), ("processes_guest", pipes, ["pipe2"]),
    ("processes_guest", forked, ["fork"]), ("processes_guest", forked, ["_exit"]),
    ("processes_guest", vforked, ["vfork"]), ("processes_guest", vforked, ["execl"]),
    ("processes_guest", failed_exec, ["execlp"]), ("processes_guest", spawned, ["posix_spawn"]),
    ("processes_guest", spawned, ["waitid"]), ("processes_guest", spawned, ["system"]),
    *[("processes_guest", system_v, [hook])
      for hook in ("msgsnd", "msgrcv", "semop", "semtimedop", "semctl", "shmat")],
    *[("processes_guest", posix_queues, [hook])
      for hook in ("mq_send", "mq_timedsend", "mq_receive", "mq_timedreceive")],
    *[("processes_guest", events, [hook]) for hook in ("read", "write", "eventfd_read", "eventfd_write")],
    *[("processes_guest", signals, [hook]) for hook in ("sigqueue", "tgkill", "pthread_kill", "pthread_sigqueue")],
    ("processes_guest", ended_thread, ["pthread_kill"]), ("processes_guest", anonymous, ["mmap"]),
    ("processes_guest", waiting_look, ["stat"]), ("processes_guest", waiting_look, ["access"]),
    ("processes_guest", executed, ["execle"]), ("processes_guest", threads, ["open"]),
]
ALWAYS = [("files_guest", ignored), ("processes_guest", search), ("processes_guest", returned)]  # no hook to switch off
GUESTS = list(dict.fromkeys([(guest, check) for guest, check, _ in TRAPS] + ALWAYS))


def holds(check, records):
    try:
        return bool(check(records))
    except (IndexError, KeyError):
        return False


def run(guest, check, folder, injector):
    command = [traces.BUILD / "bin" / "inject" / guest, check.__name__]
    outcome = traces.start(command, folder / "work", injector, folder / "trace")
    return outcome, records.read(folder / "trace") if injector else []


@pytest.mark.parametrize("guest,check", GUESTS, ids=lambda p: getattr(p, "__name__", p))
def test_recorded_and_unchanged(guest, check, tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "preloaded").mkdir()
    expected, _ = run(guest, check, tmp_path / "plain", None)
    outcome, records = run(guest, check, tmp_path / "preloaded", traces.INJECTOR)
    assert outcome == expected
    assert holds(check, records), "\n".join(f"{r.call} {dict(r)}" for r in records)


@pytest.mark.parametrize("guest,check,hooks", TRAPS, ids=lambda p: getattr(p, "__name__", str(p)))
def test_fails_without_its_hook(guest, check, hooks, tmp_path):
    blind = traces.injector_without(hooks, tmp_path / "libblind.so")
    _, records = run(guest, check, tmp_path, blind)
    assert not holds(check, records)
