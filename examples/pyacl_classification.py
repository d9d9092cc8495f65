#!/usr/bin/env python3
"""Classifies pictures with an offline model through pyACL, on a card or on a virtual NPU.

    atc --model=net.onnx --framework=5 --output=net --soc_version=Ascend910B2
    python pyacl_classification.py net.om cat.png dog.jpg --top 3

The model takes one picture at a time as NCHW float32 (1 or 3 channels) and gives a score for each class.
"""
import argparse
import sys
import time

import acl
import numpy as np
from PIL import Image

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
ACL_FLOAT = 0


def check(ret, call):
    if ret != 0:
        sys.exit("%s failed: %d\n%s" % (call, ret, acl.get_recent_err_msg() or ""))


class Device:
    """A device with its context and a stream, for as long as a `with` lasts."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        check(acl.init(), "acl.init")
        check(acl.rt.set_device(self.number), "acl.rt.set_device")
        self.context, ret = acl.rt.create_context(self.number)
        check(ret, "acl.rt.create_context")
        self.stream, ret = acl.rt.create_stream()
        check(ret, "acl.rt.create_stream")
        return self

    def __exit__(self, *_):
        check(acl.rt.destroy_stream(self.stream), "acl.rt.destroy_stream")
        check(acl.rt.destroy_context(self.context), "acl.rt.destroy_context")
        check(acl.rt.reset_device(self.number), "acl.rt.reset_device")
        check(acl.finalize(), "acl.finalize")


class Classifier:
    def __init__(self, path):
        self.model, ret = acl.mdl.load_from_file(path)
        check(ret, "acl.mdl.load_from_file")
        self.desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(self.desc, self.model), "acl.mdl.get_desc")
        dims, ret = acl.mdl.get_input_dims(self.desc, 0)
        check(ret, "acl.mdl.get_input_dims")
        self.channels, self.height, self.width = dims["dims"][1:]
        if acl.mdl.get_input_data_type(self.desc, 0) != ACL_FLOAT or acl.mdl.get_output_data_type(self.desc, 0) != ACL_FLOAT:
            sys.exit("%s: want a model from float32 to float32" % path)
        self.inputs, self.input_memory = self.data_set(acl.mdl.get_num_inputs, acl.mdl.get_input_size_by_index)
        self.outputs, self.output_memory = self.data_set(acl.mdl.get_num_outputs, acl.mdl.get_output_size_by_index)

    def data_set(self, count, size_of):
        """Device memory for all inputs, or all outputs: [(pointer, bytes)]."""
        made, memory = acl.mdl.create_dataset(), []
        for i in range(count(self.desc)):
            size = size_of(self.desc, i)
            pointer, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
            check(ret, "acl.rt.malloc")
            _, ret = acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))
            check(ret, "acl.mdl.add_dataset_buffer")
            memory.append((pointer, size))
        return made, memory

    def prepare(self, path):
        picture = Image.open(path).convert("L" if self.channels == 1 else "RGB").resize((self.width, self.height), Image.BILINEAR)
        pixels = np.asarray(picture, np.float32).reshape(self.height, self.width, self.channels) / 255
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])

    def scores(self, pixels):
        pointer, size = self.input_memory[0]
        data = pixels.tobytes()  # held until the copy is done
        check(acl.rt.memcpy(pointer, size, acl.util.bytes_to_ptr(data), len(data), ACL_MEMCPY_HOST_TO_DEVICE), "acl.rt.memcpy")
        check(acl.mdl.execute(self.model, self.inputs, self.outputs), "acl.mdl.execute")
        pointer, size = self.output_memory[0]
        host, ret = acl.rt.malloc_host(size)
        check(ret, "acl.rt.malloc_host")
        check(acl.rt.memcpy(host, size, pointer, size, ACL_MEMCPY_DEVICE_TO_HOST), "acl.rt.memcpy")
        found = np.frombuffer(acl.util.ptr_to_bytes(host, size), np.float32)
        check(acl.rt.free_host(host), "acl.rt.free_host")
        return found

    def close(self):
        for made, memory in ((self.inputs, self.input_memory), (self.outputs, self.output_memory)):
            for i, (pointer, _) in enumerate(memory):
                check(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(made, i)), "acl.destroy_data_buffer")
                check(acl.rt.free(pointer), "acl.rt.free")
            check(acl.mdl.destroy_dataset(made), "acl.mdl.destroy_dataset")
        check(acl.mdl.unload(self.model), "acl.mdl.unload")
        check(acl.mdl.destroy_desc(self.desc), "acl.mdl.destroy_desc")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an offline model (om)")
    parser.add_argument("pictures", nargs="+")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--top", type=int, default=1, help="classes to print")
    arguments = parser.parse_args()
    with Device(arguments.device):
        print("device: %s" % acl.get_soc_name())
        classifier = Classifier(arguments.model)
        seconds = 0.0
        for path in arguments.pictures:
            pixels = classifier.prepare(path)
            start = time.perf_counter()
            scores = classifier.scores(pixels)
            seconds += time.perf_counter() - start
            best = np.argsort(-scores)[:arguments.top]
            print("%s: %s" % (path, ", ".join("class %d (%.3f)" % (c, scores[c]) for c in best)))
        print("%d pictures, %.2f ms each" % (len(arguments.pictures), 1000 * seconds / len(arguments.pictures)))
        classifier.close()


if __name__ == "__main__":
    main()
