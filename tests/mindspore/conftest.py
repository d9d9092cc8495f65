"""MindSpore's official wheel on the virtual NPU: ./dev test mindspore. The tests run beside PyTorch, which says what is right; their
programs run in .venv-mindspore."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not (ROOT / ".venv-mindspore/bin/python").exists():
    collect_ignore_glob = ["test_*.py"]
