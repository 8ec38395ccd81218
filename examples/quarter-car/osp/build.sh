#!/bin/sh
# Exports the FMUs of this folder from the built-in models.
# Usage: sh build.sh, with `powerbond` on the path or named by POWERBOND=….
set -eu
cd "$(dirname "$0")"
powerbond=${POWERBOND:-powerbond}
command -v "$powerbond" >/dev/null ||
    { printf 'error: `%s` is missing: put powerbond on the path, or name it, POWERBOND=target/release/powerbond sh build.sh\n' "$powerbond" >&2; exit 1; }
"$powerbond" export quarter-car/chassis --quiet --output chassis.fmu
"$powerbond" export quarter-car/wheel-suspension --quiet --output wheel.fmu
