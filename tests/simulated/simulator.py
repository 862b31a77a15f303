"""Plays what ranks do by the rules of CUDA's streams and NCCL, and writes the trace that would have been recorded of it.

A rank is a list of operations, in the order of its host's program:

    Call(text, seconds)               the host is in a call that long
    Compute(seconds)                  the host is in none
    Launch(stream, seconds, name)     a kernel
    Copy(stream, seconds, bytes)      an input, to the device
    Join(stream, behind)              an event of stream `behind`, for which `stream` waits
    Collective(group, call, count, stream, seconds, place, buffer)
    Exchange(group, messages, count, stream, seconds, place)
                                      sends and receives, ("ncclSend" or "ncclRecv", peer), in one group if there are several
    Synchronize(stream)               the host waits for the stream
    Hang(text)                        the host never comes back from this call
    Leave(code)                       the process ends; what it has enqueued never runs

Group(number, id, size, rank): a communicator as one of its ranks has it. Times are seconds.
"""
import collections
import dataclasses

Group = collections.namedtuple("Group", "number id size rank")
Call = collections.namedtuple("Call", "text seconds")
Compute = collections.namedtuple("Compute", "seconds")
Launch = collections.namedtuple("Launch", "stream seconds name", defaults=["gemm"])
Copy = collections.namedtuple("Copy", "stream seconds bytes", defaults=[65536])
Join = collections.namedtuple("Join", "stream behind")
Collective = collections.namedtuple("Collective", "group call count stream seconds place buffer", defaults=[None])
Exchange = collections.namedtuple("Exchange", "group messages count stream seconds place")
Synchronize = collections.namedtuple("Synchronize", "stream")
Hang = collections.namedtuple("Hang", "text")
Leave = collections.namedtuple("Leave", "code")

A_CALL = 2e-5  # what a call that only enqueues takes its host


@dataclasses.dataclass
class Work:
    """Of a device. It is ready when it is enqueued and all that it comes behind is over; then its partners have to be."""
    enqueued: float
    seconds: float
    told: str | None = None  # how it is recorded, where device times are
    behind: list = dataclasses.field(default_factory=list)
    meetings: list = dataclasses.field(default_factory=list)
    waits_for: int = 0
    ready: float | None = None
    over: float | None = None
    awaited_by: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Meeting:
    """Of the members of a collective, or of a send and its receive."""
    size: int
    members: list = dataclasses.field(default_factory=list)

    def complete(self):
        return len(self.members) == self.size and all(work.ready is not None for work in self.members)


@dataclasses.dataclass
class HostCall:
    begin: float
    end: float | None  # None: it did not come back
    text: str


