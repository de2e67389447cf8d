#!/usr/bin/env python3
"""Draw predicted-and-measured.svg: what gpucast predicts beside what the thesis measured.

Usage: cargo build --release && python3 docs/pictures/predicted-and-measured.py

Runs the three kernels of the thesis through the program, once from execution and once from the
published counts, and writes the SVG beside this file. Needs nothing but Python.
"""

import json
import math
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPUCAST = ROOT / "target/release/gpucast"
GPUS = ["gtx-480", "gtx-660", "gtx-960", "gtx-1060", "tesla-m2050", "tesla-k20c"]
KERNELS = [("sgemm", "sgemm"), ("sor-red-black", "sor"), ("lmsor", "lmsor")]
# Okabe and Ito's palette is safe for colour-blind readers.
EXECUTED, PUBLISHED, MEASURED = "#0072b2", "#e69f00", "#222222"


def predict(*arguments):
    command = [GPUCAST, "predict", *arguments, "--gpu", ",".join(GPUS), "--format", "json"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return {p["gpu"]: p for p in json.loads(output)["predictions"]}


def main():
    left, right, row, top = 210, 640, 20, 74
    rows = []
    for kernel, published in KERNELS:
        executed = predict(kernel, "--machine", "rules")
        counted = predict("--from-metrics", f"corpus/published/{published}.toml")
        for gpu in GPUS:
            measured = executed[gpu]["published"]["measured_ms"]
            rows.append((kernel, gpu, executed[gpu]["time_ms"], counted[gpu]["time_ms"], measured))
    low, high = 1.5, 50.0

    def x(milliseconds):
        return left + (right - left) * math.log(milliseconds / low) / math.log(high / low)

    height = top + len(rows) * row + 2 * 16 + 44
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + 30}" height="{height}" '
        f'viewBox="0 0 {right + 30} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{right + 30}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="24" font-size="15" font-weight="bold">'
        "Time of a kernel, predicted without a GPU and measured on it</text>",
    ]
    legend = [
        (12, EXECUTED, "predicted, counts from executing the PTX"),
        (300, PUBLISHED, "predicted, counts from nvprof"),
        (508, MEASURED, "measured (thesis)"),
    ]
    for at, colour, text in legend:
        svg.append(mark(at + 6, 44, colour))
        svg.append(f'<text x="{at + 18}" y="48">{text}</text>')
    bottom = height - 40
    for tick in (2, 5, 10, 20, 50):
        at = x(tick)
        svg.append(f'<line x1="{at:.1f}" y1="{top - 12}" x2="{at:.1f}" y2="{bottom}" stroke="#dddddd"/>')
        svg.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{tick}</text>')
    svg.append(f'<text x="{(left + right) / 2}" y="{height - 8}" text-anchor="middle">milliseconds, logarithmic</text>')
    y = top
    for index, (kernel, gpu, executed, counted, measured) in enumerate(rows):
        if index and index % len(GPUS) == 0:
            y += 16
        if index % len(GPUS) == 0:
            svg.append(f'<text x="12" y="{y + 4}" font-weight="bold">{kernel}</text>')
        svg.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{gpu}</text>')
        ends = [x(t) for t in (executed, counted, measured)]
        svg.append(
            f'<line x1="{min(ends):.1f}" y1="{y}" x2="{max(ends):.1f}" y2="{y}" stroke="#999999"/>'
        )
        for colour, time in ((PUBLISHED, counted), (EXECUTED, executed), (MEASURED, measured)):
            svg.append(mark(x(time), y, colour))
        y += row
    svg.append("</svg>")
    target = pathlib.Path(__file__).with_suffix(".svg")
    target.write_text("\n".join(svg) + "\n")


def mark(x, y, colour):
    """A cross for measurements, a disc for predictions."""
    if colour == MEASURED:
        return (
            f'<path d="M{x - 4:.1f} {y - 4}l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="2" fill="none"/>'
        )
    return f'<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{colour}" stroke="#ffffff"/>'


if __name__ == "__main__":
    main()
