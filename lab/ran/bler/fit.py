#!/usr/bin/env python3
"""Fits `src/phy/curves.rs` to the block error rates of sionna, and prints the error of the fit.

sionna (Apache-2.0, NVIDIA) has simulated block error rates of LDPC over AWGN for the MCS of 38.214
tables 5.1.3.1-1 to -4 and five code block sizes of 24 to 2000 bits. The points are 1.6 to 1.8 dB
apart, more than the width of the fall of a large block, so a curve between them has to come from a
model:

    BLER(SNR) = Q((SNR - median) / spread), SNR, median and spread in dB,
    median = capacity(rate) + a + b·x + (c + d·x)/√K + e/K,
    ln spread = f + g·x - (h + i·x)·ln K,

with K bits in a code block, x = rate - 1/2, and `capacity(rate)` the SNR at which bit-interleaved
coded modulation of this order carries the rate; (c + d·x)/√K is the loss of finite blocks
(Polyanskiy, Poor, Verdú, IEEE Trans. Inf. Theory 2010). Each modulation order has its nine numbers,
drawn to the mean of the orders by a prior that decides only where there are few points, as for
1024QAM.

    pip install --no-deps sionna
    pip install numpy scipy
    python fit.py --write ../src/phy/curves.rs
"""

import argparse
import importlib.util
import json
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr, ndtri

ORDERS = (2, 4, 6, 8, 10)
# 38.214 tables 5.1.3.1-1 to -4: modulation order, rates × 1024.
MCS_TABLES = {
    1: {
        2: (120, 157, 193, 251, 308, 379, 449, 526, 602, 679),
        4: (340, 378, 434, 490, 553, 616, 658),
        6: (438, 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948),
    },
    2: {
        2: (120, 193, 308, 449, 602),
        4: (378, 434, 490, 553, 616, 658),
        6: (466, 517, 567, 616, 666, 719, 772, 822, 873),
        8: (682.5, 711, 754, 797, 841, 885, 916.5, 948),
    },
    3: {
        2: (30, 40, 50, 64, 78, 99, 120, 157, 193, 251, 308, 379, 449, 526, 602),
        4: (340, 378, 434, 490, 553, 616),
        6: (438, 466, 517, 567, 616, 666, 719, 772),
    },
    4: {
        2: (120, 193, 449),
        4: (378, 490, 616),
        6: (466, 517, 567, 616, 666, 719, 772, 822, 873),
        8: (682.5, 711, 754, 797, 841, 885, 916.5, 948),
        10: (805.5, 853, 900.5, 948),
    },
}
PDSCH = "1"
# Blocks per point: sionna stops a point at about 300 errors or blocks.
BLOCKS = 300
# Strength of the prior, in points.
PRIOR = 0.02
# Degree of the polynomial of `capacity`.
DEGREE = 6


def points() -> np.ndarray:
    """Rows of modulation order, rate of the code block, bits K, SNR in dB, block error rate."""
    spec = importlib.util.find_spec("sionna")
    if spec is None or spec.origin is None:
        raise SystemExit("sionna is not installed; expected `pip install --no-deps sionna`")
    rows = []
    for table, orders in MCS_TABLES.items():
        entries = [(order, rate / 1024) for order, rates in orders.items() for rate in rates]
        path = Path(spec.origin).parent / "sys" / "bler_tables" / f"PDSCH_table{table}.json"
        curves = json.loads(path.read_text())["category"][PDSCH]["index"][str(table)]["MCS"]
        for mcs, curve in curves.items():
            order, rate = entries[int(mcs)]
            for bits, values in curve["CBS"].items():
                # A block of few bits has whole symbols, and so a lower rate than its MCS.
                symbols = np.ceil(round(int(bits) / rate / order, 6))
                own_rate = int(bits) / (order * symbols)
                for snr_db, bler in zip(curve["SNR_db"], values["BLER"], strict=True):
                    rows.append((order, own_rate, int(bits), snr_db, bler))
    return np.array(rows)


def capacity(order: int, snr_db: float) -> float:
    """Bits per coded bit that Gray-labelled QAM carries over AWGN, by Gauss-Hermite quadrature."""
    bits = order // 2
    levels = np.arange(-(2**bits - 1), 2**bits, 2.0)
    levels /= np.sqrt((levels**2).mean())
    labels = np.arange(2**bits) ^ (np.arange(2**bits) >> 1)
    nodes, weights = np.polynomial.hermite.hermgauss(40)
    deviation = 10 ** (-snr_db / 20)
    received = levels[:, None] + np.sqrt(2) * deviation * nodes[None, :]
    log_likelihood = -((received[:, :, None] - levels) ** 2) / (2 * deviation**2)
    likelihood = np.exp(log_likelihood - log_likelihood.max(-1, keepdims=True))
    lost = 0.0
    for bit in range(bits):
        ones = (labels >> bit) & 1 == 1
        of_ones, of_zeros = (likelihood[:, :, of].sum(-1) for of in (ones, ~ones))
        same = np.where(ones[:, None], of_ones, of_zeros)
        loss = np.log2(likelihood.sum(-1) / np.maximum(same, 1e-300))
        lost += (loss * weights).sum(-1).mean() / np.sqrt(np.pi)
    return 1 - lost / bits


