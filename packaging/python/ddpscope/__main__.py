"""python -m ddpscope: the command."""
import os
import sys

import ddpscope

os.execv(ddpscope._installed("bin", "ddpscope"), ["ddpscope", *sys.argv[1:]])
