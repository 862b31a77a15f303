"""A bug has one id from run to run, whatever the ports, process numbers, folders and timing: baselines and suppressions rest on it."""
import contextlib
import os
import subprocess
import sys

import ddpscope
import pytest
import records
import trainer

RUNS = 10 if os.environ.get("DDPSCOPE_RANKS") == "all" else 4
HEADLINE = ["skipped-barrier", "duplicate-checkpoint-write", "unsharded-sampler", "redundant-accumulation-sync"]


@contextlib.contextmanager
def load(processes):
    """Others that want the processors."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


HUNG = ["exit", "stuck", "killed"]


def ids(trace):
    return sorted((finding["slug"], finding["id"]) for finding in ddpscope.report(trace)["findings"])


@pytest.mark.parametrize("slug", HEADLINE)
def test_all_runs_of_a_bug_have_one_id(tmp_path, slug):
    seen = []
    for run in range(RUNS):
        folder = tmp_path / ("run" * (1 + run % 3)) / str(run)
        folder.mkdir(parents=True)
        draw = trainer.Draw(1, slug, 2)
        # Who does not hang must not be taken for it on a busy machine.
        draw.rank, draw.timeout = 1, (1 if slug == "skipped-barrier" else 20) + run % 2
        draw.environment = {"HOSTNAME": f"node{run}", "TMPDIR": str(folder), "RUN": str(run) * (1 + 97 * run)}
        with load(run % 3):
            trace = trainer.train(draw, folder, "--fault", slug, "--fault-rank", draw.rank,
                                  code=1 if slug == "skipped-barrier" else 0)
        seen.append(ids(trace))
    assert [found[0] for found in seen[0]] == [slug]
    assert all(found == seen[0] for found in seen), seen


@pytest.mark.long
def test_what_keeps_a_rank_away_has_an_id_of_its_own(tmp_path):
    of_variant = {}
    for variant in HUNG:
        for run in range(3):
            folder = tmp_path / variant / str(run)
            folder.mkdir(parents=True)
            draw = trainer.Draw(1, f"hung-{variant}", 2)
            draw.rank, draw.at, draw.timeout = 1, 3, 8  # under load a step takes long, and a hang is longer than a step
            with load(run):
                trace = trainer.fault(f"hung-collective/{variant}", draw, folder, code=None)
            of_variant.setdefault(variant, []).append(ids(trace))
        assert [found[0] for found in of_variant[variant][0]] == ["hung-collective"]
        assert all(found == of_variant[variant][0] for found in of_variant[variant]), of_variant
    assert len({found[0][0][1] for found in of_variant.values()}) == len(HUNG), of_variant


def test_stacks_reach_main_wherever_the_stack_lies(tmp_path):
    """How many pages lie above main depends on the environment's size; where some frames were cut off, the id was another."""
    # Where the kernel forbids to fix the layout, chance has to find one that cuts.
    fixed = ["setarch", "-R"] if subprocess.run(["setarch", "-R", "true"]).returncode == 0 else []
    seen = set()
    for padding in range(0, 12288, 512):
        trace = tmp_path / f"trace{padding}"
        command = [*fixed, trainer.TRAINER, "--ranks", 1, "--samples", 64, "--steps", 1, "--epochs", 1, "--workdir", tmp_path / "out"]
        ddpscope.record(command, trace, tmp_path, cpu=True, env={"PADDING": "x" * padding})
        stacks = {line.split(" @ ")[1] for line in records.dumped(trace) if " ncclAllReduce " in line}
        assert stacks and all(stack.count(" < ") > 4 for stack in stacks), stacks
        seen.add(frozenset(stacks))
    assert len(seen) == 1, seen


SAVES = """#include <cstdio>
#include <functional>
#include <vector>
int main() {
  std::vector<char> bytes(1 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
  std::function<void()> save = [&] {
    std::FILE* file = std::fopen("model.bin", "w");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  };
  save();
}
"""

SAVES_IN_PYTHON = """import random
def save(path):
    with open(path, "wb") as file:
        file.write(random.Random(1).randbytes(1 << 20))
save("model.bin")
"""

RANKS = "RANK=0 WORLD_SIZE=2 {0} & RANK=1 WORLD_SIZE=2 {0}; wait"


def ids_of_two_ranks(command, folder):
    done = ddpscope.record(["sh", "-c", RANKS.format(command)], folder / "trace", folder)
    assert done.code == 0, done.stderr
    return ids(folder / "trace")


@pytest.mark.parametrize("options", [["-g1"], ["-g"], ["-g", "-O2"]], ids=" ".join)
def test_a_program_built_otherwise_and_elsewhere_has_the_same_id(tmp_path, options):
    found = set()
    for folder, built in (tmp_path / "a", ["-g1"]), (tmp_path / "b/c", options):
        folder.mkdir(parents=True)
        (folder / "saves.cpp").write_text(SAVES)
        subprocess.run(["g++", "-std=c++20", "-fno-omit-frame-pointer", *built, folder / "saves.cpp", "-o", folder / "saves"], check=True)
        found.add(tuple(ids_of_two_ranks("./saves", folder)))
    assert len(found) == 1 and [slug for slug, _ in found.pop()] == ["duplicate-checkpoint-write"], found


def ids_of_script(text, folder):
    folder.mkdir(parents=True)
    (folder / "saves.py").write_text(text)
    return ids_of_two_ranks(f"{sys.executable} '{folder}/saves.py'", folder)


@pytest.mark.parametrize("text", [SAVES_IN_PYTHON, "# What it is for.\n\n" + SAVES_IN_PYTHON], ids=["the same", "with lines above"])
def test_a_script_in_another_folder_has_the_same_id(tmp_path, text):
    found = ids_of_script(SAVES_IN_PYTHON, tmp_path / "a")
    assert [slug for slug, _ in found] == ["duplicate-checkpoint-write"]
    assert ids_of_script(text, tmp_path / "b b/c") == found


def test_another_function_is_another_bug(tmp_path):
    found = [ids_of_script(SAVES_IN_PYTHON.replace("save(", name), tmp_path / name[:-1]) for name in ("save(", "store(")]
    assert [slug for slug, _ in found[1]] == ["duplicate-checkpoint-write"]
    assert found[0] != found[1]
