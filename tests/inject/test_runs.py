"""Reads of one stream in a row are one record; of those that take their time several, which tell when each part came."""
import sys

import records
import traces

GUEST = """
import socket, sys, threading, time
pause, times = float(sys.argv[1]), int(sys.argv[2])
began = time.monotonic()
sender, receiver = socket.socketpair()
def send():
    for _ in range(times):
        time.sleep(pause)
        sender.send(b"x")
    sender.close()
threading.Thread(target=send).start()
while receiver.recv(1):
    pass
print(time.monotonic() - began)
"""
TIMES = 25
SHORTEST = 0.2  # seconds: 2^30 ticks of a processor of 5 GHz


def read(pause, tmp_path):
    """Its records, and the seconds that it took."""
    guest = tmp_path / "guest.py"
    guest.write_text(GUEST)
    code, said = traces.start([sys.executable, guest, pause, TIMES], tmp_path / "work", traces.INJECTOR, tmp_path / "trace")
    assert code == 0, said
    return [record for record in records.read(tmp_path / "trace") if record.call == "recv"], float(said)


def test_slowly(tmp_path):
    parts, took = read(0.1, tmp_path)
    assert 2 <= len(parts) <= 2 + took / SHORTEST
    assert sum(part["bytes"] for part in parts) == TIMES
    for before, after in zip(parts, parts[1:]):
        assert after["offset"] == before["offset"] + before["bytes"] and after.begin > before.begin


def test_at_once(tmp_path):
    parts, took = read(0, tmp_path)
    assert len(parts) <= 2 + took / SHORTEST  # the end of the stream may be one of its own
    assert sum(part["bytes"] for part in parts) == TIMES
