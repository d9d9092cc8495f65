"""Applications from end to end: a network that is trained here, ONNX, atc, JPEG files, examples/dvpp_classification.py."""

import pathlib
import re
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from tests.graph.test_pyacl import ROOT, good, run

CLASSES, SIZE = 8, 48
AIPP = """aipp_op {
  input_format: YUV420SP_U8
  csc_switch: true
  matrix_r0c0: 256  matrix_r0c1: 0    matrix_r0c2: 359
  matrix_r1c0: 256  matrix_r1c1: -88  matrix_r1c2: -183
  matrix_r2c0: 256  matrix_r2c1: 454  matrix_r2c2: 0
  input_bias_1: 128  input_bias_2: 128
  mean_chn_0: 128  mean_chn_1: 128  mean_chn_2: 128
  var_reci_chn_0: 0.015625  var_reci_chn_1: 0.015625  var_reci_chn_2: 0.015625
}
"""


def picture(kind, rng, size):
    """A blob of one of eight colours on a background of soft colours."""
    y, x = np.mgrid[0:size, 0:size] / size
    soft = 110 + 30 * np.stack([np.sin(3 * x + rng.uniform(0, 6)), np.cos(2 * y + rng.uniform(0, 6)), np.sin(x + y)], -1)
    cx, cy = rng.uniform(0.3, 0.7, 2)
    weight = np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 0.05)[..., None]
    colour = np.array([230 if kind & bit else 40 for bit in (1, 2, 4)])
    return (soft * (1 - weight) + colour * weight).round().astype(np.uint8)


def prepared(pixels):
    return (torch.tensor(np.asarray(pixels, np.float32)).permute(2, 0, 1)[None] - 128) / 64


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("application"), np.random.default_rng(0)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, 2, 1), torch.nn.ReLU(),
                              torch.nn.AdaptiveAvgPool2d(3), torch.nn.Flatten(), torch.nn.Linear(144, CLASSES))
    labels = torch.arange(256) % CLASSES
    images = torch.cat([prepared(picture(int(k), rng, SIZE)) for k in labels])
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(20):  # not to certainty: probabilities near 1 would hide differences
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
    net.eval()
    torch.onnx.export(net, images[:1], folder / "net.onnx", input_names=["image"], output_names=["scores"], dynamo=False)
    (folder / "aipp.cfg").write_text(AIPP)
    files = []
    for kind in range(CLASSES):
        files.append(folder / ("%d.jpg" % kind))
        Image.fromarray(picture(kind, rng, 2 * SIZE)).save(files[-1], quality=95)
    return net, folder, files


@pytest.mark.parametrize("mode", ["must_keep_origin_dtype", "force_fp16"])
def test_jpeg_in_top_5_out(trained, mode):
    net, folder, files = trained
    good(run("atc", "--model=%s" % (folder / "net.onnx"), "--framework=5", "--output=%s" % (folder / mode), "--soc_version=Ascend910B2",
             "--insert_op_conf=%s" % (folder / "aipp.cfg"), "--precision_mode=%s" % mode))
    text = good(run(sys.executable, ROOT / "examples" / "dvpp_classification.py", folder / (mode + ".om"), *files, "--top", CLASSES))
    lines = [line for line in text.splitlines() if ".jpg:" in line]
    assert len(lines) == len(files), text
    for kind, (line, file) in enumerate(zip(lines, files)):
        said = {int(c): float(p) for c, p in re.findall(r"class (\d+) \(([\d.]+)\)", line)}
        # the same in PyTorch: the pixels by Pillow, the size by the mean of four
        pixels = torch.tensor(np.asarray(Image.open(file).convert("RGB"), np.float32)).permute(2, 0, 1)[None]
        pixels = torch.nn.functional.avg_pool2d(pixels, 2)[0].permute(1, 2, 0)
        with torch.no_grad():
            want = net(prepared(pixels)).softmax(1)[0].numpy()
        assert list(said)[0] == want.argmax() == kind, (line, want)
        # bytes are rounded between the steps and chroma is shared by four pixels, which Pillow spreads in another way
        assert max(abs(said[c] - want[c]) for c in range(CLASSES)) < 0.01, (line, want)
