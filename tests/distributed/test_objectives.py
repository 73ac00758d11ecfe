"""Several processes compute the result of one, and the bytes they send do not depend on the number of rows."""

import json
import subprocess

import numpy as np
import pytest
from programs import required_path
from workers import FULL, Here, run_workers

ROWS = 20_000


def evaluated(network, world, transform, method, tmp_path):
    """Loss, gradient of all rows, and bytes that a worker sent."""

    def words(rank, address):
        file = tmp_path / f"{world}-{rank}"
        return [required_path("WIDTHWISE_PROBE"), "evaluate", address, rank, world, ROWS, transform, method, file]

    sent = [int(out) for out in run_workers(network, world, words)]
    parts = [np.fromfile(tmp_path / f"{world}-{rank}") for rank in range(world)]
    assert all(part[0] == parts[0][0] for part in parts), "every worker has the same loss"
    return parts[0][0], np.concatenate([part[1:] for part in parts]), max(sent)


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("transform", ["exp", "linear", "density", "affine", "spline", "shortest"])
def test_loss_and_gradient_are_those_of_one_process(transform, world, network, tmp_path):
    loss, gradient, _ = evaluated(Here(), 1, transform, "exact", tmp_path)
    (tmp_path / "workers").mkdir()
    loss_of_workers, gradient_of_workers, sent = evaluated(network, world, transform, "auto", tmp_path / "workers")
    # For density and affine, workers send a summary of the values; the sums of the other transforms are exact.
    tolerance = 1e-12 if transform in ("exp", "linear", "spline", "shortest") else 1e-3
    assert abs(np.exp(loss_of_workers - loss) - 1) < tolerance
    assert np.linalg.norm(gradient_of_workers - gradient) < tolerance * np.linalg.norm(gradient)
    assert sent <= (200 if tolerance == 1e-12 else 65_536)


@pytest.mark.parametrize("transform", ["exp", "affine"])
def test_a_round_sends_the_same_bytes_whatever_the_number_of_rows(transform):
    sizes = [100_000, 1_000_000, 4_000_000] if FULL else [20_000, 100_000]
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    script = (
        'ip link set lo up; for rank in 0 1; do "$0" train 127.0.0.1:9091 $rank 2 "$1" "$2" 10 & pids="$pids $!"; done; '
        "for pid in $pids; do wait $pid || exit 1; done"
    )
    counts = []
    for rows in sizes:
        words = ["unshare", "--net", "sh", "-c", script, str(required_path("WIDTHWISE_PROBE")), str(rows), transform]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stderr
        cost = json.loads(done.stdout.splitlines()[0])
        print(f"\n{transform}, {rows} rows, 2 workers, a round: {cost}")
        counts.append((cost["bytes"], cost["network"]))
    # The sums of a leaf are 32 bytes here, and trees of other rows may have a leaf more or less per round.
    own = [bytes_ for bytes_, _ in counts]
    assert max(own) - min(own) <= 32
    assert counts[0][0] <= 65_536
    # XGBoost's histograms dominate; slightly different trees send slightly different amounts.
    carried = [network for _, network in counts]
    assert max(carried) < 1.3 * min(carried)
