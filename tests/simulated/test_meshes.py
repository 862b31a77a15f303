"""Meshes of ranks: killed at any moment nobody is accused; one rank that does wrong is found, as one finding."""
import ddpscope
import mesh_job
import pytest
from judging import findings
from simulator import Collective, Exchange, Simulation

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
JOBS = 30  # of a kind, each of another shape and seed
BROKEN = 4  # the step in which a rank does wrong


def drawn(tmp_path, seed, kind, wanted=lambda mesh: True):
    """Shapes with what they are to be drawn from, and a folder for each."""
    for job in range(JOBS):
        rng = ddpscope.draw(seed, f"mesh/{kind}/{job}")
        mesh = mesh_job.draw(rng)
        while not wanted(mesh):
            mesh = mesh_job.draw(rng)
        folder = tmp_path / str(job)
        folder.mkdir()
        yield mesh, rng, folder


@pytest.mark.parametrize("kind", ["trains", "saves"])
def test_killed_at_any_moment(tmp_path, seed, kind):
    for mesh, rng, folder in drawn(tmp_path, seed, kind):
        mesh.save_at = 3 if kind == "saves" else None
        simulation = Simulation([rank.operations for rank in mesh_job.build(mesh, rng)])
        assert None not in simulation.ended, f"it stands still: {mesh}"
        kill = rng.uniform(0.4, max(simulation.ended))
        found = findings(simulation, [kill + rng.uniform(0, 0.03) for _ in range(mesh.ranks)], folder)
        assert found == [], (mesh, kill, found)


def test_trains_to_its_end(tmp_path, seed):
    for mesh, rng, folder in drawn(tmp_path, seed, "end"):
        simulation = Simulation([rank.operations for rank in mesh_job.build(mesh, rng, steps=60)])
        timed = rng.choice([(), ("collective",), ("collective", "kernel")])
        found = findings(simulation, [max(simulation.ended) + 1] * mesh.ranks, folder, timed, watched=True)
        assert found == [], (mesh, timed, found)


def expect_one(simulation, culprit, mesh, folder, slugs):
    """After all have stood still for 40 s."""
    assert None in simulation.ended, f"nobody stands still: {mesh}"
    found = findings(simulation, [max(simulation.now) + 40] * mesh.ranks, folder)
    told = [(finding["slug"], finding["ranks"], finding["title"]) for finding in found]
    assert len(found) == 1 and found[0]["slug"] in slugs and culprit in found[0]["ranks"], (mesh, culprit, told)
    return found[0]


@pytest.mark.parametrize("what", ["stops", "fails"])
def test_a_rank_is_gone(tmp_path, seed, what):
    for mesh, rng, folder in drawn(tmp_path, seed, what):
        ranks = mesh_job.build(mesh, rng)
        culprit = rng.randrange(mesh.ranks)
        operations, steps = ranks[culprit].operations, ranks[culprit].steps
        operations.insert(rng.randrange(steps[BROKEN], steps[BROKEN + 1]), mesh_job.STOPPED if what == "stops" else mesh_job.FAILED)
        finding = expect_one(Simulation([rank.operations for rank in ranks]), culprit, mesh, folder, ["hung-collective"])
        assert finding["ranks"] == [culprit] and finding["confidence"] == "certain", finding


def test_a_collective_is_left_out(tmp_path, seed):
    for mesh, rng, folder in drawn(tmp_path, seed, "collective", lambda mesh: mesh.tensor * mesh.data > 1):
        ranks = mesh_job.build(mesh, rng)
        culprit = rng.randrange(mesh.ranks)
        ranks[culprit].leave_out(rng.choice(ranks[culprit].places(BROKEN, Collective, lambda call: call.group.size > 1)))
        expect_one(Simulation([rank.operations for rank in ranks]), culprit, mesh, folder,
                   ["hung-collective", "mismatched-collective", "skipped-barrier"])


def test_a_send_is_left_out(tmp_path, seed):
    for mesh, rng, folder in drawn(tmp_path, seed, "send", lambda mesh: mesh.pipeline > 1):
        ranks = mesh_job.build(mesh, rng)
        culprit = rng.randrange(mesh.ranks)
        rank = ranks[culprit]
        sends = rank.places(BROKEN, Exchange, lambda call: call.group == rank.pipeline and "ncclSend" in dict(call.messages))
        place = rng.choice(sends)
        call = rank.operations[place]
        left = [message for message in call.messages if message[0] != "ncclSend"]
        if left:
            rank.operations[place] = call._replace(messages=left)
        else:
            rank.leave_out(place)
        expect_one(Simulation([rank.operations for rank in ranks]), culprit, mesh, folder, ["hung-collective"])
