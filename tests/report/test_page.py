"""The page: complete, self-contained, and safe whatever a run is called."""

import dataclasses
import importlib.util
import json
import re
import shlex
import shutil
import sys
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
import pytest
from small_experiments import BOWL, BOXES, TARGET, bowl

from selfpaced import Alpha, Box, FunctionTask, Gaussian, Logbook, Problem, RowTask, run
from selfpaced.cli.main import main, split_overrides
from selfpaced.experiments import EXPERIMENTS, find_experiment
from selfpaced.experiments.override import override
from selfpaced.experiments.report_info import info_of
from selfpaced.maths.schedule import FractionOfGain
from selfpaced.report.chapters import chapters_of
from selfpaced.report.contexts import evolution
from selfpaced.report.data import Group, infos, stored_runs
from selfpaced.report.page import Chapter, page, slider, write_figures
from selfpaced.report.reproduce_commands import commands_of
from selfpaced.report.scene import make_scene, read_scene, write_scene
from selfpaced.store.experiment_info import info_from_json
from selfpaced.store.files import json_bytes
from selfpaced.store.packed import write_packed
from selfpaced.store.spec import write_spec
from selfpaced.sweep import plan

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
    words = ["report", str(store), "--out", str(path), "--import", "own_experiment:THROW"]
    assert main([*words, "--figures", str(store / "figures")]) == 0
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
    assert "Configuration of SPRL" in text
    assert "paper, Table 1" in text
    assert "selfpaced run own_experiment:THROW --algorithms sprl --seeds 2 --iterations 60" in text


def test_nothing_is_loaded_from_elsewhere(written):
    text = written.read_text()
    addresses = set(re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', text))
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert written.stat().st_size < 1_500_000


def test_the_same_runs_give_the_same_page(store, written, tmp_path):
    words = ["report", str(store), "--out", str(tmp_path / "again.html")]
    assert main([*words, "--import", "own_experiment:THROW"]) == 0
    assert (tmp_path / "again.html").read_bytes() == written.read_bytes()


def test_packed_results_give_a_page_too(store, tmp_path):
    assert main(["pack", str(store), str(tmp_path)]) == 0
    for scene in store.glob("*.scene"):
        shutil.copy(scene, tmp_path)
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 0
    assert "trajectories" in figures_in((tmp_path / "page.html").read_text())


def test_figures_are_written_for_a_paper(written):
    names = {path.name for path in (written.parent / "figures").iterdir()}
    for form in ("pdf", "png", "svg"):
        assert f"throw-curves.{form}" in names
        assert f"gate-precision-landscape.{form}" in names


def test_an_empty_store_says_so(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "p.html")]) == 0
    assert "There are no finished runs here yet." in (tmp_path / "p.html").read_text()
    assert "Traceback" not in capsys.readouterr().err


