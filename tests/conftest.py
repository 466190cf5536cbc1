"""One thread per process, and the same examples on every run of CI."""

import multiprocessing
import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # tests run side by side, and BLAS threads would fight for the cores

from hypothesis import settings

from selfpaced.engines import local
from selfpaced.tasks.mujoco import camera

camera.prepare_offscreen()  # before a test imports MuJoCo

# Worker processes of tests are forked from one server, and whoever starts it decides what it has
# loaded. With all of these no worker imports anything for itself, whichever test comes first.
# What is not installed is left out. torch loads its compiler with the first optimiser.
local.PRELOADED += ["stable_baselines3.common.vec_env.subproc_vec_env", "torch._dynamo"]
multiprocessing.set_forkserver_preload(local.PRELOADED)

# CI judges a change, not luck; elsewhere Hypothesis goes on searching for new examples.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "search")
