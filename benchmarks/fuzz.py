"""Damages stored files in thousands of ways, and reads them with everything that reads files.

    python benchmarks/fuzz.py --mutations 10000 --pages 200 --seed 0

Half of the mutations are random damage, as a disk makes it. The others are made on purpose: values
of wrong types, absurd sizes and names, with checksums that fit. Whatever the damage, a reader may
only return what was stored or raise a DamagedFile: the exit code is 1 if anything else happened, if
a reader took longer than TIMEOUT seconds, if a file was written outside, or if random damage was
accepted with other data.
"""

import argparse
import contextlib
import copy
import functools
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bowl import problem

from selfpaced import SPRL, Experiment, load_policy
from selfpaced.engines.job import Job, describe, execute
from selfpaced.experiments.report_info import info_of
from selfpaced.maths.archives import DamagedFile, arrays_in
from selfpaced.maths.randomness import streams_of
from selfpaced.report.chapters import chapters_of
from selfpaced.report.data import groups, infos, stored_runs
from selfpaced.report.page import page
from selfpaced.report.scene import read_scene, write_scene
from selfpaced.report.tables import row, text_row
from selfpaced.store.experiment_info import read_infos, write_info
from selfpaced.store.files import json_bytes, npz_bytes, vouched_json
from selfpaced.store.packed import packed_info, read_packed, restore_store, write_packed
from selfpaced.store.reading import last_record, read_error, read_run, read_timing, recorded
from selfpaced.store.spec import ask_for, asked_iterations
from selfpaced.store.status import status
from selfpaced.store.writing import RunWriter, write_error

TIMEOUT = 30.0  # seconds of CPU time for all readers of one mutation, or four times as many at all
MOST_MEMORY = 500e6  # bytes
RUN_FILES = (
    *("spec.json", "budget.json", "metrics.jsonl", "checkpoint.npz", "policy.npz", "final.npz"),
    *("result.json", "timing.json", "error.json"),
)
KINDS = (*RUN_FILES, "experiment.json", "fuzzed.packed", "fuzzed.scene", "saved.npz")
NASTY = [
    *(None, True, -1, 0, 10**9, 10**18, 10**400, 1e308, -0.0, 5e-324, "", "x", "../../evil"),
    *("\x1b]0;evil\x07", "[/b]", "\ud800", "a" * 5000, [], {}, [[]], [None], [1, [2]], {"type": 1}),
    *("inf", [1e308] * 3, {"low": [0], "high": "x"}, "/dev/zero", ["a", "b"]),
]


class Hang(BaseException):
    """A reader took longer than TIMEOUT seconds."""


def hang(*_):
    raise Hang


def alarm(seconds):
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)


BOWL = Experiment(
    name="fuzzed",
    problem=problem,
    algorithms={"sprl": SPRL(n_samples=10, buffer_size=2)},
    iterations=8,
    measure_rollouts=5,
    final_rollouts=5,
)


def job(out, seed):
    return Job(
        experiment=BOWL,
        algorithm="sprl",
        config=BOWL.algorithms["sprl"],
        seed=seed,
        iterations=8,
        out=out,
        problem=describe(BOWL, BOWL.built_problem()),
        code=None,
    )


def make_store(out):
    """Two runs, what lies beside them, a packed file, a scene, a logbook and a saved policy."""
    for seed in (0, 1):
        asked = job(out, seed)
        ask_for(asked.folder, asked.spec, 8)
        execute(asked)
        write_error(asked.folder, "none: only a file to damage")
    write_info(out, info_of(BOWL, "evil_module:NAME"))
    beside = out / "beside"
    beside.mkdir()
    write_packed(stored_runs(out), beside / "fuzzed.packed", read_infos(out)["fuzzed"])
    scene = {"contexts": np.zeros((2, 2)), "pictures": np.zeros((2, 8, 8, 3), np.uint8)}
    write_scene({**scene, "faults": np.array(["a fault"])}, beside / "fuzzed.scene")
    read_run(job(out, 0).folder).policy.save(beside / "saved.npz")


# -- Mutations ------------------------------------------------------------------------------------


def damaged(content, rng):
    """`content` as a bad disk may return it: some bytes are different, gone, or too many."""
    data, kind = bytearray(content), rng.integers(8)
    a, b = np.sort(rng.integers(len(data) + 1, size=2))
    if kind == 0:
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    elif kind == 1:
        data[rng.integers(len(data))] = rng.integers(256)
    elif kind == 2:
        del data[a:]
    elif kind == 3:
        del data[a:b]
    elif kind == 4:
        data[a:a] = data[a:b]
    elif kind == 5:
        data[a:a] = rng.bytes(int(rng.integers(1, 40)))
    elif kind == 6:
        data[a:b] = bytes(int(b - a))
    else:
        digits = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
        place = digits[rng.integers(len(digits))] if digits else 0
        data[place] = ord(str(rng.integers(10)))
    return bytes(data)


