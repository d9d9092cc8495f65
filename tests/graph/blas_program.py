"""Products of matrices through acl.blas, compared with numpy in float64."""

import acl
import numpy as np

N, T, NZ = 0, 1, 2
TYPE = {np.float32: 0, np.float16: 1, np.int8: 2, np.int32: 3}


def good(ret):
    assert ret == 0, (ret, acl.get_recent_err_msg())


def refused(ret, *words):
    text = acl.get_recent_err_msg()
    assert ret != 0
    for word in words:
        assert word in text, (word, text)


def on_device(array):
    array = np.ascontiguousarray(array)
    pointer, ret = acl.rt.malloc(array.nbytes, 0)
    good(ret)
    good(acl.rt.memcpy(pointer, array.nbytes, acl.util.numpy_to_ptr(array), array.nbytes, 1))
    return pointer


def on_host(pointer, like):
    out = np.empty_like(like)
    good(acl.rt.memcpy(acl.util.numpy_to_ptr(out), out.nbytes, pointer, out.nbytes, 2))
    return out


def numbers(rng, shape, kind):
    return rng.integers(-128, 128, shape).astype(kind) if np.issubdtype(kind, np.integer) else rng.standard_normal(shape).astype(kind)


def near(got, want, kind):
    if np.issubdtype(kind, np.integer):
        assert np.array_equal(got, want)
    else:
        step = {np.float16: 2.0**-10, np.float32: 1e-5}[kind]
        assert np.allclose(got, want, rtol=step, atol=step * np.abs(want).max() * 0.1), np.abs(got - want).max()


def products(stream):
    rng = np.random.default_rng(0)
    for kind, result in ((np.float16, np.float16), (np.float16, np.float32), (np.float32, np.float32), (np.int8, np.int32),
                         (np.int8, np.float32)):
        for (m, n, k), (ta, tb), padded in (((5, 7, 9), (N, N), 0), ((33, 20, 65), (T, N), 0), ((16, 48, 32), (N, T), 3), ((1, 1, 1), (T, T), 0)):
            a, b, c = numbers(rng, (m, k), kind), numbers(rng, (k, n), kind), numbers(rng, (m, n), result)
            alpha, beta = (3, -2) if np.issubdtype(result, np.integer) else (1.5, -0.5)
            want = alpha * (a.astype(np.float64) @ b.astype(np.float64)) + beta * c.astype(np.float64)
            stored = [x.T if t == T else x for x, t in ((a, ta), (b, tb))]
            stored = [np.pad(x, ((0, 0), (0, padded))) for x in stored]
            lds = [x.shape[1] if padded else -1 for x in stored]
            pa, pb, pc = on_device(stored[0]), on_device(stored[1]), on_device(c)
            factors = np.array([alpha, beta], result)
            where = on_device(factors) if m > 5 else acl.util.numpy_to_ptr(factors)  # both are used by applications
            good(acl.blas.gemm_ex(ta, tb, N, m, n, k, where, pa, lds[0], TYPE[kind], pb, lds[1], TYPE[kind],
                                  where + factors.itemsize, pc, -1, TYPE[result], 0, stream))
            good(acl.rt.synchronize_stream(stream))
            near(on_host(pc, c), want, result)
    # beta 0: what was there does not matter, NaN neither
    a, b, c = (np.eye(4, dtype=np.float16), numbers(rng, (4, 4), np.float16), np.full((4, 4), np.nan, np.float16))
    pc, factors = on_device(c), np.array([1, 0], np.float16)
    one = acl.util.numpy_to_ptr(factors)
    good(acl.blas.hgemm(N, N, N, 4, 4, 4, one, on_device(a), -1, on_device(b), -1, one + 2, pc, -1, 0, stream))
    good(acl.rt.synchronize_stream(stream))
    assert np.array_equal(on_host(pc, c), b)


def vectors(stream):
    rng = np.random.default_rng(1)
    for call, kind, result in (("hgemv", np.float16, np.float16), ("s8gemv", np.int8, np.int32)):
        for trans in (N, T):
            a = numbers(rng, (6, 10), kind)
            x, y = numbers(rng, 6 if trans else 10, kind), numbers(rng, 10 if trans else 6, result)
            factors = np.array([2, 1], result)
            where, py = acl.util.numpy_to_ptr(factors), on_device(y)
            good(getattr(acl.blas, call)(trans, 6, 10, where, on_device(a), -1, on_device(x), 1, where + factors.itemsize, py, 1, 0, stream))
            good(acl.rt.synchronize_stream(stream))
            whole = a.astype(np.float64)
            near(on_host(py, y), 2 * ((whole.T if trans else whole) @ x.astype(np.float64)) + y, result)


def refusals(stream):
    p, factors = on_device(np.zeros((4, 4), np.float32)), np.array([1, 0], np.float32)
    one = acl.util.numpy_to_ptr(factors)

    def gemm(ta=N, m=4, lda=-1, kind=0, a=p):
        return acl.blas.gemm_ex(ta, N, N, m, 4, 4, one, a, lda, kind, p, -1, 0, one, p, -1, 0, 0, stream)

    refused(gemm(ta=NZ), "matrixA", "ACL_TRANS_NZ")
    refused(gemm(m=0), "m, n and k")
    refused(gemm(lda=3), "leading dimension", "3", "4")
    refused(gemm(kind=1), "types")
    refused(gemm(m=4000), "matrixA", "bytes")
    refused(gemm(a=0), "matrixA")


if __name__ == "__main__":
    good(acl.init())
    good(acl.rt.set_device(0))
    main_stream, created = acl.rt.create_stream()
    good(created)
    products(main_stream)
    vectors(main_stream)
    refusals(main_stream)
    print("good")
