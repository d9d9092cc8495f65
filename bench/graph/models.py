"""The models of the benchmark: exported from PyTorch with random weights, quantised by onnxruntime's own tool, or those of
the rapidocr wheel. A name is KIND-bBATCH; -int8 and -bf16 behind the kind say in which numbers it runs."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "bench" / "graph"
CLIENT = ROOT / ".venv-onnxruntime" / "bin" / "python"
MODELS = ["resnet50-b1", "resnet50-b8", "bert-b1", "bert-b8", "mobilenet-v3-b1", "vit-s-b1", "ocr-det", "ocr-rec",
          "resnet50-bf16-b1", "bert-bf16-b1", "resnet50-int8-b1", "bert-int8-b1"]
OCR_SIZES = {"ocr-det": (1, 3, 480, 640), "ocr-rec": (4, 3, 48, 320)}


def kind_of(name):
    """("resnet50", "int8", 1); the second is "" for float."""
    kind, batch = name.rsplit("-b", 1)
    for numbers in ("int8", "bf16"):
        if kind.endswith("-" + numbers):
            return kind[:-len(numbers) - 1], numbers, int(batch)
    return kind, "", int(batch)


def path_of(name):
    """Where the model lies. bf16 is an option of our provider, so its model is the one of float."""
    if name in OCR_SIZES:
        import rapidocr

        path, = (pathlib.Path(rapidocr.__file__).parent / "models").glob("*_det_*.onnx" if name == "ocr-det" else "*_rec_*.onnx")
        return path
    return FOLDER / (name.replace("-bf16", "") + ".onnx")


def feeds_of(name, session):
    """Inputs for a session of onnxruntime."""
    import numpy as np

    random = np.random.default_rng(0)
    feeds = {}
    for i in session.get_inputs():
        if "int64" in i.type:  # tokens; a mask of ones
            feeds[i.name] = random.integers(30000, size=i.shape) if not feeds else np.ones(i.shape, np.int64)
        else:
            shape = OCR_SIZES.get(name) or i.shape
            # a picture of bars: noise would make numbers that are too small for the CPU's fast path
            bars = np.sin(np.arange(shape[3]) / 9) * np.cos(np.arange(shape[2]) / 5)[:, None]
            feeds[i.name] = (np.broadcast_to(bars, shape) + 0.1 * random.standard_normal(shape)).astype(np.float32)
    return feeds


def make(name):
    """Makes the model's file where it is not there yet; run by the Python that has PyTorch."""
    if name in OCR_SIZES or path_of(name).exists():
        return
    kind, numbers, batch = kind_of(name)
    if numbers == "int8":
        make(f"{kind}-b{batch}")
        subprocess.run([CLIENT, __file__, name], check=True)
        return
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    from tests.clients.training import models
    torch.manual_seed(0)
    inputs = (torch.randn(batch, 3, 224, 224),)
    if kind == "bert":
        from transformers import BertConfig, BertModel
        model = BertModel(BertConfig(attn_implementation="eager"), add_pooling_layer=False)
        inputs = (torch.randint(30000, (batch, 128)), torch.ones(batch, 128, dtype=torch.int64))
    elif kind == "resnet50":
        model = models.resnet50()
    elif kind == "mobilenet-v3":
        from bench.graph.mobilenet import mobilenet_v3_large
        model = mobilenet_v3_large()
    else:
        model = models.ViT(image=224, patch=16, width=384, heads=6, layers=12)
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(model.eval(), inputs, path_of(name), dynamo=False, opset_version=17)


def quantise(name):
    """The float model with QuantizeLinear and DequantizeLinear around what has eight bits, as onnxruntime's tool puts
    them: activations uint8, weights int8 for each channel, one batch of calibration. Run by the Python of onnxruntime."""
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static, shape_inference

    kind, _, batch = kind_of(name)
    source = FOLDER / f"{kind}-b{batch}.onnx"
    session = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"])

    class Once(CalibrationDataReader):
        left = [feeds_of(name, session)]

        def get_next(self):
            return self.left.pop() if self.left else None

    prepared = FOLDER / f"{name}-prepared.onnx"
    shape_inference.quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(path_of(name)), Once(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    prepared.unlink()


if __name__ == "__main__":
    quantise(sys.argv[1])
