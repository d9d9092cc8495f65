"""UPDRAFT_PROFILE: the table of tasks that a program leaves."""
from tests.clients.subproc import python


def test_table(tmp_path):
    text = python("""
        import os, torch, torch_npu
        a = torch.ones(64, 64).npu()
        b = a @ a
        b = b + a
        b = b + a
        torch.npu.synchronize()
        print("pid", os.getpid())
    """, UPDRAFT_PROFILE=str(tmp_path / "tasks-%p.tsv"))
    pid = next(line.split()[1] for line in text.splitlines() if line.startswith("pid "))
    header, rows, last = read(tmp_path / f"tasks-{pid}.tsv")
    assert header == ["task", "count", "total_ms", "share_percent", "engine", "flops", "bytes", "GF/s", "GB/s"]
    assert int(rows["aclnnAdd"]["count"]) == 2
    assert sum(int(r["count"]) for n, r in rows.items() if n in ("aclnnMatmul", "aclnnMm")) == 1
    assert all(float(r["total_ms"]) > 0 for r in rows.values())
    assert abs(sum(float(r["share_percent"]) for r in rows.values()) - 100) < 1
    assert last.startswith("# busy ")


def read(path):
    header, *lines = path.read_text().splitlines()
    header = header.split("\t")
    rows = {line.split("\t")[0]: dict(zip(header[1:], line.split("\t")[1:])) for line in lines[:-1]}
    return header, rows, lines[-1]


def test_costs(tmp_path):
    """Operations and bytes are those of the shapes; the engine is the product's."""
    python("""
        import torch, torch_npu
        import torch.nn.functional as F
        a, b = torch.ones(64, 96).npu(), torch.ones(96, 32).npu()
        c = a @ b
        batched = torch.bmm(torch.ones(3, 8, 16).npu(), torch.ones(3, 16, 4).npu())
        total = torch.addmm(torch.ones(64, 32).npu(), a, b)
        x = torch.ones(2, 3, 16, 16).npu().requires_grad_()
        w = torch.ones(8, 3, 3, 3).npu().requires_grad_()
        y = F.conv2d(x, w, padding=1)
        torch.autograd.backward(y, torch.ones(2, 8, 16, 16).npu())
        lstm = torch.nn.LSTM(16, 32).npu()
        with torch.no_grad():
            state = lstm(torch.ones(5, 4, 16).npu())
        q = torch.ones(2, 4, 32, 16, dtype=torch.float16).npu()
        scores = torch_npu.npu_fusion_attention(q, q, q, 4, "BNSD", scale=0.25)
        where = torch.nonzero(c)
        copied = torch.ones(1000).to("npu", non_blocking=True)
        torch.npu.synchronize()
    """, UPDRAFT_PROFILE=str(tmp_path / "tasks.tsv"))
    _, rows, _ = read(tmp_path / "tasks.tsv")

    def cost(*names):
        row = next(rows[name] for name in names if name in rows)
        return row["engine"], int(row["flops"]), int(row["bytes"])

    assert cost("aclnnMatmul", "aclnnMm") == ("Cube", 2 * 64 * 96 * 32, 4 * (64 * 96 + 96 * 32 + 64 * 32))
    assert cost("aclnnBatchMatMul") == ("Cube", 2 * 3 * 8 * 16 * 4, 4 * 3 * (8 * 16 + 16 * 4 + 8 * 4))
    assert cost("aclnnAddmm") == ("Cube", 2 * 64 * 96 * 32, 4 * (64 * 96 + 96 * 32 + 2 * 64 * 32))
    forward = 2 * (2 * 8 * 16 * 16) * (3 * 3 * 3)
    image, filters, result = 2 * 3 * 16 * 16, 8 * 3 * 3 * 3, 2 * 8 * 16 * 16
    assert cost("aclnnConvolution") == ("Cube", forward, 4 * (image + filters + result))
    engine, flops, _ = cost("aclnnConvolutionBackward")
    assert engine == "Cube" and flops == 2 * forward
    engine, flops, _ = cost("aclnnLSTM", "DynamicRNN", "DynamicRNNV2")
    assert engine == "Cube" and flops == 2 * (5 * 4) * (4 * 32) * (16 + 32)
    engine, flops, _ = next(cost(name) for name in rows if name.startswith("aclnnFlashAttentionScore"))
    assert engine == "MixCube" and flops == 2 * (2 * 4 * 32 * 32) * (16 + 16)
    assert next(cost(name) for name in rows if name.startswith("aclnnNonzero"))[0] == "AICPU"
    assert cost("MEMCPY_ASYNC")[0] == "SDMA" and cost("MEMCPY_ASYNC")[2] >= 2 * 4 * 1000  # read and written
    for row in rows.values():
        seconds = float(row["total_ms"]) * 1e6
        assert abs(float(row["GF/s"]) - int(row["flops"]) / seconds) <= 0.02 + 0.02 * float(row["GF/s"])
