"""One thread per process, and the same examples on every run of CI."""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # tests run side by side, and BLAS threads would fight for the cores

from hypothesis import settings

from selfpaced.tasks.mujoco import camera

camera.prepare_offscreen()  # before a test imports MuJoCo

# CI judges a change, not luck; elsewhere Hypothesis goes on searching for new examples.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "search")
