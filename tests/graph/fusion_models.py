"""Models as PyTorch exports them, whose written-out attention, normalisations and batch norms the passes put together; with inputs,
and what PyTorch computes in double precision.

usage: python fusion_models.py FOLDER      writes NAME.onnx, and NAME.npz with arrays "in/INPUT" and "out/OUTPUT"
"""

import os
import pathlib
import sys

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

MODELS = {}


def model(f):
    MODELS[f.__name__] = f
    return f


class Output(nn.Module):
    """The first output of a model of transformers."""

    def __init__(self, inner, *names, **more):
        super().__init__()
        self.inner, self.names, self.more = inner, names, more

    def forward(self, *inputs):
        return self.inner(**dict(zip(self.names, inputs)), **self.more)[0]


def tokens(batch=2, length=11):
    ids = torch.randint(60, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[-1, length - 4:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def steps(batch=2, length=11):
    """Tokens of which each sees those before, of the second text without its first ones."""
    hidden = torch.full((length, length), torch.finfo(torch.float32).min).triu(1).expand(batch, 1, length, length).clone()
    hidden[1, :, 3:, :2] = torch.finfo(torch.float32).min
    return {"input_ids": torch.randint(60, (batch, length)), "attention_mask": hidden}


def bert(attention):
    from transformers import BertConfig, BertModel
    inner = BertModel(BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                                 max_position_embeddings=32, attn_implementation=attention), add_pooling_layer=False)
    feeds = tokens()
    return Output(inner, *feeds), feeds, 14


@model
def bert_eager():
    return bert("eager")


@model
def bert_sdpa():
    return bert("sdpa")


@model
def gpt2():
    from transformers import GPT2Config, GPT2Model
    inner = GPT2Model(GPT2Config(vocab_size=60, n_positions=32, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager"))
    feeds = steps()
    return Output(inner, *feeds, use_cache=False), feeds, 14


@model
def llama():
    from transformers import LlamaConfig, LlamaModel
    inner = LlamaModel(LlamaConfig(vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                   num_key_value_heads=2, max_position_embeddings=32, attn_implementation="eager"))
    feeds = steps()
    return Output(inner, *feeds, use_cache=False), feeds, 17


@model
def vit():
    from transformers import ViTConfig, ViTModel
    inner = ViTModel(ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=16,
                               patch_size=4, attn_implementation="eager"), add_pooling_layer=False)
    return Output(inner, "pixel_values"), {"pixel_values": torch.randn(2, 3, 16, 16)}, 17


class MultiHead(nn.Module):
    """torch.nn.MultiheadAttention with both masks, of which one hides a whole batch's last keys."""

    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x, hidden):
        causal = torch.full((9, 9), float("-inf"), dtype=x.dtype).triu(1)
        return self.inner(x, x, x, key_padding_mask=hidden, attn_mask=causal, need_weights=False)[0]


@model
def multi_head():
    hidden = torch.zeros(2, 9, dtype=torch.bool)
    hidden[1, 6:] = True
    return MultiHead(), {"x": torch.randn(2, 9, 32), "hidden": hidden}, 17


class Causal(nn.Module):
    def __init__(self, masked):
        super().__init__()
        self.masked = masked
        self.qkv = nn.Linear(32, 96)

    def forward(self, x, *shown):
        q, k, v = (y.view(2, 9, 4, 8).transpose(1, 2) for y in self.qkv(x).split(32, 2))
        mask = shown[0] if self.masked else None
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=not self.masked)
        return y.transpose(1, 2).reshape(2, 9, 32)


@model
def causal():
    return Causal(False), {"x": torch.randn(2, 9, 32)}, 17


@model
def rows_without_keys():
    """A mask of truth values, in which one query sees nothing."""
    shown = torch.rand(2, 1, 9, 9) > 0.3
    shown[0, :, 4] = False
    return Causal(True), {"x": torch.randn(2, 9, 32), "shown": shown}, 17


class Normalised(nn.Module):
    """Batch norms behind convolutions and products, kept as they are when exported for training."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 3, groups=2)
        self.up, self.dense = nn.ConvTranspose2d(8, 6, 2, 2), nn.Linear(6, 10)
        self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(8), nn.BatchNorm2d(6), nn.BatchNorm1d(10)])
        for norm in self.norms:
            for values in (norm.weight, norm.bias, norm.running_mean):
                nn.init.normal_(values)
            nn.init.uniform_(norm.running_var, 0.2, 2)

    def forward(self, x):
        x = torch.relu(self.norms[0](self.one(x)))
        x = torch.relu(self.norms[1](self.two(x)))
        return self.norms[3](self.dense(self.norms[2](self.up(x)).mean((2, 3))))


@model
def batch_norms():
    return Normalised(), {"image": torch.randn(2, 3, 10, 12)}, 17


class Pyramid(torch.nn.Module):
    """Convolutions with what lies between them in detectors: joins, resizing, sums over images, gates, transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.first, self.down = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 12, 3, stride=2, padding=1)
        self.gate = torch.nn.Conv2d(12, 12, 1)
        self.wide, self.up = torch.nn.Conv2d(20, 6, 1), torch.nn.ConvTranspose2d(6, 5, 2, stride=2)

    def forward(self, image):
        fine = torch.relu(self.first(image))
        coarse = torch.nn.functional.gelu(self.down(fine))
        coarse = coarse * torch.sigmoid(self.gate(coarse.mean((2, 3), keepdim=True))) + coarse.amax((2, 3), keepdim=True)
        up = torch.nn.functional.interpolate(coarse, scale_factor=2, mode="nearest")
        smooth = torch.nn.functional.interpolate(coarse, scale_factor=2, mode="bilinear")
        joined = torch.cat((fine, torch.nn.functional.max_pool2d(up, 3, 1, 1) + smooth), 1)
        return self.up(self.wide(joined))


@model
def pyramid():
    return Pyramid(), {"image": torch.randn(2, 3, 14, 18)}, 17


def main(folder):
    for name, f in MODELS.items():
        torch.manual_seed(0)
        made, feeds, opset = f()
        made = made.eval()
        training = torch.onnx.TrainingMode.PRESERVE if name == "batch_norms" else torch.onnx.TrainingMode.EVAL
        with torch.no_grad():
            torch.onnx.export(made, tuple(feeds.values()), str(folder / f"{name}.onnx"), dynamo=False, opset_version=opset,
                              input_names=list(feeds), output_names=["y"], training=training,
                              do_constant_folding=name != "batch_norms")
            wanted = made.double()(*(v.double() if v.is_floating_point() else v for v in feeds.values()))
        arrays = {f"in/{k}": v.numpy() for k, v in feeds.items()}
        np.savez(folder / f"{name}.npz", **arrays, **{"out/y": wanted.numpy()})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