def forged_value(value, rng):
    """`value` of a JSON file with one of its parts replaced, removed or repeated."""
    value = copy.deepcopy(value)
    place, key = value, None
    parent = None
    while isinstance(place, dict | list) and place and (parent is None or rng.random() < 0.8):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        parent, key = place, keys[rng.integers(len(keys))]
        place = parent[key]
    if parent is None or (kind := rng.integers(6)) == 0:
        return NASTY[rng.integers(len(NASTY))] if parent is None else value
    if kind == 1:
        del parent[key]
    elif kind == 2 and isinstance(parent, list):
        parent *= 3
    elif kind == 3:
        parent[key] = f"DEEP{rng.integers(1, 3000)}"
    else:
        parent[key] = NASTY[rng.integers(len(NASTY))]
    return value


def text_of(value):
    """`value` as JSON, with lists that are nested as deep as it says."""
    return re.sub(
        r'"DEEP(\d+)"', lambda m: "[" * int(m[1]) + "1" + "]" * int(m[1]), json.dumps(value)
    ).encode()


@functools.cache
def bomb(method):
    """A small zip file that takes 150 MB in memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file, file.open("bomb.npy", "w") as member:
        for _ in range(150):
            member.write(bytes(2**20))
    return buffer.getvalue()


def forged_json(content, rng):
    """A JSON file with another value in it, and a checksum that fits."""
    value = json.loads(content)
    value.pop("checksum", None)
    forged = forged_value(value, rng)
    text = text_of(forged)
    if not isinstance(forged, dict):
        return text
    return text[:-1] + b', "checksum": %d}' % zlib.crc32(text)


def npy(array, rng):
    """An array in a file, now and then with a header that lies."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=array.dtype.hasobject)
    content = buffer.getvalue()
    if rng.random() < 0.5:
        lies = [
            (b"'shape': (", b"'shape': (1000000000000, "),
            (b"'shape': (", b"'shape': (-1, "),
            (b"<f8", b"|O8"),
            (b"<f8", b"<M8"),
            (b"False", b"x.y()"),
            (b"'descr'", b"'fescr'"),
        ]
        old, new = lies[rng.integers(len(lies))]
        header = content[10:].split(b"\n")[0]
        edited = (header.rstrip().replace(old, new) + b" ")[: len(header) + 40]
        body = content[10 + len(header) + 1 :]
        length = (len(edited) + 1).to_bytes(2, "little")
        content = content[:8] + length + edited + b"\n" + body
    return content


def forged_arrays(arrays, rng):
    """`arrays` of which one is missing, of another shape, of another kind, or another one."""
    forged = dict(arrays)
    name = list(forged)[rng.integers(len(forged))]
    array, kind = forged[name], rng.integers(8)
    if kind == 0:
        del forged[name]
    elif kind == 1:
        forged[name] = array.reshape(-1)[: max(0, array.size - 1)]
    elif kind == 2:
        forged[name] = array[None]
    elif kind == 3:
        forged[name] = np.zeros((0, 9000, 9000))
    elif kind == 4:
        forged[name] = np.array("x" * 50)
    elif kind == 5:
        forged[name] = np.full(array.shape, np.nan)
    elif kind == 6:
        forged["../../evil"] = np.zeros(3)
    elif array.dtype.kind == "U":
        text = '{"kind": "polynomial", "inputs": 1000000, "degree": 1000000}'
        forged[name] = np.array(text)
    else:
        forged[name] = np.array([{"a": 1}], dtype=object)
    return forged


def zipped(members, rng, method=zipfile.ZIP_STORED):
    """A zip file of `members`, now and then packed in an odd way."""
    buffer = io.BytesIO()
    odd = rng.random()
    if 0.3 < odd < 0.302:
        return bomb(zipfile.ZIP_DEFLATED if method == zipfile.ZIP_STORED else method)
    if odd < 0.1:
        method = [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED][rng.integers(3)]
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, method)
        if 0.15 < odd < 0.2:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file.writestr(zipfile.ZipInfo(next(iter(members), "x")), b"twice")
    content = bytearray(buffer.getvalue())
    if 0.2 < odd < 0.25:  # encrypted, says its flag
        content[6] |= 1
    return bytes(content)


