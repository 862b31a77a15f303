"""Stops processes of a job now and then, for a moment: as a busy machine, a slow disk or a debugger would. Calls then overlap
and come in orders that they else seldom have; a healthy job stays healthy.

DDPSCOPE_HOLD_UPS=SEED does so to every recorded job of a test (tests/long.sh).
"""
import contextlib
import os
import random
import signal
import threading
import time

SEED = os.environ.get("DDPSCOPE_HOLD_UPS")
BETWEEN_SECONDS, STOPPED_SECONDS = (0.01, 0.2), (0.01, 0.5)


@contextlib.contextmanager
def held_up(process, descendants):
    """Holds up what `process`, `ddpscope run`, has started, while the block runs. descendants(pid): their pids."""
    if SEED is None:
        yield
        return
    over, rng = threading.Event(), random.Random(SEED)

    def hold():
        while not over.wait(rng.uniform(*BETWEEN_SECONDS)):
            if pids := descendants(process.pid):
                stop(rng.choice(pids), rng.uniform(*STOPPED_SECONDS))

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def stop(pid, seconds):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
