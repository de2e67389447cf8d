"""Archives of texts: the same texts make the same bytes."""

import io
import tarfile


def read(path):
    """The texts of an archive, by the names of their files."""
    with tarfile.open(path) as archive:
        return {one.name: archive.extractfile(one).read().decode() for one in archive}


def write(path, texts):
    """Writes texts by the names of their files, in the order of the names."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(texts):
            text = texts[name].encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
