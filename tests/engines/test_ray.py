"""The Ray engine: the same bytes as on this machine alone, also when a node is lost."""

import time
from pathlib import Path

import numpy as np
import pytest

from selfpaced import Box, RowTask, run
from selfpaced.store.reading import last_record
from selfpaced.sweep import Collector, plan, run_jobs

ray = pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings(
        "ignore"
    ),  # Ray's own: sockets and processes it leaves to the system
]

from ray.cluster_utils import Cluster
from test_sweep import results

from selfpaced.engines.ray import RayEngine

HERE = Path(__file__).parent


def test_ray_gives_the_same_results_as_processes(tmp_path):
    asked = {"seeds": 2, "iterations": 12, "overrides": {"sprl.n_samples": "20"}}
    run("gate-precision", ["sprl", "creps"], out=tmp_path / "local", workers=2, **asked)
    found = run(
        "gate-precision",
        ["sprl", "creps"],
        out=tmp_path / "ray",
        engine="ray",
        workers=2,
        **asked,
    )
    assert len(found["gate-precision"]["sprl"].runs) == 2
    assert results(tmp_path / "ray") == results(tmp_path / "local")


def test_all_runs_finish_when_a_node_is_lost(tmp_path):
    """A cluster of a head and two nodes; the node that works on a run is killed in the middle."""
    run("gate-precision", ["creps"], seeds=3, iterations=300, out=tmp_path / "calm")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    jobs = plan(["gate-precision"], ["creps"], range(3), tmp_path / "lost", iterations=300)
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        watcher = _KillsANode(cluster, nodes[0])
        run_jobs(jobs, RayEngine(), watcher)
        assert watcher.killed
        assert not watcher.failures
        assert all(job.is_done() for job in jobs)
        assert results(tmp_path / "lost") == results(tmp_path / "calm")
    finally:
        ray.shutdown()
        cluster.shutdown()


class _KillsANode(Collector):
    """Takes a node away, without warning, as soon as two runs are under way."""

    def __init__(self, cluster, node):
        super().__init__()
        self._cluster, self._node = cluster, node
        self._under_way = set()
        self.killed = False

    def progressed(self, job, iteration, success):
        if 5 < iteration < 200:
            self._under_way.add(job.name)
        if len(self._under_way) == 2 and not self.killed:
            self.killed = True
            before = last_record(job.folder)["iteration"]
            self._cluster.remove_node(self._node, allow_graceful=False)
            assert before < 300


def pendulum(context, theta, rng):
    time.sleep(0.01)
    return float(context[0] * theta[0] + rng.normal())


def test_rows_on_ray_score_as_on_processes():
    boxes = Box([0.0], [1.0]), Box([-1.0], [1.0])
    rng = np.random.default_rng(0)
    contexts, thetas = rng.random((8, 1)), rng.uniform(-1, 1, (8, 1))
    here = {"env_vars": {"PYTHONPATH": f"{HERE}:{HERE.parent}"}}  # the function is importable
    options = {"include_dashboard": False, "log_to_driver": False, "runtime_env": here}
    ray.init(address="local", num_cpus=2, **options)
    try:
        remote = RowTask(pendulum, *boxes, engine="ray", noisy=True)
        far = remote.evaluate(contexts, thetas, np.random.default_rng(1))
    finally:
        ray.shutdown()
    with RowTask(pendulum, *boxes, workers=2, noisy=True) as local:
        near = local.evaluate(contexts, thetas, np.random.default_rng(1))
    np.testing.assert_array_equal(far.rewards, near.rewards)
