"""Applications from end to end: networks that are trained here, ONNX, atc, JPEG files, and examples/: classification and detection in
Python (dvpp_classification.py, dvpp_detection.py) and in C++ (acl_vision)."""

import pathlib
import re
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from tests.graph.offline_model import OfflineModel
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


MODES = ["must_keep_origin_dtype", "force_fp16"]


def compiled(folder, mode):
    om = folder / (mode + ".om")
    if not om.exists():
        good(run("atc", "--model=%s" % (folder / "net.onnx"), "--framework=5", "--output=%s" % om, "--soc_version=Ascend910B2",
                 "--insert_op_conf=%s" % (folder / "aipp.cfg"), "--precision_mode=%s" % mode))
    return om


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder of examples/acl_vision, built by CMake the way a user's program is."""
    made = tmp_path_factory.mktemp("acl_vision")
    good(run("cmake", "-S", ROOT / "examples" / "acl_vision", "-B", made, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"))
    good(run("cmake", "--build", made))
    return made


@pytest.mark.parametrize("mode", MODES)
def test_jpeg_in_top_5_out(trained, mode):
    net, folder, files = trained
    text = good(run(sys.executable, ROOT / "examples" / "dvpp_classification.py", compiled(folder, mode), *files, "--top", CLASSES))
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


def test_classification_in_cxx(trained, programs):
    """The same classes and probabilities as the script says, which the test above compares with PyTorch."""
    _, folder, files = trained
    om = compiled(folder, MODES[0])
    script = good(run(sys.executable, ROOT / "examples" / "dvpp_classification.py", om, *files, "--top", 5))
    text = good(run(programs / "classify", om, *files))

    def said(of):
        return {line.split(":")[0]: [(int(c), float(p)) for c, p in re.findall(r"class (\d+) \(([\d.]+)\)", line)]
                for line in of.splitlines() if ".jpg:" in line}

    assert len(said(text)) == len(files)
    for name, classes in said(script).items():
        assert [c for c, _ in said(text)[name]] == [c for c, _ in classes]
        assert all(abs(a - b) <= 1.1e-4 for (_, a), (_, b) in zip(said(text)[name], classes)), (text, script)


def test_failures_name_the_call_and_the_file(trained, programs, tmp_path):
    _, folder, files = trained
    (tmp_path / "no.jpg").write_bytes(b"no picture at all")
    for arguments, words in (((tmp_path / "no.om", files[0]), ("aclmdlLoadFromFile", "145002", "no.om")),
                             ((compiled(folder, MODES[0]), tmp_path / "none.jpg"), ("none.jpg: no such file",)),
                             ((compiled(folder, MODES[0]), tmp_path / "no.jpg"), ("acldvppJpegPredictDecSize",))):
        done = run(programs / "classify", *arguments)
        assert done.returncode == 1 and all(word in done.stderr for word in words), done.stderr


# --- detection ----------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, STRIDE, KINDS, STEPS = 128, 96, 8, 3, 240


def scene(rng, scale=1):
    """One to three rectangles of three colours on soft grey; (pixels, [(class, left, top, right, bottom)] as parts of the sides)."""
    width, height = WIDTH * scale, HEIGHT * scale
    y, x = np.mgrid[0:height, 0:width] / height
    pixels = 120 + 25 * np.stack([np.sin(3 * x + rng.uniform(0, 6)), np.cos(2 * y + rng.uniform(0, 6)), np.sin(x + y + rng.uniform(0, 6))], -1)
    boxes = []
    for _ in range(rng.integers(1, 4)):
        w, h = rng.uniform(0.18, 0.4, 2)
        left, top = rng.uniform(0.02, 0.98 - w), rng.uniform(0.02, 0.98 - h)
        if any(left < b[3] + 0.05 and b[1] < left + w + 0.05 and top < b[4] + 0.05 and b[2] < top + h + 0.05 for b in boxes):
            continue
        kind = int(rng.integers(KINDS))
        boxes.append((kind, left, top, left + w, top + h))
        colour = np.full(3, 50.0)
        colour[kind] = 215
        rows, columns = slice(round(top * height), round((top + h) * height)), slice(round(left * width), round((left + w) * width))
        pixels[rows, columns] = colour + rng.uniform(-15, 15)
    return pixels.round().astype(np.uint8), boxes


class Detector(torch.nn.Module):
    """A box, how sure it is, and a class for each cell of 8 by 8 pixels."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for out, stride in ((16, 2), (32, 2), (32, 2), (32, 1), (32, 1), (32, 1)):
            layers += [torch.nn.Conv2d(channels, out, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(out), torch.nn.ReLU()]
            channels = out
        self.layers = torch.nn.Sequential(*layers, torch.nn.Conv2d(channels, 5 + KINDS, 1))
        rows, columns = torch.meshgrid(torch.arange(HEIGHT // STRIDE), torch.arange(WIDTH // STRIDE), indexing="ij")
        self.register_buffer("cells", torch.stack([columns, rows], -1).reshape(1, -1, 2).float())
        self.register_buffer("sides", torch.tensor([WIDTH / STRIDE, HEIGHT / STRIDE]))

    def raw(self, x):
        return self.layers(x).flatten(2).transpose(1, 2)

    def forward(self, x):
        raw = self.raw(x)
        centre, half = (raw[..., :2].sigmoid() + self.cells) / self.sides, raw[..., 2:4].sigmoid() / 2
        return torch.cat([centre - half, centre + half], -1), raw[..., 4:5].sigmoid() * raw[..., 5:].softmax(-1)


def targets(boxes):
    """For each cell: place in it, size, 1 where a box has its centre, class."""
    made = torch.zeros(HEIGHT // STRIDE * (WIDTH // STRIDE), 6)
    for kind, left, top, right, bottom in boxes:
        x, y = (left + right) / 2 * WIDTH / STRIDE, (top + bottom) / 2 * HEIGHT / STRIDE
        made[int(y) * (WIDTH // STRIDE) + int(x)] = torch.tensor([x % 1, y % 1, right - left, bottom - top, 1, kind])
    return made


def loss_of(raw, wanted):
    sure = wanted[..., 4]
    here, want = raw[sure > 0], wanted[sure > 0]
    found = torch.nn.functional.binary_cross_entropy_with_logits(raw[..., 4], sure, 1 + 3 * sure, reduction="sum")
    place = (here[:, :2].sigmoid() - want[:, :2]).abs().sum() + 6 * (here[:, 2:4].sigmoid() - want[:, 2:4]).abs().sum()
    return (found + place + torch.nn.functional.cross_entropy(here[:, 5:], want[:, 5].long(), reduction="sum")) / len(raw)


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("detection"), np.random.default_rng(1)
    torch.manual_seed(1)
    net = Detector()
    scenes = [scene(rng) for _ in range(256)]
    images, wanted = torch.cat([prepared(pixels) for pixels, _ in scenes]), torch.stack([targets(boxes) for _, boxes in scenes])
    optimizer = torch.optim.Adam(net.parameters(), 5e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, STEPS)
    for _ in range(STEPS):
        chosen = torch.tensor(rng.integers(0, len(scenes), 16))
        optimizer.zero_grad()
        loss_of(net.raw(images[chosen]), wanted[chosen]).backward()
        optimizer.step()
        schedule.step()
    net.eval()
    torch.onnx.export(net, images[:1], folder / "net.onnx", input_names=["image"], output_names=["boxes", "scores"], dynamo=False)
    (folder / "aipp.cfg").write_text(AIPP)
    files, truth = [], []
    for i in range(6):
        pixels, boxes = scene(rng, 2)
        files.append(folder / ("scene_%d.jpg" % i))
        Image.fromarray(pixels).save(files[-1], quality=95, subsampling=0)  # so that Pillow gives the colours as they are in the file
        truth.append(boxes)
    return net, folder, files, truth


def reference(net, file, least):
    """[(class, score, box in pixels)]: Pillow's colours, of which four pixels share U and V, half the size, PyTorch's network."""
    image = Image.open(file)
    image.draft("YCbCr", None)
    planes = torch.tensor(np.asarray(image, np.float32)).permute(2, 0, 1)
    y, uv = torch.nn.functional.avg_pool2d(planes[:1], 2), torch.nn.functional.avg_pool2d(planes[1:], 4)
    with torch.no_grad():
        boxes, scores = (v[0].double() for v in net(prepared(colours(torch.cat([y, uv.repeat_interleave(2, 1).repeat_interleave(2, 2)])))))
    boxes = boxes * torch.tensor([2 * WIDTH, 2 * HEIGHT] * 2)
    kept = []
    for score, cell, kind in sorted(((scores[c, k].item(), c, k) for c in range(len(boxes)) for k in range(KINDS)), reverse=True):
        if score >= least and all(k != kind or overlap(boxes[cell], other) <= 0.5 for k, _, other in kept):
            kept.append((kind, score, boxes[cell]))
    return kept


def colours(planes):
    """Y, U and V as red, green and blue, in whole numbers as AIPP computes."""
    y, u, v = planes.round().long().numpy()
    u, v = u - 128, v - 128
    return np.clip(np.stack([256 * y + 359 * v, 256 * y - 88 * u - 183 * v, 256 * y + 454 * u], -1) >> 8, 0, 255)


def overlap(a, b):
    shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    return float(shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared))


def said(text):
    """By file: [(class, score, box)]."""
    found = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"(.*\.jpg): \d+ found", line):
            own = found.setdefault(pathlib.Path(match[1]).name, [])
        elif match := re.fullmatch(r"  class (\d+) \(([\d.]+)\) at (\S+) (\S+) (\S+) (\S+)", line):
            own.append((int(match[1]), float(match[2]), [float(v) for v in match.groups()[2:]]))
    return found


def same(found, wanted, score, pixels):
    """The same boxes; one whose score lies at the limit may be missing on one side."""
    for some, others in ((found, wanted), (wanted, found)):
        for kind, value, box in some:
            near = [o for o in others if o[0] == kind and max(abs(float(a) - float(b)) for a, b in zip(o[2], box)) <= pixels]
            assert abs(value - LEAST) <= score or any(abs(o[1] - value) <= score for o in near), (kind, value, box, others)


LEAST = 0.4


@pytest.mark.parametrize("mode", MODES)
def test_objects_in_jpeg_files(detector, tmp_path, mode):
    net, folder, files, truth = detector
    text = good(run(sys.executable, ROOT / "examples" / "dvpp_detection.py", compiled(folder, mode), *files, "--labels", "red,green,blue",
                    "--output", tmp_path, "--score", LEAST))
    found = said(text)
    assert found.keys() == {file.name for file in files}, text
    seen = total = 0
    for file, boxes in zip(files, truth):
        same(found[file.name], reference(net, file, LEAST), 0.01, 1.0)
        for kind, *box in boxes:
            total += 1
            box = [v * side for v, side in zip(box, [2 * WIDTH, 2 * HEIGHT] * 2)]
            seen += any(k == kind and overlap(b, box) > 0.6 for k, _, b in found[file.name])
        picture = np.asarray(Image.open(tmp_path / (file.stem + ".png")))
        assert picture.shape == (2 * HEIGHT, 2 * WIDTH, 3)
        kind, _, (left, top, right, bottom) = found[file.name][0]
        colour = [(255, 0, 0), (0, 255, 0), (0, 0, 255)][kind]
        assert (picture[round((top + bottom) / 2), round(left)] == colour).all(), "the frame is drawn"
    assert seen >= 0.8 * total, (seen, total)


@pytest.mark.parametrize("mode, tolerance", list(zip(MODES, (1e-3, 1e-2))))
def test_outputs_for_the_same_bytes(detector, mode, tolerance):
    """The model behind AIPP for planes of NV12, against PyTorch for the colours of these planes."""
    net, folder, files, _ = detector
    rng = np.random.default_rng(2)
    with OfflineModel(compiled(folder, mode)) as model:
        for _ in range(4):
            pixels, _ = scene(rng)
            ycc = np.asarray(Image.fromarray(pixels).convert("YCbCr"))
            planes = np.concatenate([ycc[..., 0].reshape(-1), ycc[::2, ::2, 1:].reshape(-1)]).reshape(1, -1, WIDTH, 1)
            shared = [ycc[..., 0], *(ycc[::2, ::2, k].repeat(2, 0).repeat(2, 1) for k in (1, 2))]
            with torch.no_grad():
                wanted = [w.numpy() for w in net(prepared(colours(torch.tensor(np.stack(shared)).float())))]
            for got, want in zip(model.run({"image": planes}), wanted, strict=True):
                assert got.shape == want.shape and np.abs(got - want).max() <= tolerance, np.abs(got - want).max()


def test_detection_in_cxx(detector, programs, tmp_path):
    """What the script finds, and frames in JPEG files that DVPP has encoded."""
    _, folder, files, _ = detector
    om = compiled(folder, MODES[0])
    script = said(good(run(sys.executable, ROOT / "examples" / "dvpp_detection.py", om, *files, "--score", LEAST)))
    found = said(good(run(programs / "detect", om, tmp_path, *files)))
    assert found.keys() == script.keys()
    for file in files:
        same(found[file.name], script[file.name], 2e-4, 0.02)
        assert len(found[file.name]) == len(script[file.name])
        drawn = Image.open(tmp_path / file.name)
        assert drawn.format == "JPEG" and drawn.size == (2 * WIDTH, 2 * HEIGHT)
        before, after = (np.asarray(i.convert("RGB")).astype(int) for i in (Image.open(file), drawn))
        _, _, (left, top, right, bottom) = found[file.name][0]
        frame = slice(max(round(top), 0), round(bottom)), slice(max(round(left), 0), max(round(left), 0) + 2)
        assert np.abs(after[frame] - before[frame]).mean() > 20, "the frame is drawn"
        assert np.abs(after - before).mean() < 6, "the rest is as it was"
