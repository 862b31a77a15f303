"""Hydra: each rank writes the same settings into a folder that is named by the second."""
import pathlib

import ddpscope
import pytest
import wheel

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "hydra_regression.py"


def report_of(folder, *arguments, ranks=2):
    """All ranks are given one folder: by itself Hydra names it by the second in which a rank starts."""
    done = ddpscope.record([wheel.python("--wild"), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), SCRIPT,
                            "hydra.run.dir=out/kept", *arguments], folder / "trace", folder, env={"OMP_NUM_THREADS": "1"}, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    assert (folder / "out" / "kept" / ".hydra" / "config.yaml").exists()
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == ranks, report["job"]
    return report


def settings_of(report):
    """Small text files that all ranks write alike at the start: no more than an info."""
    found = [finding for finding in report["findings"] if finding["severity"] == "info"]
    assert {finding["slug"] for finding in found} <= {"duplicate-checkpoint-write"}, found
    for finding in found:
        assert finding["files"] and not any(file.endswith(".pt") for file in finding["files"]), finding
    return found


def test_settings_that_each_rank_writes_are_an_info(tmp_path):
    report = report_of(tmp_path)
    assert settings_of(report) == report["findings"], report["findings"]
    assert any(file.endswith("config.yaml") for finding in report["findings"] for file in finding["files"]), report["findings"]


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_checkpoint_that_each_rank_writes_is_an_error_all_the_same(tmp_path, ranks):
    report = report_of(tmp_path, "save=all", ranks=ranks)
    finding, = [finding for finding in report["findings"] if finding not in settings_of(report)]
    assert finding["slug"] == "duplicate-checkpoint-write" and finding["severity"] == "error", finding
    assert finding["ranks"] == list(range(ranks)) and finding == report["findings"][0], finding
    line = ddpscope.line_of(SCRIPT, "# kept")
    assert f"{SCRIPT.name}:{line} " in finding["title"], finding["title"]
