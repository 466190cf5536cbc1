import numpy as np
import pytest

from selfpaced.maths.nearest import nearest_rows


@pytest.mark.parametrize("columns", [1, 4, 5, 30])
@pytest.mark.parametrize("count", [1, 7, 300])
def test_no_other_row_is_nearer(columns, count):
    rng = np.random.default_rng(columns)
    points, others = rng.random((200, columns)), rng.random((count, columns))
    distances = np.linalg.norm(points[:, None] - others, axis=2)
    chosen = distances[np.arange(200), nearest_rows(points, others)]
    np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("columns", [3, 8])
def test_a_point_is_nearest_to_itself(columns):
    points = np.random.default_rng(0).random((150, columns))
    assert (nearest_rows(points, points) == np.arange(150)).all()
