#!/usr/bin/env python3
"""Makes the hold-out kernels' PTX, their counts, and what the back end `ptxas` makes of them.

    python3 holdout.py --gpucast target/release/gpucast --nvrtc LIBNVRTC --include CUDA_HEADERS
    python3 holdout.py --gpucast target/release/gpucast --ptxas PTXAS [--only KERNEL...]

The kernels are `holdout/*.cu`; a comment `//: kernel grid=… block=… arguments` says how each is launched.

With `--nvrtc` each file is compiled for every target, as `FILE.TARGET.ptx`. A target whose text differs
from that of the one before in the line `.target` alone gets no file: the earlier one stands for it.
Then every kernel is executed, and counts are written as `holdout.counts`: `[kernel file.target]`, and below it
ranges of lines, executions by warps, lanes that they were issued for, and by threads. `holdout.tar` holds all
these texts; `tar xf` shows them.

With `--ptxas` the back end `ptxas` counts each kernel for each target, and `holdout.ptxas` is written:
kernel, half, target and the metrics of the first line. Halves are drawn by a hash of the name: the rules were
improved with a view of `tuned` kernels only, and `kept` ones say how well that carries over.
"""

import argparse
import concurrent.futures
import csv
import ctypes
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "archive"))
import archive  # noqa: E402

FOLDER = HERE / "holdout"
ARCHIVE = HERE / "holdout.tar"
TARGETS = ["sm_50", "sm_70", "sm_80", "sm_90"]
METRICS = ["inst_executed", "ldst_executed", "inst_integer", "inst_fp_16", "inst_fp_32", "inst_fp_64",
           "inst_bit_convert", "inst_control", "inst_misc", "inst_compute_ld_st"]


def compiled(library, include, source, target):
    nvrtc = ctypes.CDLL(library)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text = source.read_bytes()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None)
    options = [f"--gpu-architecture={target.replace('sm', 'compute')}", f"-I{include}", "--std=c++17"]
    options = [option.encode() for option in options]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def ptx_of_all(options):
    def body(text):
        return [line for line in text.splitlines() if not line.startswith(".target")]

    texts = {}
    for source in sorted(FOLDER.glob("*.cu")):
        before = None
        for target in TARGETS:
            text = compiled(options.nvrtc, options.include, source, target)
            if before is None or body(text) != body(before):
                texts[f"{source.stem}.{target}.ptx"] = text
                before = text
    return texts


def launches():
    """File, kernel and the words of its launch."""
    for source in sorted(FOLDER.glob("*.cu")):
        for line in source.read_text().splitlines():
            if line.startswith("//: "):
                kernel, *words = line[4:].split()
                yield source.stem, kernel, words


def module(texts, file, target, folder):
    """The PTX for a target."""
    older = TARGETS[: TARGETS.index(target) + 1]
    text = [texts[name] for one in older if (name := f"{file}.{one}.ptx") in texts][-1]
    path = pathlib.Path(folder, f"{file}.{target}.ptx")
    path.write_text(re.sub(r"^\.target \w+", f".target {target}", text, flags=re.M))
    return path


def row_starts(path):
    """Where each of 128 rows of a sparse matrix begins: lengths of 0 to 20, in no order."""
    starts = [0]
    for row in range(128):
        starts.append(starts[-1] + [4, 1, 0, 8, 5, 20, 2, 3, 12, 6, 1][(row * row + 3 * row) % 11])
    path.write_bytes(struct.pack("<129i", *starts))


def profile(options, rows, launch, path, *more):
    _, kernel, words = launch
    command = [options.gpucast, "profile", path, "--kernel", kernel, "--threads", "1"]
    for word in words:
        if word.startswith(("grid=", "block=")):
            command += ["--" + word.split("=")[0], word.split("=")[1]]
        else:
            is_buffer = "[" in word
            command += ["--arg", ("buf:" if is_buffer else "") + word.replace("=rows", f"={rows}")]
    run = subprocess.run(command + list(more), capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{kernel}: {run.stderr}")
    return run.stdout


def counts_of_all(options, texts, rows):
    text = []
    for launch in launches():
        for name in sorted(name for name in texts if name.startswith(f"{launch[0]}.sm_")):
            path = rows.with_name(name)
            path.write_text(texts[name])
            table = profile(options, rows, launch, path, "--machine", "none", "--by", "line",
                            "--source", "ptx", "--format", "csv")
            text.append(f"[{launch[1]} {path.stem}]\n")
            ranges = []
            for row in csv.DictReader(table.splitlines()):
                line = int(row["ptx_line"])
                counts = [int(row[name]) for name in
                          ("warp_executions", "issued_lanes", "thread_executions")]
                if ranges and ranges[-1][2:] == counts:
                    ranges[-1][1] = line
                else:
                    ranges.append([line, line, *counts])
            text += [" ".join(map(str, one)) + "\n" for one in ranges]
    return "".join(text)


def write_ptxas(options, rows):
    texts = archive.read(ARCHIVE)
    modules = {(file, target): module(texts, file, target, rows.parent)
               for file in {launch[0] for launch in launches()} for target in TARGETS}

    def count(pair):
        launch, target = pair
        text = profile(options, rows, launch, modules[launch[0], target], "--machine", "ptxas",
                       "--ptxas", options.ptxas, "--machine-target", target, "--format", "json")
        metrics = json.loads(text)["launches"][0]["metrics"]
        half = "tuned" if zlib.crc32(launch[1].encode()) & 1 else "kept"
        numbers = " ".join(str(metrics[name]["value"]) for name in METRICS)
        return f"{launch[1]} {half} {target} {numbers}\n"

    pairs = [(launch, target) for launch in launches() for target in TARGETS]
    pairs = [pair for pair in pairs if not options.only or pair[0][1] in options.only]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        lines = list(pool.map(count, pairs))
    if options.only:
        print("".join(lines), end="")
    else:
        header = "kernel half target " + " ".join(METRICS) + "\n"
        (HERE / "holdout.ptxas").write_text(header + "".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpucast", required=True)
    parser.add_argument("--nvrtc")
    parser.add_argument("--include")
    parser.add_argument("--ptxas")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder, "rows.bin")
        row_starts(rows)
        if options.nvrtc:
            texts = ptx_of_all(options)
            texts["holdout.counts"] = counts_of_all(options, texts, rows)
            archive.write(ARCHIVE, texts)
        if options.ptxas:
            write_ptxas(options, rows)


if __name__ == "__main__":
    main()
