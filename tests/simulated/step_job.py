"""Data-parallel training, step by step, as many programs write it; healthy, or with one bug in every step."""
import dataclasses
import random

from simulator import Call, Collective, Compute, Copy, Group, Join, Launch, Leave, Synchronize

COMPUTE, METRICS, GRADIENTS = 5, 7, 22  # streams
STEPS = 60


@dataclasses.dataclass
class Job:
    """Sizes are in float32. Times of kernels are those of a rank that is not late."""
    ranks: int
    micro_batches: int
    buckets: list            # in the order in which the backward pass fills them
    forward: float           # seconds, of a micro-batch
    backward: float          # likewise; shared out among the buckets
    sharded: bool            # reduced to where their part of the state is; parameters are gathered before the next step
    bucket_view: bool        # buckets lie at the same place in every step; else they take turns between two
    jitter: float            # of the time of each kernel
    wait_every: int          # steps, for the loss
    wait_for_input: bool     # the host, for what its copies read, as one without pinned memory does
    metrics: str             # "", "step" or "micro-batch": their sizes are of a kilobyte at most
    batch_norm: bool         # synchronised in each forward pass
    clip: bool               # by a norm of all gradients
    two_models: bool         # trained in turn, each with an optimizer
    evaluate_every: int      # steps; 0: never
    save_every: int          # likewise, by rank 0
    skip_steps: list         # in which all find that gradients overflowed
    lengths: float           # of samples: how much the work of one step and rank differs from another's
    bytes_a_second: float = 8e9

    reduce_each: bool = False      # bug: gradients of each micro-batch
    reduce_first: bool = False     # bug: of the first micro-batch only
    reduce_after: bool = False     # bug: when the backward pass is over
    never: bool = False            # bug: reduces nothing
    late: int | None = None        # bug: this rank is late, ...
    late_by: float = 0             # ... seconds in each step
    why: str = ""                  # "device", "input" or "host"


def draw(rng, **chosen):
    count = rng.choice([1, 2, 3, 5])
    job = Job(ranks=rng.choice([2, 3, 4, 8]), micro_batches=rng.choice([1, 2, 4]),
              buckets=[rng.choice([20_000, 500_000, 1_000_000, 3_000_000]) for _ in range(count)],
              forward=rng.uniform(0.002, 0.01), backward=rng.uniform(0.006, 0.02), sharded=rng.random() < 0.25,
              bucket_view=rng.random() < 0.7, jitter=rng.choice([0, 0.01, 0.05]), wait_every=rng.choice([1, 1, 2, 5]),
              wait_for_input=rng.random() < 0.3, metrics=rng.choice(["", "step", "micro-batch"]), batch_norm=rng.random() < 0.2,
              clip=rng.random() < 0.3, two_models=rng.random() < 0.15, evaluate_every=rng.choice([0, 0, 5, 20]),
              save_every=rng.choice([0, 0, 10]), skip_steps=[step for step in range(STEPS) if rng.random() < rng.choice([0, 0.04])],
              lengths=rng.choice([0, 0, 0.3]))
    return dataclasses.replace(job, **chosen)


