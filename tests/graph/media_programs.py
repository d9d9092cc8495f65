"""Pictures through acl.media, compared with Pillow, numpy and PyTorch's CPU.

usage: python media_programs.py NAME
"""

import io
import sys
import zlib

import acl
import numpy as np
import torch
from PIL import Image
from pyacl_checks import PROGRAMS, good, program, refused, value

TO_DEVICE, TO_HOST = 1, 2
GREY, NV12, NV21, NV16, NV24, NV42, RGB, BGR, RGBA, UNKNOWN = 0, 1, 2, 3, 5, 6, 12, 13, 16, 10000
UNIT = {RGB: 3, BGR: 3, RGBA: 4}


def up(n, to):
    return -(-n // to) * to


def on_device(data):
    data = bytes(data)
    pointer = value(acl.media.dvpp_malloc(len(data)))
    good(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), TO_DEVICE))
    return pointer


def on_host(pointer, n):
    out = np.empty(n, np.uint8)
    good(acl.rt.memcpy(acl.util.numpy_to_ptr(out), n, pointer, n, TO_HOST))
    return out


def size_of(form, stride, lines):
    return stride * lines * {NV12: 3, NV21: 3, NV16: 4, NV24: 6, NV42: 6}.get(form, 2) // 2


class Picture:
    """A description with memory behind it; `planes` are Y, U, V or the channels."""

    def __init__(self, form, width, height, planes=None, alignment=(16, 2)):
        self.form, self.width, self.height = form, width, height
        self.stride, self.lines = up(width, alignment[0]) * UNIT.get(form, 1), up(height, alignment[1])
        self.size = size_of(form, self.stride, self.lines)
        self.pointer = on_device(self.lay(planes) if planes is not None else bytes([7]) * self.size)
        self.desc = acl.media.dvpp_create_pic_desc()
        for name, v in dict(data=self.pointer, size=self.size, format=form, width=width, height=height, width_stride=self.stride,
                            height_stride=self.lines).items():
            good(getattr(acl.media, "dvpp_set_pic_desc_" + name)(self.desc, v))

    def views(self, raw):
        """The planes in memory: first, and the pairs."""
        first = raw[:self.stride * self.lines].reshape(self.lines, self.stride)
        if self.form in UNIT:
            return [first.reshape(self.lines, -1, UNIT[self.form])[:self.height, :self.width, c] for c in range(UNIT[self.form])]
        y = first[:self.height, :self.width]
        if self.form == GREY:
            return [y]
        columns, rows = {NV12: (2, 2), NV21: (2, 2), NV16: (2, 1)}.get(self.form, (1, 1))
        pairs = raw[self.stride * self.lines:].reshape(self.lines // rows, self.stride // columns, 2)
        pairs = pairs[:up(self.height, rows) // rows, :up(self.width, columns) // columns]
        u = 1 if self.form in (NV21, NV42) else 0
        return [y, pairs[..., u], pairs[..., 1 - u]]

    def lay(self, planes):
        raw = np.full(self.size, 99, np.uint8)
        for to, plane in zip(self.views(raw), planes):
            to[...] = plane
        return raw.tobytes()

    def planes(self):
        return [p.copy() for p in self.views(on_host(self.pointer, self.size))]

    def rgb(self):
        planes = self.planes()
        return np.stack(planes[::-1] if self.form == BGR else planes[:3], -1)


def smooth(height, width, seed=0):
    """A picture with colours and no noise, as photographs are."""
    rng = np.random.default_rng(seed)
    small = torch.tensor(rng.integers(0, 256, (1, 3, 5, 6)), dtype=torch.float32)
    big = torch.nn.functional.interpolate(small, (height, width), mode="bilinear", align_corners=False)
    return big[0].round().byte().permute(1, 2, 0).numpy().copy()


def resized(plane, height, width):
    x = torch.tensor(plane, dtype=torch.float64)[None, None]
    return torch.nn.functional.interpolate(x, (height, width), mode="bilinear", align_corners=False)[0, 0].numpy()


def near(got, want, most, what=""):
    worst = np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64)).max()
    assert worst <= most, (what, worst)


