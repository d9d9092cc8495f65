"""Python puts the folder of a script first on sys.path: what lies beside the script hides the package of that name, in every library that
the script imports."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"triton-ascend": "triton", "tensorflow-cpu": "tensorflow", "pillow": "PIL", "scikit-learn": "sklearn", "protobuf": "google",
           "opencv-python-headless": "cv2", "pyyaml": "yaml", "mindstudio-probe": "msprobe", "onnxruntime-cann": "onnxruntime"}


def packages():
    names = {line.split(";")[0] for file in ROOT.glob("requirements*.txt") for line in file.read_text().splitlines()}
    names = {re.match(r"[\w.-]*", name).group().lower() for name in names} - {""}
    return {MODULES.get(name, name).replace("-", "_") for name in names} | {"torch", "torch_npu", "torchair", "triton", "updraft", "acl"}


def hiding(folder):
    """What lies in `folder` and is imported by the name of a package."""
    known = packages()
    return sorted(str(p.relative_to(ROOT)) for p in folder.iterdir() if (p.suffix == ".py" or (p / "__init__.py").exists()) and p.stem in known)


def folders_of_scripts():
    tops = [ROOT / name for name in ("tests", "bench", "examples", "docs", "abi")]
    scripts = [p for top in tops for p in top.rglob("*.py") if re.search('^if __name__ == "__main__"', p.read_text(errors="replace"), re.M)]
    return sorted({p.parent for p in scripts})


@pytest.mark.parametrize("folder", folders_of_scripts(), ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_beside_a_script_hides_a_package(folder):
    assert hiding(folder) == [], "rename it: scripts in this folder import it instead of the package"


def test_the_packages_are_found():
    assert {"torch", "triton", "numpy", "tensorflow", "mindspore", "onnx"} <= packages()
