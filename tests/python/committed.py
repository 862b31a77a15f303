"""Files of the repository that are made by what it builds: compared, and made anew with DDPSCOPE_RENEW=1.

    DDPSCOPE_RENEW=1 ctest --preset dev -R 'regression.expected|docs'
"""
import os

RENEW = bool(os.environ.get("DDPSCOPE_RENEW"))
HOW = "if that is meant: DDPSCOPE_RENEW=1 ctest --preset dev -R 'regression.expected|docs', and commit what it changes"
