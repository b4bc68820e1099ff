#!/usr/bin/env python3
"""numpy_compute.py [--mib N] [--repeats N]: the cases of `forebay bench compute` in NumPy.

Writes JSON to standard output: rows of the same shape as those of `forebay bench compute`, in the
tier "numpy", so that a host's rows can be read beside them. One thread; results go to arrays that
exist, as in the bench. A chain is as many calls, each in place: NumPy fuses nothing.
"""
import argparse
import json
import os
import statistics
import time

for library in ("OMP", "OPENBLAS", "MKL", "VECLIB"):  # before NumPy loads it
    os.environ[library + "_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402

ROW = 4096
PITCH = ROW + 64


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mib", type=int, default=1024, help="size of each of five arrays, in MiB")
    parser.add_argument("--repeats", type=int, default=20, help="runs of each case; the median counts")
    arguments = parser.parse_args()

    rows = (arguments.mib << 18) // ROW
    elements = rows * ROW
    pitched = np.arange(rows * PITCH, dtype=np.float32) % 1000 * np.float32(0.25)
    x = pitched[:elements].copy()
    y = x[::-1].copy()
    out = np.zeros_like(x)
    table, other, result = (a.reshape(rows, ROW) for a in (x, y, out))
    result_rows = []

    def measure(name, size, work):
        times = []
        for i in range(arguments.repeats + 1):
            start = time.perf_counter()
            work()
            if i != 0:  # the first one warms up
                times.append(time.perf_counter() - start)
        median = statistics.median(times)
        result_rows.append({"case": name, "tier": "numpy", "bytes": size, "median_s": median,
                            "gb_per_s": 1e-9 * size / median})

    def chain(length):
        scalars = [np.float32(1.0009765625 if k % 2 == 0 else 0.5 + k) for k in range(length)]

        def work():
            source = x
            for k, scalar in enumerate(scalars):
                (np.multiply if k % 2 == 0 else np.add)(source, scalar, out=out)
                source = out
        return work

    def triad():
        np.multiply(y, np.float32(3), out=out)
        np.add(x, out, out=out)

    def softmax():
        np.subtract(table, table.max(axis=1, keepdims=True), out=result)
        np.exp(result, out=result)
        np.divide(result, result.sum(axis=1, keepdims=True), out=result)

    four = elements * 4
    measure("copy", 2 * four, lambda: np.copyto(out, x))
    for name, kind in (("add", np.float32), ("add_f64", np.float64), ("add_f16", np.float16),
                       ("add_u8", np.uint8)):
        a, b, c = (array.view(kind) for array in (x, y, out))
        if kind is np.float16:  # numbers, not what the bits of f32 happen to be
            a[:], b[:] = np.float16(0.5), np.float16(1.5)
        measure(name, 3 * four, lambda a=a, b=b, c=c: np.add(a, b, out=c))
        if kind is np.float16:
            x[:], y[:] = pitched[:elements], pitched[elements - 1::-1]
    measure("triad", 3 * four, triad)
    for length in (1, 3, 10, 40):
        measure(f"chain{length}", 2 * four, chain(length))
    wide = pitched.reshape(rows, PITCH)[:, :ROW]
    measure("strided", 2 * four, lambda: np.add(wide, np.float32(1), out=result))
    measure("broadcast_row", 2 * four, lambda: np.add(table, other[0], out=result))
    measure("dot", 2 * four, lambda: np.dot(x, y))
    measure("sum", four, lambda: np.sum(x))
    measure("row_sum", four, lambda: np.sum(table, axis=1, out=out[:rows]))
    measure("column_sum", four, lambda: np.sum(table, axis=0, out=out[:ROW]))
    measure("softmax_rows", 2 * four, softmax)

    copy = result_rows[0]["gb_per_s"]
    for row in result_rows:
        row["of_copy"] = row["gb_per_s"] / copy
    print(json.dumps({"bench": "compute", "device": "numpy", "device_name": "NumPy " + np.__version__,
                      "mib": arguments.mib, "repeats": arguments.repeats, "copy_gb_per_s": copy,
                      "rows": result_rows, "launches": [], "planning": []}, indent=1))


if __name__ == "__main__":
    main()
