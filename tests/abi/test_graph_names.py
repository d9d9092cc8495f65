"""What TorchAir finds in libgraph.so and libge_runner.so besides C names of AscendCL: texts with bounds, and refusals."""

import ctypes
import errno
import subprocess
import sys

import pytest


@pytest.fixture
def graph(lib_dir):
    return ctypes.CDLL(str(lib_dir / "libgraph.so"))


EMPTIED = 128  # what is added to an error where the destination was made empty


@pytest.mark.parametrize("size, source, status, text", [
    (8, b"abc", 0, b"abc"),
    (4, b"abc", 0, b"abc"),
    (3, b"abc", errno.ERANGE + EMPTIED, b""),
    (8, None, errno.EINVAL + EMPTIED, b""),
    (0, b"abc", errno.ERANGE, b"old"),
])
def test_strcpy_s(graph, size, source, status, text):
    room = ctypes.create_string_buffer(b"old", 16)
    assert graph.strcpy_s(room, ctypes.c_size_t(size), source) == status
    assert room.value == text


def test_strcpy_s_of_overlapping_texts(graph):
    room = ctypes.create_string_buffer(b"abcdef", 16)
    start = ctypes.addressof(room)
    assert graph.strcpy_s(ctypes.c_void_p(start + 2), ctypes.c_size_t(10), ctypes.c_void_p(start)) == 54 + EMPTIED
    assert graph.strcpy_s(None, ctypes.c_size_t(10), ctypes.c_void_p(start)) == errno.EINVAL


@pytest.mark.parametrize("size, count, length, text", [
    (16, 15, 7, b"7 seven"),
    (8, 7, 7, b"7 seven"),
    (8, 3, -1, b"7 s"),  # cut off at count
    (7, 7, -1, b""),  # does not fit
    (7, 2**64 - 1, -1, b""),
    (0, 7, -1, b"old"),
])
def test_snprintf_s(graph, size, count, length, text):
    room = ctypes.create_string_buffer(b"old", 16)
    assert graph.snprintf_s(room, ctypes.c_size_t(size), ctypes.c_size_t(count), b"%d %s", 7, b"seven") == length
    assert room.value == text
    assert graph.snprintf_s(room, ctypes.c_size_t(16), ctypes.c_size_t(15), None) == -1 and room.value == b""


# A client as compilers make them: the text is a std::string of the ABI before C++11, the failure a number.
CLIENT = r"""
#define _GLIBCXX_USE_CXX11_ABI 0
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace ge {
class AscendString {
 public:
  AscendString(const char* text);
  bool operator<(const AscendString&) const;
  const char* GetString() const;
  std::shared_ptr<std::string> impl_;
};
class Shape {
 public:
  explicit Shape(const std::vector<long>&);
  std::vector<long> GetDims() const;
  std::shared_ptr<int> impl_;
};
class Operator {
 public:
  virtual ~Operator() = default;
  void SubgraphCountRegister(const char*, unsigned);
  std::shared_ptr<int> impl_;
};
unsigned GEInitialize(const std::map<AscendString, AscendString>&);
std::string GEGetErrorMsg();
}
int main() {
  if (!ge::GEGetErrorMsg().empty()) return 1;
  {
    std::map<ge::AscendString, ge::AscendString> options{{"unknown", "b"}};
    if (ge::GEInitialize(options) != 0) return 2;
    options.emplace("ge.exec.precision_mode", "words");
    if (ge::GEInitialize(options) == 0) return 3;
  }
  std::printf("%s\n", ge::GEGetErrorMsg().c_str());
  if (!ge::GEGetErrorMsg().empty()) return 4;
  if (ge::Shape({1, 2}).GetDims() != std::vector<long>{1, 2}) return 5;
  ge::Operator().SubgraphCountRegister("x", 1);
  std::printf("%s\n", ge::GEGetErrorMsg().c_str());
}
"""


def test_a_client_with_the_other_strings(lib_dir, tmp_path):
    """Refusals of options and of operators reach it by the one std::string there is."""
    program = tmp_path / "client"
    subprocess.run(["g++", "-std=c++17", "-x", "c++", "-", f"-L{lib_dir}", "-lgraph", "-lge_runner", f"-Wl,-rpath,{lib_dir}",
                    f"-Wl,-rpath-link,{lib_dir}", "-o", program], input=CLIENT, text=True, check=True, timeout=150)
    done = subprocess.run([program], capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done
    first, second = done.stdout.split("[PID")[1:]
    assert "precision_mode is words, want one of force_fp16" in first
    assert "the object is an operator without a type" in second and "SubgraphCountRegister returned" in second


def test_libraries_without_names_can_be_opened(lib_dir):
    """A client that asks them for a name is told so by the dynamic linker."""
    code = "import ctypes, sys\nctypes.CDLL(sys.argv[1]).google_protobuf_parse"
    for soname in ("libfmk_parser.so", "libascend_protobuf.so", "libregister.so"):
        done = subprocess.run([sys.executable, "-c", code, str(lib_dir / soname)], capture_output=True, text=True, timeout=150)
        assert done.returncode == 1 and "undefined symbol: google_protobuf_parse" in done.stderr, done.stderr
