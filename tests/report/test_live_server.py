"""The page of runs that go on: who may see it, that it follows the runs, and that it harms none."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from selfpaced import run
from selfpaced.cli import main
from selfpaced.report.live_page import curves_so_far, live_page
from selfpaced.report.live_server import LiveServer
from selfpaced.store.reading import recorded
from selfpaced.store.status import status

TESTS = Path(__file__).parents[1]
FILES = ("spec.json", "metrics.jsonl", "policy.npz", "final.npz")


@pytest.fixture
def server(tmp_path):
    with LiveServer(tmp_path, 0, 60) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def answer(server, method="GET", path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    reply = connection.getresponse()
    return reply.status, reply.read().decode(), reply.headers


def test_the_page_is_for_get_requests_of_this_machine_only(server):
    status, text, headers = answer(server)
    assert status == 200
    assert "No run has been asked for" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert answer(server, host=f"localhost:{server.server_port}")[0] == 200
    for host in ("attacker.example", f"attacker.example:{server.server_port}", "localhost"):
        assert answer(server, host=host)[0] == 403
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        assert answer(server, method)[0] == 501
    assert answer(server, path="/../spec.json")[0] == 404


def test_other_addresses_of_this_machine_do_not_answer(server):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.server_port), timeout=5)


def test_a_folder_that_does_not_exist_is_refused(tmp_path, capsys):
    assert main(["serve", str(tmp_path / "none")]) == 2
    assert "out must be a folder of results" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--port", "70000"]) == 2
    assert "port must be from 0 to 65535; got 70000" in capsys.readouterr().err


def points(out):
    """Iterations of the first curve on the page."""
    records = [(found, recorded(found.folder)) for found in status(out)]
    return curves_so_far(records, "").axes[1].lines[0].get_xdata().tolist()


def test_curves_grow_with_the_runs(tmp_path):
    run("gate-precision", "creps", seeds=1, iterations=14, out=tmp_path)
    early, first = live_page(tmp_path, 5), points(tmp_path)
    run("gate-precision", "creps", seeds=1, iterations=42, out=tmp_path)
    late, then = live_page(tmp_path, 5), points(tmp_path)
    assert "14 of 14" in early
    assert "42 of 42" in late
    assert first == [7, 14]
    assert then == [7, 14, 21, 28, 35, 42]
    assert "1 done" in late
    assert '<meta http-equiv="refresh" content="5">' in late


def test_a_run_is_the_same_whether_it_is_watched_and_the_server_killed_or_not(tmp_path):
    alone, watched = tmp_path / "alone", tmp_path / "watched"
    watched.mkdir()
    words = ["gate-precision", "--algorithms", "creps", "--seeds", "1", "--iterations", "600"]
    command = [sys.executable, "-m", "selfpaced"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(
        [*command, "serve", str(watched), "--port", "0", "--refresh", "1"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    training = subprocess.Popen(
        [*command, "run", *words, "--out", str(watched)], stdout=subprocess.DEVNULL
    )
    port = int(re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline()).group(1))
    seen = set()
    deadline = time.monotonic() + 120
    while training.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/")
        page = connection.getresponse().read().decode()
        seen |= {int(n) for n in re.findall(r"<td>(\d+) of 600</td>", page)}
        if len(seen) >= 3:
            break
        time.sleep(0.3)
    server.send_signal(signal.SIGKILL)  # while it may hold files open
    server.communicate()
    assert training.wait(timeout=120) == 0
    assert len(seen) >= 2, "the page must follow the run"
    assert main(["run", *words, "--out", str(alone)]) == 0
    run_folder = Path("gate-precision", "creps", "seed-000")
    for name in FILES:
        assert (watched / run_folder / name).read_bytes() == (
            alone / run_folder / name
        ).read_bytes()
