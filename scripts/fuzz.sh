#!/usr/bin/env bash
# Runs every fuzz target of the packages (default ./...), one after the other,
# each for FUZZTIME (default 10s). Fails if one finds a failing input; Go leaves
# the input under the package's testdata/fuzz, where it is a test from then on.
set -euo pipefail

go=${GO:-go}
fuzztime=${FUZZTIME:-10s}
[ $# -gt 0 ] || set -- ./...

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# go test -list prints the names of a package's targets, then "ok <package> ...".
# A package that does not build makes it fail, and this script with it.
if ! "$go" test -list '^Fuzz' "$@" >"$log"; then
	cat "$log" >&2
	exit 1
fi
targets=$(awk '/^Fuzz/ { name[n++] = $1 } $1 == "ok" { for (i = 0; i < n; i++) print name[i], $2; n = 0 }' "$log")

if [ -z "$targets" ]; then
	echo "no fuzz targets in $*"
	exit 0
fi

# ended_at_the_deadline tells a known fault of go test from a finding: when
# -fuzztime ends while a worker is busy, go test may fail with nothing but
# "context deadline exceeded" (golang/go#75804). A finding says more than that.
ended_at_the_deadline() {
	grep -qx ' *context deadline exceeded' "$log" &&
		! grep -qE 'Failing input|panic:|\.go:[0-9]+' "$log"
}

# By default go test spends up to a minute making each interesting input smaller,
# of the large ones more than FUZZTIME on the first, and tries no others meanwhile.
minimize=1000x

passed=0
failed=()
while read -r name package; do
	echo "$package $name, $fuzztime: $((passed + ${#failed[@]} + 1)) of $(wc -l <<<"$targets") targets"
	if "$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime "$minimize" "$package" >"$log" 2>&1; then
		tail -n 3 "$log" | grep -E '^fuzz:' | tail -n 1 || true
		passed=$((passed + 1))
	elif ended_at_the_deadline; then
		echo "  go test was stopped by its own deadline; no failing input"
		passed=$((passed + 1))
	else
		cat "$log"
		failed+=("$package $name")
	fi
done <<<"$targets"

echo "fuzz: $passed passed, ${#failed[@]} failed"
if [ ${#failed[@]} -gt 0 ]; then
	printf '  %s\n' "${failed[@]}"
	exit 1
fi