def jpeg(pixels, **how):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", **how)
    return out.getvalue()


def decode(file, form, width, height):
    to = Picture(form, width, height, alignment=(128, 16))
    data = on_device(file)
    good(acl.media.dvpp_jpeg_decode_async(CHANNEL, data, len(file), to.desc, STREAM))
    ret = acl.rt.synchronize_stream(STREAM)
    good(acl.media.dvpp_free(data))
    return to, ret


def ycc(file):
    """Y, U and V of every pixel as Pillow's libjpeg gives them."""
    image = Image.open(io.BytesIO(file))
    image.draft("YCbCr", None)
    return np.moveaxis(np.asarray(image if image.mode == "YCbCr" else image.convert("YCbCr")), -1, 0)


@program
def jpeg_files_are_decoded():
    for subsampling, own in ((0, NV24), (1, NV16), (2, NV12)):
        for width, height, more in ((96, 64, {}), (97, 75, {}), (130, 33, {"progressive": True})):
            file = jpeg(smooth(height, width), quality=95, subsampling=subsampling, **more)
            data = acl.util.bytes_to_ptr(file)
            assert value(acl.media.dvpp_jpeg_get_image_info(data, len(file))) == (width, height, 3)
            want = size_of(own, up(width, 128), up(height, 16))
            assert value(acl.media.dvpp_jpeg_predict_dec_size(data, len(file), UNKNOWN)) == want
            to, ret = decode(file, own, width, height)
            good(ret)
            planes, all_pixels = to.planes(), ycc(file)
            near(planes[0], all_pixels[0], 0, "Y")
            if own == NV24:
                near(planes[1], all_pixels[1], 0, "U")
                near(planes[2], all_pixels[2], 0, "V")
            elif own == NV12 and width % 2 == 0 and height % 2 == 0:
                for c in (1, 2):  # pixels of a smooth picture lie near the pair they share
                    means = all_pixels[c].reshape(height // 2, 2, width // 2, 2).mean((1, 3))
                    near(planes[c], means, 6, "chroma")
            for form in (RGB, BGR):
                seen, ret = decode(file, form, width, height)
                good(ret)
                near(seen.rgb(), np.asarray(Image.open(io.BytesIO(file)).convert("RGB")), 4 if subsampling else 1, (subsampling, width))
    grey = jpeg(smooth(40, 48)[..., 0], quality=90)
    to, ret = decode(grey, GREY, 48, 40)
    good(ret)
    near(to.planes()[0], np.asarray(Image.open(io.BytesIO(grey))), 0, "grey")


@program
def a_decoder_tells_sizes_and_strides():
    file = jpeg(smooth(50, 100))
    size = value(acl.media.dvpp_jpeg_predict_dec_size(acl.util.bytes_to_ptr(file), len(file), NV12))
    desc, to, data = acl.media.dvpp_create_pic_desc(), value(acl.media.dvpp_malloc(size)), on_device(file)
    good(acl.media.dvpp_set_pic_desc_data(desc, to))
    good(acl.media.dvpp_set_pic_desc_size(desc, size))
    good(acl.media.dvpp_set_pic_desc_format(desc, NV12))
    good(acl.media.dvpp_jpeg_decode_async(CHANNEL, data, len(file), desc, STREAM))
    good(acl.rt.synchronize_stream(STREAM))
    got = [getattr(acl.media, "dvpp_get_pic_desc_" + n)(desc) for n in ("width", "height", "width_stride", "height_stride", "data")]
    assert got == [100, 50, 128, 64, to], got


@program
def png_files_are_decoded():
    pixels = smooth(40, 60)
    alpha = np.dstack([pixels, np.arange(2400, dtype=np.uint8).reshape(40, 60)])
    cases = [(Image.fromarray(pixels), RGB), (Image.fromarray(alpha), RGBA), (Image.fromarray(pixels).quantize(16), RGB),
             (Image.fromarray(pixels[..., 0]), RGB), (Image.fromarray(pixels), RGBA)]
    for image, form in cases:
        out = io.BytesIO()
        image.save(out, "PNG")
        file = out.getvalue()
        width, height, _ = value(acl.media.dvpp_png_get_image_info(acl.util.bytes_to_ptr(file), len(file)))
        assert (width, height) == (60, 40)
        to, data = Picture(form, 60, 40, alignment=(128, 16)), on_device(file)
        assert value(acl.media.dvpp_png_predict_dec_size(acl.util.bytes_to_ptr(file), len(file), form)) <= to.size
        good(acl.media.dvpp_png_decode_async(CHANNEL, data, len(file), to.desc, STREAM))
        good(acl.rt.synchronize_stream(STREAM))
        near(np.stack(to.planes(), -1), np.asarray(image.convert("RGBA" if form == RGBA else "RGB")), 0, image.mode)


@program
def pictures_are_encoded():
    pixels = smooth(48, 64)
    planes = np.moveaxis(np.asarray(Image.fromarray(pixels).convert("YCbCr")), -1, 0)
    half = [planes[0]] + [p.reshape(24, 2, 32, 2).mean((1, 3)).round() for p in planes[1:]]
    wide = [planes[0]] + [p.reshape(48, 32, 2).mean(2).round() for p in planes[1:]]
    sizes = {}
    for form, given in ((NV12, half), (NV21, half), (NV16, wide), (NV24, planes)):
        for level in (100, 20):
            picture, config = Picture(form, 64, 48, given), acl.media.dvpp_create_jpege_config()
            good(acl.media.dvpp_set_jpege_config_level(config, level))
            room = value(acl.media.dvpp_jpeg_predict_enc_size(picture.desc, config))
            to, size = value(acl.media.dvpp_malloc(room)), np.array([room], np.uint32)
            good(acl.media.dvpp_jpeg_encode_async(CHANNEL, picture.desc, to, acl.util.numpy_to_ptr(size), config, STREAM))
            good(acl.rt.synchronize_stream(STREAM))
            file = on_host(to, int(size[0])).tobytes()
            sizes[form, level] = len(file)
            other = jpeg(pixels, quality=level, subsampling={NV24: 0, NV16: 1}.get(form, 2))
            got, want = (np.asarray(Image.open(io.BytesIO(f)).convert("RGB")).astype(float) for f in (file, other))
            near(got, want, 8 if level == 100 else 32, (form, level))
            assert np.abs(got - want).mean() < (1.5 if level == 100 else 3), (form, level, np.abs(got - want).mean())
    assert all(sizes[f, 20] < sizes[f, 100] for f in (NV12, NV21, NV16, NV24)), sizes


@program
def sizes_areas_and_places():
    y, u, v = (np.random.default_rng(i).integers(0, 256, s).astype(np.uint8) for i, s in enumerate([(48, 64), (24, 32), (24, 32)]))
    source = Picture(NV12, 64, 48, [y, u, v])
    config = acl.media.dvpp_create_resize_config()
    for width, height in ((32, 24), (100, 70), (64, 48), (34, 130)):
        for form in (NV12, NV21):
            to = Picture(form, width, height)
            good(acl.media.dvpp_vpc_resize_async(CHANNEL, source.desc, to.desc, config, STREAM))
            good(acl.rt.synchronize_stream(STREAM))
            for got, plane, by in zip(to.planes(), (y, u, v), (1, 2, 2)):
                near(got, resized(plane, height // by, width // by), 0.5001, (form, width))
    good(acl.media.dvpp_set_resize_config_interpolation(config, 2))
    to = Picture(NV12, 32, 24)
    good(acl.media.dvpp_vpc_resize_async(CHANNEL, source.desc, to.desc, config, STREAM))
    good(acl.rt.synchronize_stream(STREAM))
    near(to.planes()[0], y[::2, ::2], 0, "nearest")
    # part of a picture, at its own size and at another, and at a place of a picture that keeps the rest
    crop, place = acl.media.dvpp_create_roi_config(8, 39, 4, 27), acl.media.dvpp_create_roi_config(16, 47, 10, 33)
    to = Picture(NV12, 32, 24)
    good(acl.media.dvpp_vpc_crop_async(CHANNEL, source.desc, to.desc, crop, STREAM))
    large = Picture(NV12, 80, 60, [np.full((60, 80), 1), np.full((30, 40), 2), np.full((30, 40), 3)])
    good(acl.media.dvpp_vpc_crop_and_paste_async(CHANNEL, source.desc, large.desc, crop, place, STREAM))
    good(acl.rt.synchronize_stream(STREAM))
    near(to.planes()[0], y[4:28, 8:40], 0, "crop")
    near(to.planes()[2], v[2:14, 4:20], 0, "crop of V")
    want = [np.full((60, 80), 1), np.full((30, 40), 2), np.full((30, 40), 3)]
    want[0][10:34, 16:48] = y[4:28, 8:40]
    want[1][5:17, 8:24] = u[2:14, 4:20]
    want[2][5:17, 8:24] = v[2:14, 4:20]
    for got, plane in zip(large.planes(), want):
        near(got, plane, 0, "paste")


@program
def batches_of_areas():
    y = np.random.default_rng(3).integers(0, 256, (48, 64)).astype(np.uint8)
    source = Picture(GREY, 64, 48, [y])
    sources, targets = acl.media.dvpp_create_batch_pic_desc(1), acl.media.dvpp_create_batch_pic_desc(2)

    def describe(batch, index, picture):
        one = acl.media.dvpp_get_pic_desc(batch, index)
        for name in ("data", "size", "format", "width", "height", "width_stride", "height_stride"):
            good(getattr(acl.media, "dvpp_set_pic_desc_" + name)(one, getattr(acl.media, "dvpp_get_pic_desc_" + name)(picture.desc)))

    out = [Picture(GREY, 32, 24), Picture(GREY, 16, 10)]
    describe(sources, 0, source)
    for i, picture in enumerate(out):
        describe(targets, i, picture)
    crops = [acl.media.dvpp_create_roi_config(0, 31, 0, 23), acl.media.dvpp_create_roi_config(2, 17, 4, 13)]
    good(acl.media.dvpp_vpc_batch_crop_async(CHANNEL, sources, [2], 1, targets, crops, STREAM))
    good(acl.rt.synchronize_stream(STREAM))
    near(out[0].planes()[0], y[:24, :32], 0)
    near(out[1].planes()[0], y[4:14, 2:18], 0)
    refused(acl.media.dvpp_vpc_batch_crop_async(CHANNEL, sources, [1], 1, targets, crops, STREAM), 100000, "roiNums", "1", "2")


@program
def colours_are_converted():
    """The matrices of ITU-R BT.601 and BT.709, in float64."""
    rgb = np.random.default_rng(5).integers(0, 256, (32, 48, 3)).astype(np.uint8)
    source, x = Picture(RGB, 48, 32, np.moveaxis(rgb, -1, 0)), rgb.astype(np.float64)
    for matrix, (red, blue, narrow) in enumerate([(0.299, 0.114, 0), (0.299, 0.114, 1), (0.2126, 0.0722, 0)]):
        good(acl.media.dvpp_set_channel_desc_matrix(CHANNEL, matrix))
        y = red * x[..., 0] + (1 - red - blue) * x[..., 1] + blue * x[..., 2]
        u, v = (x[..., 2] - y) / (2 - 2 * blue), (x[..., 0] - y) / (2 - 2 * red)
        want = [y * 219 / 255 + 16, u * 224 / 255 + 128, v * 224 / 255 + 128] if narrow else [y, u + 128, v + 128]
        to, back = Picture(NV24, 48, 32), Picture(RGB, 48, 32)
        good(acl.media.dvpp_vpc_convert_color_async(CHANNEL, source.desc, to.desc, STREAM))
        good(acl.media.dvpp_vpc_convert_color_async(CHANNEL, to.desc, back.desc, STREAM))
        good(acl.rt.synchronize_stream(STREAM))
        for got, plane in zip(to.planes(), want):
            near(got, np.clip(plane, 0, 255), 0.501, matrix)
        near(back.rgb(), rgb, 3, "there and back")
    good(acl.media.dvpp_set_channel_desc_matrix(CHANNEL, 0))


@program
def rules_are_refused_by_name():
    good_one, config = Picture(NV12, 64, 48), acl.media.dvpp_create_resize_config()

    def resize(change, *words):
        bad = Picture(NV12, 64, 48)
        for name, v in change.items():
            good(getattr(acl.media, "dvpp_set_pic_desc_" + name)(bad.desc, v))
        refused(acl.media.dvpp_vpc_resize_async(CHANNEL, good_one.desc, bad.desc, config, STREAM), 100000, "outputDesc", *words)

    resize({"width": 63}, "63", "even")
    resize({"width_stride": 72}, "72", "multiple of 16")
    resize({"width_stride": 48}, "48", "64")
    resize({"height_stride": 47}, "47", "even")
    resize({"size": 4000}, "4000", str(64 * 48 * 3 // 2))
    resize({"format": 23}, "23", "pixel format")
    resize({"data": 0}, "null")
    resize({"width": 9000}, "9000", "8192")
    resize({"data": good_one.pointer + 8}, "multiple of 16")
    crop = acl.media.dvpp_create_roi_config(1, 31, 0, 23)
    refused(acl.media.dvpp_vpc_crop_async(CHANNEL, good_one.desc, good_one.desc, crop, STREAM), 100000, "left 1", "even")
    crop = acl.media.dvpp_create_roi_config(0, 65, 0, 23)
    refused(acl.media.dvpp_vpc_crop_async(CHANNEL, good_one.desc, good_one.desc, crop, STREAM), 100000, "65", "64 columns")
    refused(acl.media.dvpp_vpc_resize_async(acl.media.dvpp_create_channel_desc(), good_one.desc, good_one.desc, config, STREAM),
            100000, "acldvppCreateChannel")
    good(acl.media.dvpp_destroy_resize_config(config))
    refused(acl.media.dvpp_vpc_resize_async(CHANNEL, good_one.desc, good_one.desc, config, STREAM), 100000, "resizeConfig", "destroyed")


@program
def broken_files_are_errors():
    """Failures of a file's data come with the stream, and the next file is decoded."""
    global STREAM
    whole = jpeg(smooth(64, 96), quality=90)
    cmyk = io.BytesIO()
    Image.fromarray(smooth(64, 96)).convert("CMYK").save(cmyk, "JPEG")
    for file in (whole[:len(whole) // 2], b"no picture at all", whole[:20], cmyk.getvalue()):
        to, ret = decode(file, NV12, 96, 64)
        assert ret == 148052, (ret, acl.get_recent_err_msg())
        assert "JPEG" in acl.get_recent_err_msg()
        assert acl.media.dvpp_get_pic_desc_ret_code(to.desc) == 148052
    small, ret = decode(jpeg(smooth(128, 256)), NV12, 96, 64)
    assert ret == 100000 and "256" in acl.get_recent_err_msg()
    good(decode(whole, NV12, 96, 64)[1])
    out = io.BytesIO()
    Image.fromarray(smooth(40, 60)).save(out, "PNG")
    png = out.getvalue()
    huge = bytearray(png)
    huge[16:20] = (1 << 30).to_bytes(4, "big")
    huge[29:33] = zlib.crc32(bytes(huge[12:29])).to_bytes(4, "big")
    for file in (png[:60], png[:-30], bytes(huge), whole):
        to, data = Picture(RGB, 60, 40, alignment=(128, 16)), on_device(file)
        good(acl.media.dvpp_png_decode_async(CHANNEL, data, len(file), to.desc, STREAM))
        refused(acl.rt.synchronize_stream(STREAM), 100000, "PNG")


if __name__ == "__main__":
    good(acl.init())
    good(acl.rt.set_device(0))
    STREAM = value(acl.rt.create_stream())
    CHANNEL = acl.media.dvpp_create_channel_desc()
    good(acl.media.dvpp_create_channel(CHANNEL))
    PROGRAMS[sys.argv[1]]()
    good(acl.media.dvpp_destroy_channel(CHANNEL))
    good(acl.rt.destroy_stream(STREAM))
    good(acl.finalize())
    print("good")
