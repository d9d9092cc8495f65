"""ONNX models through the C++ graph interface and AscendCL, by the names that the libraries export: aclgrphParseONNXFromMem,
aclgrphBuildModel, aclmdlLoadFromMem, aclmdlExecute. Runs where the loader finds the libraries (`updraft run`)."""

import ctypes

import numpy

VOID, SIZE = ctypes.c_void_p, ctypes.c_size_t
TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9,
         "uint64": 10, "float64": 11, "bool": 12, "bfloat16": 27}
PARSE = ("_ZN2ge23aclgrphParseONNXFromMemEPKcmRKSt3mapINS_12AscendStringES3_St4lessIS3_ESaISt4pairIKS3_S3_EEE"
         "RNS_5GraphE")
BUILD = ("_ZN2ge17aclgrphBuildModelERKNS_5GraphERKSt3mapINS_12AscendStringES4_St4lessIS4_ESaISt4pairIKS4_S4_EEE"
         "RNS_15ModelBufferDataE")


class Refused(Exception):
    """The model is not taken: the sentence that the library has about it."""


class Client:
    def __init__(self):
        # RTLD_GLOBAL, as a program that is linked against them has them
        self.acl, self.graph, self.parser, self.compiler = (
            ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
            for name in ("libascendcl.so", "libgraph.so", "libfmk_onnx_parser.so", "libge_compiler.so"))
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        for name in ("aclmdlCreateDataset", "aclCreateDataBuffer", "aclCreateTensorDesc", "aclmdlGetDatasetTensorDesc",
                     "aclmdlGetDatasetBuffer", "aclGetDataBufferAddr"):
            getattr(self.acl, name).restype = VOID
        self.acl.aclGetTensorDescNumDims.restype = SIZE
        assert self.acl.aclInit(None) in (0, 100002)
        self.check(self.acl.aclrtSetDevice(0))

    def check(self, status):
        if status != 0:
            text = self.acl.aclGetRecentErrMsg()
            raise Refused("%d: %s" % (status & 0xFFFFFFFF, (text or b"").decode(errors="replace")))

    def options(self):
        """An empty std::map as libstdc++ has it."""
        empty = (ctypes.c_uint64 * 6)()
        header = ctypes.addressof(empty) + 8
        empty[3] = empty[4] = header
        return empty

    def build(self, model):
        """The identifier of the loaded model. Graph and ModelBufferData are two and three words."""
        graph, built = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 3)()
        options = self.options()
        self.graph._ZN2ge5GraphC1EPKc(graph, b"model")
        self.check(getattr(self.parser, PARSE)(model, SIZE(len(model)), options, graph))
        self.check(getattr(self.compiler, BUILD)(graph, options, built))
        number = ctypes.c_uint32()
        self.check(self.acl.aclmdlLoadFromMem(VOID(built[0]), SIZE(built[2]), ctypes.byref(number)))
        return number

    def run(self, model, inputs, outputs):
        """What the model gives for the inputs, arrays in their order."""
        number = self.build(model)
        given, results = VOID(self.acl.aclmdlCreateDataset()), VOID(self.acl.aclmdlCreateDataset())
        memory = []
        try:
            for place, array in enumerate(inputs):
                array = numpy.ascontiguousarray(array).reshape(numpy.shape(array))
                data = VOID()
                self.check(self.acl.aclrtMalloc(ctypes.byref(data), SIZE(array.nbytes + 32), 0))
                memory.append(data)
                self.check(self.acl.aclrtMemcpy(data, SIZE(array.nbytes), VOID(array.ctypes.data), SIZE(array.nbytes), 1))
                buffer = VOID(self.acl.aclCreateDataBuffer(data, SIZE(array.nbytes)))
                self.check(self.acl.aclmdlAddDatasetBuffer(given, buffer))
                dims = (ctypes.c_int64 * array.ndim)(*array.shape)
                desc = VOID(self.acl.aclCreateTensorDesc(TYPES[array.dtype.name], array.ndim, dims, 2))
                self.check(self.acl.aclmdlSetDatasetTensorDesc(given, desc, SIZE(place)))
            for _ in range(outputs):
                self.check(self.acl.aclmdlAddDatasetBuffer(results, VOID(self.acl.aclCreateDataBuffer(None, SIZE(0)))))
            self.check(self.acl.aclmdlExecute(number, given, results))
            return [self.array(results, place) for place in range(outputs)]
        finally:
            for data in memory:
                self.acl.aclrtFree(data)
            self.acl.aclmdlUnload(number)

    def array(self, results, place):
        desc = VOID(self.acl.aclmdlGetDatasetTensorDesc(results, SIZE(place)))
        shape = []
        for d in range(self.acl.aclGetTensorDescNumDims(desc)):
            size = ctypes.c_int64()
            self.check(self.acl.aclGetTensorDescDimV2(desc, SIZE(d), ctypes.byref(size)))
            shape.append(size.value)
        name = {number: name for name, number in TYPES.items()}[self.acl.aclGetTensorDescType(desc)]
        if name == "bfloat16":
            import ml_dtypes

            dtype = numpy.dtype(ml_dtypes.bfloat16)
        else:
            dtype = numpy.dtype(name)
        array = numpy.empty(shape, dtype)
        buffer = VOID(self.acl.aclmdlGetDatasetBuffer(results, SIZE(place)))
        if array.nbytes:
            self.check(self.acl.aclrtMemcpy(VOID(array.ctypes.data), SIZE(array.nbytes),
                                            VOID(self.acl.aclGetDataBufferAddr(buffer)), SIZE(array.nbytes), 2))
        return array
