"""The pages in a real browser: they need nothing from elsewhere, say nothing on its console, and fit narrow windows."""

import pytest

from . import pages

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    module = pages.browser_module()
    if module.CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with module.Browser(tmp_path_factory.mktemp("browser")) as made:
        yield made


HEADINGS = {("readiness", "en"): "Operators", ("readiness", "zh"): "算子", ("check", "en"): "Hyper-parameters", ("check", "zh"): "模型超参",
            ("sanitizer", "en"): "Two streams, no order"}
TEXTS = {"dump": "output.0.npy", "precision_tool": "first divergence: MatMulV2_1"}


@pytest.mark.parametrize("name, language", [("readiness", "en"), ("check", "en"), ("check", "zh"), ("compare", "en"), ("sanitizer", "en"),
                                            ("dump", "en"), ("precision_tool", "en")])
@pytest.mark.timeout(300)
def test_page(browser, tmp_path, name, language):
    page = pages.PAGES[name](tmp_path, language)
    for width in pages.WIDTHS:
        browser.size(width, 1600)
        browser.open(page.as_uri())
        picture = tmp_path / ("%s-%d.png" % (name, width))
        browser.screenshot(picture)
        assert picture.stat().st_size > 10_000  # something was drawn
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") <= width
    if (name, language) in HEADINGS:
        assert HEADINGS[name, language] in browser.run("[...document.querySelectorAll('h2')].map(x => x.innerText).join('\\n')")
    assert TEXTS.get(name, "") in browser.run("document.body.innerText")
    if name == "compare":
        assert "First divergence: fc" in browser.run("document.body.innerText")
        browser.run("document.getElementById('bad').click()")
        assert browser.run("[...document.querySelectorAll('tbody tr')].filter(x => !x.hidden).length") == 2
