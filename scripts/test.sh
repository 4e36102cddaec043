#!/usr/bin/env bash
# Runs tests with -race, as make test does:
#
#   scripts/test.sh PACKAGE... [-- FLAGS OF GO TEST...]
#
# With ./... alone it runs the nested modules' tests, too, one module after the
# other beside the root's. The output of the root module comes first and as it is
# made, then that of each other module. Exits with 1 if a module's tests failed.
set -uo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off REDISLANES_REQUIRE_REDIS=1 REDISLANES_REQUIRE_REDIS_PY=1

packages=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	packages+=("$1")
	shift
done
[ $# -eq 0 ] || shift
# Libraries without goroutines of their own in which tests spend much time are compiled without
# the race detector: the parsers and the type checker of Go, and the Lua of emulated clusters.
# internal/mutants/race_test.go has the same flags.
built=(-race '-gcflags=go/...=-race=false' '-gcflags=github.com/yuin/gopher-lua/...=-race=false')
# Most tests wait for servers, so more of them run at a time than two processors
# would have. .ci/run has a step of its own for go vet, and make lint is stricter.
flags=("${built[@]}" -vet=off -parallel 4)
go=${GO:-go}
# Flags for nested modules, so that less is to be compiled and to be done:
#   - Histograms and pictures are arithmetic without goroutines. The race detector finds nothing in
#     them, and makes the tests of bench take six times as long.
#   - The largest packages of other clients take half the time without optimizations.
nested_flags=(
	-gcflags=github.com/HdrHistogram/hdrhistogram-go=-race=false
	-gcflags=image/...=-race=false
	'-gcflags=github.com/redis/rueidis/internal/cmds=-N -l'
	'-gcflags=github.com/redis/go-redis/v9=-N -l'
)
# A program that is built with -race sleeps for a second before it ends, in which
# others may still report a race: with some sixty packages, half a minute.
export GORACE=${GORACE:-atexit_sleep_ms=50}

if [ "${packages[*]}" != ./... ]; then
	exec "$go" test "${flags[@]}" "$@" "${packages[@]}"
fi

logs=$(mktemp -d) || exit

# nested tests the nested modules and writes what each says into a file of its own.
nested() {
	local module failed=0 n=10 modules
	# shellcheck disable=SC2207 # no module's path has a blank
	modules=($(find . -name go.mod -not -path ./go.mod -not -path './tools/*' -not -path './bin/*' | sed 's,/go\.mod$,,' | sort -r))
	for module in "${modules[@]}"; do
		n=$((n + 1))
		echo "test $module: $((n - 10)) of ${#modules[@]} nested modules, its output comes at the end" >&2
		{
			echo "test $module"
			REDISLANES_REQUIRE_PROMETHEUS=1 "$go" -C "$module" test "${flags[@]}" "${nested_flags[@]}" -p 1 "$@" ./... 2>&1 || failed=1
		} >"$logs/$n"
	done
	return $failed
}

# Each job has a process group of its own, which can be ended as a whole.
set -m
jobs=()
on_exit() {
	[ ${#jobs[@]} -eq 0 ] || kill -- "${jobs[@]/#/-}"
	wait
	rm -rf "$logs"
} 2>/dev/null
trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Jobs run in the background, as a trap waits for what runs in the foreground.
# What both jobs below need is compiled first. Otherwise each compiles it for itself.
"$go" build "${built[@]}" ./... </dev/null &
jobs+=($!)
wait "${jobs[0]}" || exit
jobs=()

failed=0
nested "$@" </dev/null &
jobs+=($!)
# The longest begin first, so that none is left alone at the end.
"$go" test "${flags[@]}" -p 2 "$@" ./limit ./cluster ./internal/faults ./pipeline ./... </dev/null &
jobs+=($!)
wait "${jobs[1]}" || failed=1
wait "${jobs[0]}" || failed=1
jobs=()
cat "$logs"/*
exit $failed
