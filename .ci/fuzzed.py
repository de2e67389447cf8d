#!/usr/bin/env python3
"""Checks that the fuzz project depends on every crate that its code names.

It needs a nightly compiler, so the gate does not build it; the code that targets share with tests
moves on without it.
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
known = set(tomllib.loads((ROOT / "fuzz/Cargo.toml").read_text())["dependencies"])
sources = sorted([*ROOT.glob("fuzz/fuzz_targets/*.rs"), *ROOT.glob("*/tests/fuzzed/**/*.rs")])
missing = [
    f"{source.relative_to(ROOT)}: {crate} is not in fuzz/Cargo.toml"
    for source in sources
    for crate in sorted(set(re.findall(r"\bgpucast_[a-z_]+(?=::)", source.read_text())))
    if crate.replace("_", "-") not in known
]
print("\n".join(missing) or f"fuzz: the crates of {len(sources)} files are there")
sys.exit(bool(missing))
