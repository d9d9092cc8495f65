#!/usr/bin/env python3
"""Finds objects in JPEG files on the device: decoded and resized by DVPP, normalised by AIPP, then the model; boxes go into PNG files.

    atc --model=net.onnx --framework=5 --output=net --soc_version=Ascend910B2 --insert_op_conf=aipp.cfg
    python dvpp_detection.py net.om street.jpg --labels red,green,blue --output found

The model gives boxes [1, N, 4] (left, top, right, bottom as parts of width and height) and scores [1, N, classes]. Of boxes of a class that
overlap the best one is kept, here on the host.
"""
import argparse
import pathlib
import sys

import acl
import numpy as np
from dvpp_classification import TO_HOST, Pictures, check, checked, data_set
from PIL import Image, ImageDraw

ACL_FLOAT = 0
COLOURS = ["red", "lime", "blue", "yellow", "magenta", "cyan", "orange", "white"]


def overlaps(box, others):
    """Of a box with each of others: what they share by what they cover together."""
    across = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    down = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    shared = across.clip(0) * down.clip(0)
    area = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    return shared / ((box[2] - box[0]) * (box[3] - box[1]) + area - shared)


def find(boxes, scores, least, most_overlap):
    """[(class, score, box)] of boxes whose score is `least` or more, the best first, none over a better one of its class."""
    found = []
    for number in range(scores.shape[1]):
        order = np.argsort(-scores[:, number], kind="stable")
        order = order[scores[order, number] >= least]
        while len(order):
            first, order = order[0], order[1:]
            found.append((number, float(scores[first, number]), boxes[first]))
            order = order[overlaps(boxes[first], boxes[order]) <= most_overlap]
    return sorted(found, key=lambda one: -one[1])


def draw(path, found, labels, to):
    picture = Image.open(path).convert("RGB")
    pen = ImageDraw.Draw(picture)
    for number, score, box in found:
        colour = COLOURS[number % len(COLOURS)]
        pen.rectangle([round(float(v)) for v in box], outline=colour, width=2)
        pen.text((float(box[0]) + 3, float(box[1]) + 2), "%s %.2f" % (labels[number] if number < len(labels) else number, score), fill=colour)
    picture.save(to)


class Outputs:
    """Device memory for all that the model gives."""

    def __init__(self, desc):
        self.dataset, self.pointers, self.arrays = acl.mdl.create_dataset(), [], []
        for i in range(acl.mdl.get_num_outputs(desc)):
            if acl.mdl.get_output_data_type(desc, i) != ACL_FLOAT:
                sys.exit("output %d is no float32" % i)
            shape = checked(acl.mdl.get_output_dims(desc, i), "acl.mdl.get_output_dims")["dims"]
            size = acl.mdl.get_output_size_by_index(desc, i)
            self.arrays.append(np.zeros(shape, np.float32))
            self.pointers.append(checked(acl.rt.malloc(size, 0), "acl.rt.malloc"))
            checked(acl.mdl.add_dataset_buffer(self.dataset, acl.create_data_buffer(self.pointers[-1], size)), "acl.mdl.add_dataset_buffer")

    def read(self):
        for array, pointer in zip(self.arrays, self.pointers):
            check(acl.rt.memcpy(acl.util.numpy_to_ptr(array), array.nbytes, pointer, array.nbytes, TO_HOST), "acl.rt.memcpy")
        return [array[0] for array in self.arrays]


def free(dataset):
    for i in range(acl.mdl.get_dataset_num_buffers(dataset)):
        check(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, i)), "acl.destroy_data_buffer")
    check(acl.mdl.destroy_dataset(dataset), "acl.mdl.destroy_dataset")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an offline model (om) whose input is YUV420SP_U8 by AIPP")
    parser.add_argument("pictures", nargs="+", help="JPEG files")
    parser.add_argument("--labels", default="", help="names of the classes, with commas")
    parser.add_argument("--score", type=float, default=0.4, help="the least score of a box")
    parser.add_argument("--overlap", type=float, default=0.5, help="the most of a box that a better one of its class may share")
    parser.add_argument("--output", help="folder for a PNG file of each picture, with the boxes in it")
    arguments = parser.parse_args()
    labels = [label for label in arguments.labels.split(",") if label]
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream = checked(acl.rt.create_stream(), "acl.rt.create_stream")
    model = checked(acl.mdl.load_from_file(arguments.model), "acl.mdl.load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "acl.mdl.get_desc")
    _, lines, width, _ = checked(acl.mdl.get_input_dims(desc, 0), "acl.mdl.get_input_dims")["dims"]
    pictures = Pictures(stream, width, lines * 2 // 3)  # lines of Y, and half as many of UV
    if pictures.bytes != acl.mdl.get_input_size_by_index(desc, 0):
        sys.exit("%s: its input has rows of %d bytes, DVPP writes multiples of 16" % (arguments.model, width))
    inputs, outputs = data_set(pictures.pointer, pictures.bytes), Outputs(desc)
    for path in map(pathlib.Path, arguments.pictures):
        file = path.read_bytes()
        size = checked(acl.media.dvpp_jpeg_get_image_info(acl.util.bytes_to_ptr(file), len(file)), str(path))[:2]
        pictures.load(path)
        check(acl.mdl.execute(model, inputs, outputs.dataset), "acl.mdl.execute")
        boxes, scores = outputs.read()
        found = find(boxes * np.float32([*size, *size]), scores, arguments.score, arguments.overlap)
        print("%s: %d found" % (path, len(found)))
        for number, score, box in found:
            print("  class %d (%.4f) at %.2f %.2f %.2f %.2f" % (number, score, *box))
        if arguments.output:
            draw(path, found, labels, pathlib.Path(arguments.output, path.stem + ".png"))
    for pointer in outputs.pointers:
        check(acl.rt.free(pointer), "acl.rt.free")
    free(inputs)
    free(outputs.dataset)
    pictures.close()
    check(acl.mdl.unload(model), "acl.mdl.unload")
    check(acl.mdl.destroy_desc(desc), "acl.mdl.destroy_desc")
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.reset_device(0), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")


if __name__ == "__main__":
    main()
