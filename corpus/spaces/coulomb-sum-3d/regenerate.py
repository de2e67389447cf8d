#!/usr/bin/env python3
"""Makes the files of the tuning space anew.

    regenerate.py                    compile kernel.cu into sm_75.ptx
    regenerate.py --check            compare with what is committed; exit status 1 on a difference
    regenerate.py --with-lines PROGRAM --ptxas PTXAS
                                     also assemble the machine code that tests read
    regenerate.py --ktt RESULTS.json make published/coulomb-sum-3d.csv of KTT's results

PROGRAM is what `cargo build --release -p gpucast-machine --example with_lines` makes. RESULTS.json
is Examples/CoulombSum3d/coulomb_2080_full_search_space.json of github.com/HiPerCoRe/KTT; LICENCE
is the License.txt beside it.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parents[1]
PTX = HERE / "sm_75.ptx"
CUBIN = CORPUS.parent / "forecast" / "tests" / "coulomb" / "sm_75.cubin"
MEASURED = CORPUS / "published" / "coulomb-sum-3d.csv"

sys.path.insert(0, str(CORPUS))
import regenerate as corpus  # noqa: E402

#: The compiler and its options, those that KTT's example gives to NVRTC.
LIBRARY = "libnvrtc.so.12"
ARCHITECTURE = "compute_75"
corpus.OPTIONS = ["--std=c++14", "-use_fast_math"]

HEADER = """\
# The 210 configurations of KTT's example CoulombSum3d on a GeForce RTX 2080 Ti: registers, time, and
# 33 counters of each. Source: github.com/HiPerCoRe/KTT,
# Examples/CoulombSum3d/coulomb_2080_full_search_space.json (KTT 2.1.0, 12 August 2024), with the
# kernel profiled by CUPTI. 256 x 256 x 256 grid points, 64 atoms. The columns are the tuning
# parameters (corpus/README.md), then KTT's figures under the profiler's names.
#
# The data is KTT's, under this licence:
#
"""


def compiled(libraries):
    compiler = corpus.Compiler((libraries or corpus.library_folder()) / LIBRARY)
    source = HERE / "kernel.cu"
    return corpus.tidy(compiler.compile(source.read_text(), source.name, ARCHITECTURE), source.name)


def assemble(with_lines, ptxas):
    """All kernels in one cubin, whose lines are those of the text that counting prepares."""
    text = subprocess.run([with_lines, PTX], check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernel.ptx"
        source.write_bytes(text)
        subprocess.run([ptxas, "-arch", "sm_75", source, "-o", CUBIN], check=True)


def table(results, licence):
    rows = []
    for result in json.loads(results.read_text())["Results"]:
        choice = {one["Name"]: one["Value"] for one in result["Configuration"]}
        [run] = result["ComputationResults"]
        counters = {one["Name"]: one["Value"] for one in run["ProfilingData"]["Counters"]}
        assert result["Status"] == "Ok"
        assert choice["WORK_GROUP_SIZE_Z"] == choice["VECTOR_SIZE"] == 1
        assert choice["USE_CONSTANT_MEMORY"] == 0
        rows.append({
            "points": choice["Z_ITERATIONS"],
            "unroll": choice["INNER_UNROLL_FACTOR"],
            "layout": "arrays" if choice["USE_SOA"] else "records",
            "block_x": choice["WORK_GROUP_SIZE_X"],
            "block_y": choice["WORK_GROUP_SIZE_Y"],
            "registers": run["CompilationData"]["RegistersCount"],
            "local_bytes": run["CompilationData"]["LocalMemorySize"],
            "duration_us": run["Duration"],
            **dict(sorted(counters.items())),
        })
    rows.sort(key=lambda row: [row[name] for name in ["points", "unroll", "block_x", "block_y"]]
              + [row["layout"] != "records"])
    notice = "".join(f"# {line}".rstrip() + "\n" for line in licence.read_text().strip().splitlines())
    columns = list(rows[0])
    lines = [",".join(columns)]
    lines += [",".join(figure(row[name]) for name in columns) for row in rows]
    MEASURED.write_text(HEADER + notice + "\n".join(lines) + "\n")


def figure(value):
    """Sums as whole numbers, others with the digits that a measurement has."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.6g}"
    return str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--libraries", type=pathlib.Path, help="folder that holds NVRTC 12.9")
    parser.add_argument("--with-lines", type=pathlib.Path)
    parser.add_argument("--ptxas", type=pathlib.Path)
    parser.add_argument("--ktt", type=pathlib.Path, help="KTT's results in JSON")
    parser.add_argument("--licence", type=pathlib.Path, help="KTT's License.txt")
    arguments = parser.parse_args()
    if arguments.ktt:
        return table(arguments.ktt, arguments.licence)
    ptx = compiled(arguments.libraries)
    if PTX.exists() and PTX.read_text() == ptx:
        pass
    elif arguments.check:
        sys.exit(f"differs: {PTX.name}")
    else:
        PTX.write_text(ptx)
        print(f"written: {PTX.name}")
    if arguments.with_lines and not arguments.check:
        assemble(arguments.with_lines, arguments.ptxas)


if __name__ == "__main__":
    main()
