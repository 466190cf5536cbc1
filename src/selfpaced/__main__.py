"""`python -m selfpaced` is `selfpaced`."""

import os
import sys

import selfpaced

# `python -m` puts the current folder first on the import path, where a file that somebody has sent
# could pass for a module. It stays only if the package itself is there.
if sys.path[:1] in ([""], [os.getcwd()]) and not os.path.samefile(
    os.path.dirname(os.path.dirname(selfpaced.__file__)), os.getcwd()
):
    del sys.path[0]

from selfpaced.cli import main  # after the path is right

if __name__ == "__main__":
    sys.exit(main())
