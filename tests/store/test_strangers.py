"""Files of other people: nothing in them runs, leads outside, or stops the rest from being read."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from small_experiments import BOWL

from selfpaced import Box, Gaussian, Logbook, load, load_policy, run
from selfpaced.cli import main
from selfpaced.engines.job import execute
from selfpaced.maths.archives import DamagedFile, array_in, arrays_in, harmless
from selfpaced.report.chapters import chapters_of
from selfpaced.report.data import stored_runs
from selfpaced.report.tensorboard import write_events
from selfpaced.report.watch import film_of
from selfpaced.store.experiment_info import read_infos
from selfpaced.store.files import (
    json_bytes,
    npz_bytes,
    read_vouched_json,
    vouched_json,
    write_atomically,
)
from selfpaced.store.packed import read_packed, restore_store, write_packed
from selfpaced.store.reading import finished_runs, read_run, recorded
from selfpaced.store.spec import asked_iterations, run_folders
from selfpaced.store.status import status
from selfpaced.store.writing import write_error
from selfpaced.sweep import plan

pytestmark = pytest.mark.filterwarnings("always::selfpaced.store.files.DamageWarning")
EVIL = """
from pathlib import Path
Path(__file__).with_name("marker").write_text("code of a stranger has run")
from small_experiments import BOWL as MINE
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four finished runs of a user's own experiment."""
    out = tmp_path_factory.mktemp("made")
    run(BOWL, ["sprl", "creps"], seeds=2, iterations=3, out=out, workers=1)
    return out


@pytest.fixture
def store(made, tmp_path):
    shutil.copytree(made, tmp_path / "runs")
    return tmp_path / "runs"


def rewrite(path, **changes):
    """Change entries of a JSON file, with a checksum that fits."""
    value = json.loads(path.read_text())
    del value["checksum"]
    path.write_bytes(vouched_json({**value, **changes}))


@pytest.mark.parametrize("name", ["spec", "budget", "timing", "result", "error"])
def test_a_file_that_has_lost_its_checksum_does_not_pass_for_an_old_one(store, name):
    folder = store / "bowl" / "sprl" / "seed-000"
    write_error(folder, "ValueError: mine")
    path = folder / f"{name}.json"
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b', "checksum"')] + b"}")
    with pytest.raises(DamagedFile, match="checksum"):
        read_vouched_json(path)
    assert asked_iterations(folder) == (0 if name == "budget" else 3)


@pytest.fixture
def hostile(store, tmp_path):
    """A folder with runs, a packed file, and a module that both say their experiment is in."""
    (tmp_path / "stranger.py").write_text(EVIL)
    runs = finished_runs(store)
    rewrite(store / "bowl" / "experiment.json", reference="stranger:MINE")
    write_packed(runs, tmp_path / "bowl.packed", read_infos(store)["bowl"])
    return tmp_path


def selfpaced(*words, folder, module=False):
    """The command in a process of its own, in `folder`."""
    start = ["-m", "selfpaced"] if module else ["-c", "from selfpaced.cli import main; main()"]
    place = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": place, "COLUMNS": "200"}
    words = [sys.executable, *start, *map(str, words)]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_page_of_a_strangers_results_runs_none_of_their_code(hostile):
    (hostile / "matplotlib.py").write_text(EVIL)  # what `python -m` would find first
    said = selfpaced(
        "report", "runs", "bowl.packed", "--out", "p.html", folder=hostile, module=True
    )
    assert said.returncode == 0, said.stderr
    assert not (hostile / "marker").exists()
    assert (
        "only run if you ask for it with --import stranger:MINE" in (hostile / "p.html").read_text()
    )


def test_the_code_runs_if_the_user_names_it(hostile):
    words = ("report", "bowl.packed", "--out", "p.html", "--import", "stranger:MINE")
    said = selfpaced(*words, folder=hostile)
    assert said.returncode == 0, said.stderr
    assert (hostile / "marker").exists()
    assert "--import" not in (hostile / "p.html").read_text()


