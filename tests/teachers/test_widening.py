"""DORAEMON and ADR on a known answer: success 1 inside an interval, 0 outside."""

import numpy as np
import pytest
import scipy

from selfpaced import ADR, DORAEMON, Box, Gaussian, Integers

BOX = Box([-2.0], [6.0])
TARGET = Gaussian([0.0], [[1.0]])  # neither teacher looks at it
SOLVED = (0.0, 3.0)


def practise(teacher, solved, updates, n, seed=0):
    """The teacher's distributions after each update."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(updates):
        contexts = teacher.ask(n, rng)
        wins = ((contexts[:, 0] >= solved[0]) & (contexts[:, 0] <= solved[1])) * 1.0
        teacher.tell(contexts, wins, wins)
        found.append(getattr(teacher, "contexts", None))
    return found


def mass(a, b, solved):
    """Probability of the solved interval under a Beta distribution over the box."""
    ends = (np.array(solved) - BOX.low) / BOX.width
    return float(np.diff(scipy.special.betainc(a, b, ends))[0])


def widest(least, solved):
    """The largest entropy of Beta(a, b), a and b at least 1, with that mass on `solved`.

    It is found by brute force: for each mean, the largest total a + b at which the mass suffices
    is bracketed, and the best of a grid of means is refined.
    """

    def entropy_at(mean):
        def short(log_total):
            total = np.exp(log_total)
            return mass(mean * total, (1 - mean) * total, solved) - least

        smallest = np.log(1 / min(mean, 1 - mean))
        if short(smallest) >= 0:
            total = np.exp(smallest)
        elif short(8.0) < 0:
            return -np.inf
        else:
            total = np.exp(scipy.optimize.brentq(short, smallest, 8.0))
        return float(scipy.stats.beta.entropy(mean * total, (1 - mean) * total))

    means = np.linspace(0.05, 0.95, 181)
    best = means[np.argmax([entropy_at(mean) for mean in means])]
    around = np.linspace(best - 0.01, best + 0.01, 201)
    return max(entropy_at(mean) for mean in around)


@pytest.mark.parametrize("least", [0.5, 0.8])
@pytest.mark.parametrize("solved", [(0.0, 3.0), (1.0, 2.5)])
def test_doraemon_meets_its_bound_with_the_largest_entropy(least, solved):
    config = DORAEMON(least_success=least, update_every=2000, epsilon=0.2)
    found = practise(config.start(BOX, TARGET), solved, 40, 2000)[-20:]
    masses = [mass(c.a, c.b, solved) for c in found]
    entropies = [c.entropy for c in found]
    optimum = widest(least, solved)
    assert np.mean(masses) == pytest.approx(least, rel=0.02)
    assert np.mean(entropies) == pytest.approx(optimum, rel=0.05)


def test_doraemon_waits_until_its_bound_is_reached_once():
    teacher = DORAEMON(nominal=(5.0,)).start(BOX, TARGET)
    first = teacher.contexts
    practise(teacher, SOLVED, 5, 100)
    assert teacher.contexts == first
    assert teacher.failed_steps == 0


def test_doraemon_comes_back_when_what_was_mastered_is_lost():
    teacher = DORAEMON().start(BOX, TARGET)
    wide = practise(teacher, (-2.0, 6.0), 12, 200)[-1]
    back = practise(teacher, SOLVED, 30, 200, seed=1)[-1]
    assert mass(wide.a, wide.b, SOLVED) < 0.45
    assert mass(back.a, back.b, SOLVED) == pytest.approx(0.5, abs=0.1)


def test_doraemon_on_whole_numbers_makes_all_equally_likely_in_the_end():
    teacher, rng = DORAEMON(epsilon=0.5).start(Integers(1, 4), TARGET), np.random.default_rng(0)
    for _ in range(20):
        contexts = teacher.ask(200, rng)
        teacher.tell(contexts, np.ones(200), np.ones(200))
    counts = np.bincount(teacher.ask(4000, rng)[:, 0].astype(int))[1:]
    assert counts == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize("solved", [(0.0, 3.0), (-1.5, 2.7)])
def test_adr_finds_the_faces(solved):
    config = ADR(step=0.05)
    teacher = config.start(BOX, TARGET)
    practise(teacher, solved, 400, 50)
    # A face that has passed the border fails there and comes back: it stays within one step.
    step = config.step * BOX.width[0] / 2
    np.testing.assert_allclose(teacher.faces[:, 0], solved, atol=step + 1e-9)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"least_success": 1.5}, "least_success must be at most 1"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"update_every": 1}, "update_every must be a whole number of at least 2"),
        ({"concentration": 0.5}, "concentration must be at least 1"),
        ({"nominal": (np.nan,)}, "nominal must be finite"),
    ],
)
def test_a_bad_configuration_is_named(fields, words):
    with pytest.raises(ValueError, match=words):
        DORAEMON(**fields)


def test_a_nominal_context_outside_of_the_space_is_named():
    with pytest.raises(ValueError, match="nominal must lie in"):
        DORAEMON(nominal=(7.0,)).start(BOX, TARGET)
