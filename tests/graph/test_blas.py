"""Products of matrices (aclblas) through pyACL."""

import pathlib
import sys

from tests.graph.test_pyacl import good, run


def test_products():
    assert good(run(sys.executable, pathlib.Path(__file__).parent / "blas_program.py")).endswith("good\n")
