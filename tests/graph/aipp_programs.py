"""AIPP and gears through pyACL, against numpy and PyTorch's CPU in float64.

usage: python aipp_programs.py FOLDER NAME      FOLDER holds the models of test_aipp.py, which give what AIPP gives
"""

import pathlib
import sys
import threading

import acl
import numpy as np
import pyacl_programs
import torch
from pyacl_checks import PROGRAMS, good, program, refused, value
from pyacl_programs import Memory, Model

YUV, XRGB, RGB, GREY = 1, 2, 3, 4
BYTES = {YUV: 1.5, XRGB: 4, RGB: 3, GREY: 1}
JPEG = (256, 0, 359, 256, -88, -183, 256, 454, 0)  # BT.601, as JPEG has it
WITHOUT, STATIC, DYNAMIC, PARAMETERS, NOWHERE = 0, 1, 2, 3, 0xFFFFFFFF
CHOICE, AIPP = "ascend_mbatch_shape_data", "ascend_dynamic_aipp_data"
random = np.random.default_rng(5)


def pixels(source, height, width, count=1):
    return random.integers(0, 256, (count, int(height * width * BYTES[source]))).astype(np.uint8)


def reference(data, source, height, width, csc=None, swap=False, last=False, crop=None, resize=None, mean=(0,) * 4, least=(0,) * 4,
              factor=(1,) * 4, padding=None, filled=0):
    """One image as [C, H, W]; crop is left, top, width, height, resize width, height, padding top, bottom, left, right."""
    if source == YUV:
        y = data[:height * width].reshape(height, width)
        pairs = data[height * width:].reshape(height // 2, width // 2, 2)[..., ::-1 if swap else 1]
        x = np.stack([y, *(pairs[..., k].repeat(2, 0).repeat(2, 1) for k in (0, 1))])
    else:
        x = data.reshape(height, width, -1).transpose(2, 0, 1)
        x = x[:3] if source == XRGB and last else x[1:] if source == XRGB else x
        x = x[::-1] if swap else x
    x = x.astype(np.int64)
    if csc:
        matrix, less, more = csc
        moved = np.tensordot(np.array(matrix).reshape(3, 3), x - np.array(less)[:, None, None], 1)
        x = np.clip((moved >> 8) + np.array(more)[:, None, None], 0, 255)
    if crop:
        left, top, w, h = crop
        x = x[:, top:top + h, left:left + w]
    x = x.astype(np.float64)
    if resize:
        x = torch.nn.functional.interpolate(torch.tensor(x)[None], resize[::-1], mode="bilinear", align_corners=False)[0].numpy()
    part = slice(len(x))
    by_channel = [np.array(v[part], np.float64)[:, None, None] for v in (mean, least, factor)]
    x = (x - by_channel[0] - by_channel[1]) * by_channel[2]
    if padding:
        top, bottom, left, right = padding
        x = np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=filled)
    return x


