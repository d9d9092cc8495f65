"""The tables of docs/reference/guide-*.md: every line has an answer, and the tests that it names are there."""

import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("guides_page", ROOT / "tools/guides/page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
GUIDES = {name: list(page.rows(name)) for name in page.GUIDES}


@pytest.fixture(scope="module")
def unit_tests():
    """Suite.Case of every unit test in the sources."""
    found = set()
    for path in (ROOT / "tests/unit").rglob("*.cpp"):
        found |= {"%s.%s" % names for names in re.findall(r"TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text())}
    return found


@pytest.mark.parametrize("name", GUIDES)
def test_every_line_has_one_answer(name):
    letter, count, *_ = page.GUIDES[name]
    assert [row[0] for row in GUIDES[name]] == [f"{letter}{n}" for n in range(1, count + 1)]
    assert all(english and chinese for *_, english, chinese in GUIDES[name])


@pytest.mark.parametrize("name", GUIDES)
def test_named_tests_are_there(name, unit_tests):
    wrong = []
    for line, state, tests, *_ in GUIDES[name]:
        if state not in ("kept", "part", "answered"):
            wrong.append(f"{line}: {state} is no state")
        if not tests and state != "answered":
            wrong.append(f"{line}: kept lines name tests")
        for test in tests:
            path, _, function = test.partition("::")
            if not function:
                there = test in unit_tests
            else:
                there = (ROOT / path).exists() and re.search(r"^def %s\(" % function, (ROOT / path).read_text(), re.M)
            if not there:
                wrong.append(f"{line}: there is no test {test}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", GUIDES)
@pytest.mark.parametrize("kind", ["md", "zh.md"])
def test_pages_are_of_the_table(name, kind):
    assert (ROOT / ("docs/reference/guide-%s.%s" % (name, kind))).read_text() == page.page(name, kind)
