"""The checks for GPUs, on the stand-ins: that they pass, that they can fail, and what they conclude from numbers."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
sys.path.append(str(HERE / "checks"))
import check
import dry_run
import machine
import nccl
import overhead
import page
import paired


def run(script, *options, out, code=0, **environment):
    variables = {key: text for key, text in os.environ.items() if not key.startswith("DDPSCOPE_")}
    done = subprocess.run([str(word) for word in (script, *options, "--out", out)], text=True, timeout=600, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**variables, "DDPSCOPE_GPU_PYTHON": sys.executable, **environment})
    assert done.returncode == code, done.stdout
    results = json.loads((out / "results.json").read_text()) if (out / "results.json").exists() else {"results": []}
    return {result["name"]: result for result in results["results"]}, done.stdout


def outcomes(results):
    return {name: result["outcome"] for name, result in results.items()}


def test_checks_pass_on_the_standins(tmp_path):
    chosen = "cupti,nccl.standin-on-gpu,nccl.two-ranks-one-gpu,graphs,trainer.healthy.standin-nccl,trainer.fault.shared-device,torch"
    results, said = run(HERE / "run.sh", BUILD, "--standins", "--only", chosen, out=tmp_path / "out")
    skipped = {name for name, outcome in outcomes(results).items() if outcome == "skipped"}
    assert "failed" not in outcomes(results).values()
    # Only a GPU, or PyTorch's CUDA wheel, shows these, and PyTorch may be missing.
    elsewhere = {"torch.cuda", "torch.cuda.profiler", "torch.cuda.standin-nccl", "torch.dry-run.one-rank", "torch.dry-run.two-ranks"}
    assert elsewhere <= skipped <= elsewhere | {"torch.cpu", "graphs.replay"}
    assert all(results[name]["why"] for name in skipped)
    assert said.strip().splitlines()[-1] == f"{len(results) - len(skipped)} passed, 0 failed, {len(skipped)} skipped"


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """The pack, unpacked somewhere else, and a toolkit that consists of the stand-ins."""
    folder = tmp_path_factory.mktemp("pack")
    subprocess.run(["bash", HERE / "pack.sh", BUILD, folder / "made"], check=True, stdout=subprocess.PIPE)
    (folder / "there").mkdir()
    subprocess.run(["tar", "-xzf", folder / "made" / "ddpscope-gpu.tar.gz", "-C", folder / "there"], check=True)
    shutil.rmtree(folder / "made")
    (folder / "toolkit").mkdir()
    (folder / "toolkit" / "lib64").symlink_to(BUILD / "lib" / "standin")
    return folder / "there" / "ddpscope-gpu", {"CUDA_HOME": str(folder / "toolkit")}


def test_pack_runs_as_on_a_gpu_machine(pack, tmp_path):
    """Without `--cpu`, on libraries that it found itself."""
    root, toolkit = pack
    results, _ = run(root / "tests" / "gpu" / "run.sh", "--as-if-gpu", "--only", "nccl.one-rank,cupti.recorded,trainer.fault.shared",
                     out=tmp_path / "out", **toolkit)
    assert set(outcomes(results).values()) == {"passed"} and len(results) == 5
    machine = json.loads((tmp_path / "out" / "results.json").read_text())["machine"]
    assert all(row["from"] == "toolkit" for row in machine["libraries"].values()) and len(machine["libraries"]) == 3


def test_standin_is_not_taken_for_a_gpu(pack, tmp_path):
    root, toolkit = pack
    results, said = run(root / "tests" / "gpu" / "run.sh", out=tmp_path / "out", code=2, **toolkit)
    assert not results and "is the stand-in" in said


def test_broken_injector_fails_the_checks(pack, tmp_path):
    root = shutil.copytree(pack[0], tmp_path / "broken")
    shutil.copy(root / "build/lib/tests/libddpscope_without_buffers.so", root / "build/lib/libddpscope.so")
    results, _ = run(root / "tests" / "gpu" / "run.sh", "--standins", "--only", "cupti.recorded", out=tmp_path / "out", code=1)
    assert outcomes(results) == {"cupti.recorded": "failed"} and "kernels" in results["cupti.recorded"]["why"]


@pytest.mark.parametrize("cache, hint", [
    ("BUILD_TESTING:BOOL=ON", "cmake --build {build} --target gpu_checks"),
    ("BUILD_TESTING:BOOL=OFF", "cmake --preset dev && cmake --build build/dev --target gpu_checks"),
    (None, "cmake --preset dev && cmake --build build/dev --target gpu_checks")])
def test_hint_names_a_target_that_the_tree_has(tmp_path, cache, hint):
    if cache:
        (tmp_path / "CMakeCache.txt").write_text(f"# made by cmake\n{cache}\n")
    results, said = run(HERE / "run.sh", tmp_path, out=tmp_path / "out", code=2)
    assert not results and f"hint: {hint.format(build=tmp_path)}" in said


def test_hint_is_what_this_tree_was_configured_for():
    """The presets' own words: the one of the hint has tests, the one that has not is not named."""
    presets = json.loads((HERE.parents[1] / "CMakePresets.json").read_text())["configurePresets"]
    tests = {preset["name"]: preset.get("cacheVariables", {}).get("BUILD_TESTING", "ON") for preset in presets}
    assert (tests["dev"], tests["release"]) == ("ON", "OFF")
    assert "BUILD_TESTING:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()


