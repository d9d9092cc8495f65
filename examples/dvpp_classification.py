#!/usr/bin/env python3
"""Classifies JPEG files on the device from end to end: decoded and resized by DVPP, normalised by AIPP, then the model.

    atc --model=net.onnx --framework=5 --output=net --soc_version=Ascend910B2 --insert_op_conf=aipp.cfg
    python dvpp_classification.py net.om cat.jpg dog.jpg --top 5

aipp.cfg makes what the model was trained with of YUV420SP_U8 (NV12): see docs/use/media.md. Scores become probabilities here.
"""
import argparse
import sys

import acl
import numpy as np

YUV420SP = 1  # PIXEL_FORMAT_YUV_SEMIPLANAR_420, NV12
TO_DEVICE, TO_HOST = 1, 2


def check(ret, call):
    if ret != 0:
        sys.exit("%s failed: %d\n%s" % (call, ret, acl.get_recent_err_msg() or ""))


def checked(pair, call):
    check(pair[-1], call)
    return pair[0] if len(pair) == 2 else pair[:-1]


def up(size, to):
    return -(-size // to) * to


class Pictures:
    """JPEG files to NV12 of one size in device memory."""

    def __init__(self, stream, width, height):
        self.stream, self.channel = stream, acl.media.dvpp_create_channel_desc()
        check(acl.media.dvpp_create_channel(self.channel), "dvpp_create_channel")
        self.config = acl.media.dvpp_create_resize_config()
        self.bytes = up(width, 16) * up(height, 2) * 3 // 2
        self.pointer, self.desc = self.describe(self.bytes, width, height, up(width, 16), up(height, 2))

    @staticmethod
    def describe(size, width=0, height=0, width_stride=0, height_stride=0):
        pointer, desc = checked(acl.media.dvpp_malloc(size), "dvpp_malloc"), acl.media.dvpp_create_pic_desc()
        for name, value in dict(data=pointer, size=size, format=YUV420SP, width=width, height=height, width_stride=width_stride,
                                height_stride=height_stride).items():
            check(getattr(acl.media, "dvpp_set_pic_desc_" + name)(desc, value), "dvpp_set_pic_desc_" + name)
        return pointer, desc

    def load(self, path):
        with open(path, "rb") as opened:
            file = opened.read()
        host = acl.util.bytes_to_ptr(file)
        size = checked(acl.media.dvpp_jpeg_predict_dec_size(host, len(file), YUV420SP), path)
        data = checked(acl.media.dvpp_malloc(len(file)), "dvpp_malloc")
        check(acl.rt.memcpy(data, len(file), host, len(file), TO_DEVICE), "acl.rt.memcpy")
        decoded, desc = self.describe(size)  # the decoder fills in sizes and strides
        check(acl.media.dvpp_jpeg_decode_async(self.channel, data, len(file), desc, self.stream), "dvpp_jpeg_decode_async")
        check(acl.rt.synchronize_stream(self.stream), path)
        check(acl.media.dvpp_vpc_resize_async(self.channel, desc, self.desc, self.config, self.stream), "dvpp_vpc_resize_async")
        check(acl.rt.synchronize_stream(self.stream), path)
        for pointer in (data, decoded):
            check(acl.media.dvpp_free(pointer), "dvpp_free")
        check(acl.media.dvpp_destroy_pic_desc(desc), "dvpp_destroy_pic_desc")

    def close(self):
        check(acl.media.dvpp_free(self.pointer), "dvpp_free")
        check(acl.media.dvpp_destroy_pic_desc(self.desc), "dvpp_destroy_pic_desc")
        check(acl.media.dvpp_destroy_resize_config(self.config), "dvpp_destroy_resize_config")
        check(acl.media.dvpp_destroy_channel(self.channel), "dvpp_destroy_channel")
        check(acl.media.dvpp_destroy_channel_desc(self.channel), "dvpp_destroy_channel_desc")


def data_set(pointer, size):
    made = acl.mdl.create_dataset()
    checked(acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size)), "acl.mdl.add_dataset_buffer")
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an offline model (om) whose input is YUV420SP_U8 by AIPP")
    parser.add_argument("pictures", nargs="+", help="JPEG files")
    parser.add_argument("--top", type=int, default=5, help="classes to print")
    arguments = parser.parse_args()
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream = checked(acl.rt.create_stream(), "acl.rt.create_stream")
    model = checked(acl.mdl.load_from_file(arguments.model), "acl.mdl.load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "acl.mdl.get_desc")
    _, lines, width, _ = checked(acl.mdl.get_input_dims(desc, 0), "acl.mdl.get_input_dims")["dims"]
    pictures = Pictures(stream, width, lines * 2 // 3)  # lines of Y, and half as many of UV
    size = acl.mdl.get_output_size_by_index(desc, 0)
    if pictures.bytes != acl.mdl.get_input_size_by_index(desc, 0):
        sys.exit("%s: its input has rows of %d bytes, DVPP writes multiples of 16" % (arguments.model, width))
    output = checked(acl.rt.malloc(size, 0), "acl.rt.malloc")
    inputs, outputs, scores = data_set(pictures.pointer, pictures.bytes), data_set(output, size), np.zeros(size // 4, np.float32)
    for path in arguments.pictures:
        pictures.load(path)
        check(acl.mdl.execute(model, inputs, outputs), "acl.mdl.execute")
        check(acl.rt.memcpy(acl.util.numpy_to_ptr(scores), size, output, size, TO_HOST), "acl.rt.memcpy")
        likely = np.exp(scores - scores.max())
        likely /= likely.sum()
        best = np.argsort(-likely)[:arguments.top]
        print("%s: %s" % (path, ", ".join("class %d (%.4f)" % (c, likely[c]) for c in best)))
    pictures.close()
    check(acl.mdl.unload(model), "acl.mdl.unload")
    check(acl.finalize(), "acl.finalize")


if __name__ == "__main__":
    main()
