"""The page of a migration in headless Chromium: English and 中文, wide and narrow, filters, large and hostile projects.

UPDRAFT_REPORT_PICTURES=FOLDER keeps the screenshots."""

import os
import pathlib
import subprocess

import pytest

from browser import CHROMIUM, Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = pathlib.Path(os.environ.get("UPDRAFT_MIGRATE_UNIT", ROOT / "build/release/tests/unit/migrate/updraft_migrate_unit"))
LONG = os.environ.get("UPDRAFT_TEST_LONG")

# ./dev test all installs a browser; there its absence is an error
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None and not LONG, reason="no Chromium: ./dev test all installs it, or apt-get install chromium fonts-noto-cjk"),
    pytest.mark.skipif(not UNIT.exists() and not LONG, reason="%s is not built" % UNIT)]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    subprocess.run([UNIT, "--gtest_filter=MigrateReportPage.WritesSamplesForOtherTests"], check=True, timeout=120,
                   env={**os.environ, "UPDRAFT_REPORT_SAMPLES": str(folder)}, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    assert CHROMIUM, "no Chromium: apt-get install chromium fonts-noto-cjk"
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def pictures(tmp_path):
    folder = pathlib.Path(os.environ.get("UPDRAFT_REPORT_PICTURES") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def show(browser, path, options=""):
    browser.open(path.as_uri() + "#" + options)
    assert browser.complaints() == []


def texts(browser, selector):
    return browser.run("[...document.querySelectorAll(%r)].map(x => x.innerText)" % selector)


@pytest.mark.parametrize("width", [1400, 820, 390])
@pytest.mark.parametrize("lang,theme", [("en", "light"), ("zh", "dark")])
def test_reads_well(browser, samples, pictures, width, lang, theme):
    browser.size(width, 1800)
    show(browser, samples / "report.html", "open=1&lang=%s&theme=%s" % (lang, theme))
    browser.screenshot(pictures / ("report-%s-%d.png" % (lang, width)))
    assert browser.run("document.documentElement.scrollWidth") <= width  # the page itself never scrolls sideways
    assert browser.run("document.documentElement.lang") == {"en": "en", "zh": "zh-CN"}[lang]
    wanted = {"en": "What to do next", "zh": "下一步"}[lang]
    assert wanted in texts(browser, "h2")
    assert len(texts(browser, "ol.steps li")) == 9
    assert len(texts(browser, ".file")) == 5
    assert (browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 27)") == (theme == "dark")
    # no text lies under other text: cells of a row of figures keep within their cards
    assert browser.run("[...document.querySelectorAll('.card')].every(c => c.scrollWidth <= c.clientWidth + 1 || c.querySelector('.scroll'))")


def test_reasons_stand_beside_their_lines(browser, samples):
    browser.size(1400, 1200)
    show(browser, samples / "report.html", "open=1&lang=en")
    row = "[...document.querySelectorAll('.passage')].find(p => p.innerText.includes(%r))"
    text = browser.run((row % "PT110") + ".innerText")
    assert "net = net.npu()" in text and "moves the module to the NPU" in text and "likely" in text
    marks = browser.run("[...(%s).querySelectorAll('mark')].map(x => x.innerText)" % (row % "PT110"))
    assert marks == ["cuda", "npu"]
    inside = browser.run("(() => { const p = %s, n = p.querySelector('.notes').getBoundingClientRect(), "
                         "c = p.querySelector('.ln').getBoundingClientRect(); return Math.abs(n.top - c.top) < 3 && n.left > c.left; })()"
                         % (row % "PT110"))
    assert inside


def test_language_and_filters(browser, samples):
    browser.size(1400, 1200)
    show(browser, samples / "report.html", "lang=en")
    press = "[...document.querySelectorAll('button')].find(b => b.innerText.startsWith(%r)).click()"
    assert "5 files, 15 findings" in texts(browser, "#status")
    browser.run(press % "unsupported")
    assert texts(browser, "#status") == ["1 files, 1 findings"]
    assert len(texts(browser, ".file")) == 1
    browser.run(press % "中文")
    assert texts(browser, "#status")[0].startswith("1 个文件")
    browser.run(press % "EN")
    browser.run(press % "clear")
    browser.run("(s => { s.value = 'NpuFusedAdam'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    browser.wait("document.getElementById('status').innerText === '2 files, 2 findings'")
    browser.run("(s => { s.value = 'no such thing'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    browser.wait("document.querySelector('.empty') !== null")
    browser.run(press % "clear")
    browser.run("document.querySelector('ol.steps button').click()")  # the first step shows its findings
    assert texts(browser, "#status") == ["1 files, 1 findings"]
    assert browser.complaints() == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_addresses_are_links(browser, samples, lang):
    show(browser, samples / "report.html", "open=1&lang=" + lang)
    assert set(browser.run("[...document.querySelectorAll('a')].map(a => a.href)")) == {"https://example.org/x/list.md"}
    assert texts(browser, "a")[0] == "example.org/…/list.md"


def test_nothing_hostile_runs(browser, samples):
    browser.size(1400, 1200)
    for lang in ("en", "zh"):
        show(browser, samples / "hostile.html", "open=1&lang=" + lang)
        assert browser.run("document.title !== 'owned' && document.querySelectorAll('img').length === 0")
        assert len(texts(browser, ".file")) == 6
        assert any("</script><script>" in text for text in texts(browser, ".note"))
        assert not any("\u202e" in text for text in texts(browser, ".path"))


def test_the_policy_holds(browser, samples):
    """Script that came in by whatever way would not run, and nothing can be fetched."""
    show(browser, samples / "report.html")
    browser.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))")
    assert browser.run("window.ran === undefined")
    assert browser.run("fetch('data:,x').then(() => false, () => true)")


def test_large_projects_stay_usable(browser, samples, pictures):
    browser.size(1400, 1000)
    show(browser, samples / "large.html", "lang=en")
    assert "2,000 files, 20,000 findings" in texts(browser, "#status")
    assert browser.run("document.querySelectorAll('.file').length") <= 200  # the rest comes when it is near
    assert browser.run("document.getElementsByTagName('*').length") < 15000
    took = browser.run("(() => { const t = performance.now(); document.querySelector('.chip').click(); return performance.now() - t; })()")
    assert took < 3000
    browser.run("window.scrollTo(0, document.body.scrollHeight)")
    browser.wait("document.querySelectorAll('.file').length > 80")
    browser.run("document.querySelector('.file summary').click()")
    browser.wait("document.querySelectorAll('.ln').length > 20")
    browser.screenshot(pictures / "large.png")
    assert browser.complaints() == []


def test_prints(browser, samples):
    show(browser, samples / "report.html", "open=1&lang=zh")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20000


def test_an_empty_result_is_a_page(browser, samples):
    show(browser, samples / "empty.html", "lang=en")
    assert texts(browser, ".empty") == ["Nothing found that needs a GPU."]


def test_without_scripts_the_summary_stands(browser, samples):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open((samples / "report.html").as_uri())
        assert browser.run("document.querySelectorAll('ol li').length") == 9
        assert "train.py" in browser.run("document.querySelector('table').innerText")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
