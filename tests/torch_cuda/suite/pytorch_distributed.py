"""PyTorch's own distributed tests, of the class that the wheel ships, with two ranks.

python pytorch_distributed.py BACKEND --list      their names
python pytorch_distributed.py BACKEND TEST...     runs them; a line of JSON for each: test, outcome, why, process ids of its ranks

BACKEND: nccl; gloo: without a device; gloo-devices: on Gloo, and most tests skip themselves where there are not two devices.
The ranks of each test are forked from this process, which has imported everything and must not touch CUDA: PyTorch's own
runner spawns them, and each imports torch again.
"""
import faulthandler
import json
import os
import signal
import sys
import tempfile
import unittest

WORLD_SIZE = 2
BACKEND = sys.argv[1]
HAS_DEVICES = BACKEND != "gloo"
folder = tempfile.mkdtemp(prefix="pytorch-distributed-")
for name in ("barrier", "test_dir", "init_dir"):
    os.mkdir(os.path.join(folder, name))
os.environ.update(BACKEND=BACKEND.partition("-")[0], WORLD_SIZE=str(WORLD_SIZE), TEMP_DIR=folder, MASTER_ADDR="127.0.0.1",
                  INIT_METHOD=f"file://{folder}/init_dir/shared_init_file")
os.environ.setdefault("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "120")  # seconds
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1" if HAS_DEVICES else ""

import torch  # noqa: E402

# What would initialise CUDA here, so that no forked process could use it any more: decorators of the tests ask for the
# number of devices; setUp() seeds them, and looks at cuDNN's settings.
count_devices = torch._C._cuda_getDeviceCount
if HAS_DEVICES:
    torch._C._cuda_getDeviceCount = lambda: WORLD_SIZE
from torch.testing._internal.common_utils import TestCase  # noqa: E402
from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402

TestCase.setUp = TestCase.tearDown = lambda self: None


class TestBackend(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)
        self.pids = [process.pid for process in self.processes]

    @classmethod
    def _run(cls, *arguments, **options):
        torch._C._cuda_getDeviceCount = count_devices
        super()._run(*arguments, **options)


class Outcome(unittest.TestResult):
    """The last test's."""

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.why = "passed", ""

    def tell(self, outcome, why):
        self.outcome, self.why = outcome, why

    def addSkip(self, test, reason):
        self.tell("skipped", reason)

    def addError(self, test, error):
        self.tell("failed", self._exc_info_to_string(error, test))

    addFailure = addError


def main(names):
    if names == ["--list"]:
        print("\n".join(unittest.TestLoader().getTestCaseNames(TestBackend)))
        return
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    result = Outcome()
    for name in names:
        test = TestBackend(name)
        test.run(result)
        row = {"test": name, "outcome": result.outcome, "why": result.why, "pids": getattr(test, "pids", [])}
        print("RESULT " + json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[2:])
