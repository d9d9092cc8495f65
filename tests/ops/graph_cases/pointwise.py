"""Cases of test_graph_operators.py: gradients of convolutions of single elements with the channels innermost, which are products where
there are few places or more outputs than inputs."""
import torch

# channels in and out, height and width of the images, stride
SIZES = [(16, 8, (7, 5), (1, 1)), (8, 24, (20, 15), (1, 1)), (24, 8, (20, 15), (1, 1)), (12, 40, (9, 8), (2, 2)), (40, 12, (9, 8), (2, 2)),
         (8, 16, (25, 30), (1, 3)), (5, 7, (6, 6), (2, 1))]


def add_cases(case, const, r, to_last, to_filter):
    for inputs, outputs, size, stride in SIZES:
        image, kernel = r(2, inputs, *size), r(outputs, inputs, 1, 1)
        dy = r(2, outputs, *[(n - 1) // s + 1 for n, s in zip(size, stride)])
        how = {"strides": [1, *stride, 1], "pads": [0, 0, 0, 0], "data_format": "NHWC", "tolerance": 1e-3}
        case("Conv2DBackpropFilter", to_last(image), const([1, 1, inputs, outputs]), to_last(dy), **how,
             want=lambda v, s, g, image=image, dy=dy, shape=kernel.shape, stride=stride:
                 to_filter(torch.nn.grad.conv2d_weight(image.double(), shape, dy.double(), stride)))
        case("Conv2DBackpropInput", const([2, *size, inputs]), to_filter(kernel), to_last(dy), **how,
             want=lambda s, w, g, shape=image.shape, kernel=kernel, dy=dy, stride=stride:
                 to_last(torch.nn.grad.conv2d_input(shape, kernel.double(), dy.double(), stride)))
