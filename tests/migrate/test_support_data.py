"""What the migration tools know about APIs, held against the wheels that are installed here."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "migrate" / "support" / "data"


def rows(name):
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "migrate_facts" / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(DATA.glob("*.tsv")), ids=lambda p: p.name)
def test_tables_are_sorted_and_whole(path):
    lines = [line for line in path.read_bytes().decode().splitlines() if not line.startswith("#")]
    columns = lines[0].count("\t")
    keys = [line.split("\t")[0] for line in lines[1:]]
    assert keys == sorted(keys, key=str.encode)
    assert [line for line in lines[1:] if line.count("\t") != columns] == []
    assert [line for line in lines if line != line.strip("\n\r ") or "\t " in line or " \t" in line] == []


def test_torch_rows_cover_versions_once():
    versions = tool("torch_api").VERSIONS
    seen = set()
    for api, since, until, marks, _npu, _limits, page in rows("torch_api.tsv"):
        assert len(marks) == 4 and set(marks) <= set("yn?"), api
        assert page, api
        for version in versions[versions.index(since):versions.index(until) + 1]:
            assert (api, version) not in seen
            seen.add((api, version))
    assert len(seen) > 13000


def test_cuda_twins_are_those_of_the_wheel(warm, tmp_path):
    """The whole table, made anew from the installed torch and torch_npu."""
    pytest.importorskip("torch_npu")
    run = warm.run(ROOT / "tools/migrate_facts/torch_cuda.py", tmp_path / "made", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    wanted = (tmp_path / "made").read_text().splitlines()
    committed = (DATA / "torch_cuda.tsv").read_text().splitlines()
    assert [line for line in wanted if "\t" in line] == [line for line in committed if "\t" in line]


def test_dispatch_table_is_the_dispatchers(warm, tmp_path):
    pytest.importorskip("torch_npu")
    run = warm.run(ROOT / "tools/migrate_facts/torch_dispatch.py", tmp_path / "made", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    committed = (DATA / "torch_dispatch.tsv").read_text().splitlines()
    assert [line for line in (tmp_path / "made").read_text().splitlines() if "\t" in line] == [line for line in committed if "\t" in line]


FELL_BACK = """
import os, sys, tempfile
import torch, torch_npu
log = tempfile.TemporaryFile()
os.dup2(log.fileno(), 2)
x = torch.rand(4, 4, device="npu") * 0.8 + 0.1
for call in sys.argv[1:]:
    start = log.seek(0, 2)
    eval(call)
    torch.npu.synchronize()
    log.seek(start)
    print("cpu" if b"will fall back to run on the CPU" in log.read() else "npu")
"""


def test_dispatch_table_foretells_what_runs(warm, tmp_path):
    """torch_npu warns once an operator when it falls back: what the table says is what happens on the virtual NPU."""
    pytest.importorskip("torch_npu")
    calls = {"torch.lgamma": "torch.lgamma(x)", "torch.fmax": "torch.fmax(x, x)", "torch.frexp": "torch.frexp(x)",
             "torch.linalg.inv": "torch.linalg.inv(x)", "torch.special.entr": "torch.special.entr(x)", "torch.mode": "torch.mode(x)",
             "torch.add": "torch.add(x, x)", "torch.erfinv": "torch.erfinv(x)", "torch.softmax": "torch.softmax(x, 0)",
             "torch.cumsum": "torch.cumsum(x, 0)", "torch.Tensor.addmm_": "x.clone().addmm_(x, x)"}
    (tmp_path / "fell_back.py").write_text(FELL_BACK)
    run = warm.run("fell_back.py", *calls.values(), cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    table = dict(rows("torch_dispatch.tsv"))
    said = ["cpu" if table[name] == "cpu" else "npu" for name in calls]
    assert dict(zip(calls, run.stdout.split())) == dict(zip(calls, said))


WINDOWS = """
import torch, torch_npu

def right(make, **more):
    try:
        return torch.allclose(make(16, device="npu", **more).cpu().float(), make(16), atol=1e-5)
    except RuntimeError as error:
        return "161002" if "161002" in str(error) else error

