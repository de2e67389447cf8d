#!/usr/bin/env python3
"""Checks that the fuzz project depends on every crate that its code names.

It needs a nightly compiler, so the gate does not build it; the code that targets share with tests
moves on without it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
manifest = (ROOT / "tests/fuzz/Cargo.toml").read_text()
known = set(re.findall(r"^(gpucast-[a-z-]+) =", manifest, re.MULTILINE))
folders = ["tests/fuzz/fuzz_targets/*.rs", "*/tests/fuzzed/**/*.rs", "doors/*/tests/fuzzed/**/*.rs"]
sources = sorted(path for folder in folders for path in ROOT.glob(folder))
missing = [
    f"{source.relative_to(ROOT)}: {crate} is not in tests/fuzz/Cargo.toml"
    for source in sources
    for crate in sorted(set(re.findall(r"\bgpucast_[a-z_]+(?=::)", source.read_text())))
    if crate.replace("_", "-") not in known
]
print("\n".join(missing) or f"fuzz: the crates of {len(sources)} files are there")
sys.exit(bool(missing))
