#!/usr/bin/env python3
"""Compiles the kernels here, their regressions and their neutral changes into the committed PTX.

    python3 regenerate.py

Each kernel is NAME.cu. NAME.slow.cu is a change that makes it slower, as public histories have them. Neutral
changes are replacements of texts, listed below; each gives one PTX. The compiler is NVIDIA's NVRTC, from wheels of
PyPI: pip install nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12. The result is the same on every run.
"""

import ctypes
import importlib.util
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ADVICE = HERE.parents[2] / "insight" / "advice" / "tests" / "regenerate.py"

# For each kernel five changes that mean nothing: names, comments and lines, order, equal expressions, and the same
# said by other means of the language.
NEUTRAL = {
    "coalescing": {
        "names": [("row", "line_of_image"), ("column", "c"), ("image", "pixels")],
        "comments": [("{\n", "{\n    // Each thread scales one pixel.\n\n"), (";\n", "; /* kept */\n")],
        "order": [("    int row = blockIdx.y * blockDim.y + threadIdx.y;\n    int column = blockIdx.x * blockDim.x + threadIdx.x;\n",
                   "    int column = blockIdx.x * blockDim.x + threadIdx.x;\n    int row = blockIdx.y * blockDim.y + threadIdx.y;\n")],
        "expressions": [("blockIdx.y * blockDim.y + threadIdx.y", "threadIdx.y + blockDim.y * blockIdx.y"),
                        ("factor * image[row * width + column]", "image[column + width * row] * factor")],
        "language": [("out[row * width + column] = ", "float *at = &out[row * width + column];\n        *at = ")],
    },
    "bank-conflict": {
        "names": [("tile", "staged"), ("in[", "from["), ("*in", "*from")],
        "comments": [("__syncthreads();", "// All of the tile is there.\n\n\n    __syncthreads();  // then turned")],
        "order": [("    int x = blockIdx.x * 32 + threadIdx.x;\n    int y = blockIdx.y * 32 + threadIdx.y;\n",
                   "    int y = blockIdx.y * 32 + threadIdx.y;\n    int x = blockIdx.x * 32 + threadIdx.x;\n")],
        "expressions": [("blockIdx.x * 32 + threadIdx.x", "(blockIdx.x << 5) + threadIdx.x"),
                        ("j += 8", "j = 8 + j")],
        "language": [("[32][33]", "[SIDE][SIDE + 1]"), ("extern", "constexpr int SIDE = 32;\n\nextern")],
    },
    "launch-bound": {
        "names": [("sums", "accumulators"), ("step", "k")],
        "comments": [("float sums[48]", "// Each thread keeps\n    // all the sums.\n    float sums[48]")],
        "order": [("    const float *a = left + threadIdx.x;\n    const float *b = right + blockIdx.x;\n",
                   "    const float *b = right + blockIdx.x;\n    const float *a = left + threadIdx.x;\n")],
        "expressions": [("step < steps", "steps > step"), ("i < 48", "i != 48")],
        "language": [("int step = 0; step < steps; ++step", "int step = 0; step < steps; step += 1"),
                     ("float sums[48] = {}", "float sums[48] = {0.0f}")],
    },
    "fp64-literal": {
        "names": [("value", "v"), ("weight", "w")],
        "comments": [("float value", "// Rounded once.\n    float value")],
        "order": [("    float value = in[i];\n    float weight = weights[i & 255];\n",
                   "    float weight = weights[i & 255];\n    float value = in[i];\n")],
        "expressions": [("i < n", "n > i"), ("value * weight", "weight * value")],
        "language": [("0.1f", "1e-1f"), ("if (i < n) {", "if (i >= n) return;\n    {")],
    },
    "vector-load": {
        "names": [("quad", "four"), ("in4", "source")],
        "comments": [("float4 quad", "/* sixteen bytes\n       a lane */\n    float4 quad")],
        "order": [("    quad.x *= factor;\n    quad.y *= factor;\n", "    quad.y *= factor;\n    quad.x *= factor;\n")],
        "expressions": [("quad.x *= factor", "quad.x = factor * quad.x"), ("threadIdx.x + blockIdx.x * blockDim.x",
                                                                           "blockDim.x * blockIdx.x + threadIdx.x")],
        "language": [("float4 quad = in4[i];", "const float4 *at = in4 + i;\n    float4 quad = *at;")],
    },
    "division": {
        "names": [("line", "y"), ("column", "x0")],
        "comments": [("for (", "// The division of the start is carried on.\n    for (")],
        "order": [("    int line = i / width;\n    int column = i - line * width;\n    float sum = 0.0f;\n",
                   "    float sum = 0.0f;\n    int line = i / width;\n    int column = i - line * width;\n")],
        "expressions": [("i - line * width", "-(line * width) + i"), ("column >= width", "!(column < width)")],
        "language": [("while (column >= width) {", "for (; column >= width;) {")],
    },
    "barrier": {
        "names": [("part", "partial"), ("half", "offset")],
        "comments": [("out[blockIdx.x]", "// One warp is left.\n        out[blockIdx.x]")],
        "order": [("    int lane = threadIdx.x & 31;\n    int warp = threadIdx.x >> 5;\n",
                   "    int warp = threadIdx.x >> 5;\n    int lane = threadIdx.x & 31;\n")],
        "expressions": [("threadIdx.x & 31", "threadIdx.x % 32"), ("threadIdx.x >> 5", "threadIdx.x / 32")],
        "language": [("half > 0; half >>= 1", "half; half /= 2")],
    },
    "unrolling": {
        "names": [("coefficients", "taps"), ("sum", "total")],
        "comments": [("float sum", "// The taps are the same for all.\n    float sum")],
        "order": [("    __shared__ float coefficients[32];\n    __shared__ float values[32 + 256];\n",
                   "    __shared__ float values[32 + 256];\n    __shared__ float coefficients[32];\n")],
        "expressions": [("k < 32", "k <= 31"), ("coefficients[k] * values[threadIdx.x + k]",
                                                "values[k + threadIdx.x] * coefficients[k]")],
        "language": [("#pragma unroll\n", "#pragma unroll 32\n"), ("sum +=", "sum = sum +")],
    },
    "atomics": {
        "names": [("bins", "histogram"), ("mine", "private_bins")],
        "comments": [("__syncthreads();", "__syncthreads();\n    // whole\n")],
        "order": [("    int first = blockIdx.x * 2048 + threadIdx.x;\n    mine[threadIdx.x] = 0;\n",
                   "    mine[threadIdx.x] = 0;\n    int first = blockIdx.x * 2048 + threadIdx.x;\n")],
        "expressions": [("blockIdx.x * 2048", "2048 * blockIdx.x"), ("k < 8", "8 > k")],
        "language": [("in[first + k * 256]", "*(in + first + k * 256)"), ("1u", "(unsigned)1")],
    },
    "tile-order": {
        "names": [("panel_a", "left"), ("panel_b", "right"), ("group", "g")],
        "comments": [("float sum", "// Tiles of a group share panels in the L2.\n    float sum")],
        "order": [("    const float4 *a = panel_a + row * 16384;\n    const float4 *b = panel_b + column * 16384;\n",
                   "    const float4 *b = panel_b + column * 16384;\n    const float4 *a = panel_a + row * 16384;\n")],
        "expressions": [("blockIdx.x >> 4", "blockIdx.x / 16"), ("row * 32 + column", "column + 32 * row")],
        "language": [("i += 1024", "i = i + 1024")],
    },
}


def changed(name, what, source):
    """The source with replacements, each of which must find its text."""
    for old, new in NEUTRAL[name][what]:
        assert old in source, f"{name}: {what}: there is no {old!r}"
        source = source.replace(old, new)
    return source


def main():
    spec = importlib.util.spec_from_file_location("advice", ADVICE)
    advice = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(advice)
    library = ctypes.CDLL(str(advice.LIBRARY))

    def compiled(source, name):
        return advice.without_folders(advice.compile_source(library, source, name))

    (HERE / "neutral").mkdir(exist_ok=True)
    for path in sorted(HERE.glob("*.cu")):
        source = path.read_text()
        path.with_suffix(".ptx").write_text(compiled(source, path.name))
        for what in NEUTRAL.get(path.stem, {}):
            ptx = compiled(changed(path.stem, what, source), path.name)
            (HERE / "neutral" / f"{path.stem}.{what}.ptx").write_text(ptx)


if __name__ == "__main__":
    main()
