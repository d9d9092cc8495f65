"""README's figures are those of docs/reference/benchmarks.md, and rows say when their own repeats differ."""
import pytest

from bench import figures, measure, plot


def test_readme_says_what_the_page_says():
    assert figures.stale() == [], "run bench/figures.py (./dev docs), or measure: ./dev bench readme"
    for path in figures.READMES.values():
        text = path.read_text()
        assert all(f"<!-- figures {name} -->" in text for name in figures.BLOCKS), path.name
    for path, (_, blocks) in figures.USES.items():
        assert all(f"<!-- figures {name} -->" in path.read_text() for name in blocks), path.name


def test_another_page_is_seen():
    page, text = figures.PAGE.read_text(), figures.READMES["en"].read_text()
    resnet = next(line for line in page[page.index("\n| train-fp32 |"):].splitlines() if line.startswith("| resnet50 |"))
    ratio = resnet.split("|")[4]
    other = figures.Page(page.replace(resnet, resnet.replace(ratio, " 9.87 unstable ")))
    assert "9.87*" in figures.written(text, other, "en") and "9.87" not in text


def test_tables_keep_what_was_not_measured():
    page = figures.merge("# x\n\n## one\n\nold 1\n\n## two\n\nold 2\n", {"two": "new"})
    assert figures.sections(page) == {"one": "old 1", "two": "new"}
    assert page == figures.merge(page, {})


def test_every_table_names_its_cpu():
    heads = {name: body.splitlines()[0] for name, body in figures.sections(figures.PAGE.read_text()).items()}
    assert [name for name, head in heads.items() if "cores" not in head or "`./dev bench" not in head] == []


@pytest.mark.parametrize("ours, peer, unstable", [([1, 1, 1, 1], [2, 2, 2, 2], False), ([1, 1.5, 1, 1.5], [2, 2, 2, 2], True),
                                                  ([1, 1, 1, 1], [2, 3, 2, 3], True)])
def test_either_sides_spread_makes_a_row_unstable(ours, peer, unstable):
    row = measure.row(ours, peer)
    assert row["unstable"] is unstable
    assert ("unstable" in measure.line_of("x", row)) is unstable


def test_the_steadiest_run_counts():
    """Whatever its ratio: here the second run, which is the worse one for us."""
    ours, peer = iter([0, 1, 2, 1, 2, 0, 3, 3, 3, 3]), iter([0, 4, 4, 4, 4, 0, 3, 3, 3, 3])
    row = measure.interleave(lambda: next(ours), lambda: next(peer), rounds=4, warm=1, attempts=3)
    assert row["ratio"] == 1 and not row["unstable"]


def test_pictures_show_each_row():
    import xml.etree.ElementTree as tree
    drawn = figures.pictures(figures.Page(figures.PAGE.read_text()))
    assert len(drawn) == 2
    for text in drawn.values():
        picture = tree.fromstring(text)
        assert len(picture.findall("{*}polyline")) == 2 and len(picture.findall("{*}circle")) == 12
    assert plot.ticks(2.67) == [0, 0.5, 1, 1.5, 2, 2.5, 3] and plot.ticks(50000) == [0, 10000, 20000, 30000, 40000, 50000]
    assert all(most <= plot.ticks(most)[-1] < 1.3 * most and len(plot.ticks(most)) <= 10 for most in (0.9, 1, 7, 38, 437.5, 2500))
