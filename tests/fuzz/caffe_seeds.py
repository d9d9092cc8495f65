"""Writes the seeds of the fuzz target caffe: small nets of most kinds of layers, into corpus/caffe beside this file."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tests.graph.caffe_models import caffemodel  # noqa: E402

SEEDS = {
    "images": ("""name: "n" input: "x" input_shape { dim: 1 dim: 4 dim: 6 dim: 6 }
layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 4 kernel_size: 3 pad: 1 group: 2 } }
layer { name: "b" type: "BatchNorm" bottom: "c" top: "c" batch_norm_param { eps: 1e-3 } }
layer { name: "s" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
layer { name: "r" type: "ReLU" bottom: "c" top: "c" relu_param { negative_slope: 0.1 } }
layer { name: "p" type: "Pooling" bottom: "c" top: "p" pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 2 } }
layer { name: "d" type: "Deconvolution" bottom: "p" top: "d" convolution_param { num_output: 2 kernel_h: 2 kernel_w: 3 stride: 2 bias_term: false } }
layer { name: "k" type: "Crop" bottom: "d" bottom: "x" top: "k" crop_param { axis: 2 offset: 1 offset: 0 } }
layer { name: "n" type: "LRN" bottom: "x" top: "n" lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 } }
layer { name: "g" type: "Pooling" bottom: "n" top: "g" pooling_param { global_pooling: true } }
layer { name: "e" type: "Eltwise" bottom: "x" bottom: "c" top: "e" eltwise_param { operation: SUM coeff: 1 coeff: -1 } }
""", {"c": [np.ones((4, 2, 3, 3)), np.ones(4)], "b": [np.ones(4), np.ones(4), np.ones(1)], "s": [np.ones(4), np.ones(4)],
      "d": [np.ones((4, 2, 2, 3))]}, "packed"),
    "older": ("""input: "x" input_dim: 2 input_dim: 3 input_dim: 2 input_dim: 2
layers { name: "i" type: INNER_PRODUCT bottom: "x" top: "i" blobs_lr: 1 inner_product_param { num_output: 2 } include: { phase: TEST } }
layers { name: "p" type: SOFTMAX bottom: "i" top: "p" } # comment
""", {"i": [np.ones((2, 12)), np.ones(2)]}, "older"),
    "shapes": ("""state { stage: "s" } layer { name: "x" type: "Input" top: "x" top: "y" input_param { shape { dim: [2, 6, 4] } } }
layer { name: "c" type: "Concat" bottom: "x" bottom: "y" top: "c" concat_param { axis: -1 } include { stage: "s" } }
layer { name: "s" type: "Slice" bottom: "c" top: "s" top: "t" slice_param { axis: 1 slice_point: 2 } }
layer { name: "r" type: "Reshape" bottom: "s" top: "r" reshape_param { shape { dim: 0 dim: -1 } axis: 0 num_axes: 2 } }
layer { name: "f" type: "Flatten" bottom: "t" top: "f" flatten_param < end_axis: 1; > }
layer { name: "a" type: "ArgMax" bottom: "f" top: "a" argmax_param { top_k: 2 out_max_val: true } }
layer { name: "z" type: "Reduction" bottom: "r" top: "z" reduction_param { operation: ASUM axis: 1 coeff: 2 } }
layer { name: "l" type: "Tile" bottom: "x" top: "l" tile_param { tiles: 2 } }
layer { name: "o" type: "Permute" bottom: "x" top: "o" permute_param { order: 2 order: 0 } }
""", {"none": []}, "packed"),
    "values": ("""input: "x" input_shape { dim: 1 dim: 2 dim: 3 dim: 3 }
layer { name: "w" type: "Power" bottom: "x" top: "w" power_param { power: 2 scale: 3 shift: -.5e1f } }
layer { name: "q" type: "PReLU" bottom: "x" top: "q" } layer { name: "m" type: "MVN" bottom: "x" top: "m" }
layer { name: "v" type: "Embed" bottom: "x" top: "v" embed_param { num_output: 2 input_dim: 3 } }
layer { name: "u" type: "Interp" bottom: "x" top: "u" interp_param { zoom_factor: 2 pad_end: -1 } }
layer { name: "b" type: "PriorBox" bottom: "x" bottom: "x" top: "b" prior_box_param { min_size: 2 max_size: 3 aspect_ratio: 2 } }
layer { name: "n" type: "Normalize" bottom: "x" top: "n" norm_param { across_spatial: false } }
""", {"q": [np.ones(2)], "v": [np.ones((3, 2)), np.ones(2)], "n": [np.ones(1)]}, "doubles"),
}

folder = pathlib.Path(__file__).parent / "corpus" / "caffe"
folder.mkdir(parents=True, exist_ok=True)
for name, (prototxt, weights, form) in SEEDS.items():
    (folder / name).write_bytes(prototxt.encode() + b"\0" + caffemodel(weights, form))
