#!/usr/bin/env bash
# Installs redis-py in bin/redis-py, in the version of examples/simcluster/requirements.txt. Quick where it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=examples/simcluster/requirements.txt
dir=bin/redis-py
! cmp -s "$requirements" "$dir/requirements.txt" || exit 0
scripts/ensure-deps.sh pip
rm -rf "$dir"
python3 -m pip install -q --disable-pip-version-check --no-cache-dir --no-deps --require-hashes --only-binary :all: \
	--target "$dir" --requirement "$requirements" >&2
cp "$requirements" "$dir/"
