#!/usr/bin/env bash
# Compares kernels of this checkout with those of another revision. No GPU is needed.
#
#   compare.sh BASE KERNEL...      BASE is a revision that git has; kernels are launch files, PTX, CUDA, or names
#                                  of a gpucast.toml
#
# GPUCAST_FAIL_IF has the limits, as `slower:5% inst_executed:2%`; GPUCAST_GPU the GPUs. The comment for the
# change is written to gpucast.md, and for the N-th kernel SARIF to gpucast-N.sarif and test cases to gpucast-N.xml.
# In a workflow of GitHub broken limits become annotations at their lines, if this runs at the top of the repository.
# The exit status is 1 if a limit is broken, or a kernel cannot be compared.
set -euo pipefail

base=$1
shift
comment=$PWD/gpucast.md
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"

limits=()
for limit in ${GPUCAST_FAIL_IF:-slower:5%}; do
    limits+=(--fail-if "$limit")
done
# The folder of this checkout below the top of the repository, so that relative names mean the same in both.
here=$(git rev-parse --show-prefix)
status=0
number=0
: >"$comment"
rm -f gpucast-*.sarif gpucast-*.xml
for kernel in "$@"; do
    echo "== $kernel"
    number=$((number + 1))
    if ! (cd "$work/base/$here" && gpucast predict "$kernel" -q -o "$work/base.json") 2>"$work/said"; then
        # A kernel that did not exist has nothing to be compared with. Its first times stand in the comment.
        printf '### %s: new\n\n```text\n' "$kernel" >>"$comment"
        gpucast predict "$kernel" -q >"$work/new" || status=1
        head -n 12 "$work/new" >>"$comment"
        printf '```\n\n<details><summary>%s has none</summary>\n\n```text\n%s\n```\n\n</details>\n\n' \
            "$base" "$(cat "$work/said")" >>"$comment"
        continue
    fi
    rm -f "$work/one.md"
    gpucast diff "$work/base.json" "$kernel" -q "${limits[@]}" -o "$work/one.md" 2>"$work/said" || status=1
    cat "$work/said" >&2
    if [ -s "$work/one.md" ]; then
        cat "$work/one.md" >>"$comment"
        # Counts and simulations are kept, so that the other forms take no time. The limits are known to be broken.
        again=(gpucast diff "$work/base.json" "$kernel" -q "${limits[@]}")
        for form in "gpucast-$number.sarif" "gpucast-$number.xml"; do
            "${again[@]}" -o "$form" 2>/dev/null || true
        done
        if [ "${GITHUB_ACTIONS:-}" = true ]; then
            "${again[@]}" --format github 2>/dev/null || true
        fi
    else
        printf '### %s: not compared\n\n```text\n%s\n```\n' "$kernel" "$(cat "$work/said")" >>"$comment"
    fi
    echo >>"$comment"
done
exit $status