for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window"):
    make = getattr(torch, name)
    print(name, right(make), right(make, dtype=torch.float32))
"""


def test_windows_without_a_dtype_are_wrong(warm, tmp_path):
    """What advice.tsv says of the wheel; its rows may go when this fails with another wheel."""
    pytest.importorskip("torch_npu")
    (tmp_path / "windows.py").write_text(WINDOWS)
    done = warm.run(tmp_path / "windows.py", cwd=tmp_path)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if "_window " in line)
    zeros, refused = "False True", "161002 True"
    assert lines == {"bartlett_window": zeros, "blackman_window": zeros, "hamming_window": refused, "hann_window": refused}, \
        done.stdout + done.stderr
    advice = {row[0]: row[3] for row in rows("advice.tsv")}
    says = {zeros: "zeros", refused: "161002"}
    assert all(says[found] in advice[f"torch.{name}"] for name, found in lines.items())


def test_npu_names_exist():
    """A script that is rewritten to a name must find it."""
    pytest.importorskip("torch_npu")
    facts = tool("torch_cuda")
    names = {row[2] for row in rows("torch_cuda.tsv") if row[2]}
    assert len(names) > 150
    assert [name for name in sorted(names) if not facts.exists(name)] == []


def sources():
    """The engine's sources: the table of passes claims ids, it emits none."""
    return {path: path.read_text().partition("return all;")[2] if path.name == "passes.cpp" else path.read_text()
            for path in (ROOT / "migrate").rglob("*.cpp")}


def test_every_rule_says_what_it_is_about():
    """Reports that list rules have a sentence for each that a source can emit, and none that nobody emits."""
    emitted = {rule for text in sources().values() for rule in re.findall(r'"((?:PT|TF|TX|PY|IO)\d{3})"', text)}
    yaml = {rule for path in (ROOT / "migrate/rules").rglob("*.yaml") for rule in re.findall(r"- id: (\w+)", path.read_text())}
    told = {row[0] for row in rows("rules.tsv")}
    settings = {row[3] for row in rows("settings.tsv")}  # a row there says what its rule is about
    assert len(emitted) > 100
    assert emitted - settings - told == set()
    assert told - emitted - settings - yaml == set()
    assert all(row[1] and row[2] and row[1] != row[2] and row[4] in ("", "likely", "review") for row in rows("rules.tsv"))


SENTENCE = re.compile(r'"(?!from |import |#)(?:[^"\\\n]|\\.)*\b[a-z]+ [a-z]+ [a-z]+ [a-z]+\b(?:[^"\\\n]|\\.)*"')
TO_THE_CALLER = re.compile(r"(Error|error|fail|invalid_argument)\(|echo |failed\.push_back")


def spoken(text):
    """Literals with four words in a row, but for those of errors and of what scripts come to hold."""
    found = []
    for match in SENTENCE.finditer(re.sub(r"^ *//.*|  //.*", "", text, flags=re.M)):
        statement = re.split(r"[;{}]\n", match.string[:match.start()])[-1]
        if not TO_THE_CALLER.search(statement + match.group()):
            found.append(match.group())
    return found


def test_passes_take_their_words_from_the_registry():
    """No pass or reader makes a rule or a sentence of its own; each sentence of messages.tsv is asked for."""
    folders = {"rewrite", "text", "run", "rules", "names", "source", "syntax", "support"}
    code = {path: text for path, text in sources().items() if path.relative_to(ROOT / "migrate").parts[0] in folders}
    assert len(code) > 50 and spoken('f.message = {"the file is too large", ""};\n') == ['"the file is too large"']
    assert [path.name for path, text in code.items() if re.search("[\u4e00-\u9fff]", text)] == []
    assert {path.name: spoken(text) for path, text in code.items() if spoken(text)} == {}
    made = {path.name for path, text in code.items() if re.search(r"rules::Rule \w+;|\.rule\.id =|\brule\.id =", text)}
    assert made <= {"settings.cpp", "rule.cpp"}  # rules of settings.tsv, and of the user's files
    everything = "".join(code.values())
    # package.STATUS and the like: names of what another table has
    families = set(re.findall(r'"([a-z]+)\.\{\}"|std::string\("([a-z]+)\."\)', everything))
    families = {name for names in families for name in names if name}
    assert families == {"package", "class", "limit"}
    for key, en, zh in rows("messages.tsv"):
        places = set(re.findall(r"\{\d\}", en))
        assert en and zh and en != zh and places == set(re.findall(r"\{\d\}", zh)), key
        assert places == {"{%d}" % n for n in range(len(places))}, key
        head, _, tail = key.partition(".")
        assert f'"{key}"' in everything or head in families and f'"{tail}' in everything + "".join(
            (DATA / table).read_text().replace("\t", '"') for table in ("torch_api.tsv",)), key
    wanted = set(re.findall(r'(?:told|message)\(\s*"([\w.]+)"', everything))
    assert wanted - {row[0] for row in rows("messages.tsv")} == set()