class Settings:
    """Parameters of dynamic AIPP as aclmdlAIPP has them; `images`: keywords of reference(), one dict an image."""

    def __init__(self, source, height, width, images, csc=None, swap=False, last=False):
        self.handle, self.common = acl.mdl.create_aipp(len(images)), dict(csc=csc, swap=swap, last=last)
        self.source, self.height, self.width, self.images = source, height, width, images
        good(acl.mdl.set_aipp_input_format(self.handle, source))
        good(acl.mdl.set_aipp_src_image_size(self.handle, width, height))
        if csc:
            matrix, less, more = csc
            good(acl.mdl.set_aipp_csc_params(self.handle, 1, *matrix, *more, *less))
        good(acl.mdl.set_aipp_rbuv_swap_switch(self.handle, int(swap)))
        good(acl.mdl.set_aipp_ax_swap_switch(self.handle, int(last)))
        for i, image in enumerate(images):
            if "crop" in image:
                good(acl.mdl.set_aipp_crop_params(self.handle, 1, *image["crop"], i))
            if "resize" in image:
                left_over = image["crop"][2:] if "crop" in image else (width, height)
                good(acl.mdl.set_aipp_scf_params(self.handle, 1, *left_over, *image["resize"], i))
            if "padding" in image:
                good(acl.mdl.set_aipp_padding_params(self.handle, 1, *image["padding"], i))
            if "mean" in image:
                good(acl.mdl.set_aipp_dtc_pixel_mean(self.handle, *image["mean"], i))
            if "least" in image:
                good(acl.mdl.set_aipp_dtc_pixel_min(self.handle, *image["least"], i))
            if "factor" in image:
                good(acl.mdl.set_aipp_pixel_var_reci(self.handle, *image["factor"], i))

    def wanted(self, data):
        return np.stack([reference(d, self.source, self.height, self.width, **self.common, **i) for d, i in zip(data, self.images)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        good(acl.mdl.destroy_aipp(self.handle))


class Images(Model):
    """A model of images, with memory for all its inputs and outputs."""

    def __init__(self, name):
        super().__init__(name)
        self.names = [acl.mdl.get_input_name_by_index(self.desc, i) for i in range(acl.mdl.get_num_inputs(self.desc))]
        self.memory = [Memory(np.zeros(acl.mdl.get_input_size_by_index(self.desc, i), np.uint8)) for i in range(len(self.names))]
        self.made = [Memory(np.full(acl.mdl.get_output_size_by_index(self.desc, i), 255, np.uint8))
                     for i in range(acl.mdl.get_num_outputs(self.desc))]
        self.inputs, self.outputs = (self.set_of(m) for m in (self.memory, self.made))

    @staticmethod
    def set_of(memory):
        data = acl.mdl.create_dataset()
        for m in memory:
            value(acl.mdl.add_dataset_buffer(data, acl.create_data_buffer(m.pointer, m.bytes)))
        return data

    def index(self, name):
        return value(acl.mdl.get_input_index_by_name(self.desc, name))

    def fill(self, data, name="x"):
        memory, data = self.memory[self.index(name)], np.ascontiguousarray(data)
        good(acl.rt.memcpy(memory.pointer, memory.bytes, acl.util.numpy_to_ptr(data), data.nbytes, 1))

    def parameters(self, settings, name=AIPP):
        return acl.mdl.set_input_aipp(self.id, self.inputs, self.index(name), settings.handle)

    def read(self, i=0):
        shape = value(acl.mdl.get_cur_output_dims(self.desc, i))["dims"]
        return self.made[i].read(np.uint8, (self.made[i].bytes,))[:4 * int(np.prod(shape))].view(np.float32).reshape(shape)

    def execute(self):
        good(acl.mdl.execute(self.id, self.inputs, self.outputs))
        return self.read()

    def close(self):
        for data, memory in ((self.inputs, self.memory), (self.outputs, self.made)):
            for i, m in enumerate(memory):
                good(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(data, i)))
                m.free()
            good(acl.mdl.destroy_dataset(data))
        super().close()


def near(got, want):
    assert got.shape == want.shape, (got.shape, want.shape)
    worst = float(np.abs(got - want).max())
    assert worst <= 1e-5 * max(1, np.abs(want).max()), worst


# --- dynamic AIPP -------------------------------------------------------------------------------------------------------

def settings_of_every_kind():
    """For two images of 12 rows and 16 columns in three channels."""
    numbers = dict(mean=(104, 117, 123, 0), least=(0, 0.5, 0, 0), factor=(0.5, 0.25, 1 / 128, 1))
    yield Settings(RGB, 12, 16, [{}, numbers])
    yield Settings(RGB, 20, 30, [dict(crop=(3, 5, 16, 12)), dict(crop=(14, 8, 16, 12))], swap=True)
    yield Settings(XRGB, 12, 16, [numbers, {}])
    yield Settings(XRGB, 31, 40, [dict(resize=(16, 12)), dict(crop=(7, 2, 5, 4), resize=(16, 12), **numbers)], last=True, swap=True)
    yield Settings(YUV, 12, 16, [{}, numbers])
    yield Settings(YUV, 20, 30, [dict(crop=(4, 6, 16, 12)), dict(crop=(14, 8, 16, 12), **numbers)], csc=(JPEG, (0, 128, 128), (0, 0, 0)))
    yield Settings(YUV, 36, 48, [dict(resize=(16, 12)), dict(crop=(2, 0, 13, 9), resize=(13, 7), padding=(1, 4, 2, 1), **numbers)],
                   csc=((298, 0, 409, 298, -100, -208, 298, 516, 0), (16, 128, 128), (1, 2, 3)), swap=True)
    yield Settings(RGB, 8, 10, [dict(padding=(4, 0, 0, 6)), dict(padding=(0, 4, 6, 0), **numbers)])


@program
def every_source_and_step():
    model, runs = Images("dynamic"), 0
    for settings in settings_of_every_kind():
        with settings:
            data = pixels(settings.source, settings.height, settings.width, 2)
            model.fill(data)
            good(model.parameters(settings))
            near(model.execute(), settings.wanted(data))
            runs += 1
    assert runs == 8
    model.close()


@program
def one_channel_and_channels_last():
    grey = Images("grey")
    with Settings(GREY, 30, 20, [dict(crop=(1, 3, 8, 6), resize=(16, 12), mean=(7, 0, 0, 0), factor=(0.125, 1, 1, 1))]) as settings:
        data = pixels(GREY, 30, 20)
        grey.fill(data)
        good(grey.parameters(settings))
        near(grey.execute(), settings.wanted(data))
    with Settings(RGB, 12, 16, [{}]) as settings:
        refused(grey.parameters(settings), 100000, "give 3 channels", "wants 1")
    grey.close()
    last = Images("last")
    with Settings(RGB, 14, 18, [dict(crop=(1, 0, 13, 10), padding=(1, 1, 2, 1), mean=(1, 2, 3, 0))]) as settings:
        data = pixels(RGB, 14, 18)
        last.fill(data)
        good(last.parameters(settings))
        near(last.execute().transpose(0, 3, 1, 2), settings.wanted(data))
    last.close()


@program
def names_sizes_and_types():
    model = Images("dynamic")
    assert model.names == ["x", AIPP], model.names
    assert acl.mdl.get_input_dims(model.desc, 0)[0]["dims"] == [2, 3, 12, 16]
    assert acl.mdl.get_input_data_type(model.desc, 0) == 4 and acl.mdl.get_input_data_type(model.desc, 1) == 4
    assert acl.mdl.get_input_size_by_index(model.desc, 0) == 10000  # max_src_image_size
    one, two = (value(acl.mdl.get_aipp_data_size(n)) for n in (1, 2))
    assert 0 < one < two == acl.mdl.get_input_size_by_index(model.desc, 1)
    refused(acl.mdl.get_aipp_data_size(0)[1], 100000, "batchSize is 0")
    assert value(acl.mdl.get_aipp_type(model.id, 0)) == (DYNAMIC, 1)
    assert value(acl.mdl.get_aipp_type(model.id, 1)) == (PARAMETERS, NOWHERE)
    refused(acl.mdl.get_aipp_type(model.id, 2)[-1], 100000, "has 2 inputs")
    refused(acl.mdl.get_aipp_type(4711, 0)[-1], 145003)
    refused(acl.mdl.get_first_aipp_info(model.id, 0)[-1], 100038, "dynamic AIPP")
    model.close()
    two = Images("two")
    assert two.names == ["first", "second", "third", AIPP, AIPP + "_1"], two.names
    assert [value(acl.mdl.get_aipp_type(two.id, i)) for i in range(5)] == [
        (DYNAMIC, 3), (WITHOUT, NOWHERE), (DYNAMIC, 4), (PARAMETERS, NOWHERE), (PARAMETERS, NOWHERE)]
    second = random.standard_normal((1, 3, 12, 16)).astype(np.float32)
    with Settings(RGB, 12, 16, [{}]) as plain, Settings(XRGB, 24, 32, [dict(resize=(16, 12), mean=(9, 9, 9, 9))]) as other:
        first, third = pixels(RGB, 12, 16), pixels(XRGB, 24, 32)
        for name, data in (("first", first), ("second", second), ("third", third)):
            two.fill(data, name)
        good(acl.mdl.set_aipp_by_input_index(two.id, two.inputs, 2, other.handle))
        good(acl.mdl.set_aipp_by_input_index(two.id, two.inputs, 0, plain.handle))
        refused(acl.mdl.set_aipp_by_input_index(two.id, two.inputs, 1, plain.handle), 145015, "has no AIPP")
        near(two.execute(), plain.wanted(first) + second - other.wanted(third))
    two.close()
    plain = Images("plain")
    assert value(acl.mdl.get_aipp_type(plain.id, 0)) == (WITHOUT, NOWHERE)
    refused(acl.mdl.get_first_aipp_info(plain.id, 0)[-1], 100038, "no AIPP")
    with Settings(RGB, 12, 16, [{}, {}]) as settings:
        refused(acl.mdl.set_input_aipp(plain.id, plain.inputs, 0, settings.handle), 145015, "aipp_mode: dynamic")
    plain.close()


@program
def refusals():
    model = Images("dynamic")
    handle = acl.mdl.create_aipp(2)
    for call, words in ((lambda: acl.mdl.set_aipp_input_format(handle, 8), "inputFormat is 8"),
                        (lambda: acl.mdl.set_aipp_input_format(handle, 0), "inputFormat is 0"),
                        (lambda: acl.mdl.set_aipp_src_image_size(handle, 0, 4), "srcImageSizeW is 0"),
                        (lambda: acl.mdl.set_aipp_crop_params(handle, 2, 0, 0, 1, 1, 0), "cropSwitch is 2"),
                        (lambda: acl.mdl.set_aipp_crop_params(handle, 1, 0, 0, 1, 1, 2), "batchIndex is 2"),
                        (lambda: acl.mdl.set_aipp_crop_params(handle, 1, -1, 0, 1, 1, 0), "cropStartPosW is -1"),
                        (lambda: acl.mdl.set_aipp_scf_params(handle, 1, 1, 1, 1, 1, 9), "created for 2 images"),
                        (lambda: acl.mdl.set_aipp_padding_params(handle, 1, 0, 0, 0, -3, 0), "paddingSizeRight is -3"),
                        (lambda: acl.mdl.set_aipp_padding_params(handle, -1, 0, 0, 0, 0, 0), "paddingSwitch is -1"),
                        (lambda: acl.mdl.set_aipp_dtc_pixel_mean(handle, 0, 0, 0, 0, 2), "batchIndex is 2"),
                        (lambda: acl.mdl.set_aipp_dtc_pixel_min(handle, 0, 0, 0, 0, 2), "batchIndex is 2"),
                        (lambda: acl.mdl.set_aipp_pixel_var_reci(handle, 0, 0, 0, 0, 2), "batchIndex is 2"),
                        (lambda: acl.mdl.set_aipp_csc_params(handle, 7, *JPEG, 0, 0, 0, 0, 0, 0), "cscSwitch is 7"),
                        (lambda: acl.mdl.set_aipp_rbuv_swap_switch(handle, 3), "rbuvSwapSwitch is 3"),
                        (lambda: acl.mdl.set_aipp_ax_swap_switch(handle, 3), "axSwapSwitch is 3")):
        refused(call(), 100000, words)
    refused(acl.mdl.set_input_aipp(model.id, model.inputs, 1, handle), 100000, "have no format")
    good(acl.mdl.destroy_aipp(handle))
    refused(acl.mdl.destroy_aipp(handle), 100000, "destroyed")
    refused(acl.mdl.set_aipp_rbuv_swap_switch(handle, 1), 100000, "destroyed")
    refused(acl.mdl.set_aipp_rbuv_swap_switch(0, 1), 107000, "null")
    assert acl.mdl.create_aipp(0) == 0 and "batchSize is 0" in acl.get_recent_err_msg()

    def wrong(words, *arguments, **more):
        with Settings(*arguments, **more) as settings:
            refused(model.parameters(settings), 100000, words)

    wrong("for 3 images, input x of model", RGB, 12, 16, [{}, {}, {}])
    wrong("give 3 channels, 12 rows and 15 columns; the model wants 3, 12 and 16", RGB, 12, 15, [{}, {}])
    wrong("image 1 give 3 channels, 10 rows", RGB, 12, 16, [{}, dict(crop=(0, 0, 16, 10))])
    wrong("leaves the source", RGB, 20, 20, [dict(crop=(5, 0, 16, 12)), {}])
    wrong("both must be even", YUV, 20, 20, [dict(crop=(1, 0, 16, 12)), {}])
    wrong("even sizes", YUV, 12, 15, [dict(resize=(16, 12))] * 2)
    wrong("2 images of XRGB8888_U8 with 100 rows and 100 columns take 80000 bytes, max_src_image_size of input x is 10000", XRGB, 100, 100,
          [dict(resize=(16, 12))] * 2)
    wrong("one channel", GREY, 12, 16, [{}, {}], swap=True)
    with Settings(RGB, 12, 16, [{}, {}]) as settings:
        good(acl.mdl.set_aipp_scf_params(settings.handle, 1, 15, 12, 16, 12, 0))
        refused(model.parameters(settings), 100000, "told that it gets 12 rows and 15 columns; it gets 12 and 16")
        good(acl.mdl.set_aipp_scf_params(settings.handle, 0, 0, 0, 0, 0, 0))
        refused(model.parameters(settings, "x"), 100000, "index 0 is input x, want that of " + AIPP)
        refused(acl.mdl.set_input_aipp(4711, model.inputs, 1, settings.handle), 145003)
        refused(acl.mdl.set_input_aipp(model.id, model.inputs, 2, settings.handle), 100000, "has 2 inputs")
        empty = acl.mdl.create_dataset()
        refused(acl.mdl.set_input_aipp(model.id, empty, 1, settings.handle), 100000, "add a buffer for " + AIPP)
        short = Images.set_of([model.memory[0]])
        value(acl.mdl.add_dataset_buffer(short, acl.create_data_buffer(model.memory[1].pointer, 20)))
        refused(acl.mdl.set_input_aipp(model.id, short, 1, settings.handle), 145012, "has 20 bytes")
        none = Images.set_of([model.memory[0]])
        value(acl.mdl.add_dataset_buffer(none, acl.create_data_buffer(0, 0)))
        refused(acl.mdl.set_input_aipp(model.id, none, 1, settings.handle), 145011, "no memory")
        # nothing was set yet, and then the images are shorter than max_src_image_size
        good(acl.rt.memset(model.memory[1].pointer, model.memory[1].bytes, 0, model.memory[1].bytes))
        assert acl.mdl.execute(model.id, model.inputs, model.outputs) == 507015
        assert "aclmdlSetInputAIPP" in acl.get_recent_err_msg()
        good(model.parameters(settings))
        model.execute()
        small = acl.mdl.create_dataset()
        value(acl.mdl.add_dataset_buffer(small, acl.create_data_buffer(model.memory[0].pointer, 9999)))
        value(acl.mdl.add_dataset_buffer(small, acl.create_data_buffer(model.memory[1].pointer, model.memory[1].bytes)))
        refused(acl.mdl.execute(model.id, small, model.outputs), 100000, "want 10000 bytes, got 9999")
    model.close()


@program
def parameters_are_read_when_the_stream_comes_to_them():
    """The handle may go once they are set; they stay for the next executions, and two threads have their own."""
    model, stream = Images("dynamic"), value(acl.rt.create_stream())
    data = pixels(RGB, 12, 16, 2)
    model.fill(data)
    settings = Settings(RGB, 12, 16, [dict(mean=(1, 2, 3, 0))] * 2)
    want = settings.wanted(data)
    with settings:
        good(model.parameters(settings))
    for _ in range(3):
        good(acl.mdl.execute_async(model.id, model.inputs, model.outputs, stream))
        good(acl.rt.synchronize_stream(stream))
        near(model.read(), want)
    good(acl.rt.destroy_stream(stream))
    context, failures = value(acl.rt.get_context()), []

    def work(seed):
        try:
            good(acl.rt.set_context(context))
            own = Images("dynamic")
            own.id, other = model.id, own.id  # one model, datasets of its own
            with Settings(RGB, 12 + seed, 16, [dict(crop=(0, seed, 16, 12), mean=(seed, 0, 0, 0))] * 2) as mine:
                images = np.random.default_rng(seed).integers(0, 256, (2, (12 + seed) * 48)).astype(np.uint8)
                own.fill(images)
                good(own.parameters(mine))
                for _ in range(30):
                    near(own.execute(), mine.wanted(images))
            own.id = other
            own.close()
        except BaseException as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures
    model.close()


# --- gears --------------------------------------------------------------------------------------------------------------

def no_image_sizes(model):
    refused(acl.mdl.set_dynamic_hw_size(model.id, model.inputs, model.index(CHOICE), 7, 7), 100000, "dynamic_image_size")


@program
def gears_alone():
    batch, image, dims = (Images("gear_" + kind) for kind in ("batch", "image", "dims"))
    shapes = [(1, 3, 12, 16), (2, 3, 24, 30)]
    choices = {batch: lambda n, c, h, w: acl.mdl.set_dynamic_batch_size(batch.id, batch.inputs, batch.index(CHOICE), n),
               image: lambda n, c, h, w: acl.mdl.set_dynamic_hw_size(image.id, image.inputs, image.index(CHOICE), h, w),
               dims: lambda *s: acl.mdl.set_input_dynamic_dims(dims.id, dims.inputs, dims.index(CHOICE),
                                                               {"name": "", "dimCount": 4, "dims": list(s)})}
    for model, sizes in ((batch, [(n, 3, 12, 16) for n in (4, 1, 2)]), (image, [(1, 3, 24, 30), (1, 3, 12, 16)]), (dims, shapes[::-1] + shapes)):
        refused(acl.mdl.execute(model.id, model.inputs, model.outputs), 100000, "choose one before the execution")
        for size in sizes:
            x = random.standard_normal(size).astype(np.float32)
            model.fill(x)
            good(choices[model](*size))
            near(model.execute(), x)
            assert acl.mdl.get_cur_output_dims(model.desc, 0)[0]["dims"] == list(size)
            assert acl.mdl.get_output_dims(model.desc, 0)[0]["dims"] != list(size), "what the model says has -1"
        refused(choices[model](3, 3, 7, 7), 145013, "no gear")
        assert value(acl.mdl.get_aipp_type(model.id, 0)) == (WITHOUT, NOWHERE)
    assert acl.mdl.get_input_size_by_index(batch.desc, 0) == 4 * acl.mdl.get_output_size_by_index(batch.desc, 0) // 4 == 4 * 3 * 12 * 16 * 4
    assert value(acl.mdl.get_dynamic_hw(batch.desc, -1))["hwCount"] == 0 == value(acl.mdl.get_input_dynamic_gear_count(batch.desc, -1))
    assert value(acl.mdl.get_dynamic_batch(image.desc))["batchCount"] == 0
    assert value(acl.mdl.get_input_dynamic_gear_count(dims.desc, -1)) == 2
    refused(acl.mdl.get_input_dynamic_dims(dims.desc, -1, 1)[1], 100000, "gearCount is 1, the model has 2 gears")
    refused(acl.mdl.set_dynamic_batch_size(batch.id, batch.inputs, 0, 2), 100000, "not that of the input " + CHOICE)
    refused(acl.mdl.set_dynamic_batch_size(image.id, image.inputs, 1, 1), 100000, "not compiled with dynamic_batch_size")
    refused(acl.mdl.set_dynamic_hw_size(dims.id, dims.inputs, 1, 12, 16), 100000, "not compiled with dynamic_image_size")
    short = {"name": "", "dimCount": 3, "dims": [1, 3, 12]}
    refused(acl.mdl.set_input_dynamic_dims(dims.id, dims.inputs, 1, short), 100000, "dims has 3 sizes")
    for size, code, words in ((2, 145012, "has 2 bytes, want 4"), (0, 145011, "has no memory")):
        other = Images.set_of([batch.memory[0]])
        value(acl.mdl.add_dataset_buffer(other, acl.create_data_buffer(batch.memory[1].pointer if size else 0, size)))
        refused(acl.mdl.set_dynamic_batch_size(batch.id, other, 1, 2), code, words)
    for model in (batch, image, dims):
        model.close()


@program
def batches_with_dynamic_aipp():
    model = Images("batch")
    assert model.names == ["x", CHOICE, AIPP], model.names
    assert value(acl.mdl.get_dynamic_batch(model.desc)) == {"batchCount": 3, "batch": [1, 2, 4]}
    assert acl.mdl.get_input_dims(model.desc, 0)[0]["dims"] == [-1, 3, 12, 16]
    assert acl.mdl.get_input_size_by_index(model.desc, 0) == 8000
    assert acl.mdl.get_input_size_by_index(model.desc, 2) == value(acl.mdl.get_aipp_data_size(4))
    for count in (2, 1, 4):
        images = [dict(crop=(i, 2 * i, 16, 12), mean=(i, i, i, 0)) for i in range(count)]
        with Settings(RGB, 20, 20, images) as settings:
            data = pixels(RGB, 20, 20, count)
            model.fill(data)
            good(acl.mdl.set_dynamic_batch_size(model.id, model.inputs, model.index(CHOICE), count))
            good(model.parameters(settings))
            assert acl.mdl.get_cur_output_dims(model.desc, 0)[0]["dims"] == [count, 3, 12, 16]
            near(model.execute(), settings.wanted(data))
    refused(acl.mdl.set_dynamic_batch_size(model.id, model.inputs, model.index(CHOICE), 3), 145013, "no gear 3; it has 1, 2, 4")
    no_image_sizes(model)
    with Settings(RGB, 12, 16, [{}] * 3) as settings:
        refused(model.parameters(settings), 100000, "for 3 images", "has 1, 2, 4")
    with Settings(RGB, 12, 16, [{}] * 2) as settings:  # fewer than the gear that is chosen wants
        good(model.parameters(settings))
        assert acl.mdl.execute(model.id, model.inputs, model.outputs) == 507015
        assert "settings for 2 images, the batch has 4" in acl.get_recent_err_msg()
    model.close()


@program
def image_sizes_with_dynamic_aipp():
    model = Images("image")
    assert value(acl.mdl.get_dynamic_hw(model.desc, -1)) == {"hwCount": 2, "hw": [[12, 16], [24, 30]]}
    assert acl.mdl.get_input_dims(model.desc, 0)[0]["dims"] == [1, 3, -1, -1]
    for height, width in ((24, 30), (12, 16)):
        with Settings(YUV, 40, 50, [dict(resize=(width, height), factor=(0.1, 0.2, 0.3, 1))], csc=(JPEG, (0, 128, 128), (0, 0, 0))) as settings:
            data = pixels(YUV, 40, 50)
            model.fill(data)
            good(model.parameters(settings))
            good(acl.mdl.set_dynamic_hw_size(model.id, model.inputs, model.index(CHOICE), height, width))
            near(model.execute(), settings.wanted(data))
            assert acl.mdl.get_cur_output_dims(model.desc, 0)[0]["dims"] == [1, 3, height, width]
    with Settings(RGB, 13, 16, [{}]) as settings:
        refused(model.parameters(settings), 100000, "13 rows and 16 columns")
    with Settings(RGB, 24, 30, [{}]) as settings:  # fits a gear, and not the one that is chosen
        good(model.parameters(settings))
        assert acl.mdl.execute(model.id, model.inputs, model.outputs) == 507015
        assert "24 rows and 30 columns; the model wants 3, 12 and 16" in acl.get_recent_err_msg()
    model.close()


@program
def any_sizes_with_dynamic_aipp():
    model = Images("dims")
    assert value(acl.mdl.get_input_dynamic_gear_count(model.desc, -1)) == 2
    gears = value(acl.mdl.get_input_dynamic_dims(model.desc, -1, 2))
    assert [g["dims"] for g in gears] == [[1, 3, 12, 16], [2, 3, 24, 30]], gears
    for gear in gears[::-1]:
        count, _, height, width = gear["dims"]
        with Settings(XRGB, height + 1, width, [dict(crop=(0, i % 2, width, height)) for i in range(count)]) as settings:
            data = pixels(XRGB, height + 1, width, count)
            model.fill(data)
            good(acl.mdl.set_input_dynamic_dims(model.id, model.inputs, model.index(CHOICE), gear))
            good(model.parameters(settings))
            near(model.execute(), settings.wanted(data))
    other = {"name": "", "dimCount": 4, "dims": [1, 3, 24, 30]}
    refused(acl.mdl.set_input_dynamic_dims(model.id, model.inputs, model.index(CHOICE), other), 145013, "no gear [1, 24, 30]")
    model.close()


@program
def batches_with_static_aipp():
    model = Images("static_batch")
    assert acl.mdl.get_input_dims(model.desc, 0)[0]["dims"] == [-1, 18, 20, 3]
    assert acl.mdl.get_input_size_by_index(model.desc, 0) == 4 * 18 * 20 * 3
    assert value(acl.mdl.get_aipp_type(model.id, 0)) == (STATIC, NOWHERE)
    for count in (4, 1):
        data = pixels(RGB, 18, 20, count)
        model.fill(data)
        good(acl.mdl.set_dynamic_batch_size(model.id, model.inputs, model.index(CHOICE), count))
        near(model.execute(), np.stack([reference(d, RGB, 18, 20, crop=(2, 3, 16, 12), mean=(9, 8, 7, 0)) for d in data]))
    with Settings(RGB, 12, 16, [{}]) as settings:
        refused(acl.mdl.set_aipp_by_input_index(model.id, model.inputs, 0, settings.handle), 145016, "static")
    info = value(acl.mdl.get_first_aipp_info(model.id, 0))
    assert info["shapeCount"] == 3 and [s["srcDims"]["dims"] for s in info["outDims"]] == [[n, 3, 12, 16] for n in (1, 2, 4)], info
    assert [s["aippOutSize"] for s in info["outDims"]] == [n * 3 * 12 * 16 * 4 for n in (1, 2, 4)]
    model.close()


@program
def image_sizes_with_static_aipp():
    """The planes of NV12 are one and a half times as high as a gear says."""
    model = Images("static_image")
    assert value(acl.mdl.get_dynamic_hw(model.desc, -1))["hw"] == [[12, 16], [24, 30]]
    assert acl.mdl.get_input_dims(model.desc, 0)[0]["dims"] == [1, -1, -1, 1]
    assert value(acl.mdl.get_input_dims_range(model.desc, 0))["range"] == [[1, 1], [18, 36], [16, 30], [1, 1]]
    assert acl.mdl.get_input_size_by_index(model.desc, 0) == 36 * 30
    for height, width in ((12, 16), (24, 30)):
        data = pixels(YUV, height, width)
        model.fill(data)
        good(acl.mdl.set_dynamic_hw_size(model.id, model.inputs, model.index(CHOICE), height, width))
        near(model.execute(), reference(data[0], YUV, height, width, csc=(JPEG, (0, 128, 128), (0, 0, 0)), factor=(0.5,) * 4)[None])
    info = value(acl.mdl.get_first_aipp_info(model.id, 0))
    assert [s["srcDims"]["dims"] for s in info["outDims"]] == [[1, 3, 12, 16], [1, 3, 24, 30]]
    model.close()


@program
def any_sizes_with_static_aipp():
    model = Images("static_dims")
    gears = value(acl.mdl.get_input_dynamic_dims(model.desc, -1, 2))
    assert [g["dims"] for g in gears] == [[1, 18, 16, 1], [2, 36, 30, 1]], gears
    for gear, (count, height, width) in zip(gears, ((1, 12, 16), (2, 24, 30))):
        data = pixels(YUV, height, width, count)
        model.fill(data)
        good(acl.mdl.set_input_dynamic_dims(model.id, model.inputs, model.index(CHOICE), gear))
        near(model.execute(), np.stack([reference(d, YUV, height, width) for d in data]))
    other = {"name": "", "dimCount": 4, "dims": [1, 19, 16, 1]}
    refused(acl.mdl.set_input_dynamic_dims(model.id, model.inputs, model.index(CHOICE), other), 145013)
    model.close()


@program
def what_static_aipp_says_of_itself():
    model = Images("static")
    info = value(acl.mdl.get_first_aipp_info(model.id, 0))
    want = dict(inputFormat=YUV, srcImageSizeW=40, srcImageSizeH=20, cropSwitch=1, loadStartPosW=2, loadStartPosH=4, cropSizeW=20, cropSizeH=14,
                resizeSwitch=1, resizeOutputW=15, resizeOutputH=10, paddingSwitch=1, leftPaddingSize=1, rightPaddingSize=0,
                topPaddingSize=2, bottomPaddingSize=0, cscSwitch=1, rbuvSwapSwitch=1, axSwapSwitch=0, matrixR0C0=256, matrixR0C2=359, matrixR1C1=-88,
                matrixR2C2=0, inputBias0=0, inputBias1=128, outputBias2=3, meanChn0=9, meanChn3=0, minChn1=0.5, varReciChn0=1.0,
                varReciChn2=0.25, srcFormat=0, srcDatatype=0, srcDimNum=4, shapeCount=1)
    assert {k: info[k] for k in want} == want, info
    shape, = info["outDims"]
    assert shape["srcDims"]["dims"] == shape["aippOutdims"]["dims"] == [2, 3, 12, 16]
    assert shape["srcSize"] == shape["aippOutSize"] == 2 * 3 * 12 * 16 * 4
    data = pixels(YUV, 20, 40, 2)
    model.fill(data)
    steps = dict(csc=(JPEG, (0, 128, 128), (0, 0, 3)), swap=True, crop=(2, 4, 20, 14), resize=(15, 10), padding=(2, 0, 1, 0), filled=-1,
                 mean=(9, 0, 0, 0), least=(0, 0.5, 0, 0), factor=(1, 1, 0.25, 1))
    near(model.execute(), np.stack([reference(d, YUV, 20, 40, **steps) for d in data]))
    model.close()


if __name__ == "__main__":
    pyacl_programs.FOLDER = pathlib.Path(sys.argv[1])
    good(acl.init())
    good(acl.rt.set_device(0))
    PROGRAMS[sys.argv[2]]()
    good(acl.rt.reset_device(0))
    good(acl.finalize())
    print("good")
