"""Estimate the communication time of workers, with a model of the network and a simulation of every message.

XGBoost sums numbers in a ring: each of w workers sends 1/w of the data to its neighbour, 2 (w - 1) times. With a
latency of a seconds per message and a bandwidth of b bytes per second, m bytes take 2 (w - 1) (a + m / (w b)). This is
the model. The simulation moves every message separately, between workers of different speed, as in a real round.

    python bench/communication.py        prints the table of docs/scale.md
"""

from __future__ import annotations

import random


def modelled(workers: int, size: float, latency: float, bandwidth: float) -> float:
    """Seconds to sum `size` bytes over a ring."""
    return 2 * (workers - 1) * (latency + size / (workers * bandwidth))


def simulated(starts: list[float], size: float, latency: float, bandwidth: float) -> float:
    """Simulate the messages: worker i is ready at starts[i]; return the time when the last worker has the sum.

    In each step, a worker sends one chunk to the next worker and waits for a chunk from the previous one.
    """
    workers = len(starts)
    clock = list(starts)
    transfer = latency + size / (workers * bandwidth)
    for _ in range(2 * (workers - 1)):
        # A chunk arrives when its sender was ready and the transfer is complete.
        clock = [max(clock[i], clock[i - 1] + transfer) for i in range(workers)]
    return max(clock)


HISTOGRAM_BINS = 256
BYTES_OF_BIN = 16  # gradient and Hessian, double precision


def histogram_bytes(features: int, depth: int, outputs: int) -> float:
    """Bytes that XGBoost sums per round: the histograms of the smaller of two siblings, at each depth."""
    nodes = sum(max(1, 2 ** (level - 1)) for level in range(depth))
    return outputs * nodes * features * HISTOGRAM_BINS * BYTES_OF_BIN


def round_seconds(
    workers: int, *, features: int, depth: int = 4, outputs: int = 2, summary: float = 51_264
) -> dict[str, float]:
    """Communication seconds per round in a data centre network: 50 us per message, 10 Gbit/s."""
    latency, bandwidth = 50e-6, 1.25e9
    own = modelled(workers, summary, latency, bandwidth)
    calls = depth * outputs
    engine = calls * modelled(workers, histogram_bytes(features, depth, outputs) / calls, latency, bandwidth)
    return {"summary": own, "histograms": engine}


def main() -> None:
    latency, bandwidth = 50e-6, 1.25e9
    draw = random.Random(0)
    print("| workers | model, ms | simulated, ms | with workers up to 10 ms late | 50 features: a round sends, ms |")
    print("|---|---|---|---|---|")
    for workers in (2, 4, 16, 64, 256, 1000):
        model = modelled(workers, 51_264, latency, bandwidth)
        exact = simulated([0.0] * workers, 51_264, latency, bandwidth)
        late = [draw.uniform(0, 0.010) for _ in range(workers)]
        jittered = simulated(late, 51_264, latency, bandwidth)
        whole = sum(round_seconds(workers, features=50).values())
        print(f"| {workers} | {1e3 * model:.2f} | {1e3 * exact:.2f} | {1e3 * jittered:.2f} | {1e3 * whole:.1f} |")
        assert abs(exact / model - 1) < 1e-9
        assert jittered <= max(late) + model + 1e-12


if __name__ == "__main__":
    main()
