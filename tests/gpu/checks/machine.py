"""The machine under test, and how programs run on it: plainly, recorded, with the stand-in NCCL."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import libraries
from check import Failed, Skipped

ROOT = pathlib.Path(__file__).resolve().parents[3]
NOT_PROVIDED = 77  # gpu_guest: the CUDA runtime does not provide what the story needs

PROGRAMS = ("ddpscope", "reference_trainer", "cupti_standin_test", "gpu_guest")

# Ranks that share a GPU: over sockets, on few of its processors. tests/gpu/guest gives each a host of its own.
SHARED_GPU = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "NCCL_MNNVL_ENABLE": "0", "NCCL_NVLS_ENABLE": "0",
              "NCCL_MAX_CTAS": "2", "NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring", "NCCL_MULTI_RANK_GPU_ENABLE": "1"}


class Finished:
    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def told(self):
        """The lines of JSON that it printed."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    def values(self, key):
        return [line[key] for line in self.told() if key in line]


class Machine:
    def __init__(self, build, out, standins):
        self.build, self.out, self.standins = build, out, standins
        self.libraries = {}
        self.paths = {}  # LD_LIBRARY_PATH by kind
        self.environment = {key: text for key, text in os.environ.items()
                            if not key.startswith(("DDPSCOPE_", "NCCL_", "STANDIN_", "LD_PRELOAD"))}
        self.environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        self.find_libraries()
        self.device = {}
        self.torch = None  # until it was looked for
        self.rounds = 2 if standins else 8  # of paired runs

    def find_libraries(self):
        standin = self.build / "lib" / "standin"
        carried = {path.name: path for path in (self.build / "lib" / "bundled").glob("*.so*")}
        own = libraries.lacking([self.build / "bin" / name for name in PROGRAMS], carried)
        if self.standins:
            own_folder = libraries.link_all(self.out / "lib" / "own", own)
            self.paths = {"cuda": [standin, own_folder], "staged": [standin, own_folder], "own": [own_folder]}
            return
        self.libraries = libraries.find(self.build)
        cuda = {name: path for name, (path, _) in self.libraries.items()}
        staged = {**cuda, "libnccl.so.2": standin / "libnccl.so.2"}
        self.paths = {kind: [libraries.link_all(self.out / "lib" / kind, {**own, **files})]
                      for kind, files in (("cuda", cuda), ("staged", staged), ("own", {}))}

    def program(self, name):
        return self.build / "bin" / name

    def variables(self, libraries_of="cuda", **more):
        """libraries_of: cuda, the machine's; staged, with the stand-in NCCL; own, ddpscope's alone."""
        folders = [*map(str, self.paths[libraries_of]), self.environment.get("LD_LIBRARY_PATH", "")]  # the driver may be there
        variables = {**self.environment, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}
        if libraries_of == "staged":
            variables["STANDIN_NCCL_STAGING"] = "1"
        return {**variables, **{key: str(value) for key, value in more.items()}}

    def run(self, command, folder, timeout=60, codes=(0,), libraries_of="cuda", label="run", **environment):
        """Fails unless it ends in time with one of `codes`; its output stays in the folder."""
        command = [str(word) for word in command]
        with open(folder / f"{label}.out", "w+") as out, open(folder / f"{label}.err", "w+") as err:
            job = subprocess.Popen(command, cwd=folder, env=self.variables(libraries_of, **environment), stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=err, text=True, start_new_session=True)
            try:
                code = job.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()
                raise Failed(f"no end after {timeout} s: {' '.join(command)}")
            out.seek(0), err.seek(0)
            done = Finished(code, out.read(), err.read())
        if code == NOT_PROVIDED and "gpu_guest" in " ".join(command):
            raise Skipped(done.stderr.strip().splitlines()[-1])
        if code not in codes:
            raise Failed(f"exit code {code} of {' '.join(command)}: {done.stderr.strip()[-300:]}")
        return done

    def record(self, command, folder, tier="events", label="recorded", dry=False, **settings):
        """The same under `ddpscope run`: (what it printed, its trace). dry: on the stand-ins, whatever this machine has."""
        trace = folder / f"{label}.trace"
        words = [self.program("ddpscope"), "run", *(["--cpu"] if self.standins or dry else []), "--gpu-timing", tier, "-o", trace, "--"]
        done = self.run(words + list(command), folder, label=label, **settings)
        return done, Trace(self, trace)

    def trace(self, folder):
        return Trace(self, folder)

    def preload(self, injector):
        """What `ddpscope run` would put in front, with another injector."""
        standins = [self.build / "lib" / "standin" / name for name in ("libcudart.so.13", "libnccl.so.2")]
        return ":".join(map(str, [injector, *(standins if self.standins else [])]))

    def without_buffers(self, folder):
        """An injector that gives CUPTI no buffer: from the pack, or built from the tree."""
        packed = self.build / "lib" / "tests" / "libddpscope_without_buffers.so"
        if packed.exists():
            return packed
        if not (self.build / "compile_commands.json").exists():
            raise Skipped("the pack holds no injector without buffers, and here is nothing to build one with")
        made = self.run([sys.executable, ROOT / "tests/gpu/without_buffers.py", folder], folder, timeout=300, label="build",
                        DDPSCOPE_BUILD=self.build)
        return pathlib.Path(made.stdout.strip().splitlines()[-1])

    def guest(self, *words):
        return [self.program("gpu_guest"), *words]

    def look(self, folder):
        """What device there is; raises Failed or Skipped where none can be used."""
        told = {}
        for line in self.run(self.guest("machine"), folder, timeout=120, label="machine").told():
            told.update(line)
        self.device = told
        told["driver"] = "none" if self.is_standin() else driver()
        return told

    def is_standin(self):
        return "stand-in" in self.device.get("device", "")


class Trace:
    def __init__(self, machine, folder):
        self.machine, self.folder = machine, folder
        import records  # needs DDPSCOPE_BUILD
        self.records, self.work = records.read(folder), records.device_work(folder)

    def tiers(self):
        return [(record["tier"], record["reason"]) for record in self.records if record.call == "device_timing"]

    def calls(self, *names):
        return [record for record in self.records if record.call in names]

    def kinds(self, *kinds):
        return [work for work in self.work if work.kind in kinds]

    def clock_errors_ns(self):
        return [record["error_ns"] for record in self.records if record.call == "device_clock"]

    def health(self, name):
        return sum(map(int, re.findall(rf"{name} (\d+)", self.tool("info").stdout)))

    def findings(self):
        return json.loads(self.tool("report", "--format", "json").stdout)["findings"]

    def slugs(self):
        return {finding["slug"] for finding in self.findings()}

    def tool(self, command, *options):
        return subprocess.run([str(self.machine.program("ddpscope")), command, str(self.folder), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)


def driver():
    try:
        smi = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, timeout=60)
        return smi.stdout.split()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "unknown"
