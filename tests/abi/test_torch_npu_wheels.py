"""Every release of torch-npu finds the libraries and the names that it is linked with (abi/torch_npu_wheels.tsv)."""

import functools
import importlib.util
import pathlib
import subprocess
import sys

import pytest

import contract

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "torch_npu_wheels"))

import collect  # noqa: E402
import page  # noqa: E402

WHEELS, ASKED = collect.load()
MINOR = [collect.minor(release) for release in WHEELS]
# ATB's plug-in is opened only when one of its operators is called; its library is another product.
PARTS = ["core", "torchair"]


def asked(kind, part, release):
    return {row[2] for row, releases in ASKED.items() if row[:2] == (kind, part) and release in releases}


@functools.cache
def exported(library):
    return set.union(*contract.library_symbols(library))


def absent(names, sonames, lib_dir):
    """Names that none of the libraries offers or that libupdraft.so lacks."""
    offered = set().union(*(exported(lib_dir / soname) for soname in sonames))
    return names - (offered & exported(lib_dir / "libupdraft.so"))


@pytest.mark.parametrize("release", MINOR)
@pytest.mark.parametrize("part", PARTS)
def test_what_a_release_is_linked_with_is_there(lib_dir, part, release):
    sonames, names = asked("needs", part, release), asked("link", part, release)
    assert len(sonames) >= 6 and len(names) >= 60
    assert {soname for soname in sonames if not (lib_dir / soname).exists()} == set()
    assert absent(names, sonames, lib_dir) == set()


def test_a_name_that_is_absent_is_noticed(lib_dir):
    assert absent({"aclInit", "aclrtBeamMeUp"}, {"libascendcl.so"}, lib_dir) == {"aclrtBeamMeUp"}
    assert absent({"aclInit"}, {"libhccl.so"}, lib_dir) == {"aclInit"}  # in another library


def test_the_data_is_whole():
    """A wheel for each minor release, nothing edited by hand, and the page tells of each."""
    assert list(WHEELS) == collect.RELEASES and len(set(MINOR)) == len(MINOR)
    for release, (file, digest) in WHEELS.items():
        assert file.startswith(f"torch_npu-{release}-cp311-") and len(digest) == 64
    assert collect.render(WHEELS, ASKED) == collect.DATA.read_text()
    told = page.runs()
    for name in page.TEXTS:
        text = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
        for release in WHEELS:
            assert f"\n| {release} | " in text, f"{name}: {release} is missing; run tools/torch_npu_wheels/page.py"
        for run in told["run"]:
            assert f"| {run['release']} | {run['torch']} | {run['date']} | {run['zh' if '.zh.' in name else 'en']} |" in text, name


def test_spans():
    order = ["2.1", "2.3", "2.4", "2.6"]
    for text in "2.1", "2.1-2.6", "2.1 2.4-2.6", "2.3-2.4", "2.1 2.4":
        assert collect.spans(collect.unspan(text, order), order) == text
    assert collect.unspan("2.1-2.4", order) == ["2.1", "2.3", "2.4"]


def test_the_installed_release_says_what_the_data_says():
    """The wheel of the installed release, read again."""
    spec = importlib.util.find_spec("torch_npu")
    if spec is None:
        pytest.skip("torch_npu is not installed")
    from importlib.metadata import version
    if version("torch_npu") not in WHEELS:
        pytest.skip(f"the data knows no torch_npu {version('torch_npu')}")
    release = collect.minor(version("torch_npu"))
    rows = collect.read_installed(pathlib.Path(list(spec.submodule_search_locations)[0]))
    assert rows == {row for row, releases in ASKED.items() if release in releases}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_wheels_of_pypi_say_what_the_data_says():
    done = subprocess.run([sys.executable, str(ROOT / "tools/torch_npu_wheels/collect.py"), "--check"], capture_output=True, text=True,
                          timeout=840)
    if "pip cannot download" in done.stderr and ("Connection" in done.stderr or "Max retries" in done.stderr):
        pytest.skip("PyPI is out of reach: " + done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr[-4000:]
