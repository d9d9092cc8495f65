"""Registers the tree that `cmake --install` has put into site-packages as the installed package updraft.

./dev setup uses it instead of `pip install .`: nothing is zipped and unzipped, so a rebuild is installed within
seconds. pip sees, lists and removes the result like any other package.

usage: develop.py install_manifest.txt   (run by the environment's own Python, in the repository root)
"""

import os
import pathlib
import re
import shutil
import sys
import sysconfig

SCRIPT = """#!{python}
import sys
from {module} import {function}
sys.exit({function}())
"""


def fields(text):
    """name, version and scripts of pyproject.toml (tomllib needs Python 3.11; three expressions do not)."""
    name, version = (re.search(r'^%s = "([^"]+)"' % key, text, re.M).group(1) for key in ("name", "version"))
    section = re.search(r"^\[project\.scripts\]\n((?:.+\n)+)", text, re.M).group(1)
    return name, version, re.findall(r'^([\w-]+) = "([\w.]+):(\w+)"', section, re.M)


def write(path, text):
    """Leaves a file alone that is right already."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    site = pathlib.Path(sysconfig.get_path("platlib"))
    name, version, scripts = fields(pathlib.Path("pyproject.toml").read_text())
    info = site / ("%s-%s.dist-info" % (name, version))
    for other in site.glob(name + "-*.dist-info"):
        if other != info:
            shutil.rmtree(other)

    installed = [pathlib.Path(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line]
    # what an earlier build installed and this one does not would otherwise stay for ever
    keep = set(installed)
    for path in sorted((site / name).rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in keep and path.suffix != ".pyc":
            path.unlink()

    records = list(installed)
    entry_points = "[console_scripts]\n"
    for command, module, function in scripts:
        path = pathlib.Path(sysconfig.get_path("scripts")) / command
        write(path, SCRIPT.format(python=sys.executable, module=module, function=function))
        path.chmod(0o755)
        records.append(path)
        entry_points += "%s = %s:%s\n" % (command, module, function)

    write(info / "METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))
    write(info / "WHEEL", "Wheel-Version: 1.0\nGenerator: updraft develop.py\nRoot-Is-Purelib: false\nTag: py3-none-linux\n")
    write(info / "INSTALLER", "updraft-dev\n")
    write(info / "entry_points.txt", entry_points)
    records += [info / n for n in ("METADATA", "WHEEL", "INSTALLER", "entry_points.txt", "RECORD")]
    write(info / "RECORD", "".join("%s,,\n" % os.path.relpath(path, site) for path in records))


main()
