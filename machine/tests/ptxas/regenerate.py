#!/usr/bin/env python3
"""Makes the inputs of the tests of machine code anew.

    cargo build --release -p gpucast-machine --example with_lines
    regenerate.py --with-lines target/release/examples/with_lines \\
        --ptxas PTXAS... --nvdisasm NVDISASM...

For each kernel and architecture of the list it assembles the corpus's PTX, after `with_lines`, with
the first assembler that knows the architecture, and writes `inputs/KERNEL.ARCHITECTURE.cubin`. The
archive `listings.tar` holds for it what nvdisasm says of each instruction: offset, guard, mnemonic, target.
No disassembler that is published today knows sm_35, so those cubins have no listing.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "archive"))
import archive  # noqa: E402

CORPUS = HERE.parents[2] / "corpus" / "kernels"
#: Kernel, PTX, architectures; without a kernel it is a file beside this one.
INPUTS = [
    (None, "paths", ["sm_35", "sm_50", "sm_70"]),
    (None, "rounds", ["sm_80"]),
    (None, "nested", ["sm_50"]),
    (None, "copies", ["sm_80", "sm_90"]),
    (None, "locals", ["sm_80"]),
    (None, "shuffles", ["sm_90"]),
    (None, "remainder", ["sm_70", "sm_80"]),
    (None, "atomics", ["sm_50", "sm_75", "sm_80", "sm_90", "sm_100"]),
    (None, "tiles", ["sm_80"]),
    (None, "spills", ["sm_80"]),
    (None, "spilled-rounds", ["sm_80"]),
    (None, "phases", ["sm_90"]),
    (None, "turns", ["sm_90"]),
    (None, "nests", ["sm_50", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]),
    ("sgemm", "sm_35", ["sm_35", "sm_50", "sm_70"]),
    ("sgemm", "sm_80", ["sm_80", "sm_90", "sm_120"]),
    ("sor-red-black", "sm_35", ["sm_35", "sm_50", "sm_70"]),
    ("lmsor", "sm_35", ["sm_35", "sm_50", "sm_70"]),
    ("sgemm-16", "sm_35", ["sm_50", "sm_61"]),
    ("reduction", "sm_80", ["sm_80", "sm_100"]),
    ("leukocyte-dilate", "sm_80", ["sm_90"]),
    ("histogram", "sm_35", ["sm_50"]),
    ("vector-add", "sm_35", ["sm_50"]),
]
INSTRUCTION = re.compile(
    r"/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:(@!?U?P\w+)\s+)?([A-Z][A-Z0-9_]*)([^;}/]*)")
#: Instructions that name a place in their own function.
PLACE = re.compile(r"`\((\.L\w+)\)")


def first_that_works(programs, arguments):
    for program in programs:
        run = subprocess.run([program, *arguments], capture_output=True, text=True)
        if run.returncode == 0:
            return run.stdout
    return None


def listing(text):
    """Lines of `section offset guard mnemonic target`."""
    rows, labels, waiting, section = [], {}, [], None
    for line in text.splitlines():
        if found := re.match(r"\s*\.section\s+\.text\.([^,\s]+)", line):
            section, waiting = found[1], []
        elif found := re.match(r"(\.L\w+):", line):
            waiting.append(found[1])
        elif found := INSTRUCTION.search(line):
            labels |= {(section, label): found[1] for label in waiting}
            waiting = []
            place = PLACE.search(found[4])
            rows.append((section, found[1], found[2] or "-", found[3], place and place[1]))
    for section, offset, guard, mnemonic, place in rows:
        target = labels.get((section, place), "-")
        yield f"{section} {offset} {guard} {mnemonic} {target}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--with-lines", required=True)
    parser.add_argument("--ptxas", nargs="+", required=True)
    parser.add_argument("--nvdisasm", nargs="+", required=True)
    options = parser.parse_args()
    (HERE / "inputs").mkdir(exist_ok=True)
    listings = {}
    for kernel, ptx, architectures in INPUTS:
        source = CORPUS / kernel / f"{ptx}.ptx" if kernel else HERE / f"{ptx}.ptx"
        text = subprocess.run([options.with_lines, source], check=True, capture_output=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            prepared = pathlib.Path(folder, "prepared.ptx")
            prepared.write_bytes(text)
            for architecture in architectures:
                cubin = HERE / "inputs" / f"{kernel or ptx}.{architecture}.cubin"
                arguments = ["-arch", architecture, prepared, "-o", cubin]
                if first_that_works(options.ptxas, arguments) is None:
                    raise SystemExit(f"no assembler takes {kernel} for {architecture}")
                shown = first_that_works(options.nvdisasm, ["-c", cubin])
                if shown is not None and architecture != "sm_35":
                    listings[f"{cubin.stem}.listing"] = "".join(listing(shown))
    archive.write(HERE / "listings.tar", listings)


if __name__ == "__main__":
    main()