@pytest.mark.parametrize("only", ["nosuch", "cupti.recorded,nosuch"])
def test_a_name_that_no_check_has_is_an_error_that_lists_them(tmp_path, only):
    results, said = run(HERE / "run.sh", BUILD, "--standins", "--only", only, out=tmp_path / "out", code=2)
    assert not results and not (tmp_path / "out").exists()
    assert "error: --only: no check is called nosuch" in said and "cupti.recorded, " in said and "overhead.ns-a-call" in said


def test_nothing_run_is_an_error(tmp_path):
    results, said = run(HERE / "run.sh", BUILD, "--standins", "--only", "overhead.ns-a-call", out=tmp_path / "out", code=2)
    assert outcomes(results) == {"overhead.ns-a-call": "skipped"} and "error: no check has run" in said


@pytest.mark.parametrize("there, refused", [("nothing", False), ("a file in it", True), ("a file", True)])
def test_folder_that_exists(tmp_path, there, refused):
    out = tmp_path / "out"
    out.write_text("") if there == "a file" else out.mkdir()
    if there == "a file in it":
        (out / "results.txt").write_text("of an earlier run")
    # The check needs no run of its own: it is the folder that matters.
    _, said = run(HERE / "run.sh", BUILD, "--standins", "--only", "overhead.ns-a-call", out=out, code=2)
    assert (f"error: {out}: " in said and "hint: --out takes" in said) == refused and "Traceback" not in said
    assert (out / "results.json").exists() != refused


class OtherNccl(machine.Machine):
    """The stand-ins, as an NCCL of another version and profiler interface."""

    def run(self, *arguments, **settings):
        return super().run(*arguments, STANDIN_NCCL_VERSION=self.version, STANDIN_PROFILER_VERSION=self.interface, **settings)


def other_nccl(tmp_path, version, interface):
    other = OtherNccl(BUILD, tmp_path, standins=True)
    other.version, other.interface = version, interface
    other.look(tmp_path)
    return other


@pytest.mark.parametrize("version, interface, times", [(22502, 1, "events"), (22703, 4, "profiler"), (22900, 6, "profiler"),
                                                       (23102, 6, "events")])
def test_times_by_the_version_of_nccl(tmp_path, version, interface, times):
    measured = nccl.by_profiler(other_nccl(tmp_path, version, interface), tmp_path, 2)
    assert measured["times"] == times and measured["choices"] > 0


def test_an_nccl_that_should_tell_times_and_does_not_fails_the_check(tmp_path):
    with pytest.raises(check.Failed, match="tiers"):
        nccl.by_profiler(other_nccl(tmp_path, 22809, 1), tmp_path, 2)


def test_a_collective_without_a_time_fails_the_check(tmp_path):
    trace = nccl.reduce(other_nccl(tmp_path, 22809, 5), tmp_path, 2, "profiler")[1]
    trace.work.pop()
    with pytest.raises(check.Failed, match="are timed"):
        nccl.timed(trace, 2)


BUCKETS = [["ncclBcast count=8 datatype=float32 reduction=sum peer=0", "ncclAllReduce count=8 datatype=float32 reduction=sum peer=-1"]]