def test_what_the_engine_knows_of_names_is_data():
    """names.tsv and torch_cuda.tsv say it, not comparisons in code."""
    table = rows("names.tsv")
    assert {role for _, role, _ in table} == {"outside", "package", "framework", "module"} and all(why for *_, why in table)
    code = "".join(path.read_text() for folder in ("rewrite", "names", "run") for path in (ROOT / "migrate" / folder).rglob("*.cpp"))
    single = {name for name, *_ in table if name.count(".") > 1} | {row[2] for row in rows("torch_cuda.tsv") if row[5]}
    assert "torch.npu.mstx" in single and [name for name in sorted(single) if f'"{name}"' in code] == []


def test_no_part_of_the_grammar_is_named_in_vain():
    """Kinds and fields of the syntax tree that no code asks for."""
    head = (ROOT / "migrate/syntax/tree.h").read_text()
    code = "".join(path.read_text() for path in (ROOT / "migrate").rglob("*.cpp"))
    kinds = re.findall(r"X\((\w+), \"", head)
    fields = re.findall(r"^  (\w+),$", head.partition("enum class Field")[2].partition("};")[0], re.M)
    assert len(kinds) > 80 and len(fields) > 15
    assert [k for k in kinds if f"Kind::{k}" not in code and f"Kind::{k}" not in head] == []
    assert [f for f in fields if f != "None" and f"Field::{f}" not in code and f"Field::{f}" not in head] == []


def test_aliases_lead_to_rows():
    listed = {row[0] for row in rows("torch_api.tsv")}
    for alias, api in rows("torch_alias.tsv"):
        assert api in listed and alias not in listed


def test_affine_names_exist_in_the_wheel():
    pytest.importorskip("torch_npu")
    facts = tool("torch_cuda")
    names = {row[2] for row in rows("affinity.tsv")}
    wrong = [name for name in sorted(names) if not facts.exists(name) or not callable(facts.find(name))]
    assert wrong == []


def test_torch_names_that_advice_is_about_exist():
    """A name with a slip of the pen would never be found in a script."""
    pytest.importorskip("torch_npu")
    facts = tool("torch_cuda")
    names = {row[0] for table in ("affinity.tsv", "advice.tsv") for row in rows(table) if row[0].startswith("torch.")}
    assert len(names) > 60
    assert [name for name in sorted(names) if not facts.exists(name)] == []


def test_alternatives_of_packages_exist():
    pytest.importorskip("torch_npu")
    facts = tool("torch_cuda")
    names = {row[2] for row in rows("third_party.tsv") if row[2].startswith(("torch.", "torch_npu."))}
    assert len(names) > 10
    assert [name for name in sorted(names) if not facts.exists(name)] == []


def test_tensorflow_table_follows_its_rules():
    """What the table says needs a rule, a run, or TensorFlow's own word; a rule that is about nothing is a slip of the pen."""
    api = tool("tf_api")
    rules, used = api.read_rules(), set()
    seen = {row[0] for row in rows("tf_seen.tsv")}
    for name, *facts in rows("tf_api.tsv"):
        for cls, by in (facts[:2], facts[2:] if facts[2] else facts[:2]):
            assert cls in [*api.CLASSES, "absent"], name
            if by == "":
                assert cls in ("analysing", "absent"), name
            elif by == "wheel":
                assert cls in ("none", "deprecated"), name
            elif by.startswith("seen:"):
                assert cls == "supported" and by[5:] in seen, name
            else:
                assert cls == rules[by], name
                used.add(by)
    assert set(rules) - used == set()
    assert all(row[4] for row in rows("tf_rules.tsv"))


