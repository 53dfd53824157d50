#!/usr/bin/env bash
# Try the committed state as a newcomer would: clone it into a new folder and run make targets (default: demo test) there,
# with an environment that holds nothing but PATH and HOME. usage: scripts/fresh_clone.sh [TARGET]...
set -euo pipefail
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet "$repository" "$folder/smcmc"
cd "$folder/smcmc"
env -i PATH="$PATH" HOME="$HOME" make "${@:-demo}" $([ $# -gt 0 ] || echo test)