def test_neither_a_film_nor_a_movement_imports_what_a_file_names(hostile, monkeypatch, capsys):
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = str(hostile / "runs" / "bowl" / "sprl" / "seed-000")
    for words in (["watch", folder], ["export", folder, "--trajectory", "x.csv"]):
        assert main(words) == 2
        assert "name it: --import stranger:MINE" in capsys.readouterr().err
    assert not (hostile / "marker").exists()
    assert str(hostile) not in sys.path
    with pytest.raises(ValueError, match="neither film nor draw"):
        film_of(Path(folder), experiment=BOWL)
    with pytest.raises(ValueError, match="the run is one of 'bowl'; --import names 'gate-global'"):
        film_of(Path(folder), experiment="gate-global")


def test_the_current_folder_comes_last_on_the_import_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["table", "nowhere"]) == 2
    assert str(tmp_path) not in sys.path
    assert main(["run", "no_such_module:NAME"]) == 2
    assert sys.path[-1] == str(tmp_path)


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "a/b", "..", "\x1b[2J", "x\n"])
@pytest.mark.parametrize("key", ["experiment", "algorithm"])
def test_names_that_lead_elsewhere_are_refused_where_runs_enter(store, tmp_path, key, name):
    runs = finished_runs(store)
    evil = [dataclasses.replace(r, spec={**r.spec, key: name}) for r in runs[:1]]
    write_packed(evil, tmp_path / "evil.packed")
    with pytest.raises(DamagedFile, match=r"evil.packed must be a file of packed results; name"):
        read_packed(tmp_path / "evil.packed")
    with pytest.raises(DamagedFile):
        restore_store(tmp_path / "evil.packed", tmp_path / "restored")
    with pytest.raises(ValueError, match="name must be"):
        write_events(evil, tmp_path / "events")
    folder = store / "bowl" / "sprl" / "seed-000"
    rewrite(folder / "spec.json", **{key: name})
    with pytest.warns(UserWarning, match=r"seed-000.spec.json is damaged: name must be"):
        assert len(stored_runs(store)) == 3
    (failed,) = [s for s in status(store) if s.state == "failed"]
    assert failed.damaged
    assert "\x1b" not in str(failed.error)
    assert not (tmp_path / "restored").exists()
    assert not list(tmp_path.rglob("*escaped*"))


def test_a_run_in_the_folder_of_another_is_an_error_and_no_duplicate(store, capsys):
    shutil.copytree(store / "bowl/sprl/seed-000", store / "bowl/sprl/seed-007")
    assert main(["table", str(store)]) == 1
    said = capsys.readouterr()
    assert "left out:" in said.err
    assert "it is that of bowl sprl seed 0, which belongs into another folder" in said.err
    assert "sprl       2" in said.out
    assert main(["status", str(store)]) == 1
    assert "belongs into another folder" in capsys.readouterr().out


def test_a_missing_spec_is_reported_and_costs_one_run(store, capsys):
    (store / "bowl/sprl/seed-001/spec.json").unlink()
    for command in (["status", str(store)], ["table", str(store)]):
        assert main(command) == 1
        said = capsys.readouterr()
        assert "spec.json is damaged: it is missing" in said.out + said.err
    words = ["run", "small_experiments:BOWL", "--algorithms", "sprl", "--seeds", "3"]
    assert main([*words, "--iterations", "3", "--out", str(store), "--workers", "1"]) == 1
    said = capsys.readouterr().out
    assert "bowl sprl seed 1 failed" in said
    assert "1 of 3 runs failed" in said
    assert (store / "bowl/sprl/seed-002/result.json").exists()  # the rest went on


