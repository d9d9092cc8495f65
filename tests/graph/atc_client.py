"""ONNX models through atc and pyACL, as a user's script has them: a process of atc makes the om file, acl.mdl runs it. Knows
nothing of Updraft; run where `import acl` works (`updraft run`)."""

import os
import pathlib
import subprocess

import acl
import numpy

from ge_client import TYPES, Refused

HOST_TO_DEVICE, DEVICE_TO_HOST, ND = 1, 2, 2
ROOM = 1 << 20  # bytes for an output whose size only a run tells


def value(pair):
    if pair[-1] != 0:
        raise Refused("%d: %s" % (pair[-1], acl.get_recent_err_msg()))
    return pair[0]


def good(ret):
    value((None, ret))


class AtcClient:
    """Keeps its files in the working directory."""

    def __init__(self):
        self.atc = pathlib.Path(os.environ["ASCEND_HOME_PATH"]) / "bin" / "atc"
        assert acl.init() in (0, 100002)
        good(acl.rt.set_device(0))
        self.types = {number: numpy.dtype(name) for name, number in TYPES.items() if name != "bfloat16"}

    def compile(self, model):
        pathlib.Path("case.onnx").write_bytes(model)
        done = subprocess.run([self.atc, "--framework=5", "--model=case.onnx", "--output=case", "--soc_version=Ascend910B2",
                               "--precision_mode=must_keep_origin_dtype"], capture_output=True, text=True, timeout=60)
        if done.returncode:
            lines = done.stdout.splitlines()
            raise Refused("atc: " + " ".join(lines[2:] or lines))
        return "case.om"

    def run(self, model, inputs, outputs):
        """What the model gives for the inputs, arrays in their order."""
        number, desc = value(acl.mdl.load_from_file(self.compile(model))), acl.mdl.create_desc()
        given, results, memory = acl.mdl.create_dataset(), acl.mdl.create_dataset(), []
        try:
            good(acl.mdl.get_desc(desc, number))
            if acl.mdl.get_num_inputs(desc) != len(inputs) or acl.mdl.get_num_outputs(desc) != outputs:
                raise Refused("the om has %d inputs and %d outputs" % (acl.mdl.get_num_inputs(desc), acl.mdl.get_num_outputs(desc)))
            for place, array in enumerate(inputs):
                array = numpy.ascontiguousarray(array).reshape(numpy.shape(array))
                data = self.add_buffer(given, array.nbytes, memory)
                if array.nbytes:
                    good(acl.rt.memcpy(data, array.nbytes, acl.util.numpy_to_ptr(array), array.nbytes, HOST_TO_DEVICE))
                described = acl.create_tensor_desc(TYPES[array.dtype.name], list(array.shape), ND)
                good(acl.mdl.set_dataset_tensor_desc(given, described, place)[1])
            for place in range(outputs):
                self.add_buffer(results, acl.mdl.get_output_size_by_index(desc, place) or ROOM, memory)
            good(acl.mdl.execute(number, given, results))
            return [self.array(desc, results, memory[len(inputs) + place], place) for place in range(outputs)]
        finally:
            for data in memory:
                good(acl.rt.free(data))
            for data_set in (given, results):
                for place in range(acl.mdl.get_dataset_num_buffers(data_set)):
                    good(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(data_set, place)))
                good(acl.mdl.destroy_dataset(data_set))
            good(acl.mdl.unload(number))
            good(acl.mdl.destroy_desc(desc))

    def add_buffer(self, data_set, size, memory):
        memory.append(value(acl.rt.malloc(max(size, 32), 0)))
        good(acl.mdl.add_dataset_buffer(data_set, acl.create_data_buffer(memory[-1], size))[1])
        return memory[-1]

    def array(self, desc, results, data, place):
        dims = value(acl.mdl.get_cur_output_dims(desc, place))["dims"]
        if any(d < 0 for d in dims):  # known since the run
            described = acl.mdl.get_dataset_tensor_desc(results, place)
            dims = [value(acl.get_tensor_desc_dim_v2(described, d)) for d in range(acl.get_tensor_desc_num_dims(described))]
        found = numpy.empty(dims, self.types[acl.mdl.get_output_data_type(desc, place)])
        if found.nbytes:
            good(acl.rt.memcpy(acl.util.numpy_to_ptr(found), found.nbytes, data, found.nbytes, DEVICE_TO_HOST))
        return found
