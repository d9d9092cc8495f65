"""Says what a wheel of Updraft needs of a system, refuses one that is not self-contained, and tags it accordingly.

scikit-build-core calls the wheel linux_x86_64, which pip installs on every Linux, too old ones as well. The C library's
symbol versions say which Linux will do, so the wheel becomes manylinux_2_NN: pip then refuses it where it cannot load.

usage: audit.py WHEEL   (renames it; prints the new name last)
"""

import base64
import csv
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# With libgomp, which manylinux does not promise: every torch carries one, and Debian's g++ programs have libgomp1.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp))\.so\.\d+$")
LIBRARIES = "updraft/cann/lib64/"
# Python's extension modules, and where they look for libraries.
EXTENSIONS = {"updraft/cann/python/site-packages/acl/_acl.abi3.so": "$ORIGIN/../../../lib64"}
# Only opened where these are installed.
OPTIONAL = {"libupdraft_net_ucx.so": re.compile(r"libuc[ps]\.so\.0$")}
# What the libraries that we use call their functions: no library of the wheel offers or asks for such a name.
INSIDE = re.compile(r"dnnl_|_ZGV[a-e][NM]|_ZNK?4dnnl|_ZNK?3fmt|openblas|gotoblas|cblas_|[sdcz](gemm|getrf|gesdd|geqrf|potrf|trsm)_$")
EXPECTED = ["updraft-preload.pth", "updraft/_hook.py", "updraft/_torchair.py", "updraft/cli.py", "updraft/npu_smi.py",
            "updraft/cann/ascend_toolkit_install.info", "updraft/cann/set_env.sh", "updraft/cann/bin/npu-smi", "updraft/cann/bin/hccl_test", "updraft/cann/bin/atc", "updraft/cann/bin/updraft-migrate",
            "updraft/cann/tools/ms_fmk_transplt/pytorch_gpu2npu.sh", "updraft/cann/bin/msprof", "updraft/cann/tools/profiler/bin/msprof",
            "updraft/cann/tools/profiler/profiler_tool/analysis/msprof/msprof.py",
            "updraft/cann/runtime/version.info", "updraft/cann/compiler/version.info", "updraft/cann/opp/version.info",
            "updraft/cann/opp/vendors/.keep", "updraft/cann/opp/updraft/operators.json",
            "updraft/cann/python/site-packages/acl/__init__.py", "updraft/cann/python/site-packages/acl/_acl.abi3.so", "updraft/cann/python/site-packages/acl/rt.pyi",
            "updraft/cann/python/site-packages/hccl/manage/api.py",
            "updraft/cann/python/fallback/apex/amp/__init__.py", "updraft/cann/tools/ms_fmk_transplt/torch_npu_bridge/transfer_to_npu.py",
            "updraft/cann/include/acl/acl.h", "updraft/cann/include/aclnnop/aclnn_add.h",
            LIBRARIES + "libupdraft.so", LIBRARIES + "libupdraft_onednn.so", LIBRARIES + "libupdraft_lapack.so", LIBRARIES + "libascendcl.so", LIBRARIES + "libopapi.so", LIBRARIES + "libhccl.so"]
NOTICES = ["LICENSE", "onednn.txt", "onednn-third-party-programs.txt", "sleef.txt", "openblas.txt", "fmt.txt", "nlohmann-json.txt", "cli11.txt", "tree-sitter.txt", "yaml-cpp.txt", "protozero.txt",
           "libjpeg-turbo.txt", "libpng.txt", "zlib.txt", "sqlite.txt"]


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def newest(versions):
    return max(versions, key=lambda v: [int(n) for n in v.split(".")], default="")


