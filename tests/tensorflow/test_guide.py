"""The table of docs/reference/guide-tensorflow.md: every line has an answer, and the tests that it names are there."""

import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("tensorflow_guide_page", ROOT / "tools/tensorflow_guide/page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
ROWS = list(page.rows())


def test_every_line_has_one_answer():
    assert [row[0] for row in ROWS] == ["F%d" % n for n in range(1, 232)]
    assert all(english and chinese for *_, english, chinese in ROWS)


@pytest.fixture(scope="module")
def unit_tests():
    """Suite.Case of every unit test in the sources."""
    found = set()
    for path in (ROOT / "tests/unit").rglob("*.cpp"):
        found |= {"%s.%s" % names for names in re.findall(r"TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text())}
    return found


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_named_tests_are_there(row, unit_tests):
    line, state, tests, *_ = row
    assert state in ("kept", "part", "answered")
    assert bool(tests) == (state != "answered"), "kept lines name tests, answered ones have none"
    for test in tests:
        if "::" not in test:
            assert test in unit_tests, test
            continue
        path, name = test.split("::")
        assert re.search(r"^def %s\(" % name, (ROOT / path).read_text(), re.M), test


@pytest.mark.parametrize("kind", ["md", "zh.md"])
def test_pages_are_of_the_table(kind):
    assert (ROOT / ("docs/reference/guide-tensorflow." + kind)).read_text() == page.page(kind)
