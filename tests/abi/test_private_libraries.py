"""What the libraries of a tree offer to a process and ask of it: the contract's names, and nothing of the libraries inside."""

import re
import subprocess

import contract
import pytest

# libraries that every process has, or that only one of its kind may be in
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp|asan|ubsan|tsan))\.so\.\d+$")
THEIRS = re.compile(r"(dnnl_|_ZGV[a-e][NM]|_ZN?K?4dnnl|_ZN?K?3fmt)|.*[^a-z]3fmt[^a-z].*|.*(openblas|gotoblas|gfortran)|cblas_|[sdcz][a-z0-9]+_$")


def symbols(path, *options):
    text = subprocess.run(["nm", "-D", "-P", *options, path], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[0].split("@")[0] for row in rows if len(row) > 1 and not row[0].isspace()}


def needed(path):
    text = subprocess.run(["readelf", "-dW", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def test_no_symbol_of_the_libraries_inside(lib_dir):
    found = symbols(lib_dir / "libupdraft.so")
    assert len(found) > 1000
    assert {name for name in found if THEIRS.match(name)} == set()


def test_only_the_contract_is_offered(libraries, lib_dir):
    known = {name for library in libraries for name in library.names}
    defined = set.union(*contract.library_symbols(lib_dir / "libupdraft.so"))
    assert {name for name in defined - known if not name.startswith(("updraft_", "updraftOp"))} == set()


def test_private_copies_offer_only_their_new_names(lib_dir):
    for name, count in (("libupdraft_onednn.so", 200), ("libupdraft_sleef.so", 400)):
        if not (lib_dir / name).exists():
            assert name == "libupdraft_sleef.so"  # vector functions of x86-64
            continue
        defined = symbols(lib_dir / name, "--defined-only", "--extern-only")
        assert len(defined) > count and all(symbol.startswith("__wrap_") for symbol in defined)


@pytest.mark.parametrize("name", ("libupdraft_onednn.so", "libupdraft_lapack.so"))
def test_libraries_inside_have_the_threads_of_the_device(lib_dir, name):
    """They call no function of libgomp: updraft_... ones, which libupdraft.so defines."""
    regions = {symbol for symbol in symbols(lib_dir / name, "--undefined-only") if re.search(r"\b(updraft_)?G?OMP_", symbol, re.I)}
    assert regions and all(symbol.startswith("updraft_") for symbol in regions), regions
    assert regions <= symbols(lib_dir / "libupdraft.so", "--defined-only")


def test_onednn_reads_no_environment_that_a_script_may_write(lib_dir):
    """It asks when a device's thread first computes; `os.environ[...] = ...` of the script at that time ended the process."""
    assert {symbol for symbol in symbols(lib_dir / "libupdraft_onednn.so", "--undefined-only") if "getenv" in symbol} == {"updraft_getenv"}
    assert not any("getenv" in symbol for symbol in symbols(lib_dir / "libupdraft_lapack.so", "--undefined-only"))


def test_linear_algebra_offers_its_routines_alone(lib_dir):
    defined = symbols(lib_dir / "libupdraft_lapack.so", "--defined-only", "--extern-only")
    assert len(defined) > 20 and all(re.fullmatch(r"updraft_[sdcz][a-z0-9]+", symbol) for symbol in defined), defined
    wanted = symbols(lib_dir / "libupdraft_lapack.so", "--undefined-only")
    assert {name for name in wanted if THEIRS.match(name)} == set()
    assert symbols(lib_dir / "libupdraft.so", "--undefined-only") >= {"updraft_sgetrf", "updraft_zgesdd"}


def test_nothing_foreign_lies_in_the_tree(lib_dir):
    """A library under another project's SONAME would be found by whoever needs that SONAME."""
    assert [path.name for path in lib_dir.iterdir() if re.search(r"\.so\.\d", path.name)] == []
    ours = {path.name for path in lib_dir.glob("lib*.so")}
    assert {"libupdraft.so", "libupdraft_onednn.so", "libupdraft_lapack.so"} <= ours
    for name in sorted(ours - {"libupdraft_net_ucx.so"}):
        assert [n for n in needed(lib_dir / name) if n not in ours and not SYSTEM.match(n)] == [], name
