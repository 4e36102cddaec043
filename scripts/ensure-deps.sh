#!/usr/bin/env bash
# Installs what the named dependencies lack:
#
#   scripts/ensure-deps.sh redis-server cc
#
# redis-server is what the tests start clusters from; cc, a C compiler, is what
# go test -race needs. Quick and silent where both are there. Installs with
# apt-get (as root, or by a sudo that asks nothing) or with brew; elsewhere it
# says what to install and exits with 1.
set -euo pipefail

has() {
	case $1 in
	cc) command -v gcc >/dev/null || command -v clang >/dev/null || command -v cc >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

need=()
for dep in "$@"; do
	case $dep in
	redis-server | cc) ;;
	*)
		echo "ensure-deps: unknown dependency $dep" >&2
		exit 2
		;;
	esac
	has "$dep" || need+=("$dep")
done
[ ${#need[@]} -gt 0 ] || exit 0

give_up() {
	echo "Missing: ${need[*]}. $1 Install what is missing and try again:" >&2
	echo "  redis-server: Redis 7.0 or later, in the PATH (package redis-server, redis or valkey-compat)" >&2
	echo "  cc:           gcc or clang, for go test -race (macOS: xcode-select --install)" >&2
	exit 1
}

# root runs its arguments as root; it never asks for a password.
root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt_install() {
	root true 2>/dev/null || give_up "Neither root nor allowed to use sudo without a password."
	local packages=()
	for dep in "${need[@]}"; do
		case $dep in
		redis-server) packages+=(redis-server) ;;
		cc) packages+=(gcc libc6-dev) ;;
		esac
	done
	echo "installing ${packages[*]}" >&2
	# RUNLEVEL=1 keeps the package from starting a server of its own where there
	# is no systemd (containers); where there is, stop_service ends it again.
	root apt-get update -q >&2
	root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get install -q -y --no-install-recommends "${packages[@]}" >&2
	case " ${packages[*]} " in
	*" redis-server "*) stop_service ;;
	esac
}

# stop_service stops the server that installing the package has just started
# under systemd: the tests start their own. It is called only after an install
# by this script, so it never touches a server that was there before.
stop_service() {
	[ -d /run/systemd/system ] || return 0
	root systemctl disable --now redis-server >&2 || echo "could not stop the redis-server service" >&2
}

brew_install() {
	case " ${need[*]} " in
	*" cc "*) give_up "brew does not install the compiler." ;;
	esac
	brew install redis >&2
}

if command -v apt-get >/dev/null; then
	apt_install
elif command -v brew >/dev/null; then
	brew_install
else
	give_up "Found neither apt-get nor brew."
fi

hash -r
for dep in "${need[@]}"; do
	has "$dep" || give_up "The install went through, but $dep is still not in the PATH."
done
