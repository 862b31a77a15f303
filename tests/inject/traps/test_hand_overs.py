"""Hand-overs between threads: what one thread took from another, by every function that can hand something over."""
import pathlib
import sys

import guards
from recording import TRAPS

GUEST = TRAPS / "hand_over_guest"


def told(run, story):
    guest, trace = run([GUEST, story], trace=story)
    assert guest.returncode == 0, (story, guest.returncode, guest.stderr)
    return trace


def touched(trace, name):
    """The record of the file that was touched under this name."""
    record, = [r for r in trace.calls("open", "open64") if r["path"].endswith("/" + name)]
    return record


def nanoseconds(seconds):
    return int(seconds.replace(".", ""))


def hand_overs(trace, giver, taker, kind=None):
    """What the thread of `taker` had taken of the thread of `giver` when it touched: that the other touch had ended. Of one
    whose release is a record of its own: what took all such records."""
    before, after = touched(trace, giver), touched(trace, taker)
    taken = [r for r in trace.records if "from_thread" in r and r.pid == after.pid and r.thread == after.thread
             and r.begin <= after.begin and r["kind"] == (kind or r["kind"])]
    releases = [r for r in trace.calls("released") if r.pid == before.pid and r.thread == before.thread
                and nanoseconds(r["until_ticks"]) >= before.end]
    return [r for r in taken if int(r["from_thread"]) == before.thread and nanoseconds(r["from_ticks"]) >= before.end
            or any(takes_release(r, release) for release in releases)]


def takes_release(taken, release):
    told = (taken["object"], taken["number"], taken["kind"]) == tuple(release[field] for field in ("object", "number", "kind"))
    in_time = taken["number"] != "0" or nanoseconds(taken["from_ticks"]) <= release.begin
    return told and in_time and taken["from_thread"] == "0" and release.begin < taken.begin


def joins(run):
    trace = told(run, "join")
    for name, call in {"plain": "pthread_join", "polled": "pthread_tryjoin_np", "timed": "pthread_timedjoin_np",
                       "clocked": "pthread_clockjoin_np"}.items():
        thread = touched(trace, name).thread
        made, = [r for r in trace.calls("pthread_create") if int(r["other"]) == thread]
        joined, = [r for r in trace.calls(call) if int(r["other"]) == thread]
        assert made["handle"] == joined["handle"] and made.begin < touched(trace, name).begin < joined.end
    assert [r["error"] for r in trace.calls("pthread_timedjoin_np")] == ["0", "ETIMEDOUT"]


def late_thread(run):
    trace = told(run, "late-thread")
    made, = trace.calls("pthread_create")
    creator = [r for r in trace.calls("open", "open64") if r["path"].endswith("/creator")]
    assert int(made["other"]) == touched(trace, "late").thread and len(creator) == 2 * 3 * 4096
    assert {r.thread for r in creator} == {made.thread} and not [r for r in creator if r.end == 0]


def c11_threads(run):
    trace = told(run, "c11")
    made, joined = trace.calls("thrd_create", "thrd_join")
    assert int(made["other"]) == int(joined["other"]) == touched(trace, "c11").thread


def early_thread(run):
    trace = told(run, "early")
    joined, = trace.calls("pthread_join")
    assert not trace.calls("pthread_create") and int(joined["other"]) == touched(trace, "early").thread


WAITS = {"wait": "pthread_cond_wait", "timedwait": "pthread_cond_timedwait", "clockwait": "pthread_cond_clockwait",
         "c11-wait": "cnd_wait"}


def waits(run):
    for story, call in WAITS.items():
        trace = told(run, story)
        found = hand_overs(trace, "before", "after")
        assert [(r.call, r["kind"], r["flags"]) for r in found] == [(call, "condition", "none")], story
        site, = trace.calls("waiting_site")
        lock, = [r for r in trace.calls("pthread_mutex_lock", "mtx_lock") if r.thread == touched(trace, "after").thread]
        assert (site["site"], site["module"]) == (lock["site"], lock["module"]) and site["module"] == str(GUEST)


def cxx_wait(run):
    trace = told(run, "c++-wait")
    found = hand_overs(trace, "before", "after", "condition")
    assert [(r.call, r["module"]) for r in found] == [("pthread_cond_wait", str(GUEST))]
    assert trace.calls("waiting_site")[0]["module"] == str(GUEST)
    made, = trace.calls("pthread_create")
    assert int(made["other"]) == touched(trace, "after").thread


def two_signallers(run):
    trace = told(run, "two-signallers")
    assert len(hand_overs(trace, "one", "after", "condition")) == len(hand_overs(trace, "two", "after", "condition")) == 1


