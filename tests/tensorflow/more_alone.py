"""Cases of test_operators_alone.py: different elements, segments, linear systems, sequences, histograms, quantised numbers, boxes."""

import numpy as np
import tensorflow as tf

raw = tf.raw_ops
FLOATS = ("float32", "float16", "bfloat16", "float64")
WHOLE = ("int32", "int64")


def numbers(*shape, dtype="float32", seed=1, positive=False):
    values = np.random.default_rng(seed).standard_normal(shape) * 5
    return tf.cast(tf.constant(np.abs(values) + 0.5 if positive else values), dtype)


def add_cases(case):
    for dtype in (*FLOATS, *WHOLE):
        few = lambda d=dtype: tf.cast(tf.constant([3, 1, 3, 7, 1, 1, -2]), d)  # noqa: E731
        for out in (tf.int32, tf.int64):
            case(f"Unique-{dtype}-{out.name}", lambda f=few, o=out: raw.Unique(x=f(), out_idx=o))
            case(f"UniqueWithCounts-{dtype}-{out.name}", lambda f=few, o=out: raw.UniqueWithCounts(x=f(), out_idx=o))
        case(f"UniqueV2-{dtype}", lambda f=few: raw.UniqueV2(x=f(), axis=tf.zeros([0], tf.int32)))
        case(f"UniqueWithCountsV2-{dtype}", lambda f=few: raw.UniqueWithCountsV2(x=f(), axis=[0]))
        case(f"DynamicPartition-{dtype}", lambda d=dtype: raw.DynamicPartition(data=numbers(6, 2, dtype=d), partitions=[0, 2, 0, 3, 2, 2], num_partitions=4))
        for name in ("Max", "Min", "Prod", "Sum"):
            for index in WHOLE:
                case(f"UnsortedSegment{name}-{dtype}-{index}", lambda n=name, d=dtype, i=index: getattr(raw, "UnsortedSegment" + n)(
                    data=numbers(6, 2, dtype=d), segment_ids=tf.constant([0, 2, 0, -1, 4, 2], i), num_segments=5))
        for name in ("SegmentSum", "SegmentMean"):
            if name == "SegmentSum" or dtype in FLOATS:
                case(f"{name}-{dtype}", lambda n=name, d=dtype: getattr(raw, n)(data=numbers(5, 3, dtype=d), segment_ids=[0, 0, 2, 2, 2]))
    case("Unique-none", lambda: raw.Unique(x=tf.zeros([0], tf.int32)))
    case("DynamicPartition-points", lambda: raw.DynamicPartition(data=numbers(2, 3), partitions=[[0, 1, 0], [1, 1, 0]], num_partitions=3))
    for dtype in FLOATS:
        for name in ("Sum", "Mean", "SqrtN"):
            at = {"indices": [4, 0, 1, 4], "segment_ids": [0, 0, 2, 2]}
            case(f"SparseSegment{name}-{dtype}", lambda n=name, d=dtype, at=at: getattr(raw, "SparseSegment" + n)(data=numbers(5, 3, dtype=d), **at))
            case(f"SparseSegment{name}Grad-{dtype}", lambda n=name, d=dtype, at=at: getattr(raw, f"SparseSegment{n}Grad")(
                grad=numbers(3, 3, dtype=d), **at, output_dim0=6))
    for dtype in ("float32", "float64"):
        def matrices(*shape, d=dtype):
            return numbers(*shape, 4, 4, dtype=d) + 9 * tf.eye(4, dtype=d)

        for adjoint in (False, True):
            for batch in ((), (3,), (2, 2)):
                tag = f"{dtype}-{adjoint}-{len(batch)}"
                case(f"MatrixSolve-{tag}", lambda m=matrices, a=adjoint, b=batch, d=dtype: raw.MatrixSolve(
                    matrix=m(*b), rhs=numbers(*b, 4, 3, dtype=d, seed=2), adjoint=a))
                for lower in (False, True):
                    case(f"MatrixTriangularSolve-{lower}-{tag}", lambda m=matrices, a=adjoint, b=batch, d=dtype, w=lower: raw.MatrixTriangularSolve(
                        matrix=m(*b), rhs=numbers(*b, 4, 3, dtype=d, seed=2), adjoint=a, lower=w))
        case(f"MatrixSolve-swaps-{dtype}", lambda d=dtype: raw.MatrixSolve(matrix=tf.constant([[0, 0, 2], [1, 0, 0], [0, 4, 1]], d), rhs=numbers(3, 2, dtype=d)))
        case(f"LogMatrixDeterminant-{dtype}", lambda m=matrices: raw.LogMatrixDeterminant(input=m(3)))
        case(f"ApproximateEqual-{dtype}", lambda d=dtype: raw.ApproximateEqual(x=numbers(4, dtype=d), y=numbers(4, dtype=d) + 1, tolerance=1.5))
        case(f"Cross-{dtype}", lambda d=dtype: raw.Cross(a=numbers(3, 3, dtype=d), b=numbers(3, 3, dtype=d, seed=2)))
        case(f"NextAfter-{dtype}", lambda d=dtype: raw.NextAfter(x1=numbers(5, dtype=d), x2=numbers(5, dtype=d, seed=2)))
        case(f"LinSpace-{dtype}", lambda d=dtype: raw.LinSpace(start=tf.constant(-1, d), stop=tf.constant(3, d), num=7))
        for exclusive in (False, True):
            for reverse in (False, True):
                case(f"CumulativeLogsumexp-{dtype}-{exclusive}-{reverse}", lambda d=dtype, e=exclusive, r=reverse: raw.CumulativeLogsumexp(
                    x=numbers(3, 4, dtype=d), axis=1, exclusive=e, reverse=r))
        for flags in ({}, {"adjoint_a": True}, {"adjoint_b": True}):
            case(f"SparseTensorDenseMatMul-{dtype}-{'-'.join(flags)}", lambda d=dtype, f=flags: raw.SparseTensorDenseMatMul(
                a_indices=tf.constant([[0, 1], [2, 0], [2, 2]], tf.int64), a_values=numbers(3, dtype=d), a_shape=tf.constant([3, 3], tf.int64),
                b=numbers(3, 3, dtype=d), **f))
    for dtype in (*FLOATS, *WHOLE):
        for a, b in ((-1, 0), (0, -1), (1, 2)):
            case(f"MatrixBandPart-{dtype}-{a}-{b}", lambda d=dtype, a=a, b=b: raw.MatrixBandPart(input=numbers(2, 4, 5, dtype=d), num_lower=a, num_upper=b))
        for index in WHOLE:
            case(f"ReverseSequence-{dtype}-{index}", lambda d=dtype, i=index: raw.ReverseSequence(
                input=numbers(3, 4, 2, dtype=d), seq_lengths=tf.constant([4, 0, 2], i), seq_dim=1, batch_dim=0))
        case(f"MirrorPadGrad-{dtype}", lambda d=dtype: raw.MirrorPadGrad(input=numbers(6, 7, dtype=d), paddings=[[1, 1], [2, 1]], mode="REFLECT"))
        for name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
            case(f"{name}-{dtype}", lambda n=name, d=dtype: getattr(raw, n)(x=numbers(4, 3, dtype=d), i=[2, 0], v=numbers(2, 3, dtype=d, seed=2)))
        case(f"SpaceToBatch-{dtype}", lambda d=dtype: raw.SpaceToBatch(input=numbers(1, 4, 6, 2, dtype=d), paddings=[[0, 0], [1, 1]], block_size=2))
        case(f"BatchToSpace-{dtype}", lambda d=dtype: raw.BatchToSpace(input=numbers(4, 2, 3, 2, dtype=d), crops=[[0, 1], [0, 0]], block_size=2))
        case(f"NthElement-{dtype}", lambda d=dtype: raw.NthElement(input=numbers(3, 5, dtype=d), n=2))
    for dtype in FLOATS:
        case(f"Xlog1py-{dtype}", lambda d=dtype: raw.Xlog1py(x=tf.cast(tf.constant([0.0, 2.0, -1.0]), d), y=tf.cast(tf.constant([-1.0, 3.0, 0.5]), d)))
    for dtype in ("float32", "int32", "int64", "float64"):
        case(f"HistogramFixedWidth-{dtype}", lambda d=dtype: raw.HistogramFixedWidth(values=numbers(40, dtype=d), value_range=tf.constant([-4, 4], d), nbins=5))
    for k in (1, 3):
        for index in WHOLE:
            case(f"InTopKV2-{k}-{index}", lambda k=k, i=index: raw.InTopKV2(predictions=numbers(4, 6), targets=tf.constant([0, 5, 2, 2], i), k=tf.constant(k, i)))
    case("InTopK", lambda: raw.InTopK(predictions=[[1.0, 2.0, 2.0], [np.inf, 0.0, 1.0]], targets=[1, 0], k=1))
    for dtype in ("float32", "int32", "int64", "float64"):
        case(f"Bincount-{dtype}", lambda d=dtype: raw.Bincount(arr=[1, 0, 3, 1, 9], size=5, weights=numbers(5, dtype=d)))
    case("Bincount-rows", lambda: raw.Bincount(arr=[[1, 0], [3, 1]], size=5, weights=numbers(2, 2)))
    case("Bincount", lambda: raw.Bincount(arr=[1, 0, 3, 1, 9], size=5, weights=tf.zeros([0])))
    for index in WHOLE:
        case(f"InvertPermutation-{index}", lambda i=index: raw.InvertPermutation(x=tf.constant([2, 0, 3, 1], i) + 0))
    case("UnravelIndex", lambda: raw.UnravelIndex(indices=[5, 0, 7], dims=[2, 4]))
    case("PopulationCount", lambda: raw.PopulationCount(x=tf.constant([0, 1, 127, -1], tf.int8)))
    for name in ("DataFormatDimMap", "DataFormatVecPermute"):
        case(name, lambda n=name: getattr(raw, n)(x=tf.constant([0, 1, 2, 3])))
    for narrow in (False, True):
        how = {"num_bits": 6, "narrow_range": narrow}
        low, high = tf.constant(-3.0), tf.constant(5.0)
        case(f"FakeQuantWithMinMaxArgs-{narrow}", lambda h=how: raw.FakeQuantWithMinMaxArgs(inputs=numbers(4, 3), min=-3, max=5, **h))
        case(f"FakeQuantWithMinMaxVars-{narrow}", lambda h=how: raw.FakeQuantWithMinMaxVars(inputs=numbers(4, 3), min=low, max=high, **h))
        case(f"FakeQuantWithMinMaxVarsPerChannel-{narrow}", lambda h=how: raw.FakeQuantWithMinMaxVarsPerChannel(
            inputs=numbers(4, 2), min=[-3.0, -1.0], max=[5.0, 4.0], **h))
        case(f"FakeQuantWithMinMaxArgsGradient-{narrow}", lambda h=how: raw.FakeQuantWithMinMaxArgsGradient(
            gradients=numbers(4, 3), inputs=numbers(4, 3, seed=2), min=-3, max=5, **h))
        case(f"FakeQuantWithMinMaxVarsGradient-{narrow}", lambda h=how: raw.FakeQuantWithMinMaxVarsGradient(
            gradients=numbers(4, 3), inputs=numbers(4, 3, seed=2), min=low, max=high, **h))
        case(f"FakeQuantWithMinMaxVarsPerChannelGradient-{narrow}", lambda h=how: raw.FakeQuantWithMinMaxVarsPerChannelGradient(
            gradients=numbers(4, 2), inputs=numbers(4, 2, seed=2), min=[-3.0, -1.0], max=[5.0, 4.0], **h))
    boxes = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]
    for score in (0.0, 0.4):
        limits = {"scores": [0.9, 0.75, 0.6, 0.95, 0.5, 0.3], "max_output_size": 4, "iou_threshold": 0.5, "score_threshold": score}
        case(f"NonMaxSuppressionV3-{score}", lambda limits=limits: raw.NonMaxSuppressionV3(boxes=boxes, **limits))
        for fill in (False, True):
            case(f"NonMaxSuppressionV4-{score}-{fill}", lambda limits=limits, f=fill: raw.NonMaxSuppressionV4(boxes=boxes, **limits, pad_to_max_output_size=f))
    image_cases(case)


