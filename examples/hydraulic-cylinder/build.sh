#!/bin/sh
# Builds the FMUs of this folder: every model.c with its model.xml becomes model.fmu, every model.py an FMU by pythonfmu.
# Usage: sh build.sh [folder]: the FMUs are written to that folder, or beside this file.
# Needs gcc (or another C compiler, as CC=clang) and zip or python3; pythonfmu where there are Python sources.
set -eu
out=${1:-$(dirname "$0")}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux64 suffix=so ;;
Linux-*) platform=$(uname -m)-linux suffix=so ;;
Darwin-*) platform=darwin64 suffix=dylib ;;
*) fail "this script knows Linux and macOS; on Windows use it in WSL" ;;
esac

compiler=${CC:-gcc}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

for source in *.c; do
    [ -e "$source" ] || continue
    command -v "$compiler" >/dev/null ||
        fail "\`$compiler\` is missing, a C compiler: install gcc (Debian: apt install gcc), or name another one, CC=clang sh build.sh"
    name=${source%.c}
    mkdir -p "$build/$name/binaries/$platform"
    "$compiler" -std=c99 -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden \
        -o "$build/$name/binaries/$platform/$name.$suffix" "$source" -lm
    cp "$name.xml" "$build/$name/modelDescription.xml"
    rm -f "$out/$name.fmu"
    if command -v zip >/dev/null; then
        (cd "$build/$name" && zip -q -r "$out/$name.fmu" modelDescription.xml binaries)
    elif command -v python3 >/dev/null; then
        (cd "$build/$name" && python3 -m zipfile -c "$out/$name.fmu" modelDescription.xml binaries)
    else
        fail "\`zip\` and \`python3\` are missing: one of them is needed to pack the FMU"
    fi
    echo "$name.fmu"
done

python=${PYTHON:-python3}
for source in *.py; do
    [ -e "$source" ] && [ "$source" != expected.py ] || continue
    "$python" -c 'import pythonfmu' 2>/dev/null ||
        fail "pythonfmu is missing, which makes an FMU of $source: \`$python -m pip install pythonfmu\`, or name a Python that has it, PYTHON=.venv/bin/python sh build.sh"
    # The class in the file names the FMU: controller.py, Controller.fmu.
    "$python" -m pythonfmu build -f "$source" -d "$out" --handle-state >/dev/null
    sed -n 's/^class \(.*\)(Fmi2Slave):/\1.fmu/p' "$source"
done
