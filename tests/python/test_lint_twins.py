"""tools/lint/check_twins.py: what it refuses, what it lets pass, and that our own sources have none."""
import subprocess
import sys

import pytest

from conftest import ROOT

LINT = ROOT / "tools" / "lint" / "check_twins.py"


def lint(root):
    return subprocess.run([sys.executable, LINT, root], capture_output=True, text=True)


def sources(folder, one, other):
    (folder / "src").mkdir()
    (folder / "src" / "one.h").write_text(one)
    (folder / "src" / "other.cpp").write_text(other)
    return lint(folder)


IN_A = "namespace a {\n%s\n}\n"


@pytest.mark.parametrize("other", [
    IN_A % "class Thing { int x; };", IN_A % "struct Thing final : Base { };", IN_A % "template <class T, int N = (1 > 0)> class Thing { };",
    IN_A % "enum class Thing : int { one };", "namespace a::b {}\nnamespace a { namespace { int f() { return 1; } }\nstruct alignas(64) Thing { }; }",
    "#if X\nnamespace a {\n#else\nnamespace b {\n#endif\nstruct Thing { };\n}", 'extern "C" { namespace a { struct Thing { char c = \'{\'; }; } }'])
def test_refused(tmp_path, other):
    done = sources(tmp_path, IN_A % "// } }\nstruct Thing { const char* s = \"{\"; };", other)
    assert done.returncode == 1 and "a::Thing is defined in src/one.h:3 and in src/other.cpp:" in done.stderr, done.stderr


@pytest.mark.parametrize("other", [
    IN_A % "class Thing;", IN_A % "namespace { class Thing { }; }", IN_A % "namespace b { class Thing { }; }", "namespace b { class Thing { }; }",
    IN_A % "template <> struct Thing<int> { };", IN_A % "class Other { class Thing { }; };", IN_A % "void f() { struct Thing { } x; }",
    IN_A % "struct Thing::Inner { };", IN_A % "/* class Thing { }; */", IN_A % "struct Thing make() { return {}; }"])
def test_let_pass(tmp_path, other):
    done = sources(tmp_path, IN_A % "template <class T> struct Thing { };", other)
    assert done.returncode == 0, done.stderr


def test_our_sources():
    done = lint(ROOT)
    assert done.returncode == 0, done.stderr
