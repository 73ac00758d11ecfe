"""The workers that one command starts can be reached only by each other."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from workers import fit_words

LISTENING = "0A"
NOBODY = 65534
FORBIDDEN = 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'


def wait_for(found, what, seconds=120):
    """Wait until `found` returns something, and return it."""
    deadline = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < deadline, f"no {what} within {seconds} s"
        time.sleep(0.02)
    return result


def workers_of(process):
    """The child processes that are workers."""
    tasks = Path(f"/proc/{process}/task/{process}/children")
    workers = []
    with contextlib.suppress(OSError):  # the child has just ended
        for child in tasks.read_text().split():
            if b"--rank" in Path(f"/proc/{child}/cmdline").read_bytes():
                workers.append(int(child))
    return workers


def listeners(process):
    """Listening ports in the network of a process, with the inodes of the sockets."""
    found = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == LISTENING:
                    found[words[9]] = int(words[1].rpartition(":")[2], 16)
    return found


def sockets_of(process):
    links = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(link))
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


@contextlib.contextmanager
def fit_that_waits(table, output, *options, **settings):
    """A fit with two workers, the second of which is stopped before it connects to the first."""
    words = fit_words(table, "--workers", 2, "--no-compare", "--threads", 1, *options, "-o", output)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes, **settings) as process:
        children = wait_for(lambda: len(found := workers_of(process.pid)) == 2 and found, "worker")
        os.kill(children[1], signal.SIGSTOP)
        try:
            yield process, children
        finally:
            if process.poll() is None:
                os.kill(children[1], signal.SIGCONT)
                process.kill()


def own_listeners(process):
    """The ports on which a process itself listens; empty if it does not listen yet."""
    sockets = sockets_of(process)
    return {inode: port for inode, port in listeners(process).items() if inode in sockets}


def attack(port):
    """Connect as any user of this machine could, and send garbage; False if nothing listens."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"\0\0\0\0")
    except OSError:
        return False
    return True


def test_workers_of_one_command_cannot_be_reached(table, tmp_path):
    with fit_that_waits(table, tmp_path / "model") as (process, children):
        theirs = wait_for(lambda: own_listeners(children[0]), "listener of a worker")
        assert not theirs.keys() & listeners("self").keys(), "a worker listens in the network of this machine"
        network = os.readlink("/proc/self/ns/net")
        assert all(os.readlink(f"/proc/{child}/ns/net") != network for child in children)
        foreign = set(theirs.values()) - set(listeners("self").values())
        assert not any(attack(port) for port in foreign)
        os.kill(children[1], signal.SIGCONT)
        errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    assert (tmp_path / "model").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_any_user_has_a_private_network_and_owns_the_model(table):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(table, folder / "rows.parquet")
        os.chown(folder, NOBODY, NOBODY)
        library = importlib.util.find_spec("xgboost").submodule_search_locations[0] + "/lib/libxgboost.so"
        settings = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "capture_output": True, "text": True}
        words = fit_words(folder / "rows.parquet", "--xgboost", library, "--no-compare", "-o", folder / "model")
        if any(
            subprocess.run(test, **settings).returncode for test in ([words[0], "--version"], ["test", "-r", library])
        ):
            pytest.skip("the program or XGBoost is closed to other users")
        done = subprocess.run([*words, "--workers", "2"], timeout=300, **settings)
        assert done.returncode == 0, done.stderr
        state = (folder / "model").stat()
        assert (state.st_uid, state.st_gid) == (NOBODY, NOBODY)


def test_a_process_without_privileges_has_a_private_network(table, tmp_path):
    words = fit_words(table, "--workers", 2, "--no-compare", "-o", tmp_path / "model")
    if os.geteuid() == 0:
        words = ["setpriv", "--bounding-set", "-sys_admin", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def without_namespaces(words):
    """Run a command where the system allows no network namespaces."""
    prefix = ["unshare", "--user", "--map-root-user", "sh", "-c", FORBIDDEN, "sh"]
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    return subprocess.run([*prefix, *words], capture_output=True, text=True, timeout=300)


def test_a_system_without_namespaces_is_an_error_that_names_the_remedy(table, tmp_path):
    words = fit_words(table, "--workers", 2, "--no-compare", "-o", tmp_path / "model")
    done = without_namespaces(words)
    assert done.returncode == 2
    assert "--workers: cannot create a private network for the workers (unshare: " in done.stderr
    assert done.stderr.endswith("Add --private-network if only trusted programs can reach their ports\n")
    assert not (tmp_path / "model").exists()
    done = without_namespaces([*words, "--private-network"])
    assert done.returncode == 0, done.stderr