def basis(rate: np.ndarray) -> np.ndarray:
    """Regressors of the SNR at which a modulation carries `rate`: both ends are logarithmic."""
    x = rate - 0.5
    powers = [x**power for power in range(DEGREE + 1)]
    return np.stack([np.log(rate), np.log1p(-rate), *powers], axis=-1)


def capacity_fit(order: int) -> tuple[np.ndarray, float]:
    """Coefficients of `basis` of a modulation order, and the largest error in dB."""
    snr_db = np.arange(-25.0, 45.0, 0.1)
    carried = np.array([capacity(order, value) for value in snr_db])
    usable = (carried > 1e-3) & (carried < 1 - 1e-5)
    inverse = CubicSpline(carried[usable], snr_db[usable])
    rates = np.linspace(0.03, 0.97, 600)
    coefficients = np.linalg.lstsq(basis(rates), inverse(rates), rcond=None)[0]
    return coefficients, float(np.abs(basis(rates) @ coefficients - inverse(rates)).max())


def curves(
    shape: np.ndarray, own: np.ndarray, rate: np.ndarray, bits: np.ndarray, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Median and spread in dB of each row; `own` is the row's index of its modulation order."""
    a, b, c, d, e, f, g, h, i = shape.reshape(len(ORDERS), -1)[own].T
    x = rate - 0.5
    median = base + a + b * x + (c + d * x) / np.sqrt(bits) + e / bits
    return median, np.exp(f + g * x - (h + i * x) * np.log(bits))


def fit(rows: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Nine numbers for each modulation order, of greatest likelihood under the prior."""
    order, rate, bits, snr_db, bler = rows.T
    own = np.searchsorted(ORDERS, order)
    near = np.abs(snr_db - base - 2) < 14

    def loss(shape: np.ndarray) -> float:
        median, spread = curves(shape, own, rate, bits, base)
        z = ((snr_db - median) / spread)[near]
        likelihood = bler[near] * log_ndtr(-z) + (1 - bler[near]) * log_ndtr(z)
        each = shape.reshape(len(ORDERS), -1)
        apart = ((each - each.mean(0)) ** 2).sum()
        return float(-likelihood.sum() + PRIOR * apart)

    start = np.tile([0.8, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.45, 0.0], len(ORDERS))
    return minimize(loss, start, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 10**6}).x


def report(rows: np.ndarray, median: np.ndarray, spread: np.ndarray) -> None:
    """Prints the distance in dB between fit and points, by order and code block size."""
    order, _, bits, snr_db, bler = rows.T
    falling = (bler > 0.01) & (bler < 0.99)
    off_db = snr_db + ndtri(np.clip(bler, 1e-9, 1 - 1e-9)) * spread - median
    print("order  bits  points  mean dB  largest dB")
    for own in ORDERS:
        for size in np.unique(bits):
            here = off_db[falling & (order == own) & (bits == size)]
            if len(here):
                largest = np.abs(here).max()
                print(f"{own:5} {size:5.0f} {len(here):7} {here.mean():8.2f} {largest:11.2f}")
    early, late = ndtr((median - snr_db + 0.5) / spread), ndtr((median - snr_db - 0.5) / spread)
    margin = [3 * np.sqrt(p * (1 - p) / BLOCKS) + 0.002 for p in (early, late)]
    outside = (bler > early + margin[0]) | (bler < late - margin[1])
    large = (outside & (bits > 100)).sum()
    print(f"{outside.sum()} of {len(rows)} points are more than 0.5 dB and three standard errors")
    print(f"away, {large} of them with more than 100 bits")


def rust(capacities: list[np.ndarray], shape: np.ndarray) -> str:
    """The constants as Rust source."""
    each = shape.reshape(len(ORDERS), -1)
    lines = [
        "//! Numbers of the block error rate curves, as `bler/fit.py` writes and describes them.",
        "",
        "/// Terms of the capacity of a modulation: ln rate, ln (1 - rate), powers of rate - 1/2.",
        f"pub(super) const CAPACITY_DB: [[f64; {DEGREE + 3}]; {len(ORDERS)}] = [",
        *("    [" + ", ".join(f"{value:.4f}" for value in row) + "]," for row in capacities),
        "];",
        "",
        "/// Terms a to i of median and spread.",
        f"pub(super) const SHAPE: [[f64; {each.shape[1]}]; {len(ORDERS)}] = [",
        *("    [" + ", ".join(f"{value:.4f}" for value in row) + "]," for row in each),
        "];",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Fits, prints the error and writes the constants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="file of the constants")
    arguments = parser.parse_args()
    rows = points()
    fitted = [capacity_fit(order) for order in ORDERS]
    print("largest error of the capacities:", ", ".join(f"{error:.3f} dB" for _, error in fitted))
    capacities = np.array([coefficients for coefficients, _ in fitted]).round(4)
    own = np.searchsorted(ORDERS, rows[:, 0])
    base = (basis(rows[:, 1]) * capacities[own]).sum(-1)
    shape = fit(rows, base).round(4)
    report(rows, *curves(shape, own, rows[:, 1], rows[:, 2], base))
    if arguments.write:
        arguments.write.write_text(rust(list(capacities), shape))


if __name__ == "__main__":
    main()