def problems_of(wheel, folder):
    names, found = set(wheel.namelist()), []
    found += ["%s is missing" % name for name in EXPECTED if name not in names]
    info = next(n for n in names if n.endswith(".dist-info/METADATA")).rsplit("/", 1)[0]
    found += ["the notice %s is missing" % n for n in NOTICES if not any(
        name.startswith(info + "/licenses/") and name.rsplit("/", 1)[-1] == n for name in names)]
    found += ["%s does not belong into a wheel" % n for n in names if re.search(r"__pycache__|\.(pyc|a|o|cmake)$|/tree/", n)]
    entry_points = wheel.read(info + "/entry_points.txt").decode()
    found += ["no command %s" % c for c in ("updraft", "npu-smi") if not re.search("^%s *=" % c, entry_points, re.M)]

    shipped = {n.rsplit("/", 1)[-1] for n in names if n.startswith(LIBRARIES)}
    # a process may hold another oneDNN, and would take ours for it by its SONAME
    found += ["%s has a name that others ask for: ship a private copy (cmake/libraries.cmake)" % n for n in shipped if re.search(r"\.so\.\d", n)]
    needed = set()
    for name in sorted(shipped):
        path = folder / LIBRARIES / name
        dynamic = readelf("-d", path)
        needs = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        needed |= set(needs)
        found += ["%s needs %s, which is neither shipped nor everybody's" % (name, n)
                  for n in needs if n not in shipped and not SYSTEM.match(n) and not (name in OPTIONAL and OPTIONAL[name].match(n))]
        if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != [name]:
            found.append("%s has another SONAME" % name)
        paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
        if paths not in ([], ["$ORIGIN"]) or (not paths and any(n in shipped for n in needs)):
            found.append("%s looks for libraries in %s, not beside itself" % (name, paths))
        if b"/.venv/" in path.read_bytes() or str(pathlib.Path(__file__).parents[1]).encode() in path.read_bytes():
            found.append("%s holds paths of the build" % name)
        found += ["%s shows %s" % (name, symbol) for symbol in readelf("--dyn-syms", path).split() if INSIDE.match(symbol)]
    for name, there in EXTENSIONS.items():
        if name not in names:
            continue  # EXPECTED has told
        dynamic = readelf("-d", folder / name)
        found += ["%s needs %s, which is neither shipped nor everybody's" % (name, n)
                  for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if n not in shipped and not SYSTEM.match(n)]
        paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
        if paths != [there]:
            found.append("%s looks for libraries in %s, want %s" % (name, paths, there))
        if re.search(rb"/\.venv/|" + re.escape(str(pathlib.Path(__file__).parents[1])).encode(), (folder / name).read_bytes()):
            found.append("%s holds paths of the build" % name)
    found += ["%s is shipped and nothing needs it" % n for n in shipped if n.startswith("libupdraft_") and n not in needed | set(OPTIONAL)]
    return found


def tag(path, libc):
    """Rewrites the wheel's tag: in its name, in WHEEL and in RECORD."""
    old = path.stem.split("-")[-1]
    machine = re.sub(r"^(many)?linux(_\d+)*_", "", old)
    new = "manylinux_%s_%s" % (libc.replace(".", "_"), machine)
    target = path.with_name(path.name.replace("-%s.whl" % old, "-%s.whl" % new))
    part = target.with_suffix(".part")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as result:
        for item in source.infolist():
            data = source.read(item)
            if item.filename.endswith(".dist-info/WHEEL"):
                data = data.replace(("-%s" % old).encode(), ("-%s" % new).encode())
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record = [item.filename, "sha256=" + digest, len(data)]
            elif item.filename.endswith(".dist-info/RECORD"):  # the last one of a wheel
                rows = [record if row[:1] == record[:1] else row for row in csv.reader(io.StringIO(data.decode()))]
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(rows)
                data = text.getvalue().encode()
            result.writestr(item, data)
    path.unlink()
    part.rename(target)
    return target


def main():
    path = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as wheel:
        folder = pathlib.Path(folder)
        wheel.extractall(folder)
        found = problems_of(wheel, folder)
        versions = "".join(readelf("-V", library) for library in sorted((folder / LIBRARIES).iterdir()) + [folder / n for n in EXTENSIONS if (folder / n).exists()])
        size = sum(item.file_size for item in wheel.infolist())
    highest = {name: newest(re.findall(r"\b%s_(\d[\d.]*\d)\b" % name, versions)) for name in ("GLIBC", "GLIBCXX", "CXXABI", "GOMP")}
    if not path.name.split("-")[2:4] == ["py3", "none"]:
        found.append("%s: the tag should be py3-none" % path.name)
    if found:
        sys.exit("\n".join(["%s:" % path.name] + ["  " + problem for problem in found]))
    path = tag(path, highest["GLIBC"])
    print("%.1f MB, installed %.1f MB; highest symbol versions: %s" % (
        path.stat().st_size / 1e6, size / 1e6, ", ".join("%s_%s" % item for item in highest.items())))
    print(path)


main()
