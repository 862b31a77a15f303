"""Training on a mesh of ranks: tensor, pipeline and data parallel, in steps of several micro-batches (1F1B)."""
import dataclasses

from simulator import (Call, Collective, Compute, Copy, Exchange, Group, Hang, Join, Launch, Leave, Synchronize)

COMPUTE, BARRIERS, TENSOR, PIPELINE, EXPERTS, GRADIENTS = 5, 7, 18, 19, 20, 22  # streams
SHAPES = [(1, 1, 2), (2, 1, 1), (1, 2, 1), (1, 1, 4), (1, 2, 2), (1, 4, 1), (2, 2, 1), (2, 1, 4), (4, 1, 2), (1, 4, 2), (2, 2, 2),
          (2, 4, 2), (4, 2, 4)]


@dataclasses.dataclass
class Mesh:
    """How many ranks along each axis, and what the job does."""
    tensor: int
    pipeline: int
    data: int
    micro_batches: int
    sharded: bool     # gradients are reduced to where their part of the state is, and parameters gathered
    experts: bool     # tokens go to all ranks of the data axis, and come back
    wait_every: int   # steps
    save_at: int | None = None

    @property
    def ranks(self):
        return self.tensor * self.pipeline * self.data


def draw(rng):
    tensor, pipeline, data = rng.choice(SHAPES)
    return Mesh(tensor, pipeline, data, rng.choice([2, 4]), rng.random() < 0.5, rng.random() < 0.5, rng.choice([1, 3]))


class Rank:
    """Builds the operations of one rank. steps: where each begins, and where the last ends."""

    def __init__(self, mesh, rank, rng, steps):
        self.mesh, self.rng, self.operations, self.steps = mesh, rng, [], []
        tensor, stage = rank % mesh.tensor, rank // mesh.tensor % mesh.pipeline
        replica = rank // (mesh.tensor * mesh.pipeline)
        self.stage, self.saves = stage, tensor == 0 and replica == 0
        self.world = Group(1, 0xa0, mesh.ranks, rank)
        self.tensor = Group(2, 0x1000 + rank // mesh.tensor, mesh.tensor, tensor)
        self.pipeline = Group(3, 0x2000 + tensor + mesh.tensor * replica, mesh.pipeline, stage)
        self.data = Group(4, 0x3000 + tensor + mesh.tensor * stage, mesh.data, replica)
        for group in (self.world, self.tensor, self.pipeline, self.data):
            if group.size > 1:
                self.add(Call(f"ncclCommInitRank communicator={group.number} id={group.id:#x} rank={group.rank} "
                              f"size={group.size} device={rank % 8}", 0.02))
        self.barrier()
        for step in range(steps):
            self.steps.append(len(self.operations))
            self.step(step)
        self.steps.append(len(self.operations))
        self.add(Synchronize(COMPUTE), Leave(0))

    def add(self, *operations):
        self.operations += operations

    def beside(self, stream, operation):
        """On a stream of its own, as PyTorch does it."""
        self.add(Join(stream, COMPUTE), operation, Join(COMPUTE, stream))

    def barrier(self):
        self.add(Collective(self.world, "ncclAllReduce", 1, BARRIERS, 1e-4, "group.py:9 barrier"), Synchronize(BARRIERS))

    def reduce_layer(self, place):
        if self.tensor.size > 1:
            self.beside(TENSOR, Collective(self.tensor, "ncclAllReduce", 4000, TENSOR, 2e-4, place))

    def exchange(self, line, *messages):
        """With the neighbours in the pipeline that there are: ("ncclSend", 1) is to the next stage."""
        there = [(call, self.stage + by) for call, by in messages if 0 <= self.stage + by < self.mesh.pipeline]
        if there:
            self.beside(PIPELINE, Exchange(self.pipeline, there, 2000, PIPELINE, 1e-4, f"pipeline.py:{line} exchange"))

    def forward(self):
        if self.stage == 0:
            self.add(Copy(COMPUTE, 2e-5))
        self.add(Launch(COMPUTE, 0.001 + 0.001 * self.rng.random()))
        self.reduce_layer("layers.py:30 forward")
        if self.mesh.experts and self.data.size > 1:
            messages = [(call, peer) for peer in range(self.data.size) for call in ("ncclSend", "ncclRecv")]
            self.beside(EXPERTS, Exchange(self.data, messages, 500, EXPERTS, 1e-4, "experts.py:9 all_to_all"))

    def backward(self):
        self.add(Launch(COMPUTE, 0.002 + 0.002 * self.rng.random(), "gemm_backward"))
        self.reduce_layer("layers.py:40 backward")

    def micro_batches(self):
        """One forward, one backward, after as many forwards as stages follow."""
        receive, send = ("ncclRecv", -1), ("ncclSend", 1)
        receive_back, send_back = ("ncclRecv", 1), ("ncclSend", -1)
        ahead = min(self.mesh.pipeline - self.stage - 1, self.mesh.micro_batches)
        for _ in range(ahead):
            self.exchange(10, receive)
            self.forward()
            self.exchange(11, send)
        for left in range(self.mesh.micro_batches - ahead, 0, -1):
            if left == self.mesh.micro_batches - ahead:
                self.exchange(10, receive)
            self.forward()
            self.exchange(12, send, receive_back)
            self.backward()
            self.exchange(13, *([send_back, receive] if left > 1 else [send_back]))
        for _ in range(ahead):
            self.exchange(14, receive_back)
            self.backward()
            self.exchange(15, send_back)

    def step(self, step):
        self.add(Compute(0.002 * (0.9 + 0.2 * self.rng.random())))
        self.micro_batches()
        if self.data.size > 1:
            call = "ncclReduceScatter" if self.mesh.sharded else "ncclAllReduce"
            self.add(Join(GRADIENTS, COMPUTE))
            for bucket in range(2):
                self.add(Collective(self.data, call, 50000, GRADIENTS, 5e-4, f"gradients.py:{90 + bucket} reduce"))
            self.add(Join(COMPUTE, GRADIENTS))
        self.add(Launch(COMPUTE, 1e-3, "adamw_kernel"))
        if self.mesh.sharded and self.data.size > 1:
            self.beside(GRADIENTS, Collective(self.data, "ncclAllGather", 50000, GRADIENTS, 5e-4, "parameters.py:9 gather"))
        if step % self.mesh.wait_every == 0:
            self.add(Synchronize(COMPUTE))
        if step == self.mesh.save_at:
            self.save(step)

    def save(self, step):
        self.add(Synchronize(COMPUTE))
        if self.saves:
            name = f"/checkpoints/{step}_{self.stage}.pt"
            self.add(Call(f'open path="{name}" flags=wronly|creat|trunc file=9 stack="train.py:300 save"', 0.001))
            self.add(*(Call(f"write file=9 bytes=1M next={1048576 * (piece + 1)}", 0.09) for piece in range(40)))
        self.barrier()

    def leave_out(self, place):
        self.operations[place] = Compute(1e-5)

    def places(self, step, kind, wanted):
        """Of the operations of a kind in a step, those that are wanted."""
        return [place for place in range(self.steps[step], self.steps[step + 1])
                if isinstance(self.operations[place], kind) and wanted(self.operations[place])]


STOPPED = Hang("recv inode=77 fd=9")
FAILED = Leave(1)


def build(mesh, rng, steps=6):
    return [Rank(mesh, rank, rng, steps) for rank in range(mesh.ranks)]
