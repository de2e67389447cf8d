#!/usr/bin/env python3
"""Fails where a comment is wider than 100 columns, which is where code wraps."""

import pathlib
import re
import subprocess
import sys

WIDTH = 100
# New files, too, before they are added.
listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.rs"]
files = subprocess.run(listing, capture_output=True, text=True, check=True)
wide = []
for name in files.stdout.split():
    for number, line in enumerate(pathlib.Path(name).read_text().splitlines(), 1):
        # Rows of tables cannot be wrapped, nor can one long word, such as an address.
        comment = re.match(r"\s*//[/!]?(.*)", line)
        can_wrap = comment and not comment[1].lstrip().startswith("|")
        if can_wrap and len(line) > WIDTH and len(line.split()) > 2:
            wide.append(f"{name}:{number}: a comment of {len(line)} columns; {WIDTH} is the most")
if wide:
    print("\n".join(wide))
    sys.exit(1)
