#!/usr/bin/env bash
# Installs what the named dependencies lack:
#
#   scripts/ensure-deps.sh redis-server cc
#
# redis-server is what the tests start clusters from; cc, a C compiler, is what
# go test -race needs; prometheus, with its promtool, proves the rules in
# monitoring, and redis-exporter and node-exporter are what monitoring/start.sh
# starts beside it; alertmanager proves monitoring/alertmanager.yml; chromium, or a Google Chrome, is what one test looks at a page
# with; pip is Python's, with python3. Quick and silent where all of them are there. Installs with apt-get (as
# root, or by a sudo that asks nothing) or with brew; elsewhere it says what to
# install and exits with 1.
set -euo pipefail

has() {
	case $1 in
	cc) command -v gcc >/dev/null || command -v clang >/dev/null || command -v cc >/dev/null ;;
	prometheus) command -v prometheus >/dev/null && command -v promtool >/dev/null ;;
	*-exporter | alertmanager) command -v "prometheus-$1" >/dev/null ;;
	chromium)
		command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
			command -v google-chrome >/dev/null || command -v google-chrome-stable >/dev/null
		;;
	pip) python3 -m pip --version >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

need=()
for dep in "$@"; do
	case $dep in
	redis-server | cc | prometheus | redis-exporter | node-exporter | alertmanager | chromium | pip) ;;
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
	echo "  prometheus:   Prometheus 2.42 or later, with promtool, in the PATH" >&2
	echo "  *-exporter:   prometheus-redis-exporter, prometheus-node-exporter and prometheus-alertmanager in the PATH, as Debian names them" >&2
	echo "  chromium:     chromium or google-chrome in the PATH" >&2
	echo "  pip:          python3 with pip" >&2
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
		prometheus) packages+=(prometheus) ;;
		*-exporter | alertmanager) packages+=("prometheus-$dep") ;;
		chromium) packages+=(chromium) ;;
		pip) packages+=(python3 python3-pip) ;;
		esac
	done
	echo "installing ${packages[*]}" >&2
	# RUNLEVEL=1 keeps the package from starting a server of its own where there
	# is no systemd (containers); where there is, stop_service ends it again.
	root apt-get update -q >&2
	root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get install -q -y --no-install-recommends "${packages[@]}" >&2
	local package
	for package in "${packages[@]}"; do
		case $package in
		redis-server | prometheus*) stop_service "$package" ;;
		esac
	done
}

# stop_service stops the server that installing the package has just started
# under systemd: the tests start their own. It is called only after an install
# by this script, so it never touches a server that was there before.
stop_service() {
	[ -d /run/systemd/system ] || return 0
	root systemctl disable --now "$1" >&2 || echo "could not stop the service $1" >&2
}

brew_install() {
	local dep
	for dep in "${need[@]}"; do
		case $dep in
		cc) give_up "brew does not install the compiler." ;;
		*-exporter | alertmanager) give_up "brew has no package of that name." ;;
		chromium) give_up "brew does not put a browser in the PATH." ;;
		redis-server) brew install redis >&2 ;;
		prometheus) brew install prometheus >&2 ;;
		pip) brew install python >&2 ;;
		esac
	done
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