@pytest.mark.parametrize("dry, why", [
    ({0: BUCKETS, 1: BUCKETS}, "ranks"),
    ({0: BUCKETS + BUCKETS}, "communicators"),
    ({0: [BUCKETS[0][:1]]}, "rank 0, communicator 0: .*- ncclAllReduce count=8"),
    ({0: [BUCKETS[0][::-1]]}, "rank 0, communicator 0"),
    ({0: [[line.replace("count=8", "count=9") for line in BUCKETS[0]]]}, "[+] ncclAllReduce count=9")])
def test_a_schedule_of_the_dry_run_that_differs_fails_the_check(dry, why):
    dry_run.compare({0: BUCKETS}, {0: BUCKETS})
    with pytest.raises(check.Failed, match=why):
        dry_run.compare({0: BUCKETS}, dry)


@pytest.mark.parametrize("raised, outcome", [(None, "passed"), (check.Failed("x"), "failed"), (check.Skipped("x"), "skipped"),
                                             (KeyError("x"), "failed")])
def test_outcome_of_a_check(tmp_path, raised, outcome):
    def body(machine, folder):
        if raised:
            raise raised
        return {"seen": 1}
    result = check.run(check.Check("name", 1, body), None, tmp_path / "check")
    assert (result.outcome, bool(result.why)) == (outcome, raised is not None)


@pytest.mark.parametrize("slower", [1.0, 1.05])
def test_interval_holds_the_true_ratio(slower, monkeypatch):
    """Nineteen of twenty do, of pairs that meet the same noise: here at least 170 of 200."""
    monkeypatch.setattr(paired, "RESAMPLES", 500)
    generator, held = random.Random(7), 0
    for draw in range(200):
        machine = [generator.lognormvariate(0, 0.1) for _ in range(10)]
        base = [value * generator.lognormvariate(0, 0.01) for value in machine]
        other = [slower * value * generator.lognormvariate(0, 0.01) for value in machine]
        _, low, high = paired.ratios(base, other)
        held += low <= slower <= high
    assert held >= 170


def test_runs_take_turns():
    assert list(paired.orders("AB", 3)) == list("ABBAAB")


@pytest.mark.parametrize("version, interface, told", [(22809, 5, True), (23102, 6, False)])
def test_overhead_of_every_tier_is_measured(tmp_path, version, interface, told):
    """But for the one that this NCCL leaves to events: the page says so."""
    other = other_nccl(tmp_path, version, interface)
    other.rounds = 1
    measured = overhead.step_of_100_ms(other, tmp_path)
    tiers = [kind for kind in measured if kind in overhead.BUDGET]
    assert tiers == [tier for tier in ("none", "events", "profiler", "cupti") if told or tier != "profiler"]
    table = page.overhead_table({"overhead.step-of-100-ms": {"measured": measured}})
    assert ("| profiler | not measured: this NCCL tells no times | | | 0.25 |" in table) != told


def test_page_is_written_between_its_markers(tmp_path):
    spread = [1.0, 0.5, 1.5]
    shape = {"kernels": 50, "buckets": 5, "floats": 4096, "ns": 1, "steps": 12, "calls": 69}
    tiers = ("none", "events", "profiler", "cupti")
    ns = {tier: {"ns_a_call": spread, "percent_of_step": spread} for tier in tiers}
    results = [{"name": "overhead.step-of-100-ms", "measured": {"step_ms": 111.0, "rounds": 4, "shape": shape, **dict.fromkeys(tiers, spread)}},
               {"name": "overhead.ns-a-call", "measured": {"step_ms": 2.0, "rounds": 4, "shape": shape, **ns}}]
    machine = {"standins": True, "date": "2026-01-01", "commit": "abc", "kernel": "6", "cpus": 2, "load": [1], "device": {}}
    text = "before\n<!-- gpu: begin -->\nnothing\n<!-- gpu: end -->\n<!-- standins: begin -->\nold\n<!-- standins: end -->\nafter\n"
    (tmp_path / "page.md").write_text(text)
    page.write(tmp_path / "page.md", {"machine": machine, "results": results})
    written = (tmp_path / "page.md").read_text()
    assert written.startswith("before\n<!-- gpu: begin -->\nnothing\n<!-- gpu: end -->\n") and written.endswith("after\n")
    assert "old" not in written
    for tier in ("events", "profiler"):
        assert f"| {tier} | 1.0 (0.5 to 1.5) | 1.0 (0.5 to 1.5) | 1.0 (0.5 to 1.5) | 0.25 |" in written
