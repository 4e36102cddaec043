#!/usr/bin/env bash
# Shows what importing cluster and pipeline does to the go.mod of a program:
#
#   scripts/outside.sh          fails if one is not as it was
#   scripts/outside.sh update   writes down what it is now
#
# Each folder of scripts/testdata/outside is a program outside of this module,
# with its go.mod before the import and after it. older has lower versions of
# what the library needs, settled has others, which must stay. tested also uses
# redistest, and its test must pass.
set -euo pipefail
cd "$(dirname "$0")/.."

go=${GO:-go}
case ${1:-} in
'' | update) ;;
*)
	echo "outside: unknown argument \"$1\"; usage: scripts/outside.sh [update]" >&2
	exit 2
	;;
esac
export GOWORK=off GOFLAGS=-mod=mod
library=github.com/redislanes/redislanes
root=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

failed=0
for folder in scripts/testdata/outside/*/; do
	name=$(basename "$folder")
	program=$tmp/$name
	mkdir "$program"
	cp "$folder"*.go "$program"
	cp "$folder"before.mod "$program/go.mod"
	cd "$program"
	"$go" mod edit -require="$library@v0.0.0" -replace="$library=$root"
	"$go" mod tidy >tidy.log 2>&1 || {
		cat tidy.log >&2
		exit 1
	}
	# A module that before.mod does not name comes in its newest version, and the
	# result would be another one next week.
	if grep 'finding module' tidy.log >&2; then
		echo "outside: $name: name these modules in $folder""before.mod" >&2
		exit 1
	fi
	"$go" vet ./...
	if [ "$name" = tested ]; then
		"$go" test ./...
	fi
	"$go" mod edit -dropreplace="$library"
	cd "$root"
	if [ "${1:-}" = update ]; then
		cp "$program/go.mod" "$folder"after.mod
	elif diff -u "$folder"after.mod "$program/go.mod"; then
		echo "$name: as it was"
	else
		echo "outside: $name: go.mod has become another one; if it must be so: scripts/outside.sh update" >&2
		failed=1
	fi
done
exit $failed
