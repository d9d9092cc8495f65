"""Functions of PyTorch that the NPU does not have, made of those that it has. Written by `updraft migrate --similar` (-sim).

Each takes the parameters of the function whose name it bears and gives its result and its gradients.
"""

from ascend_function.embedding import embedding_bag
from ascend_function.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from ascend_function.losses import (CosineEmbeddingLoss, MultiLabelMarginLoss, multilabel_soft_margin_loss, pdist,
                                    triplet_margin_loss, triplet_margin_with_distance_loss)
from ascend_function.modules import ReflectionPad3d, ReplicationPad3d, RReLU
from ascend_function.pooling import (AdaptiveMaxPool1d, AdaptiveMaxPool2d, AvgPool3d, MaxPool1d, adaptive_max_pool1d,
                                     adaptive_max_pool2d, avg_pool3d)
from ascend_function.sampling import gumbel_softmax, poisson
from ascend_function.statistics import heaviside, nanquantile, std_mean, unique_consecutive, var_mean

__all__ = ["AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool3d", "CosineEmbeddingLoss", "MaxPool1d", "MultiLabelMarginLoss",
           "RReLU", "ReflectionPad3d", "ReplicationPad3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool3d",
           "embedding_bag", "fftfreq", "fftshift", "gumbel_softmax", "heaviside", "ifftshift", "multilabel_soft_margin_loss",
           "nanquantile", "pdist", "poisson", "rfftfreq", "std_mean", "triplet_margin_loss", "triplet_margin_with_distance_loss",
           "unique_consecutive", "var_mean"]