def forged_npz(content, rng):
    """An .npz file with a forged array or header, whose own checksums fit."""
    forged = forged_arrays(arrays_in(content, 2**26), rng)
    members = {f"{name}.npy": npy(array, rng) for name, array in forged.items()}
    return zipped(members, rng)


def forged_packed(content, rng):
    """A packed file with a forged text or array, and a checksum that fits."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    about = members.pop("about.json")
    names = {name.removesuffix(".npy"): np.load(io.BytesIO(c)) for name, c in members.items()}
    if rng.random() < 0.5:
        about = text_of(forged_value(json.loads(about), rng))
    else:
        names = forged_arrays(names, rng)
    members = {
        f"{name}.npy": npy(a, rng) if rng.random() < 0.1 else _npy(a) for name, a in names.items()
    }
    body = zipped({"about.json": about, **members}, rng, zipfile.ZIP_LZMA)
    body = body[:-2] + (14).to_bytes(2, "little") + b"crc32 "
    return body + b"%08x" % zlib.crc32(body)


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=array.dtype.hasobject)
    return buffer.getvalue()


def forged_metrics(content, rng):
    """Metrics of which one line has another value."""
    lines = content.splitlines()
    k = rng.integers(len(lines))
    lines[k] = text_of(forged_value(json.loads(lines[k]), rng))
    return b"\n".join(lines) + b"\n"


def forge(folder, name, content, rng):
    """Write a forged file `name`, and let the result vouch for it."""
    if name == "metrics.jsonl":
        new = forged_metrics(content, rng)
    elif name.endswith((".npz", ".scene")):
        new = forged_npz(content, rng)
    elif name.endswith(".packed"):
        new = forged_packed(content, rng)
    else:
        new = forged_json(content, rng)
    (folder / name).write_bytes(new)
    result = folder / "result.json"
    if name in ("metrics.jsonl", "policy.npz", "final.npz"):
        value = json.loads(result.read_bytes())
        del value["checksum"]
        value["crc"][name] = zlib.crc32(new)
        value["metrics_bytes"] = (folder / "metrics.jsonl").stat().st_size
        result.write_bytes(vouched_json(value))


# -- Readers --------------------------------------------------------------------------------------


def digest(run):
    """What a stored run says, as bytes that can be compared."""
    policy = b"" if run.policy is None else npz_bytes(run.policy.arrays())
    arrays = run.contexts.tobytes(), b"" if run.trajectories is None else run.trajectories.tobytes()
    return json_bytes([run.spec, run.records, run.result]), policy, arrays


def read_all(out, name, elsewhere):
    """Everything that reads the file `name` of the store `out`; what was found, by reader."""
    folder, beside = job(out, 0).folder, out / "beside"
    found = {}

    def attempt(reader, call):
        with contextlib.suppress(DamagedFile):
            found[reader] = call()

    if name == "saved.npz":
        attempt("policy", lambda: npz_bytes(load_policy(beside / name).arrays()))
        return found
    if name == "fuzzed.scene":
        attempt(
            "scene", lambda: sorted((k, v.tobytes()) for k, v in read_scene(beside / name).items())
        )
        return found
    if name == "fuzzed.packed":
        attempt("packed", lambda: [digest(run) for run in read_packed(beside / name)])
        attempt("packed info", lambda: info_bytes(packed_info(beside / name)))
        attempt("unpack", lambda: restore_store(beside / name, elsewhere) and None)
        shutil.rmtree(elsewhere, ignore_errors=True)
        if "packed" in found:
            for group in groups(read_packed(beside / name)):
                row(group)
                text_row(group)
        return found
    if name == "experiment.json":
        attempt("info", lambda: [json_bytes(i.to_json()) for i in read_infos(out).values()])
        if not found["info"]:
            del found["info"]  # left out, with a warning
        attempt("infos", lambda: infos(stored_runs(job(out, 0).out), out) and None)
        return found
    if name == "checkpoint.npz":
        attempt("checkpoint", lambda: restored(out))
        return found
    attempt("run", lambda: digest(read_run(folder)))
    try:
        runs = stored_runs(out)
    except ValueError as error:  # two whole specs that contradict each other are refused
        if "different specs do not go into one table" not in str(error):
            raise
        runs = []
    for group in groups(runs):
        row(group)
        text_row(group)
    found["runs"] = len(runs)
    for one in status(out):
        one.health()
    found["error"] = read_error(folder)
    found["asked"] = asked_iterations(folder)
    found["seconds"] = str(read_timing(folder).cpu_seconds)
    recorded(folder), last_record(folder)
    return found


def info_bytes(info):
    return b"" if info is None else json_bytes(info.to_json())


def try_page(out):
    """The page of the whole store, with its figures."""
    try:
        page(*chapters_of([out, out / "beside"])).encode()
    except ValueError as error:
        if "different specs do not go into one table" not in str(error):
            raise


def restored(out):
    """The state of the training after its checkpoint was read; None if it started again."""
    asked = job(out, 0)
    files = RunWriter(asked.folder, asked.spec)
    try:
        training = files.begin(
            lambda: asked.config.start(BOWL.built_problem(), streams_of(asked.seed))
        )
        return None if files.problems else npz_bytes(training.state())
    finally:
        files.close()


def differs(name, found, sound):
    """What a reader returned that is neither what was stored nor a sign of damage."""
    for reader, value in found.items():
        known = sound.get(reader)
        if reader in ("runs",) or value == known:
            continue
        if reader == "checkpoint" and value is None:
            continue
        if (reader, value) in (("asked", 0), ("seconds", "nan")):
            continue
        if reader == "error" and (value is None or "is damaged" in value):
            continue
        yield f"{reader} of {name}"


# -- The whole ------------------------------------------------------------------------------------


def fuzz(mutations, pages, seed, folder):
    """Counts of what happened, by kind; the entry "faults" must be empty."""
    rng = np.random.default_rng(seed)
    sound_store, out = folder / "sound", folder / "inside" / "store"
    make_store(sound_store)
    shutil.copytree(sound_store, out)
    run = job(out, 0).folder
    places = dict.fromkeys(RUN_FILES, run)
    places |= {"experiment.json": out / "fuzzed"}
    sound = {}
    for name in KINDS:
        sound |= read_all(out, name, folder / "inside" / "elsewhere")
        shutil.rmtree(out)
        shutil.copytree(sound_store, out)  # a run that is begun loses its error
    before = set(folder.rglob("*"))
    counts, faults = Counter(), []
    signal.signal(signal.SIGALRM, hang)
    signal.signal(signal.SIGPROF, hang)
    for i in range(mutations):
        name = KINDS[i % len(KINDS)]
        place = places.get(name, out / "beside")
        keep = {path: path.read_bytes() for path in {place / name, *map(run.joinpath, RUN_FILES)}}
        forged = bool((i // len(KINDS)) % 2)
        if forged:
            forge(place, name, keep[place / name], rng)
        else:
            (place / name).write_bytes(damaged(keep[place / name], rng))
        new = (place / name).read_bytes()
        alarm(TIMEOUT)
        try:
            found = read_all(out, name, folder / "inside" / "elsewhere")
            if pages and i % max(1, mutations // pages) == 0:
                counts["pages"] += 1
                try_page(out)
            other = [] if forged or new == keep[place / name] else list(differs(name, found, sound))
            counts["read as stored" if found == sound else "damage found or accepted"] += 1
            faults += [f"mutation {i}: other data from {what}" for what in other]
        except (Exception, Hang) as error:
            alarm(0.0)
            where = traceback.format_exc().strip().splitlines()[-7:]
            faults.append(f"mutation {i} of {name}: {error!r}\n  " + "\n  ".join(where))
        finally:
            alarm(0.0)
        for path, content in keep.items():
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
        counts["forged" if forged else "damaged"] += 1
    outside = set(folder.rglob("*")) - before
    if outside:
        faults.append(f"written where nothing should be: {sorted(map(str, outside))[:5]}")
    return counts, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=200, help="how many of them make a page")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.perf_counter(), time.process_time()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        beside = set(Path(folder).parent.glob("*evil*"))
        counts, faults = fuzz(arguments.mutations, arguments.pages, arguments.seed, Path(folder))
        if set(Path(folder).parent.glob("*evil*")) - beside:
            faults.append("a file was written outside")
    # Not ru_maxrss: it begins with the size of the process that has started this one.
    status = Path("/proc/self/status").read_text()
    memory = 1024 * int(status.split("VmHWM:")[1].split()[0])
    if memory > MOST_MEMORY:
        faults.append(f"it took {memory / 1e6:.0f} MB")
    for fault in faults[:20]:
        print(fault)
    print(
        f"{arguments.mutations} mutations with seed {arguments.seed}: {len(faults)} faults, "
        f"{dict(counts)}, {memory / 1e6:.0f} MB, {time.perf_counter() - started[0]:.0f} s "
        f"({time.process_time() - started[1]:.0f} CPU s)"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