def signalled_before(run):
    trace = told(run, "signalled-before")
    assert not hand_overs(trace, "before", "after") and len(hand_overs(trace, "other", "after", "condition")) == 1


def signalled_again(run):
    trace = told(run, "signalled-again")
    assert len(hand_overs(trace, "before", "after", "condition")) == 1


def timed_out(run):
    trace = told(run, "timed-out")
    assert [(r.call, r["flags"]) for r in hand_overs(trace, "before", "after")] == [("pthread_cond_timedwait", "relock")]
    assert not [r for r in trace.records if r.get("kind") == "condition"]


def cancelled(run):
    trace = told(run, "cancelled")
    assert hand_overs(trace, "cleanup", "after", "mutex")
    joined, = trace.calls("pthread_join")
    assert int(joined["other"]) == touched(trace, "cleanup").thread


def semaphores(run):
    for way in ("wait", "trywait", "timedwait", "clockwait"):
        trace = told(run, "sem-" + way)
        assert [(r.call, r["flags"]) for r in hand_overs(trace, "before", "after")] == [("sem_" + way, "none")]
    assert [r["flags"] for r in hand_overs(told(run, "sem-tokens"), "first", "after")] == ["uncertain"]
    assert not [r for r in told(run, "sem-timeout").records if "from_thread" in r]


def post_in_handler(run):
    trace = told(run, "post-in-handler")
    taken = [r for r in trace.calls("open") if "/taken." in r["path"]]
    assert len(taken) >= 100 and trace.calls("sem_trywait") and not any(r.inside for r in trace.records)
    assert not {"kept_records_lost", "bulk_records_lost"} & set(trace.health)


def unlocks_add_up(run):
    trace = told(run, "mutex")
    assert len(hand_overs(trace, "one", "main", "mutex")) == len(hand_overs(trace, "two", "main", "mutex")) == 1
    assert len(hand_overs(trace, "one", "two", "mutex")) == 1
    assert len([r for r in trace.records if "from_thread" in r]) <= 6


def to_and_fro(run):
    trace = told(run, "to-and-fro")
    assert 2 <= len([r for r in trace.records if "from_thread" in r]) <= 8


def locking_malloc(run):
    """Before us in the order of loading, and after: its constructor and ours allocate."""
    allocator = TRAPS / "libtrap_locking_malloc.so"
    for order in ("before", "after"):
        guest, trace = run([GUEST, "wait"], trace="allocator-" + order, **{order: [allocator]})
        assert guest.returncode == 0, (order, guest.stderr)
        assert hand_overs(trace, "before", "after", "condition"), order


def kinds_of_mutex(run):
    trace = told(run, "recursive")
    assert hand_overs(trace, "late", "after", "mutex")


def read_write_locks(run):
    trace = told(run, "rwlock")
    ways = ["wrlock", "rdlock", "tryrdlock", "trywrlock", "timedrdlock", "timedwrlock", "clockrdlock", "clockwrlock"]
    for before, after in zip(ways, ways[1:]):
        assert {r.call for r in hand_overs(trace, before, after, "rwlock")} == {"pthread_rwlock_" + after}


def barriers_of_threads(run):
    trace = told(run, "barrier")
    at = {(who, round): touched(trace, f"{who}.{round}") for who in range(3) for round in range(100)}
    for (who, round), here in at.items():
        for other in {0, 1, 2} - {who}:
            if round:
                assert hand_overs(trace, f"{other}.{round - 1}", f"{who}.{round}", "barrier"), (who, round, other)
            taken = [r for r in trace.calls("pthread_barrier_wait") if r.thread == here.thread and r.begin <= here.begin
                     and int(r["from_thread"]) == at[other, 0].thread]
            assert all(nanoseconds(r["from_ticks"]) < at[other, round].end for r in taken), (who, round, other)


CROWD = 8


def crowds(run):
    for story, giver, taker, kind in [("crowd-mutex", "locked", "main", "mutex"), ("crowd-semaphore", "posted", "main", "semaphore"),
                                      ("crowd-rwlock", "read", "main", "rwlock"),
                                      ("crowd-condition", "signalled", "woken", "condition")]:
        trace = told(run, story)
        assert "hand_overs_lost" not in trace.health, story
        for i in range(CROWD):
            assert hand_overs(trace, f"{giver}.{i}", taker, kind), (story, i)
        if story == "crowd-mutex":
            assert all(hand_overs(trace, f"locked.{i}", f"locked.{j}", kind) for j in range(CROWD) for i in range(j))