class Rank:
    """Builds the operations of one rank."""

    def __init__(self, job, rank, rng):
        self.job, self.rank, self.rng, self.operations = job, rank, rng, []
        self.world = Group(1, 0xa0, job.ranks, rank)
        self.add(Call(f"ncclCommInitRank communicator=1 id=0xa0 rank={rank} size={job.ranks} device={rank}", 0.02),
                 Collective(self.world, "ncclBroadcast", sum(job.buckets), GRADIENTS, 1e-3, "train.py:4 hand_out"))
        for self.step in range(STEPS):
            for model in range(1 + job.two_models):
                self.train(model)
            if job.evaluate_every and self.step % job.evaluate_every == job.evaluate_every - 1:
                self.evaluate()
            if job.save_every and self.step % job.save_every == job.save_every - 1:
                self.save()
        self.add(Synchronize(COMPUTE), Leave(0))

    def add(self, *operations):
        self.operations += operations

    def kernel(self, seconds, name):
        self.add(Launch(COMPUTE, seconds * (1 + self.job.jitter * self.rng.random()), name))

    def join(self, collective):
        """On a stream of its own, as PyTorch does it, and the kernels behind it."""
        self.add(Join(collective.stream, COMPUTE), collective, Join(COMPUTE, collective.stream))

    def small(self, count, place, call="ncclAllReduce"):
        self.join(Collective(self.world, call, count, METRICS, 3e-5, place, 0x9000))

    def is_late(self, why):
        return self.job.why == why and self.job.late == self.rank

    def train(self, model):
        length = 1 + self.job.lengths * self.rng.uniform(-1, 1)
        if self.job.sharded:
            self.gather()
        for micro_batch in range(self.job.micro_batches):
            self.micro_batch(micro_batch, model, length)
        if not self.job.never and not self.reduces_in_backward(self.job.micro_batches - 1):
            if self.job.reduce_after:
                self.add(Join(GRADIENTS, COMPUTE))
                for bucket in range(len(self.job.buckets)):
                    self.reduce(bucket, model)
        self.add(Join(COMPUTE, GRADIENTS))
        if self.job.clip:
            self.kernel(2e-4, "norm")
            if self.job.sharded:
                self.small(1, "clip.py:9 norm")
        if self.step not in self.job.skip_steps:
            self.kernel(1e-3, "adamw_kernel")
        if self.job.metrics == "step":
            self.small(12, "train.py:40 log")
        if self.step % self.job.wait_every == 0:
            self.add(Synchronize(COMPUTE))

    def micro_batch(self, micro_batch, model, length):
        late = self.job.late_by / self.job.micro_batches / (1 + self.job.two_models)
        if self.is_late("input"):
            self.add(Call('socket_read inode=77 bytes=65536 fd=9 stack="loader.py:7 next < train.py:28 step"', late))
        if self.is_late("host"):
            self.add(Compute(late))
        self.add(Copy(COMPUTE, 2e-5))
        if self.job.wait_for_input:
            self.add(Synchronize(COMPUTE))
        for layer in range(2):
            self.kernel(self.job.forward / 2 * length, "gemm")
            if self.job.batch_norm:
                self.small(128, "norm.py:20 forward")
        if self.is_late("device"):
            self.kernel(late, "gemm")
        if self.job.metrics == "micro-batch":
            self.small(12, "train.py:40 log")
        for bucket, count in enumerate(self.job.buckets):
            part = (1 + count / sum(self.job.buckets) * len(self.job.buckets)) / 2 / len(self.job.buckets)
            for _ in range(2):
                self.kernel(self.job.backward * length * part / 2, "gemm_backward")
            if self.reduces_in_backward(micro_batch):
                self.add(Join(GRADIENTS, COMPUTE))
                self.reduce(bucket, model)

    def reduces_in_backward(self, micro_batch):
        job = self.job
        if job.never or job.reduce_after:
            return False
        return job.reduce_each or micro_batch == (0 if job.reduce_first else job.micro_batches - 1)

    def reduce(self, bucket, model):
        count = self.job.buckets[bucket] + model
        call = "ncclReduceScatter" if self.job.sharded else "ncclAllReduce"
        buffer = 0x10000000 * (1 + bucket + 8 * model + (0 if self.job.bucket_view else 16 * (self.step % 2)))
        self.add(Collective(self.world, call, count // (self.job.ranks if self.job.sharded else 1), GRADIENTS,
                            3e-5 + count * 4 / self.job.bytes_a_second, f"ddp.py:{90 + model} reduce < train.py:30 step", buffer))

    def gather(self):
        for bucket, count in enumerate(self.job.buckets):
            self.add(Join(GRADIENTS, COMPUTE),
                     Collective(self.world, "ncclAllGather", count // self.job.ranks, GRADIENTS, 3e-5 + count * 2 / self.job.bytes_a_second,
                                "zero.py:50 gather", 0x50000000 + 0x1000000 * bucket))
        self.add(Join(COMPUTE, GRADIENTS))

    def evaluate(self):
        for _ in range(6):
            self.add(Copy(COMPUTE, 2e-5))
            self.kernel(self.job.forward, "gemm")
        self.small(64, "evaluate.py:7 evaluate", "ncclAllGather")
        self.add(Synchronize(COMPUTE))

    def save(self):
        self.add(Synchronize(COMPUTE))
        if self.rank == 0:
            self.add(Call(f'open path="/checkpoints/{self.step}.pt" flags=wronly|creat|trunc file={100 + self.step} '
                          'stack="train.py:300 save"', 1e-4),
                     Call(f"write file={100 + self.step} bytes=1M next=1048576", 0.003))
        self.add(Collective(self.world, "ncclAllReduce", 1, METRICS, 1e-4, "group.py:9 barrier", 0x9100), Synchronize(METRICS))


def build(job, seed):
    """seed: alike for jobs that are to differ in nothing but their bug."""
    return [Rank(job, rank, random.Random(f"{seed}/{rank}")).operations for rank in range(job.ranks)]


def seconds_a_step(simulation):
    return (max(simulation.ended) - 0.35) / STEPS
