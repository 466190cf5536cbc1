"""The page: complete, self-contained, and safe whatever a run is called."""

import dataclasses
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest

from selfpaced import run
from selfpaced.cli import main
from selfpaced.files import json_bytes
from selfpaced.packed import write_packed
from selfpaced.report.data import settings, stored_runs
from selfpaced.report.page import Chapter, commands_of, page
from selfpaced.reporting import chapters_of
from selfpaced.scene import make_scene, read_scene, write_scene
from selfpaced.sweep import find_experiment, plan

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def throw():
    """The example's experiment, importable as other processes import it."""
    sys.path.insert(0, str(EXAMPLES))
    yield find_experiment("own_experiment:THROW")
    sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def store(tmp_path_factory, throw):
    out = tmp_path_factory.mktemp("runs")
    run(
        ["gate-precision", "own_experiment:THROW"],
        ["sprl", "creps"],
        seeds=2,
        iterations=60,
        out=out,
    )
    for name in ("gate-precision", "own_experiment:THROW"):
        assert main(["scene", name, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def written(store):
    path = store / "page.html"
    assert main(["report", str(store), "--out", str(path)]) == 0
    return path


def figures_in(text):
    return re.findall(r'<figure class="([\w-]+)">', text)


def test_every_figure_is_there(written):
    text = written.read_text()
    found = figures_in(text)
    for name in ("curves", "contexts-sprl", "tasks", "trajectories", "comparison", "health"):
        assert found.count(name) == 2, name  # of both experiments
    assert found.count("landscape") == 1
    assert text.count('class="slider"') == 2
    assert "Numbers of SPRL" in text
    assert "paper, Table 1" in text
    assert "selfpaced run own_experiment:THROW --algorithms sprl --seeds 2 --iterations 60" in text


def test_nothing_is_loaded_from_elsewhere(written):
    text = written.read_text()
    addresses = set(re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', text))
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert written.stat().st_size < 5_000_000


def test_the_same_runs_give_the_same_page(store, written, tmp_path):
    assert main(["report", str(store), "--out", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_bytes() == written.read_bytes()


def test_packed_results_give_a_page_too(store, tmp_path):
    assert main(["pack", str(store), str(tmp_path)]) == 0
    for scene in store.glob("*.scene"):
        shutil.copy(scene, tmp_path)
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 0
    assert "trajectories" in figures_in((tmp_path / "page.html").read_text())


def test_figures_are_written_for_a_paper(store, tmp_path):
    words = ["report", str(store), "--out", str(tmp_path / "p.html"), "--figures", str(tmp_path)]
    assert main(words) == 0
    names = {path.name for path in tmp_path.iterdir()}
    for form in ("pdf", "png", "svg"):
        assert f"throw-curves.{form}" in names
        assert f"gate-precision-landscape.{form}" in names


def test_an_empty_store_says_so(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "p.html")]) == 0
    assert "There are no finished runs here yet." in (tmp_path / "p.html").read_text()
    assert main(["report", str(tmp_path / "no"), "--out", str(tmp_path / "p.html")]) == 0
    assert "There is no " in (tmp_path / "p.html").read_text()
    assert "Traceback" not in capsys.readouterr().err


def test_a_half_finished_store_says_what_is_missing(store, tmp_path):
    out = tmp_path / "runs"
    shutil.copytree(store / "gate-precision", out / "gate-precision")
    for job in plan(["gate-precision", "gate-global"], ["sprl"], [0, 7], out, iterations=60):
        if not job.done:
            job.folder.mkdir(parents=True, exist_ok=True)
            (job.folder / "spec.json").write_bytes(json_bytes(job.spec))
    chapters, missing = chapters_of([out])
    assert chapters[0].unfinished == ["sprl seed 7 is missing, iteration 0 of 0"]
    assert any("gate-global: sprl seed 0 is missing" in note for note in missing)
    (out / "gate-precision" / "sprl" / "seed-000" / "metrics.jsonl").write_text("x")
    _, missing = chapters_of([out])
    assert any("is damaged" in note for note in missing)
    assert "is missing, iteration 0" in page(*chapters_of([out]))


def test_names_that_come_from_a_run_are_shown_as_text(store, tmp_path):
    evil = "<script>alert(1)</script>"
    runs = [
        dataclasses.replace(found, spec={**found.spec, "experiment": evil, "algorithm": evil})
        for found in stored_runs(store)
        if found.experiment == "gate-precision" and found.algorithm == "sprl"
    ]
    write_packed(runs, tmp_path / "evil.packed")
    chapters, missing = chapters_of([tmp_path])
    text = page(chapters, [*missing, evil])
    assert evil not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert text.count("<script>") == 1  # ours


def test_a_setting_nobody_knows_is_guessed_from_the_spec(store, tmp_path):
    runs = [found for found in stored_runs(store) if found.experiment == "throw"]
    write_packed(runs, tmp_path / "throw.packed")
    found = settings(stored_runs(tmp_path), tmp_path)["throw"]
    assert found.context_names == ("context 1", "context 2", "context 3")
    assert found.reference == ""
    chapters, _ = chapters_of([tmp_path])
    names = figures_in(page(chapters, []))
    assert "contexts-sprl" in names
    assert "trajectories" not in names  # nobody knows how to draw it


def test_changed_numbers_are_in_the_command(tmp_path):
    changed = {"sprl.epsilon": "0.3", "sprl.schedule.zeta": "0.05"}
    run("gate-precision", ["sprl"], seeds=[3, 5], iterations=3, out=tmp_path, overrides=changed)
    chapters, _ = chapters_of([tmp_path])
    (command,) = commands_of(chapters[0])
    assert command == (
        "selfpaced run gate-precision --algorithms sprl --seeds 3,5 --iterations 3 "
        "--sprl.epsilon 0.3 --sprl.schedule.zeta 0.05"
    )


def test_a_scene_is_plain_arrays_and_comes_back(tmp_path):
    scene = make_scene(find_experiment("gate-precision"))
    write_scene(scene, tmp_path / "gate.scene")
    back = read_scene(tmp_path / "gate.scene")
    assert set(back) == set(scene)
    rewards = back["landscape.rewards"]
    narrow, wide = rewards[2], rewards[0]
    at = back["landscape.varied"]
    assert abs(at[narrow.argmax()] - 4.0) < 0.1  # through the gate
    assert (narrow > 5).mean() < 0.02  # which is hard to find
    assert abs(at[narrow < 5][narrow[narrow < 5].argmax()]) < 0.5  # the local optimum beside it
    assert abs(at[wide.argmax()]) < 1.0
    (tmp_path / "bad.scene").write_bytes(b"no")
    with pytest.raises(ValueError, match="is no scene"):
        read_scene(tmp_path / "bad.scene")


def test_chapters_without_runs_or_task_are_still_a_page(store):
    known = settings(stored_runs(store), store)["throw"]
    assert "Throw over a wall" in page([Chapter(known, [], None, None, ["nothing yet"])], [])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("needs selenium, of the extra test")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs Debian's chromium and chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-background-networking", "--no-first-run", "--disable-component-update"),
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options, Service(driver))
    yield found
    found.quit()


def test_in_a_browser_nothing_leaves_the_page_and_the_slider_moves_the_contexts(browser, written):
    from selenium.webdriver.common.by import By

    browser.get(written.as_uri())
    path = browser.find_element(By.CSS_SELECTOR, ".slider path.now")
    output = browser.find_element(By.CSS_SELECTOR, ".slider output")
    before, said = path.get_attribute("d"), output.text
    slide = "const s = document.querySelector('.slider input'); s.value = s.max;"
    browser.execute_script(slide + "s.dispatchEvent(new Event('input'));")
    assert path.get_attribute("d") != before
    assert output.text != said
    assert output.text == "iteration 60"
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    requests = re.findall(
        r'"Network\.requestWillBeSent".*?"url":"([^"]+)"',
        " ".join(entry["message"] for entry in browser.get_log("performance")),
    )
    assert requests
    assert all(url.startswith(("file://", "data:", "chrome")) for url in requests)


@pytest.mark.parametrize("width", [1280, 400])
def test_no_width_makes_the_page_scroll_sideways(browser, written, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.get(written.as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
