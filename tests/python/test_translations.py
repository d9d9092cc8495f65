"""tools/lint/check_translations.py: what it refuses, and that our own pages have twins and no dead links."""
import subprocess
import sys

import pytest

from conftest import ROOT

LINT = ROOT / "tools" / "lint" / "check_translations.py"
PAGE = """# Title

[中文](page.zh.md)

Words.

```sh
updraft info    # what
```

| a | b |
|---|---|
| `x|y` | 1 |

- one
- two
"""


def lint(root):
    return subprocess.run([sys.executable, LINT, root], capture_output=True, text=True)


def pages(root, english, chinese):
    folder = root / "docs" / "use"
    folder.mkdir(parents=True)
    (folder / "page.md").write_text(english)
    if chinese is not None:
        (folder / "page.zh.md").write_text(chinese)
    return lint(root)


TWIN = PAGE.replace("page.zh.md", "page.md").replace("# what", "# 什么").replace("one", "一").replace("Title", "标题")


def test_let_pass(tmp_path):
    done = pages(tmp_path, PAGE, TWIN)
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.parametrize("english, chinese, said", [
    (PAGE, None, "no Chinese twin, page.zh.md"),
    (PAGE, TWIN.replace("updraft info", "updraft doctor"), "code ('updraft info',)"),
    (PAGE, TWIN.replace("| `x|y` | 1 |\n", ""), "a table of 3 rows"),
    (PAGE, TWIN.replace("- two\n", ""), "a list of 1"),
    (PAGE + "\n## More\n", TWIN, "a heading of level 2 is not in its twin"),
    (PAGE.replace("[中文](page.zh.md)", ""), TWIN, "name each other"),
    (PAGE + "[x](gone.md)", TWIN, "gone.md is not there"),
    (PAGE + "[x](page.zh.md#nowhere)", TWIN, "has no heading #nowhere"),
    (PAGE + "```\nno end", TWIN + "```\nno end", None)])
def test_refused(tmp_path, english, chinese, said):
    done = pages(tmp_path, english, chinese)
    if said:
        assert done.returncode == 1 and said in done.stderr, done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_our_own_pages():
    done = lint(ROOT)
    assert done.returncode == 0, done.stderr
