"""Packed results: small, readable like a store, and a store again."""

import dataclasses
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_experiments import BOWL

from selfpaced import load, run
from selfpaced.engines.job import Stopped, execute
from selfpaced.experiments.gate import GATE_PRECISION
from selfpaced.experiments.report_info import info_of
from selfpaced.maths.policy import LinearGaussianPolicy
from selfpaced.report.data import Group, quantiles, stored_runs
from selfpaced.report.tables import row
from selfpaced.store.packed import read_packed, restore_store, write_packed
from selfpaced.store.reading import finished_runs, recorded_iterations
from selfpaced.store.writing import RunWriter
from selfpaced.sweep import plan

RESULTS = Path(__file__).parents[2] / "results"
INFO = dataclasses.replace(info_of(GATE_PRECISION), evolution=(20, 33))


@pytest.mark.parametrize("n", [2, 4, 6, 8, 10])
def test_a_median_that_half_the_seeds_never_reach_is_never(n):
    values = np.r_[np.full(n // 2, 200.0), np.full(n // 2, np.inf)]
    assert quantiles(values)[1] == np.inf
    values[-1] = 200.0
    assert quantiles(values)[1] == 200.0


def test_a_seed_that_never_gets_there_leaves_the_median_of_numbers_their_mean():
    assert quantiles(np.array([np.inf, 240.0, 264.0, 248.0]))[1] == 256.0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    run("gate-precision", ["sprl", "creps"], seeds=4, iterations=70, out=out)
    return out


@pytest.fixture
def packed(store, tmp_path):
    path = tmp_path / "gate-precision.packed"
    write_packed(finished_runs(store), path, INFO)
    return path


def test_tables_from_packed_results_are_those_of_the_store(store, packed):
    for name, group in load(store)["gate-precision"].items():
        exact, kept = row(group), row(load(packed)["gate-precision"][name])
        assert kept == pytest.approx(exact, abs=0.01, nan_ok=True)  # CPU seconds are rounded
        for number in ("success_median", "reward_median", "iterations_to_50", "rollouts"):
            assert kept[number] == exact[number]


def test_a_measurement_of_exactly_90_percent_counts_in_the_packed_table_too(store, tmp_path):
    original = finished_runs(store)[0]
    records = [
        {"iteration": i, "target_success": s, "target_reward": 2e-7, "rollouts": 100 * i}
        for i, s in enumerate((0.1, 0.3, 0.9, 0.95), start=1)
    ]
    made = dataclasses.replace(original, records=records)
    write_packed([made], tmp_path / "one.packed")
    (back,) = read_packed(tmp_path / "one.packed")
    assert back.records[2]["target_success"] == 0.9
    assert Group("e", "a", (back,)).iterations_to(0.9).tolist() == [3.0]
    assert back.records[0]["target_reward"] == pytest.approx(2e-7, rel=1e-3)


def test_unpacking_never_overwrites_what_is_longer_or_under_way(packed, tmp_path):
    restore_store(packed, tmp_path)
    (job,) = plan(["gate-precision"], ["sprl"], [1], tmp_path, iterations=90)
    stops = iter([False] * 4 + [True])
    with pytest.raises(Stopped):
        execute(job, stopping=lambda: next(stops))
    assert recorded_iterations(job.folder) == 5
    files = RunWriter(job.folder, job.spec)
    assert restore_store(packed, tmp_path) == (0, 8)  # locked
    files.close()
    before = recorded_iterations(job.folder)
    execute(dataclasses.replace(job, iterations=75))
    assert before == 5
    assert restore_store(packed, tmp_path) == (0, 8)  # longer


def test_damaged_files_are_refused_whatever_byte_is_wrong(packed, tmp_path):
    sound = packed.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(sound), size=60):
        damaged = bytearray(sound)
        damaged[place] ^= 0xFF
        (tmp_path / "bad.packed").write_bytes(damaged)
        try:
            read_packed(tmp_path / "bad.packed")
        except ValueError as error:
            refused += "must be a file of packed results" in str(error)
    assert refused > 45  # the rest hit bytes that carry nothing


def test_runs_with_different_numbers_do_not_go_into_one_table(tmp_path):
    run(BOWL, ["sprl"], seeds=1, iterations=2, out=tmp_path / "a")
    overrides = {"sprl.epsilon": "0.1"}
    run(BOWL, ["sprl"], seeds="1-1", iterations=2, out=tmp_path / "b", overrides=overrides)
    with pytest.raises(ValueError, match=r"different specs.*config.epsilon is 0.4"):
        load(tmp_path / "a", tmp_path / "b")


def test_figures_find_what_they_need(store, packed):
    one = next(r for r in read_packed(packed) if r.algorithm == "sprl" and r.seed == 1)
    whole = next(r for r in finished_runs(store) if r.algorithm == "sprl" and r.seed == 1)
    measured = [r["iteration"] for r in whole.records if "target_success" in r]
    assert [r["iteration"] for r in one.records] == sorted({1, *measured, 20, 33, 70})
    by_iteration = {r["iteration"]: r for r in whole.records}
    for record in one.records:
        exact = by_iteration[record["iteration"]]
        assert set(record) == set(exact)
        for name in ("kl_to_target", "entropy", "context_mean", "context_covariance", "alpha"):
            np.testing.assert_allclose(record[name], exact[name], rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(one.policy.A, whole.policy.A, rtol=1e-6)
    deviations = np.sqrt(np.diag(whole.policy.covariance))
    difference = one.policy.covariance - whole.policy.covariance
    assert np.all(np.abs(difference) < 2e-3 * np.outer(deviations, deviations))
    assert one.trajectories.shape == (10, 51, 2)
    np.testing.assert_allclose(
        one.trajectories[:, -1], whole.trajectories[:, -1], rtol=1e-3, atol=1e-3
    )


def test_the_same_runs_give_the_same_bytes(store, packed, tmp_path):
    write_packed(finished_runs(store), tmp_path / "again.packed", INFO)
    assert (tmp_path / "again.packed").read_bytes() == packed.read_bytes()


def shaken(original, algorithm, seed, rng):
    """A run like `original` in which every number differs a little, as between seeds."""

    def shake(value):
        if isinstance(value, list):
            return [shake(item) for item in value]
        return value * (1 + 0.01 * rng.normal()) if isinstance(value, float) else value

    records = [
        {name: v if name == "target_success" else shake(v) for name, v in record.items()}
        for record in original.records
    ]
    A = original.policy.A * (1 + 0.01 * rng.normal(size=original.policy.A.shape))
    chol = np.tril(original.policy.chol * (1 + 0.01 * rng.normal(size=original.policy.chol.shape)))
    policy = LinearGaussianPolicy(original.policy.features, A, chol @ chol.T)
    spec = {**original.spec, "algorithm": algorithm, "seed": seed}
    return dataclasses.replace(original, spec=spec, records=records, policy=policy)


def test_forty_seeds_of_five_algorithms_fit_in_500_kilobytes(tmp_path):
    run("gate-precision", ["sprl", "creps"], seeds=1, out=tmp_path)
    creps, sprl = finished_runs(tmp_path)
    rng = np.random.default_rng(0)
    many = [
        shaken(sprl if algorithm < 3 else creps, f"algorithm-{algorithm}", seed, rng)
        for algorithm in range(5)
        for seed in range(40)
    ]
    write_packed(many, tmp_path / "many.packed", info_of(GATE_PRECISION))
    assert (tmp_path / "many.packed").stat().st_size < 500_000


def with_policy(original, seed, chol):
    """A run like `original` whose policy over len(chol) parameters has the factor `chol`."""
    features = original.policy.features
    A = np.random.default_rng(seed).normal(size=(len(chol), features.outputs))
    policy = LinearGaussianPolicy(features, A, chol @ chol.T)
    return dataclasses.replace(original, spec={**original.spec, "seed": seed}, policy=policy)


def narrow(rng):
    """(40, 40): a factor with one direction a millionth as wide as another, as after learning."""
    widths = np.geomspace(1.0, 1e-6, 40)
    return np.tril(0.3 * rng.normal(size=(40, 40)) * widths, -1) + np.diag(widths)


def extreme(rng):
    """(40, 40): one that float16 cannot hold in any unit."""
    return np.diag(np.geomspace(1.0, 1e-12, 40))


def member(path, name):
    with zipfile.ZipFile(path) as file:
        return np.load(io.BytesIO(file.read(f"0.{name}.npy"))), file.getinfo(f"0.{name}.npy")


@pytest.mark.parametrize(("factor", "kind"), [(narrow, np.float16), (extreme, np.float32)])
def test_covariances_are_kept_to_three_digits_however_narrow(store, tmp_path, factor, kind):
    rng = np.random.default_rng(0)
    original = finished_runs(store)[0]
    runs = [with_policy(original, seed, factor(rng)) for seed in range(40)]
    write_packed(runs, tmp_path / "narrow.packed")
    for one, whole in zip(read_packed(tmp_path / "narrow.packed"), runs, strict=True):
        diagonal = np.diag(whole.policy.chol)[:, None]
        scale = np.maximum(np.abs(whole.policy.chol), diagonal)
        assert np.all(np.abs(one.policy.chol - whole.policy.chol) <= 1e-3 * scale)
        np.testing.assert_allclose(one.policy.A, whole.policy.A, rtol=1e-6)
    column, info = member(tmp_path / "narrow.packed", "policy.chol")
    assert column.dtype == kind
    if kind is np.float16:
        assert info.compress_size < 2.1 * column.size


def test_files_with_covariances_in_seven_digits_are_read_as_before(store, packed, tmp_path):
    """As `write_packed` wrote them before: factors in float32, no unit, no checksum of the file."""
    old = tmp_path / "old.packed"
    with zipfile.ZipFile(packed) as file, zipfile.ZipFile(old, "w") as other:
        for name in file.namelist():
            content = file.read(name).replace(b'{"format": 4,', b'{"format": 3,')
            if name.endswith("policy.chol.npy"):
                unit = np.load(io.BytesIO(file.read(name.replace("chol", "unit"))))
                chol = np.load(io.BytesIO(content)).astype(np.float32) * unit[:, None]
                buffer = io.BytesIO()
                np.save(buffer, chol)
                content = buffer.getvalue()
            if not name.endswith("policy.unit.npy"):
                other.writestr(name, content)
    for one, other in zip(read_packed(old), read_packed(packed), strict=True):
        np.testing.assert_allclose(one.policy.covariance, other.policy.covariance, rtol=1e-5)


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.packed")), ids=lambda path: path.name)
def test_the_results_that_come_with_the_program_are_read(path):
    runs = read_packed(path)
    assert runs
    # The entropy of SAC's squashed policies has no closed form.
    assert all(np.isfinite(getattr(stored.policy, "entropy", 0.0)) for stored in runs)


@pytest.mark.parametrize("name", ["context_sample", "context_refused"])
def test_rows_of_contexts_may_differ_in_length(name, store, tmp_path):
    original = finished_runs(store)[0]
    samples = ([[0.5, 0.25], [1.0, 0.125]], [[2.0, 0.375]], [])
    records = [
        {"iteration": i, "target_reward": 1.0, name: sample}
        for i, sample in enumerate(samples, start=1)
    ]
    made = dataclasses.replace(original, records=records)
    write_packed([made], tmp_path / "one.packed")
    (back,) = read_packed(tmp_path / "one.packed")
    assert [r.get(name, []) for r in back.records] == [list(s) for s in samples]


def test_finished_runs_are_not_repeated_after_unpacking(packed, tmp_path):
    out = tmp_path / "restored"
    assert restore_store(packed, out) == (8, 0)
    assert restore_store(packed, out) == (0, 8)
    before = {path: path.read_bytes() for path in out.rglob("result.json")}
    run("gate-precision", ["sprl", "creps"], seeds=4, iterations=70, out=out)
    assert {path: path.read_bytes() for path in out.rglob("result.json")} == before
    unpacked, kept = (row(load(path)["gate-precision"]["sprl"]) for path in (out, packed))
    assert unpacked == pytest.approx(kept, abs=0, nan_ok=True)


def test_an_unpacked_run_that_shall_be_longer_starts_again(packed, tmp_path):
    restore_store(packed, tmp_path / "a")
    longer = run("gate-precision", ["sprl"], seeds="1-1", iterations=75, out=tmp_path / "a")
    fresh = run("gate-precision", ["sprl"], seeds="1-1", iterations=75, out=tmp_path / "b")
    for found in (longer, fresh):
        (member,) = [r for r in found["gate-precision"]["sprl"].runs if r.seed == 1]
        assert member.result["iterations"] == 75
        assert len(member.records) == 75


def test_packed_files_in_a_folder_are_read_with_it(packed, tmp_path):
    run(BOWL, ["sprl"], seeds=2, iterations=3, out=tmp_path)
    assert set(load(tmp_path)) == {"gate-precision", "bowl"}
    assert len(stored_runs(tmp_path, packed)) == 10  # the same run twice counts once


def test_other_files_are_refused(tmp_path):
    (tmp_path / "junk.packed").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(ValueError, match=r"junk.packed must be a file of packed results"):
        read_packed(tmp_path / "junk.packed")
    with pytest.raises(ValueError, match="no such folder or packed file: nowhere"):
        load("nowhere")
    with pytest.raises(ValueError, match="runs must be of one experiment"):
        write_packed([], tmp_path / "empty.packed")


def test_nothing_in_a_packed_file_is_pickled(packed):
    with zipfile.ZipFile(packed) as file:
        names = file.namelist()
        assert json.loads(file.read("about.json"))["experiment"] == "gate-precision"
        assert all(name == "about.json" or name.endswith(".npy") for name in names)