def test_links_inside_a_run_are_not_followed(store, tmp_path):
    secret = tmp_path / "secret.json"
    folder = store / "bowl/sprl/seed-000"
    for name in ("spec.json", "result.json", "metrics.jsonl", "policy.npz"):
        sound = (folder / name).read_bytes()
        secret.write_bytes(sound)
        (folder / name).unlink()
        (folder / name).symlink_to(secret)
        with pytest.raises(DamagedFile, match=rf"{name} is damaged: it cannot be read"):
            read_run(folder)
        (folder / name).unlink()
        (folder / name).write_bytes(sound)
    (folder / "lock").unlink()
    (folder / "lock").symlink_to(tmp_path / "made_by_a_link")
    words = ["run", "small_experiments:BOWL", "--algorithms", "sprl", "--seeds", "1"]
    assert main([*words, "--iterations", "9", "--out", str(store)]) == 1
    assert not (tmp_path / "made_by_a_link").exists()
    (store / "bowl/sprl/seed-000").rename(tmp_path / "moved")
    (store / "bowl/sprl/seed-000").symlink_to(tmp_path / "moved")
    with pytest.warns(UserWarning, match="seed-000 is a symbolic link and is not followed"):
        assert len(run_folders(store)) == 3


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "../../../secret", "lock"])
def test_a_result_vouches_for_known_files_only(store, name):
    folder = store / "bowl/sprl/seed-000"
    os.mkfifo(folder / "pipe")
    crc = json.loads((folder / "result.json").read_text())["crc"]
    rewrite(folder / "result.json", crc={**crc, name: 0})
    with pytest.raises(DamagedFile, match=r"result.json is damaged: it must vouch for"):
        read_run(folder)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(store):
    folder = store / "bowl/sprl/seed-000"
    for name in ("metrics.jsonl", "result.json", "spec.json", "budget.json", "lock"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    (found,) = [s for s in status(store) if s.folder == folder]
    assert found.damaged
    assert "it is no regular file" in found.error


@pytest.mark.parametrize("old", [b"6", b"1", b"0"])
def test_a_flipped_digit_in_any_file_that_counts_is_noticed(store, old):
    folder = store / "bowl/sprl/seed-000"
    for name in ("spec.json", "result.json", "metrics.jsonl"):
        sound = (folder / name).read_bytes()
        (folder / name).write_bytes(sound.replace(old, b"2" if old != b"2" else b"3", 1))
        if (folder / name).read_bytes() != sound:
            with pytest.raises(DamagedFile, match=rf"{name} is damaged"):
                read_run(folder)
        (folder / name).write_bytes(sound)


def test_a_flipped_byte_anywhere_in_a_packed_file_is_noticed(store, tmp_path):
    path = tmp_path / "bowl.packed"
    write_packed(finished_runs(store), path)
    sound = path.read_bytes()
    for place in np.random.default_rng(0).integers(len(sound), size=60).tolist():
        damaged = bytearray(sound)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"bowl.packed must be a file of packed results"):
            read_packed(path)


def test_a_damaged_packed_file_costs_only_itself(store, tmp_path, capsys):
    folder = tmp_path / "packed"
    folder.mkdir()
    write_packed(finished_runs(store), folder / "bowl.packed")
    (folder / "bad.packed").write_bytes(b"PK junk")
    assert main(["table", str(folder)]) == 1
    said = capsys.readouterr()
    assert "bad.packed" in said.err
    assert "sprl       2" in said.out
    chapters, missing = chapters_of([folder])
    assert len(chapters) == 1
    assert any("bad.packed" in note for note in missing)


def deep(n):
    return "[" * n + "]" * n