def test_a_store_that_is_not_there_is_an_error_unless_another_is(tmp_path, capsys):
    page, other = tmp_path / "p.html", str(tmp_path / "no")
    assert main(["report", other, "--out", str(page)]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert not page.exists()
    assert main(["report", str(tmp_path), other, "--out", str(page)]) == 0
    assert " does not exist." in page.read_text()


def test_a_half_finished_store_says_what_is_missing(store, tmp_path):
    out = tmp_path / "runs"
    shutil.copytree(store / "gate-precision", out / "gate-precision")
    for job in plan(["gate-precision", "gate-global"], ["sprl"], [0, 7], out, iterations=60):
        if not job.is_done():
            job.folder.mkdir(parents=True, exist_ok=True)
            write_spec(job.folder, job.spec)
    chapters, missing = chapters_of([out])
    assert chapters[0].missing == ["sprl seed 7 is missing, iteration 0 of 0"]
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


def test_an_experiment_nobody_knows_is_guessed_from_the_spec(store, tmp_path):
    runs = [found for found in stored_runs(store) if found.experiment == "throw"]
    write_packed(runs, tmp_path / "throw.packed")
    found = infos(stored_runs(tmp_path), tmp_path)["throw"]
    assert found.context_names == ("context 1", "context 2", "context 3")
    assert found.reference == ""
    chapters, _ = chapters_of([tmp_path])
    names = figures_in(page(chapters, []))
    assert "contexts-sprl" in names
    assert "trajectories" not in names  # nobody knows how to draw it


def throw_chapter(store):
    """The chapter of the user's own experiment, whose code may run."""
    chapters, _ = chapters_of([store], ["own_experiment:THROW"])
    (found,) = [chapter for chapter in chapters if chapter.info.name == "throw"]
    return found


def commands(chapter):
    return commands_of(chapter.members, chapter.info, chapter.experiment)


CHANGED = {
    "gate-precision": {"sprl.epsilon": "0.3", "sprl.pacing.schedule.zeta": "0.05"},
    "own_experiment:THROW": {"sprl.epsilon": "0.3", "sprl.min_entropy": "-9.5"},
}


@pytest.mark.parametrize("reference", CHANGED)
def test_changed_fields_are_in_the_command(reference, throw, tmp_path):
    changed = CHANGED[reference]
    run(reference, ["sprl"], seeds=[3, 5], iterations=3, out=tmp_path, overrides=changed)
    chapters, _ = chapters_of([tmp_path], [reference])
    (command,) = commands(chapters[0])
    options = " ".join(f"--{name} {value}" for name, value in changed.items())
    assert command == (
        f"selfpaced run {reference} --algorithms sprl --seeds 3,5 --iterations 3 {options}"
    )


def chapter_with(experiment, algorithm, config, store):
    """The chapter of one run that had `config`."""
    original = next(found for found in stored_runs(store) if found.algorithm == "sprl")
    spec = {
        "experiment": experiment.name,
        "algorithm": algorithm,
        "config": json.loads(json_bytes(config)),
        "seed": 0,
    }
    group = Group(experiment.name, algorithm, (dataclasses.replace(original, spec=spec),))
    info = info_of(experiment, experiment.name)
    return Chapter(
        info=info, members=[group], scene=None, experiment=experiment, task=None, missing=[]
    )


@pytest.mark.parametrize(
    ("experiment", "algorithm", "options"),
    [
        ("reacher", "sprl", {"pacing.variance_floor": "none", "pacing.policy_weights": "derived"}),
        ("reacher", "sprl", {"pacing.schedule.alpha_max": "inf", "min_entropy": "-1.5"}),
        ("reacher", "ppo", {"hidden": "64,32", "gamma": "1e-05"}),
        ("gate-global", "goalgan", {"teacher.noise": "0.1", "buffer_size": "3"}),
    ],
)
def test_the_command_is_one_that_the_command_line_takes(experiment, algorithm, options, store):
    found = EXPERIMENTS[experiment]
    config = found.algorithms[algorithm]
    for path, text in options.items():
        config = override(config, path, text)
    (command,) = commands(chapter_with(found, algorithm, config, store))
    _, overrides = split_overrides(shlex.split(command))
    again = found.algorithms[algorithm]
    for path, text in overrides.items():
        again = override(again, path.removeprefix(f"{algorithm}."), text)
    assert again == config
    assert len(overrides) == len(options)


def test_what_no_option_sets_is_said_beside_the_command(store):
    found = EXPERIMENTS["gate-precision"]
    paper = found.algorithms["sprl"]
    config = dataclasses.replace(paper, pacing=Alpha(schedule=FractionOfGain(zeta=0.02)))
    command, comment = commands(chapter_with(found, "sprl", config, store))
    assert "schedule" not in command.replace("--sprl.pacing.schedule.k_alpha 20", "").replace(
        "--sprl.pacing.schedule.alpha_max inf", ""
    )
    assert (
        comment
        == "# and these values, which no option can set: pacing.schedule.type 'FractionOfGain'"
    )
    shouting = dataclasses.replace(found, algorithms={"SPRL": found.algorithms["sprl"]})
    config = dataclasses.replace(found.algorithms["sprl"], epsilon=0.3)
    command, comment = commands(chapter_with(shouting, "SPRL", config, store))
    assert "epsilon" not in command  # such a name is no option
    assert comment == "# and these values, which no option can set: epsilon 0.3"


@pytest.mark.parametrize(
    "module",
    [
        "raise RuntimeError('<b>no</b>')",
        "import sys; sys.exit('<b>no</b>')",
        "import nothing_of_that_name  # <b>no</b>",
        "from own_experiment import THROW\nimport dataclasses\n"
        "def problem(): raise OSError('<b>no</b>')\n"
        "OWN = dataclasses.replace(THROW, problem=problem)",
    ],
)
def test_a_module_that_cannot_be_imported_costs_only_its_drawings(
    module, store, tmp_path, monkeypatch
):
    name = f"broken_{tmp_path.name}"  # another one each time: modules are imported once
    (tmp_path / f"{name}.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    runs = [found for found in stored_runs(store) if found.experiment == "throw"]
    known = infos(runs, store)["throw"]
    write_packed(runs, tmp_path / "t.packed", dataclasses.replace(known, reference=f"{name}:OWN"))
    text = page(*chapters_of([tmp_path], [f"{name}:OWN"]))
    (line,) = re.findall(r'<p class="missing">(.*?)</p>', text)
    assert line.startswith(f"{name}:OWN could not be ")
    assert "&lt;b&gt;no&lt;/b&gt;" in line or "nothing_of_that_name" in line
    assert "<b>no</b>" not in text
    assert {"curves", "contexts-sprl", "comparison", "health"} <= set(figures_in(text))
    assert "Made by" in text


class Clumsy:
    """A task whose drawings fail."""

    context_space, theta_space = Box([0.0] * 3, [1.0] * 3), Box([0.0], [1.0])

    def evaluate(self, contexts, thetas, rng):
        raise NotImplementedError

    def draw(self, context, trajectories, axes):
        axes.set_xlabel("$\\frac{$")  # found out when it is drawn
        if len(trajectories):
            raise ZeroDivisionError("<i>no</i>")

    def picture(self, context):
        raise KeyError("<i>no</i>")

    def landscape(self):
        raise KeyError("<i>no</i>")


def test_drawings_that_fail_cost_only_themselves(store, tmp_path):
    (whole,) = [
        c for c in chapters_of([store], ["own_experiment:THROW"])[0] if c.info.name == "throw"
    ]
    chapter = dataclasses.replace(whole, task=Clumsy())
    text = page([chapter], [])
    lines = re.findall(r'<p class="missing">(.*?)</p>', text)
    assert len(lines) == 2
    assert lines[0].startswith("The figure tasks could not be drawn: ValueError: ")
    assert lines[1] == (
        "The figure trajectories could not be drawn: ZeroDivisionError: &lt;i&gt;no&lt;/i&gt;"
    )
    assert set(figures_in(page([whole], []))) - set(figures_in(text)) == {"tasks", "trajectories"}
    with pytest.warns(UserWarning, match=r"throw-t.* could not be drawn") as warned:
        count = write_figures([chapter], tmp_path)
    assert len(warned) == 2
    assert len(list(tmp_path.iterdir())) == 3 * count > 0


def test_no_figure_is_written_outside_its_folder(store, tmp_path):
    (whole,) = [
        c for c in chapters_of([store], ["own_experiment:THROW"])[0] if c.info.name == "throw"
    ]
    info = dataclasses.replace(whole.info, name="../throw")
    with pytest.raises(ValueError, match="for it names a folder"):
        write_figures([dataclasses.replace(whole, info=info)], tmp_path / "figures")
    assert not list(tmp_path.glob("*.png"))


def clumsy():
    return Problem(Clumsy(), target=Gaussian([0.5] * 3, np.eye(3)))


def test_a_scene_says_what_could_not_be_drawn(store, tmp_path):
    made = dataclasses.replace(find_experiment("own_experiment:THROW"), problem=clumsy)
    with pytest.warns(UserWarning, match="could not be drawn"):
        write_scene(make_scene(made), tmp_path / "c.scene")
    scene = read_scene(tmp_path / "c.scene")
    (whole,) = [
        c for c in chapters_of([store], ["own_experiment:THROW"])[0] if c.info.name == "throw"
    ]
    text = page([dataclasses.replace(whole, scene=scene)], [])
    for name in ("picture", "landscape"):
        line = f"The task's {name} could not be drawn: KeyError: '<i>no</i>'"
        assert f'<p class="missing">{escape(line)}</p>' in text
    assert "tasks" in figures_in(text)  # by the example's own `draw`


class Deep:
    """A task whose trajectories have three columns, all of which it draws."""

    def draw(self, context, trajectories, axes):
        for path in trajectories:
            axes.plot(path[:, 0], path[:, 2])
        axes.plot(trajectories[..., 0].T, trajectories[..., 2].T)


def test_a_task_without_trajectories_is_drawn_with_none_of_the_right_shape(store):
    (whole,) = [
        c for c in chapters_of([store], ["own_experiment:THROW"])[0] if c.info.name == "throw"
    ]
    runs = tuple(
        dataclasses.replace(found, trajectories=np.ones((10, 7, 3)))
        for found in whole.members[0].runs
    )
    members = [dataclasses.replace(whole.members[0], runs=runs)]
    text = page([dataclasses.replace(whole, members=members, task=Deep())], [])
    assert {"tasks", "trajectories"} <= set(figures_in(text))


class Named(Clumsy):
    def __init__(self, names):
        self.context_names = names


def named(names):
    return Problem(Named(names), target=Gaussian([0.5] * 3, np.eye(3)))


def test_users_names_and_numbers_stand_at_every_picture_of_contexts(tmp_path):
    names = ("distance in m", "height in m")
    task = FunctionTask(bowl, *BOXES, context_names=names)
    mine = dataclasses.replace(BOWL, problem=lambda: Problem(task, TARGET))
    group = run(BOWL, "sprl", seeds=1, iterations=4, out=tmp_path, workers=1)["bowl"]["sprl"]
    info = info_of(mine)
    assert "right: distance in m, -1 to 1; up: height in m, -1 to 1" in slider(group, info)
    axes = evolution(group.runs[0], info, "mine").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == names
    assert all(label.get_text() for label in axes.get_xticklabels() + axes.get_yticklabels())
    for wrong in ("ab", ("one",), (1, 2)):
        with pytest.raises(ValueError, match="context_names must be a tuple with one name per"):
            FunctionTask(bowl, *BOXES, context_names=wrong)
        with pytest.raises(ValueError, match="context_names must be a tuple with one name per"):
            RowTask(bowl, *BOXES, context_names=wrong)
        with pytest.raises(ValueError, match="context_names must be a tuple with one name per"):
            Logbook(
                tmp_path, "own", "own", context_space=BOXES[0], target=TARGET, context_names=wrong
            )


@pytest.mark.parametrize("names", ["abc", ("one", "two"), (1, 2, 3), 7, ()])
def test_names_of_contexts_are_checked_when_a_run_starts(names, throw, tmp_path):
    wrong = dataclasses.replace(throw, problem=partial(named, names))
    rule = r"context_names must be a tuple with one name per dimension of a context, here 3; got "
    with pytest.raises(ValueError, match=rule + re.escape(repr(names))):
        run(wrong, ["sprl"], seeds=1, iterations=2, out=tmp_path)
    right = dataclasses.replace(throw, problem=partial(named, ["a", "b", "c"]))
    assert info_of(right).context_names == ("a", "b", "c")


def test_an_experiment_with_too_few_names_from_before_they_were_checked_is_read(store):
    arrays = infos(stored_runs(store), store)["throw"].to_json()
    assert info_from_json({**arrays, "context_names": ["x"]}).context_names == (
        *("context 1", "context 2", "context 3"),
    )


def test_values_set_by_hand_do_not_claim_the_papers_source(store):
    found = EXPERIMENTS["gate-precision"]
    config = override(found.algorithms["sprl"], "epsilon", "0.3")
    text = page([chapter_with(found, "sprl", config, store)], [])
    assert "<td>epsilon</td><td>0.3</td><td>set by hand (usually 0.4)</td>" in text
    assert "<td>pacing.schedule.zeta</td><td>0.02</td><td>paper, Table 1</td>" in text


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
    with pytest.raises(ValueError, match="must be a scene file"):
        read_scene(tmp_path / "bad.scene")


def test_chapters_without_runs_or_task_are_still_a_page(store):
    known = infos(stored_runs(store), store)["throw"]
    assert "Throw over a wall" in page([Chapter(known, [], None, None, None, ["nothing yet"])], [])


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
    path = browser.find_element(By.CSS_SELECTOR, ".slider path.outline")
    output = browser.find_element(By.CSS_SELECTOR, ".slider output")
    before, said = path.get_attribute("transform"), output.text
    slide = "const s = document.querySelector('.slider input'); s.value = s.max;"
    browser.execute_script(slide + "s.dispatchEvent(new Event('input'));")
    assert path.get_attribute("transform") != before
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
