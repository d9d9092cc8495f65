"""Spreadsheets of migrate/report, opened by zipfile, an XML parser and openpyxl."""

import pathlib
import shutil
import subprocess
import xml.etree.ElementTree
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = r"""
#include <fstream>

#include "migrate/report/table.h"

int main(int, char** argv) {
  updraft::migrate::Xlsx book;
  book.add_sheet("API分析", {{"序号", 8}, {"脚本文件名", 30}, {"API名", 40}, {"说明", 60, true}});
  book.add_row({int64_t{1}, "main.py", "tf.abs", "支持（无需迁移）"});
  book.add_row({int64_t{2}, "a&b<c>\"'.py", "=HYPERLINK(\"x\")", "two\nlines\twith 😀"});
  book.add_row({int64_t{3}});
  book.add_sheet("empty", {{"only heading"}});
  std::ofstream(argv[1], std::ios::binary) << std::move(book).finish();
}
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++-16")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("xlsx")
    (folder / "main.cpp").write_text(PROGRAM)
    sources = [str(ROOT / "migrate/report" / name) for name in ("table.cpp", "files.cpp")]
    subprocess.run([compiler, "-std=c++20", "-I", str(ROOT / "src"), "-I", str(ROOT), str(folder / "main.cpp"), *sources, "-lfmt", "-o", str(folder / "make")],
                   check=True, timeout=240)
    path = folder / "out.xlsx"
    subprocess.run([str(folder / "make"), str(path)], check=True, timeout=60)
    return path


def test_is_a_zip_of_well_formed_parts(book):
    with zipfile.ZipFile(book) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            xml.etree.ElementTree.fromstring(archive.read(name))
        types = archive.read("[Content_Types].xml").decode()
        for name in archive.namelist():
            if name.startswith("xl/") and not name.endswith(".rels"):
                assert 'PartName="/%s"' % name in types


@pytest.mark.filterwarnings("error")
def test_opens_with_openpyxl(book):
    openpyxl = pytest.importorskip("openpyxl")
    sheets = openpyxl.load_workbook(book)
    assert sheets.sheetnames == ["API分析", "empty"]
    sheet = sheets.worksheets[0]
    assert [cell.value for cell in sheet[1]] == ["序号", "脚本文件名", "API名", "说明"]
    assert [cell.value for cell in sheet[2]] == [1, "main.py", "tf.abs", "支持（无需迁移）"]
    assert [cell.value for cell in sheet[3]] == [2, "a&b<c>\"'.py", '=HYPERLINK("x")', "two\nlines\twith 😀"]
    assert sheet["C3"].data_type in ("s", "inlineStr")  # a text, never a formula
    assert [cell.value for cell in sheet[4]] == [3, None, None, None]
    assert all(cell.font.bold and cell.fill.fill_type == "solid" for cell in sheet[1])
    assert not sheet["A2"].font.bold
    assert sheet["D2"].alignment.wrap_text and not sheet["C2"].alignment.wrap_text
    assert sheet.auto_filter.ref == "A1:D4"
    assert sheet.freeze_panes == "A2"
    assert sheet.column_dimensions["C"].width == 40
    assert sheet.dimensions == "A1:D4"
    assert sheets.worksheets[1]["A1"].value == "only heading"


def test_openpyxl_can_write_it_again(book, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    again = tmp_path / "again.xlsx"
    openpyxl.load_workbook(book).save(again)
    first, second = openpyxl.load_workbook(book), openpyxl.load_workbook(again)
    assert [[c.value for c in row] for row in first.worksheets[0]] == [[c.value for c in row] for row in second.worksheets[0]]
