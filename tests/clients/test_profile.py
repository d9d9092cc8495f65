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
    header, *lines = (tmp_path / f"tasks-{pid}.tsv").read_text().splitlines()
    assert header.split("\t") == ["task", "count", "total_ms", "share_percent"]
    rows = {row[0]: row[1:] for row in (line.split("\t") for line in lines[:-1])}
    assert int(rows["aclnnAdd"][0]) == 2 and sum(int(r[0]) for n, r in rows.items() if n in ("aclnnMatmul", "aclnnMm")) == 1
    assert all(float(r[1]) > 0 for r in rows.values())
    assert abs(sum(float(r[2]) for r in rows.values()) - 100) < 1
    assert lines[-1].startswith("# busy ")
