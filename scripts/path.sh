#!/usr/bin/env bash
# Prints the functions of the library that a request of one command passes, a
# line each: file, line and name. Methods of one line do not count. It is the
# shortest list of five requests: the pool looks at its connections at some.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -cover -covermode=atomic -coverpkg=./... -o "$tmp/path" ./scripts/path
module=$(go list -m)/

# functions COUNTERS prints the functions of a folder of counters.
functions() {
	go tool covdata func -i "$1" | awk '$NF != "0.0%" && $2 != ""' | sed "s,^$module,," |
		while IFS=$':\t ' read -r file line name _; do
			case $file in
			scripts/* | total) ;;
			*) sed -n "${line}p" "$file" | grep -q '}$' || echo "$file:$line: $name" ;;
			esac
		done
}

for i in 1 2 3 4 5; do
	mkdir "$tmp/$i"
	GOCOVERDIR=$tmp "$tmp/path" "$tmp/$i"
	functions "$tmp/$i" >"$tmp/$i.txt"
done
cat "$(wc -l "$tmp"/?.txt | grep -v total | sort -n | awk 'NR == 1 { print $2 }')"
