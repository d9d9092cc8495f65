"""Cases of test_graph_operators.py: colours of images, and boxes cut out of them. Channels come last."""
import colorsys
import math

import torch


def by_pixel(f):
    def want(images, *_):
        return torch.tensor([f(*p) for p in images.reshape(-1, 3).tolist()], dtype=images.dtype).reshape(images.shape)
    return want


def hue_moved(turns):
    def f(*rgb):
        h, s, v = colorsys.rgb_to_hsv(*rgb)
        return colorsys.hsv_to_rgb((h + turns) % 1, s, v)
    return by_pixel(f)


def saturated(factor):
    def f(*rgb):
        h, s, v = colorsys.rgb_to_hsv(*rgb)
        return colorsys.hsv_to_rgb(h, min(max(s * factor, 0), 1), v)
    return by_pixel(f)


def contrast(images, factor):
    mean = images.mean((-3, -2), keepdim=True)
    return (images - mean) * factor + mean


def places(begin, end, size, count):
    if count == 1:
        return torch.stack([(begin + end) / 2 * (size - 1)])
    return begin * (size - 1) + torch.arange(count) * ((end - begin) * (size - 1) / (count - 1))


def crops(images, boxes, which, height, width, outside, nearest):
    """By sums of pixels with weights, so that PyTorch has the gradients."""
    made = []
    for box, image in zip(boxes, which.tolist()):
        ys, xs = places(box[0], box[2], images.shape[1], height), places(box[1], box[3], images.shape[2], width)
        rows = []
        for y in ys:
            for x in xs:
                if not (0 <= y <= images.shape[1] - 1 and 0 <= x <= images.shape[2] - 1):
                    rows.append(torch.full((images.shape[3],), outside, dtype=images.dtype))
                elif nearest:
                    rows.append(images[image, math.floor(y.item() + 0.5), math.floor(x.item() + 0.5)])
                else:
                    t, b, left, r = math.floor(y.item()), math.ceil(y.item()), math.floor(x.item()), math.ceil(x.item())
                    up = images[image, t, left] + (images[image, t, r] - images[image, t, left]) * (x - left)
                    down = images[image, b, left] + (images[image, b, r] - images[image, b, left]) * (x - left)
                    rows.append(up + (down - up) * (y - t))
        made.append(torch.stack(rows).reshape(height, width, -1))
    return torch.stack(made)


def add_cases(case, const):
    generator = torch.Generator().manual_seed(7)
    images = torch.rand(2, 3, 4, 3, generator=generator)
    number = lambda v: torch.tensor(v)  # noqa: E731
    case("RGBToHSV", images, want=by_pixel(colorsys.rgb_to_hsv))
    case("HSVToRGB", images, want=by_pixel(colorsys.hsv_to_rgb))
    for amount in (0.3, -0.6):
        case("AdjustHue", images, number(amount), want=hue_moved(amount))
    for amount in (0.5, 3.0):
        case("AdjustSaturation", images, number(amount), want=saturated(amount))
        case("AdjustContrast", images, number(amount), want=contrast)
    images = torch.rand(2, 6, 7, 3, generator=generator)
    boxes = torch.tensor([[0.11, 0.23, 0.71, 0.93], [0.91, 0.13, 0.22, 0.81], [-0.21, 0.12, 1.31, 0.53], [0.45, 0.44, 0.45, 0.44]])
    which = torch.tensor([0, 1, 1, 0], dtype=torch.int32)
    for height, width in ((3, 4), (1, 1)):
        grads = torch.rand(4, height, width, 3, generator=generator)
        for method in ("bilinear", "nearest"):
            how = (height, width, 0.5, method == "nearest")
            case("CropAndResize", images, boxes, which, const([height, width]), extrapolation_value=0.5, method=method,
                 want=lambda x, b, i, _, how=how: crops(x, b, i, *how))

            def of_images(g, b, i, _, how=how):
                x = torch.zeros(2, 6, 7, 3, requires_grad=True)
                return torch.autograd.grad(crops(x, b, i, *how), x, g)[0]

            case("CropAndResizeGradImage", grads, boxes, which, const([2, 6, 7, 3]), method=method, T=torch.float32, want=of_images)

        def of_boxes(g, x, b, i, how=(height, width, 0.5, False)):
            b = b.clone().requires_grad_()
            return torch.autograd.grad(crops(x, b, i, *how), b, g)[0]

        case("CropAndResizeGradBoxes", grads, images, boxes, which, want=of_boxes)