def crowd_signalled_before(run):
    trace = told(run, "crowd-condition")
    assert not [i for i in range(CROWD) if hand_overs(trace, f"early.{i}", "woken", "condition")]


def made_anew(run):
    trace = told(run, "mutex-made-anew")
    for j in range(CROWD):
        assert all(hand_overs(trace, f"new.{i}", f"new.{j}", "mutex") for i in range(j)), j
        assert not [i for i in range(CROWD) if hand_overs(trace, f"old.{i}", f"new.{j}", "mutex")], j
    assert "hand_overs_lost" not in trace.health


def crowd_at_barrier(run):
    trace = told(run, "crowd-barrier")
    assert "hand_overs_lost" not in trace.health
    for who in range(CROWD):
        for other in set(range(CROWD)) - {who}:
            for round in range(1, 20, 6):
                assert hand_overs(trace, f"{other}.{round - 1}", f"{who}.{round}", "barrier"), (who, other, round)


def crowd_without_news(run):
    trace = told(run, "crowd-without-news")
    assert "hand_overs_lost" not in trace.health
    assert len(trace.calls("released")) <= 2 * 32 and len([r for r in trace.records if "from_thread" in r]) <= 32 * 40


def latches(run):
    trace = told(run, "latch")
    assert hand_overs(trace, "from-thread", "after", "futex") and hand_overs(trace, "after", "last", "futex")
    assert not hand_overs(trace, "before", "after", "futex")


def forked(run):
    trace = told(run, "forked")
    child = touched(trace, "child")
    of_child = [r for r in trace.records if r.pid == child.pid and "from_thread" in r]
    assert len(trace.files) == 2 and {(r.thread, r["from_thread"]) for r in of_child} == \
        {(touched(trace, "child-after").thread, str(child.thread))}
    assert hand_overs(trace, "child-locked", "child-after", "mutex")


def parted_run(run):
    trace = told(run, "parted-run")
    first, second = trace.calls("write")
    assert first["count"] == second["count"] == "10"
    took = [r for r in trace.calls("sem_wait") if r.thread == touched(trace, "after").thread]
    assert first.end <= max(nanoseconds(r["from_ticks"]) for r in took) < second.begin


def shared_semaphores(run):
    trace = told(run, "shared-memory")
    posts, takes = trace.calls("sem_post"), trace.calls("shared_sem_wait")

    def identity(r):
        return r["device"], r["inode"], r["offset"]

    assert len(posts) == len(takes) == 2 and not [r for r in trace.records if "from_thread" in r]
    for post in posts:
        take, = [r for r in takes if identity(r) == identity(post)]
        assert take.pid != post.pid and post.begin <= take.end and int(post["inode"]) > 0
    assert len({identity(r) for r in posts}) == 2
    trace = told(run, "named-semaphore")
    post, = trace.calls("sem_post")
    assert [(identity(r) == identity(post), r["error"]) for r in trace.calls("shared_sem_wait")] == \
        [(True, "0"), (True, "ETIMEDOUT")]


PYTHON = """
import queue, threading
requests, answers = queue.Queue(), queue.Queue()
def work():
    while (name := requests.get()) is not None:
        open(name, "w").close()
        answers.put(name)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
open("before", "w").close()
for i in range(50): requests.put(f"work.{i}")
names = sorted(answers.get() for _ in range(50))
open("after", "w").close()
for _ in threads: requests.put(None)
for thread in threads: thread.join()
"""


def gil(run):
    guest, trace = run(["/usr/bin/python3", "-c", PYTHON])
    assert guest.returncode == 0, guest.stderr
    taken = [r for r in trace.records if "from_thread" in r]
    assert {r["kind"] for r in taken} == {"semaphore"} and not trace.calls("waiting_site")
    for i in range(50):
        assert hand_overs(trace, "before", f"work.{i}") or hand_overs(trace, f"work.{i}", "after")
    assert len(hand_overs(trace, "work.0", "after")) > 0


POOL = """
import multiprocessing, pathlib
sample = pathlib.Path("sample")
sample.write_bytes(b"data")
with multiprocessing.get_context("spawn").Pool(1) as pool:
    pool.map(pathlib.Path.read_bytes, [sample])
    pool.close()
    pool.join()
"""


def spawned_worker(run):
    """It waits for its queue's lock, and then only reads."""
    guest, trace = run(["/usr/bin/python3", "-c", POOL])
    assert guest.returncode == 0, guest.stderr
    opened = [r for r in trace.calls("open", "open64") if r["path"].endswith("/sample")]
    assert len({r.pid for r in opened}) == 2, opened


test_trap, test_guard = guards.tests_of(globals())