class Simulation:
    """hosts: by rank, its calls. devices: by rank, its work. ended: by rank, when it left; None if it stands still."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.hosts = [[] for _ in ranks]
        self.devices = [[] for _ in ranks]
        self.now = [0.3] * len(ranks)
        self.ended = [None] * len(ranks)
        self.meetings = collections.defaultdict(lambda: None)
        self.streams = [{} for _ in ranks]  # by rank and stream: its last work
        self.issued = [collections.Counter() for _ in ranks]
        self.play()

    def play(self):
        at = [0] * len(self.ranks)
        moved = True
        while moved:
            moved = False
            for rank, operations in enumerate(self.ranks):
                while at[rank] < len(operations) and self.step(rank, operations[at[rank]]):
                    at[rank] = len(operations) if isinstance(operations[at[rank]], (Hang, Leave)) else at[rank] + 1
                    moved = True
        for rank, operations in enumerate(self.ranks):
            if at[rank] < len(operations):
                self.hosts[rank].append(HostCall(self.now[rank], None, wait_for(operations[at[rank]].stream)))

    def step(self, rank, operation):
        """False: the host has to wait."""
        return getattr(self, type(operation).__name__.lower())(rank, operation)

    def record(self, rank, text, seconds=A_CALL):
        self.hosts[rank].append(HostCall(self.now[rank], self.now[rank] + seconds, text))
        self.now[rank] += seconds + 1e-6
        return True

    def enqueue(self, rank, stream, seconds, told=None, behind=(), meetings=()):
        work = Work(self.now[rank], seconds, told, [*behind], [*meetings])
        self.devices[rank].append(work)
        if stream in self.streams[rank]:
            work.behind.append(self.streams[rank][stream])
        self.streams[rank][stream] = work
        for meeting in meetings:
            meeting.members.append(work)
        for earlier in work.behind:
            if earlier.over is None:
                earlier.awaited_by.append(work)
                work.waits_for += 1
        self.settle([work])

    def settle(self, changed):
        """Lets all that is ready end, and what comes behind it become ready."""
        while changed:
            work = changed.pop()
            if work.over is not None or work.waits_for:
                continue
            if work.ready is None:
                work.ready = max([work.enqueued, *(earlier.over for earlier in work.behind)])
                changed += [partner for meeting in work.meetings for partner in meeting.members]
            if not all(meeting.complete() for meeting in work.meetings):
                continue
            partners = [partner.ready for meeting in work.meetings for partner in meeting.members]
            work.over = max([work.ready, *partners]) + work.seconds
            for later in work.awaited_by:
                later.waits_for -= 1
                changed.append(later)

    def meeting(self, key, size):
        if self.meetings[key] is None:
            self.meetings[key] = Meeting(size)
        return self.meetings[key]

    def number(self, rank, *what):
        """How many of that the rank has issued before."""
        self.issued[rank][what] += 1
        return self.issued[rank][what] - 1

    def call(self, rank, operation):
        return self.record(rank, operation.text, operation.seconds)

    def compute(self, rank, operation):
        self.now[rank] += operation.seconds
        return True

    def launch(self, rank, operation):
        stream, seconds, name = operation
        self.enqueue(rank, stream, seconds, f'kernel name="{name}" device=0 stream={stream} thread=1 called={self.now[rank]:.7f}')
        return self.record(rank, f'cudaLaunchKernel name="{name}" stream={stream:#x}')

    def copy(self, rank, operation):
        self.enqueue(rank, operation.stream, operation.seconds)
        return self.record(rank, f"cudaMemcpyAsync kind=h2d bytes={operation.bytes} stream={operation.stream:#x}")

    def join(self, rank, operation):
        event = 0x100 + operation.behind
        self.record(rank, f"cudaEventRecord event={event:#x} stream={operation.behind:#x}")
        if operation.behind in self.streams[rank]:
            self.enqueue(rank, operation.stream, 0, behind=[self.streams[rank][operation.behind]])
        return self.record(rank, f"cudaStreamWaitEvent event={event:#x} stream={operation.stream:#x}")

    def collective(self, rank, operation):
        group, call, count, stream, seconds, place, buffer = operation
        number = self.number(rank, group.id)
        self.enqueue(rank, stream, seconds, f"collective communicator={group.number} sequence={number}",
                     meetings=[self.meeting((group.id, number), group.size)])
        return self.record(rank, f'{call} communicator={group.number} count={count} datatype=f32 reduction=sum '
                                 f'stream={stream:#x} buffer={buffer or stream << 8:#x} stack="{place}"')

    def exchange(self, rank, operation):
        group, messages, count, stream, seconds, place = operation
        meetings = []
        for call, peer in messages:
            ends = (group.rank, peer) if call == "ncclSend" else (peer, group.rank)
            meetings.append(self.meeting((group.id, ends, self.number(rank, group.id, call, ends)), 2))
        if len(messages) > 1:
            self.record(rank, "ncclGroupStart", 1e-6)
        for call, peer in messages:
            self.record(rank, f'{call} communicator={group.number} count={count} datatype=f32 peer={peer} '
                              f'stream={stream:#x} stack="{place}"', 1e-6)
        self.enqueue(rank, stream, seconds, meetings=meetings)
        return len(messages) == 1 or self.record(rank, "ncclGroupEnd", 2e-6)

    def synchronize(self, rank, operation):
        last = self.streams[rank].get(operation.stream)
        if last and last.over is None:
            return False
        seconds = max(A_CALL, last.over - self.now[rank] if last else 0)
        return self.record(rank, wait_for(operation.stream), seconds)

    def hang(self, rank, operation):
        self.hosts[rank].append(HostCall(self.now[rank], None, operation.text))
        return True

    def leave(self, rank, operation):
        self.record(rank, f"exit status={operation.code}")
        self.ended[rank] = self.now[rank]
        return True


def wait_for(stream):
    return f"cudaStreamSynchronize stream={stream:#x}"


def text_trace(simulation, ends, timed=()):
    """ends: by rank, when nothing of it was recorded any more, if it has not left by itself. timed: kinds of device work
    ("collective", "kernel") whose times were recorded.
    """
    lines = []
    for rank, (calls, end, left) in enumerate(zip(simulation.hosts, ends, simulation.ended)):
        gone = left is not None and left < end
        lines.append(f"process r{rank} rank={rank} world={len(ends)} pid={1000 + rank}" + ("" if gone else f" until={end:.7f}"))
        for call in calls:
            if call.begin >= end:
                break
            inside = call.end is None or call.end > end
            lines.append(f"r{rank} {call.begin:.7f} {'inside' if inside else f'+{call.end - call.begin:.7f}'} {call.text}")
        lines += [f"r{rank}/2 {work.ready:.7f} +{work.over - work.ready:.7f} gpu kind={work.told}"
                  for work in sorted(simulation.devices[rank], key=lambda work: work.over or end)
                  if work.over is not None and work.over < end and work.told and work.told.split()[0] in timed]
    return "\n".join(lines) + "\n"
