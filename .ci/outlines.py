#!/usr/bin/env python3
"""The letters that pictures draw are those of the fonts, as fontTools reads them.

    .ci/outlines.py            compares insight/plot/fonts/*.outlines with the fonts beside them
    .ci/outlines.py --write    makes the files anew
"""

import sys
from pathlib import Path

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont


class Letter(BasePen):
    """Writes the path of a letter, in font units."""

    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.parts = []

    def write(self, kind, *points):
        numbers = [f"{number:g}" for point in points for number in point]
        self.parts.append(" ".join([kind, *numbers]))

    def _moveTo(self, point):
        self.write("M", point)

    def _lineTo(self, point):
        self.write("L", point)

    def _qCurveToOne(self, control, point):
        self.write("Q", control, point)

    def _curveToOne(self, *_):
        raise ValueError("TrueType has no cubic curves")

    def _closePath(self):
        self.write("Z")


def outlines(file):
    font = TTFont(file)
    glyphs = font.getGlyphSet()

    def line(name, glyph):
        pen = Letter(glyphs)
        glyphs[glyph].draw(pen)
        return " ".join([name, f"{glyphs[glyph].width:g}", *pen.parts])

    letters = sorted(font.getBestCmap().items())
    lines = [f"units-per-em {font['head'].unitsPerEm}"]
    lines += [line(f"U+{code:04X}", glyph) for code, glyph in letters]
    return "\n".join([*lines, line("missing", ".notdef")]) + "\n"


def main():
    fonts = Path(__file__).parent.parent / "insight/plot/fonts"
    different = []
    for font in sorted(fonts.glob("*.ttf")):
        made, kept = outlines(font), font.with_suffix(".outlines")
        if sys.argv[1:] == ["--write"]:
            kept.write_text(made)
        elif kept.read_text() != made:
            different.append(kept.name)
    if different:
        sys.exit(f".ci/outlines.py --write makes these anew: {', '.join(different)}")


main()
