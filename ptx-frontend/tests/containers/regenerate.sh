#!/usr/bin/env bash
# Builds the containers of this folder, and beside them what NVIDIA's own tool extracts:
#   expected/FILE/N.TARGET.ptx   cuobjdump -all -xptx all
#   expected/FILE/usage.txt      cuobjdump -res-usage (cubins)
# Needs nvcc 13 and cuobjdump (PyPI: nvidia-cuda-nvcc, nvidia-cuda-cuobjdump) and gcc; no GPU.
# The cubins of the older ABI come from a ptxas 12 (nvidia-cuda-nvcc-cu12).
# Usage: NVCC=nvcc CUOBJDUMP=cuobjdump PTXAS12=ptxas ./regenerate.sh   (absolute paths)
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
nvcc=${NVCC:-nvcc}
cuobjdump=${CUOBJDUMP:-cuobjdump}
ptxas12=${PTXAS12:?the path of a ptxas 12}
# Debug information has the path of the sources; this one is the same for everybody.
build=/tmp/containers
rm -rf "$build"
mkdir -p "$build/files" "$build/expected"
cp ./*.cu ./*.ptx "$build"
cd "$build"

one=(-gencode 'arch=compute_80,code=[sm_80,compute_80]')
portable=(-gencode arch=compute_80,code=compute_80)
several=(
    -gencode arch=compute_75,code=sm_75
    -gencode 'arch=compute_80,code=[sm_80,compute_80]'
    -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]'
    -gencode arch=compute_120f,code=compute_120f
)
host=(-cudart none -Xlinker --unresolved-symbols=ignore-all -Xlinker -s)

for mode in none speed size balance default; do
    "$nvcc" "${one[@]}" -compress-mode=$mode -fatbin kernels.cu -o files/mode-$mode.fatbin
done
"$nvcc" "${several[@]}" -compress-mode=size -fatbin kernels.cu -o files/several.fatbin
"$nvcc" "${several[@]}" -Xfatbin --concat -fatbin kernels.cu -o files/bundle.fatbin
"$nvcc" "${several[@]}" -Xfatbin --concat -compress-mode=speed -Xfatbin -compress-all \
    -fatbin kernels.cu -o files/bundle-lz4.fatbin
"$nvcc" "${several[@]}" -Xfatbin --concat -lineinfo -fatbin second.cu -o files/bundle-named.fatbin
"$nvcc" "${one[@]}" -G -fatbin second.cu -o files/debug.fatbin
"$nvcc" "${one[@]}" -lineinfo -fatbin kernels.cu -o files/lineinfo.fatbin
"$nvcc" "${portable[@]}" -gencode arch=compute_80,code=lto_80 -fatbin kernels.cu \
    -o files/lto.fatbin
"$nvcc" -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 \
    -compress-mode=size -fatbin kernels.cu -o files/machine-only.fatbin
"$nvcc" -gencode arch=compute_80,code=lto_80 -fatbin second.cu -o files/lto-only.fatbin
"$nvcc" "${one[@]}" -c kernels.cu -o files/object.o
"$nvcc" "${one[@]}" -dc kernels.cu -o files/relocatable.o
"$nvcc" "${one[@]}" "${host[@]}" -Xcompiler -no-pie -compress-mode=size -rdc=true \
    main.cu second.cu kernels.cu -o files/executable-rdc
"$nvcc" "${portable[@]}" "${host[@]}" second.cu kernels.cu main.cu -rdc=false \
    -o files/executable
"$nvcc" "${portable[@]}" "${host[@]}" -Xcompiler -fPIC -shared second.cu kernels.cu \
    -o files/libshared.so
"$nvcc" "${portable[@]}" -lib second.cu kernels.cu -o files/libstatic.a
for sm in 75 80 90a 120; do
    "$nvcc" -arch=sm_$sm -cubin kernels.cu -o files/kernels-$sm.cubin
done
for sm in 60 90a 100a; do
    sed "s/TARGET/sm_$sm/" cuda12.ptx >cuda12-$sm.ptx
    "$ptxas12" -arch=sm_$sm cuda12-$sm.ptx -o files/cuda12-$sm.cubin
done
"$nvcc" -arch=sm_80 -ptx second.cu -o files/second.ptx

for file in files/*; do
    name=$(basename "$file")
    case $name in
    *.ptx) continue ;;
    *.cubin)
        mkdir -p "expected/$name"
        "$cuobjdump" -res-usage "$file" >"expected/$name/usage.txt"
        ;;
    *)
        scratch=$(mktemp -d)
        (cd "$scratch" && "$cuobjdump" -all -xptx all "$build/$file" >log 2>&1) || true
        sed -n 's/^Extracting PTX file.* \([0-9]\+\): \([^ ]*\).*/\1 \2/p' "$scratch/log" |
            while read -r number ptx; do
                mkdir -p "expected/$name"
                target=${ptx%.ptx}
                cp "$scratch/$ptx" "expected/$name/$number.${target##*.}.ptx"
            done
        rm -r "$scratch"
        ;;
    esac
done

rm -rf "$here/files" "$here/expected"
cp -r files expected "$here"
rm -rf "$build"
