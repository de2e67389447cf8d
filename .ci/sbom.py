#!/usr/bin/env python3
"""Writes what the program is made of: an SBOM (CycloneDX 1.5), or the texts of all licences.

    .ci/sbom.py TARGET FEATURES                 the SBOM
    .ci/sbom.py TARGET FEATURES --licences      licences with their texts
    .ci/sbom.py TARGET FEATURES --wheel         what the Python package is made of
    .ci/sbom.py wasm32-wasip1 gpucast-web --licences    those of the classroom's engine

The facts are those of `cargo metadata`: crates that are linked for this target into the program, into
the one behind `gpucast serve`, or into the Python package, without those for tests and builds.
"""

import json
import pathlib
import subprocess
import sys


ENGINE = "gpucast-web"
# Beside the program.
OTHERS = ["gpucast-wheel", "gpucast-launcher"] if "--wheel" in sys.argv else ["gpucast-serve"]


def linked(target, features):
    """The packages that programs, library or the classroom's engine are linked from."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    command += [] if features == ENGINE else ["--features", features]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    metadata = json.loads(text)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    named = {package["name"]: id for id, package in packages.items() if package["source"] is None}
    root = named[ENGINE if features == ENGINE else "gpucast"]
    seen, waiting = set(), [root] if features == ENGINE else [root, *(named[one] for one in OTHERS)]
    while waiting:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        for dependency in nodes[id]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            target_package = packages[dependency["pkg"]]
            is_macro = any("proc-macro" in one["kind"] for one in target_package["targets"])
            if None in kinds and not is_macro:
                waiting.append(dependency["pkg"])
    return root, sorted((packages[id] for id in seen), key=lambda one: (one["name"], one["version"]))


def sbom(root, packages):
    def component(package):
        name, version = package["name"], package["version"]
        result = {
            "type": "application" if package["id"] == root else "library",
            "bom-ref": f"pkg:cargo/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:cargo/{name}@{version}",
        }
        if package.get("license"):
            result["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        return result

    components = [component(package) for package in packages]
    main = next(one for one in components if one["type"] == "application")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": main},
        "components": [one for one in components if one is not main],
    }


def licences(packages):
    """Each crate with its licence, then each text once with the crates that carry it."""
    texts = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        print(f"{name}: {package.get('license') or 'see its licence file'}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            is_licence = path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE"))
            if is_licence and path.is_file():
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
    for text, names in texts.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text}")


root, packages = linked(sys.argv[1], sys.argv[2])
if "--licences" in sys.argv:
    licences(packages)
else:
    print(json.dumps(sbom(root, packages), indent=2))