@pytest.mark.parametrize(
    "line",
    [
        '{"iteration": 1, "success": "x"}',
        '{"iteration": "1"}',
        '{"iteration": 1, "context_mean": 3}',
        '{"iteration": 1, "context_mean": [0.1], "context_covariance": [[1, 2]]}',
        '{"iteration": 1, "success": 1' + "0" * 400 + "}",
        '{"iteration": 1, "success": NaN}',
        '{"iteration": 1, "context_mean": ' + deep(3000) + "}",
        '{"success": 1.0}',
        "[]",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin1"),
    ],
)
def test_records_of_wrong_types_are_damage_even_if_checksums_fit(store, line):
    folder = store / "bowl/sprl/seed-000"
    content = line.encode("latin1") + b"\n"
    (folder / "metrics.jsonl").write_bytes(content)
    crc = json.loads((folder / "result.json").read_text())["crc"]
    crc["metrics.jsonl"] = zlib.crc32(content)
    rewrite(folder / "result.json", crc=crc, metrics_bytes=len(content))
    with pytest.raises(DamagedFile, match=r"metrics.jsonl is damaged"):
        read_run(folder)
    assert recorded(folder) == []
    with pytest.warns(UserWarning, match=r"metrics.jsonl is damaged"):
        assert load(store)["bowl"]["sprl"].success.shape == (1,)


def npy(shape, data=b"", kind="<f8"):
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    "content",
    [
        npy((10**15,)),
        npy((10**9, 0)),
        npy((-1,)),
        npy((2,), bytes(8)),
        npy((1,), bytes(8), "|O"),
        npy((1,), bytes(8), "<M8[s]"),
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16,
        b"no array",
    ],
)
def test_the_size_of_an_array_is_checked_before_memory_is_taken(content):
    with pytest.raises((ValueError, SyntaxError)):
        array_in(content)


def test_arrays_come_back_from_their_files():
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array("text"), "c": np.zeros((0, 3), int)}
    back = arrays_in(npz_bytes({**arrays, "f": np.asfortranarray(arrays["a"])}))
    np.testing.assert_array_equal(back.pop("f"), arrays["a"])
    for name, array in back.items():
        np.testing.assert_array_equal(array, arrays[name])
        assert array.dtype == arrays[name].dtype


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("format.npy", bytes(10**6))
    with pytest.raises(DamagedFile, match=r"bomb.npz must be a saved policy; its members take"):
        load_policy(path)


def test_a_policy_with_absurdly_many_features_is_refused_at_once(store, tmp_path):
    policy = read_run(store / "bowl/sprl/seed-000").policy
    spec = json.dumps({"kind": "polynomial", "inputs": 10**6, "degree": 10**6})
    np.savez(tmp_path / "p.npz", **{**policy.arrays(), "features": np.array(spec)})
    with pytest.raises(DamagedFile, match="at most 1000000 monomials"):
        load_policy(tmp_path / "p.npz")


