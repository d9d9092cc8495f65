"""Who may join a job with a rank table, and devices of one process that cannot all come."""
import subprocess

import pytest

from tests.distributed import jobs
from tests.distributed.native_job import NATIVE, home
from tests.distributed.test_hccl_program import template_one, write

pytestmark = pytest.mark.timeout(120)
NO_TRUST = {"UPDRAFT_HCCL_TRUST_NETWORK": 0}


def two_servers():
    """One rank each; both are this machine."""
    servers = [{"server_id": f"127.0.0.{r + 1}", "device": [{"device_id": str(r), "device_ip": f"10.0.0.{r + 1}", "rank_id": str(r)}]} for r in range(2)]
    return {"status": "completed", "version": "1.0", "server_count": "2", "server_list": servers}


def run(folder, tables, each=({}, {}), **variables):
    """What the two ranks say; each has a table and variables of its own."""
    port, job = jobs.free_base_port(), []
    for rank, (table, own) in enumerate(zip(tables, each)):
        place = folder / str(rank)
        place.mkdir(exist_ok=True)
        base = dict(NO_TRUST, UPDRAFT_CANN_HOME=home(), UPDRAFT_MEMORY="64M", ASCEND_DEVICE_ID=rank, RANK_ID=rank, RANK_SIZE=2,
                    RANK_TABLE_FILE=write(place, table), HCCL_IF_BASE_PORT=port, UPDRAFT_HCCL_CONNECT_TIMEOUT=30)
        job.append({**base, **variables, **own})
    ended = jobs.run([*NATIVE, "sum_of_all"], job, each=[[r] for r in range(2)])
    assert [e.status for e in ended] == [0, 0], jobs.report(ended)
    return [e.output.splitlines()[-1] for e in ended]


def secret(folder, text="0123456789abcdef0123456789abcdef", mode=0o600):
    file = folder / "secret"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_one_server_needs_nothing(tmp_path):
    assert run(tmp_path, [template_one(2)] * 2) == ["[2.0]"] * 2


def test_several_servers_need_a_secret(tmp_path):
    for said in run(tmp_path, [two_servers()] * 2):
        assert "EI0001: " in said and "has 2 servers" in said and "UPDRAFT_HCCL_SECRET_FILE" in said and "UPDRAFT_HCCL_TRUST_NETWORK=1" in said


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("how", ["file", "variable"])
def test_a_secret(tmp_path, servers, how):
    table = template_one(2) if servers == 1 else two_servers()
    more = {"UPDRAFT_HCCL_SECRET_FILE": secret(tmp_path)} if how == "file" else {"UPDRAFT_HCCL_SECRET": "sixteen bytes at least"}
    assert run(tmp_path, [table] * 2, **more) == ["[2.0]"] * 2


def test_a_trusted_network(tmp_path):
    assert run(tmp_path, [two_servers()] * 2, UPDRAFT_HCCL_TRUST_NETWORK=1) == ["[2.0]"] * 2


def test_different_secrets(tmp_path):
    """Who knows the table alone does not get in, and the others go on waiting for the right one."""
    own = [{"UPDRAFT_HCCL_SECRET": "sixteen bytes at least", "UPDRAFT_HCCL_CONNECT_TIMEOUT": 3}, {"UPDRAFT_HCCL_TRUST_NETWORK": 1}]
    said = run(tmp_path, [two_servers()] * 2, own)
    assert "does not know the key" in said[1] and "UPDRAFT_HCCL_SECRET" in said[1], said
    assert "rank 1" in said[0] and "did not join" in said[0], said


def test_a_secret_that_others_can_read(tmp_path):
    for said in run(tmp_path, [two_servers()] * 2, UPDRAFT_HCCL_SECRET_FILE=secret(tmp_path, mode=0o644)):
        assert "EI0001: UPDRAFT_HCCL_SECRET_FILE" in said and "chmod 600" in said, said


def test_different_tables(tmp_path):
    """The rank with the wrong one is told at once, and what to look at."""
    other = template_one(2)
    other["server_list"][0]["server_id"] = "10.0.0.77"
    said = run(tmp_path, [template_one(2), other], [{"UPDRAFT_HCCL_CONNECT_TIMEOUT": 3}, {}])
    assert "EI0015" in said[1] and "another rank table" in said[1], said


FEW_THREADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
static int left = -1;
void fail_after(int n) { __atomic_store_n(&left, n, __ATOMIC_SEQ_CST); }
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real) real = dlsym(RTLD_NEXT, "pthread_create");
  int n = __atomic_load_n(&left, __ATOMIC_SEQ_CST);
  if (n == 0) return EAGAIN;
  if (n > 0) __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
  return real(t, a, f, x);
}
"""


def test_devices_for_which_there_is_no_thread(tmp_path):
    (tmp_path / "few.c").write_text(FEW_THREADS)
    library = tmp_path / "few.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "few.c", "-ldl"], check=True)
    variables = dict(UPDRAFT_CANN_HOME=home(), UPDRAFT_MEMORY="64M", LD_PRELOAD=library)
    ended, = jobs.run([*NATIVE, "all_devices", library], [variables], timeout=60)
    assert ended.status == 0 and "EI0015: no thread for device 1 of 3" in ended.output, ended.output
    assert ended.output.splitlines()[-1] == "and again", ended.output
