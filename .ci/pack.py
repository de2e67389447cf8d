#!/usr/bin/env python3
"""Compresses what a wheel contains once more, by the densest deflate, which every installer reads.

    .ci/pack.py WHEEL

`wheel` and `zip` use zlib, which leaves a twentieth more.
"""

import pathlib
import sys
import zipfile

import deflate

DENSEST = 12


class Densest:
    """What `zipfile` expects of a compressor."""

    def __init__(self):
        self.given = bytearray()

    def compress(self, data):
        self.given += data
        return b""

    def flush(self):
        return bytes(deflate.deflate_compress(self.given, DENSEST))


wheel = pathlib.Path(sys.argv[1])
new = wheel.with_suffix(".new")
# There is no public way to another compressor.
zipfile._get_compressor = lambda kind, level=None: Densest() if kind == zipfile.ZIP_DEFLATED else None
with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w") as dense:
    for entry in old.infolist():
        dense.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
with zipfile.ZipFile(new) as dense:
    assert dense.testzip() is None
new.replace(wheel)
