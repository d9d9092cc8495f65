#!/usr/bin/env python3
"""msaccucmp.py of the toolkit: the same commands and options, carried out by the program beside it (bin/msaccucmp)."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "bin", "msaccucmp")

if __name__ == "__main__":
    sys.stdout.flush()
    os.execv(os.path.normpath(PROGRAM), ["msaccucmp", *sys.argv[1:]])
