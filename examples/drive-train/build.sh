#!/bin/sh
# Builds the FMUs of this folder into resources/, every model.c with its model.xml, and packs drive-train.ssp with everything that belongs
# to the system.
# Usage: sh build.sh. Needs gcc (or another C compiler, as CC=clang) and zip or python3.
set -eu
cd "$(dirname "$0")"

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux64 suffix=so ;;
Linux-*) platform=$(uname -m)-linux suffix=so ;;
Darwin-*) platform=darwin64 suffix=dylib ;;
*) fail "this script knows Linux and macOS; on Windows use it in WSL" ;;
esac

compiler=${CC:-gcc}
command -v "$compiler" >/dev/null ||
    fail "\`$compiler\` is missing, a C compiler: install gcc (Debian: apt install gcc), or name another one, CC=clang sh build.sh"

# pack archive.zip file…: the files and folders, beside which this is called.
pack() {
    rm -f "$1"
    if command -v zip >/dev/null; then
        zip -q -r "$@"
    elif command -v python3 >/dev/null; then
        python3 -m zipfile -c "$@"
    else
        fail "\`zip\` and \`python3\` are missing: one of them is needed to pack the FMUs"
    fi
}

here=$(pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p resources
for source in *.c; do
    name=${source%.c}
    mkdir -p "$build/$name/binaries/$platform"
    "$compiler" -std=c99 -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden \
        -o "$build/$name/binaries/$platform/$name.$suffix" "$source" -lm
    cp "$name.xml" "$build/$name/modelDescription.xml"
    (cd "$build/$name" && pack "$here/resources/$name.fmu" modelDescription.xml binaries)
    echo "resources/$name.fmu"
done
pack drive-train.ssp SystemStructure.ssd Loaded.ssd resources parameters
echo drive-train.ssp