def image_cases(case):
    for dtype in FLOATS:
        def image(*shape, d=dtype, low=0.0, high=1.0):
            return tf.cast(tf.constant(np.random.default_rng(5).uniform(low, high, shape)), d)

        if dtype != "bfloat16":
            for name in ("RGBToHSV", "HSVToRGB"):
                case(f"{name}-{dtype}", lambda n=name, i=image: getattr(raw, n)(images=i(2, 3, 4, 3)))
        if dtype == "float32":
            for amount in (0.3, -0.6, 0.0):
                case(f"AdjustHue-{dtype}-{amount}", lambda a=amount, i=image: raw.AdjustHue(images=i(2, 3, 4, 3), delta=a))
            for amount in (0.5, 3.0, 0.0):
                case(f"AdjustSaturation-{dtype}-{amount}", lambda a=amount, i=image: raw.AdjustSaturation(images=i(2, 3, 4, 3), scale=a))
                case(f"AdjustContrastv2-{dtype}-{amount}", lambda a=amount, i=image: raw.AdjustContrastv2(images=i(2, 3, 4, 5), contrast_factor=a))
        boxes = [[0.1, 0.2, 0.7, 0.9], [0.9, 0.1, 0.2, 0.8], [-0.2, 0.1, 1.3, 0.5], [0.5, 0.5, 0.5, 0.5]]
        for method in ("bilinear", "nearest"):
            for crop in ((3, 4), (1, 1), (8, 2)):
                tag, at = f"{dtype}-{method}-{crop[0]}", {"boxes": boxes, "box_ind": [0, 1, 1, 0]}
                if dtype != "bfloat16":
                    case(f"CropAndResize-{tag}", lambda i=image, a=at, c=crop, m=method: raw.CropAndResize(
                        image=i(2, 6, 7, 3), **a, crop_size=c, method=m, extrapolation_value=0.5))
                    case(f"CropAndResizeGradImage-{tag}", lambda d="float32" if dtype == "float64" else dtype, a=at, c=crop, m=method: raw.CropAndResizeGradImage(
                        grads=numbers(4, *c, 3), **a, image_size=[2, 6, 7, 3], T=d, method=m))
                    if method == "bilinear":
                        case(f"CropAndResizeGradBoxes-{tag}", lambda i=image, a=at, c=crop: raw.CropAndResizeGradBoxes(
                            grads=numbers(4, *c, 3), image=i(2, 6, 7, 3), **a))
    grey = tf.constant([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -0.5, -0.25]])
    for name in ("RGBToHSV", "HSVToRGB"):
        case(f"{name}-ends", lambda n=name: getattr(raw, n)(images=grey))
    case("AdjustHue-ends", lambda: raw.AdjustHue(images=grey[None], delta=0.5))
    case("CropAndResize-whole-numbers", lambda: raw.CropAndResize(image=numbers(1, 4, 4, 2, dtype="int32"), boxes=[[0.0, 0.0, 1.0, 1.0]], box_ind=[0], crop_size=[3, 3]))
    case("CropAndResize-none", lambda: raw.CropAndResize(image=numbers(1, 4, 4, 2), boxes=tf.zeros([0, 4]), box_ind=tf.zeros([0], tf.int32), crop_size=[3, 3]))
