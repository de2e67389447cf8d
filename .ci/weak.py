#!/usr/bin/env python3
"""Makes Python's symbols weak in a library that has to be loaded where there is no Python, too.

    .ci/weak.py LIBRARY

They are null there. Functions that need them are called by Python alone.
"""

import sys

from elftools.elf.elffile import ELFFile

WEAK = 2
# Of `Elf64_Sym`: binding and type are one byte, behind the name's place.
INFO = 4

with open(sys.argv[1], "r+b") as file:
    table = ELFFile(file).get_section_by_name(".dynsym")
    python = [
        table["sh_offset"] + at * table["sh_entsize"] + INFO
        for at, symbol in enumerate(table.iter_symbols())
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name.startswith(("Py", "_Py"))
    ]
    for place in python:
        file.seek(place)
        (info,) = file.read(1)
        file.seek(place)
        file.write(bytes([WEAK << 4 | info & 15]))
assert python, "the library asks for nothing of Python"
print(f"{len(python)} symbols of Python are weak")
