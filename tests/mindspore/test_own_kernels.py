"""What MindSpore computes by kernels of its own: equal to what its CPU device gives."""
import numpy as np
from programs import mindspore


def test_equal_to_the_cpu(tmp_path):
    for device in ("CPU", "Ascend"):
        mindspore(tmp_path, "own_kernels.py", device, tmp_path / (device + ".npz"))
    wanted, found = np.load(tmp_path / "CPU.npz"), np.load(tmp_path / "Ascend.npz")
    assert len(wanted) > 40 and set(wanted) == set(found)
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], 1e-4, 1e-4 * max(1, np.abs(wanted[name]).max(initial=0)), err_msg=name)
