"""Traces of real jobs, damaged: whatever happened to the files, nobody is accused of it and no number is absurd."""
import json
import random
import resource

import damage
import ddpscope
import pytest
import trainer

DAMAGED = 30  # traces of each kind and size


def report_of(trace):
    done = ddpscope.start([ddpscope.DDPSCOPE, "report", trace, "--format", "json"], trace.parent, timeout=20)
    assert done.code in (0, 1, 2), done.stderr
    assert (done.code == 2) == ("error: " in done.stderr), done.stderr
    return done, json.loads(done.stdout) if done.stdout else None


@pytest.fixture(scope="module", params=[2, 4])
def healthy(request, tmp_path_factory):
    """The trace of a healthy job, its files as they were, and its report."""
    folder = tmp_path_factory.mktemp("healthy")
    trace = trainer.train(trainer.Draw(1, "damaged", request.param), folder)
    files = {file: file.read_bytes() for file in trace.glob("*.ddps")}
    done, report = report_of(trace)
    assert done.code == 0 and report["findings"] == []
    return trace, files, report


@pytest.mark.parametrize("kind", damage.KINDS, ids=lambda kind: kind.__name__)
def test_damage_makes_up_no_finding(healthy, kind):
    trace, files, before = healthy
    rng = random.Random(f"{kind.__name__} {len(files)}")
    told = 0
    for _ in range(DAMAGED):
        victims = rng.sample(sorted(files), rng.choice([1, 1, 2]))
        done_to = []
        for file in victims:
            content = bytearray(files[file])
            done_to.append((file.name, kind(content, rng)))
            file.write_bytes(content)
        done, report = report_of(trace)
        for file in victims:
            file.write_bytes(files[file])
        told += done.code == 2
        if report is None:  # another name of the job in a string: no file says which is right
            assert kind is damage.table and "2 jobs that share nothing" in done.stderr, (done_to, done.stderr)
            continue
        assert report["findings"] == [], (done_to, json.dumps(report["findings"], indent=1)[:3000])
        assert report["job"]["duration_s"] < 100 * before["job"]["duration_s"], done_to
        assert report["job"]["events"] + report["job"]["dropped"] < 100 * before["job"]["events"], done_to
    assert told > DAMAGED / 4, "most damage shows"
    size = sum(len(content) for content in files.values())
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < 20 * size + (1 << 28)