def test_control_characters_are_shown_and_not_obeyed(store, capsys):
    assert harmless("a\x1b[2Jb\u202ec\nd") == "a\\x1b[2Jb\\u202ec\nd"
    folder = store / "bowl/sprl/seed-000"
    (folder / "result.json").unlink()
    (folder / "error.json").write_bytes(json_bytes({"error": "\x1b]0;owned\x07 [/b] [bold]"}))
    assert main(["status", str(store)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\\x1b]0;owned\\x07 [/b] [bold]" in said


def test_brackets_in_paths_are_no_markup(tmp_path, capsys):
    out = tmp_path / "x[/b]"
    words = ["run", "small_experiments:BOWL", "--algorithms", "sprl", "--seeds", "1"]
    assert main([*words, "--iterations", "2", "--out", str(out), "--workers", "1"]) == 0
    assert main(["status", str(out)]) == 0
    assert main(["report", str(out), "--out", str(out / "[red].html")]) == 0
    assert "[red].html" in capsys.readouterr().out


def test_a_result_that_is_replaced_while_it_is_read_is_read_again(store, tmp_path):
    """A longer run removes its result, replaces the files one by one and writes a new result."""
    folder = store / "bowl/sprl/seed-000"
    long = tmp_path / "long"
    run(BOWL, ["sprl"], seeds=1, iterations=5, out=long, workers=1)
    other = long / "bowl/sprl/seed-000"
    versions = [
        {name: (place / name).read_bytes() for name in ("policy.npz", "final.npz", "result.json")}
        for place in (folder, other)
    ]
    (folder / "metrics.jsonl").write_bytes((other / "metrics.jsonl").read_bytes())
    ended = threading.Event()

    def replace():
        k = 0
        while not ended.is_set():
            k += 1
            (folder / "result.json").unlink()
            for name, content in versions[k % 2].items():
                (folder / f"{name}.new").write_bytes(content)
                (folder / f"{name}.new").replace(folder / name)
            time.sleep(0.003)

    thread = threading.Thread(target=replace)
    thread.start()
    lengths = set()
    try:
        for _ in range(300):
            try:
                lengths.add(read_run(folder).result["iterations"])
            except FileNotFoundError:
                continue
    finally:
        ended.set()
        thread.join()
    assert lengths <= {3, 5}
    assert lengths


def test_a_restored_run_that_lost_its_result_is_restored_again(store, tmp_path):
    write_packed(finished_runs(store), tmp_path / "bowl.packed")
    out = tmp_path / "restored"
    assert restore_store(tmp_path / "bowl.packed", out) == (4, 0)
    (out / "bowl/sprl/seed-000/result.json").unlink()
    (out / "bowl/sprl/seed-001/result.json").write_bytes(b"")
    assert restore_store(tmp_path / "bowl.packed", out) == (2, 2)
    assert len(finished_runs(out)) == 4


def test_a_checkpoint_of_any_damage_makes_a_run_start_again(store, tmp_path):
    """Whole as a file, but without what the training needs."""
    folder = store / "bowl/sprl/seed-000"
    sound = arrays_in((folder / "checkpoint.npz").read_bytes())
    whole = {name: (folder / name).read_bytes() for name in ("metrics.jsonl", "policy.npz")}
    ours = [name for name in sound if name.startswith("store.")]
    damages = [
        {name: sound[name] for name in ours},
        {name: array for name, array in sound.items() if name not in ours},
        {**sound, **{name: np.array("x") for name in sound if name not in ours}},
        {**sound, "store.bytes": np.array([1, 2])},
    ]
    for arrays in damages:
        (folder / "checkpoint.npz").write_bytes(npz_bytes(arrays))
        (folder / "policy.npz").write_bytes(b"damaged, so that it is run again")
        (job,) = plan([BOWL], ["sprl"], [0], store, iterations=3)
        (problem,) = execute(job)
        assert "the run starts again" in problem
        assert {name: (folder / name).read_bytes() for name in whole} == whole


def test_a_logbook_appends_and_drops_a_torn_line(tmp_path):
    places = {"context_space": Box([0.0], [1.0]), "target": Gaussian([0.5], [[0.01]])}
    with Logbook(tmp_path, "mine", "own", **places) as book:
        path = tmp_path / "mine/own/seed-000/metrics.jsonl"
        book({"iteration": 1})
        node = path.stat().st_ino
        for i in range(2, 50):
            book({"iteration": i, "success": np.float32(0.5)})
        assert path.stat().st_ino == node  # it was not written anew
        with pytest.raises(ValueError, match="note of iteration 50 must be numbers; got 'x'"):
            book({"iteration": 50, "note": "x"})
    path.write_bytes(path.read_bytes()[:-3])
    with Logbook(tmp_path, "mine", "own", **places) as book:
        assert len(recorded(path.parent)) == 48
        book({"iteration": 20})
        assert [r["iteration"] for r in recorded(path.parent)] == list(range(1, 21))


def test_folders_are_synced_after_renames(tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def remember(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", remember)
    write_atomically(tmp_path / "file", b"content")
    assert synced[-1] == str(tmp_path)
    synced.clear()
    write_atomically(tmp_path / "file", b"content", durable=False)
    assert synced == []
