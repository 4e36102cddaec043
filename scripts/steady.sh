#!/usr/bin/env bash
# Runs all tests again and again beside busy loops, which is how a test is found
# that relies on how fast the machine is:
#
#   scripts/steady.sh RUNS LOOPS
#
# Prints the time and the result of each run, goes on after a failure, and exits
# with 1 at the end if a run failed. The logs of those that failed stay in
# bin/steady. PKG and TESTFLAGS are those of make test.
set -uo pipefail
cd "$(dirname "$0")/.."

runs=${1:-10}
loops=${2:-4}
for n in "$runs" "$loops"; do
	case $n in
	'' | *[!0-9]*)
		echo "steady: \"$n\" is no number; usage: scripts/steady.sh RUNS LOOPS" >&2
		exit 2
		;;
	esac
done

# Each job has a process group of its own, which can be ended as a whole.
set -m
loop_pids=()
test_pid=
on_exit() {
	[ -z "$test_pid" ] || kill -- "-$test_pid"
	[ ${#loop_pids[@]} -eq 0 ] || kill "${loop_pids[@]}"
	wait
} 2>/dev/null
trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# A loop looks now and then whether the script is still there: one that was
# killed runs no trap.
busy() {
	local parent=$1 i
	while kill -0 "$parent" 2>/dev/null; do
		for ((i = 0; i < 100000; i++)); do :; done
	done
}

logs=bin/steady
rm -rf "$logs"
mkdir -p "$logs"
for ((i = 0; i < loops; i++)); do
	busy $$ </dev/null >/dev/null 2>&1 &
	loop_pids+=($!)
done
echo "$runs runs beside $loops busy loops, load $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null || echo unknown)"

failed=0
for ((run = 1; run <= runs; run++)); do
	log=$logs/run-$run.log
	began=$SECONDS
	# In the background, as a trap waits for what runs in the foreground.
	env -u MAKEFLAGS -u MFLAGS make test PKG="${PKG:-./...}" TESTFLAGS="-count=1 ${TESTFLAGS:-}" >"$log" 2>&1 </dev/null &
	test_pid=$!
	status=0
	wait "$test_pid" || status=$?
	test_pid=
	if [ "$status" -eq 0 ]; then
		echo "run $run of $runs: ok, $((SECONDS - began)) s"
		rm -f "$log"
	else
		failed=$((failed + 1))
		echo "run $run of $runs: FAILED, $((SECONDS - began)) s, see $log"
		grep -E '^ *--- FAIL|^FAIL|panic:|WARNING: DATA RACE' "$log" | head -n 20 | sed 's/^/  /'
	fi
done
echo "$((runs - failed)) of $runs runs passed"
[ "$failed" -eq 0 ]