def test_tensorflow_table_is_made_from_the_wheels(tmp_path):
    """UPDRAFT_TF_PYTHON: a Python that has tensorflow-cpu 2.15.1; UPDRAFT_TF_WHEELS: the folder of tf_wheel_names.py, with its three wheels."""
    python, wheels = os.environ.get("UPDRAFT_TF_PYTHON"), os.environ.get("UPDRAFT_TF_WHEELS")
    if not python or not wheels:
        pytest.skip("UPDRAFT_TF_PYTHON and UPDRAFT_TF_WHEELS name no TensorFlow 2.15.1 and no wheels of 2.6.5")
    facts = ROOT / "tools" / "migrate_facts"
    for out, command in (("newer.tsv", [python, facts / "tf_names.py"]),
                         ("names.tsv", [sys.executable, facts / "tf_wheel_names.py", "2.6.5", wheels])):
        names = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240)
        assert names.returncode == 0, names.stderr[-2000:]
        (tmp_path / out).write_text(names.stdout)
    made = subprocess.run([sys.executable, str(facts / "tf_api.py"), *(str(tmp_path / n) for n in ("names.tsv", "newer.tsv", "out.tsv"))],
                          capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "out.tsv").read_text() == (DATA / "tf_api.tsv").read_text()


def used(table, column):
    """{name: how often} of a table of tests/migrate/uses."""
    lines = [line.split("\t") for line in (ROOT / "tests/migrate/uses" / table).read_text().splitlines() if not line.startswith("#")]
    at = lines[0].index(column)
    return {line[0]: int(line[at]) for line in lines[1:] if int(line[at])}


@pytest.mark.parametrize("table, column, uses, most", [
    ("guide.tsv", "guide", 111, 0.02), ("tf_models_official_2_6.tsv", "official/vision", 7287, 0.05),
    ("tf_models_official_2_6.tsv", "official/nlp", 5863, 0.05)])
def test_few_uses_of_tensorflow_are_under_analysis(tool, tmp_path, table, column, uses, most):
    """A fifth is what a user may be left alone with; as few as there are now, nobody is to lose again."""
    names = used(table, column)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.py").write_text("import tensorflow as tf\n" + "".join(f"{name}\n" * n for name, n in names.items()))
    done = tool("tf2npu", "-i", tmp_path / "p", "-o", tmp_path / "o", "-r", tmp_path / "r").stdout.decode()
    total, analysing = (int(re.search(rf"1.In brief:.*{what}: (\d+)", done)[1]) for what in ("Total API", "Analysing"))
    assert total == sum(names.values()) == uses
    assert analysing <= most * total <= 0.2 * total


def test_uses_are_those_of_the_wheel():
    """UPDRAFT_TF_MODELS: tf_models_official-2.6.0-py2.py3-none-any.whl"""
    wheel = os.environ.get("UPDRAFT_TF_MODELS")
    if not wheel:
        pytest.skip("UPDRAFT_TF_MODELS names no wheel of tf-models-official 2.6.0")
    made = subprocess.run([sys.executable, ROOT / "tools/migrate_facts/tf_used.py", wheel, "official/vision", "official/nlp"],
                          capture_output=True, text=True, timeout=120, check=True).stdout
    assert made == (ROOT / "tests/migrate/uses/tf_models_official_2_6.tsv").read_text()


@pytest.mark.parametrize("name", ["migration-support.md", "migration-support.zh.md"])
def test_reference_page_is_up_to_date(name, tmp_path):
    subprocess.run([sys.executable, str(ROOT / "tools/migrate_facts/page.py"), str(tmp_path)], check=True, timeout=60)
    assert (tmp_path / name).read_text() == (ROOT / "docs" / "reference" / name).read_text(), "run tools/migrate_facts/page.py"
