#!/usr/bin/env bash
# Tries the library on several servers:
#
#   scripts/matrix.sh full [SERVER...]    all tests of all modules with -race, a soak, the contract
#   scripts/matrix.sh short [SERVER...]   a minute of all of these, for CI
#
# A server is a folder of bin/servers, or redis-server for the one in the PATH.
# Default is all of them; short leaves out redis-server, with which CI runs
# everything. SOAK is the time of each soak (2m). Prints the time of each part,
# goes on after a failure, and exits with 1 at the end if one failed. The logs
# are in bin/matrix.
set -uo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off REDISLANES_REQUIRE_REDIS=1

logs=$PWD/bin/matrix
contract=$PWD/../shared/contract/check

# part SERVER NAME COMMAND... runs one part with the server and reports it.
part() {
	local server=$1 name=$2 log=$logs/$1-${2// /-}.log began=$SECONDS status=0
	[ "$server" = redis-server ] || local -x REDISLANES_TEST_SERVER=$server
	"${@:3}" >"$log" 2>&1 </dev/null || status=$?
	if [ $status -eq 0 ]; then
		printf '%-12s %-24s ok, %d s%s\n' "$server" "$name" $((SECONDS - began)) "$(skipped "$log")"
		return 0
	fi
	printf '%-12s %-24s FAILED, %d s, see %s\n' "$server" "$name" $((SECONDS - began)) "$log"
	grep -E '^ *--- FAIL|^FAIL|panic:|WARNING: DATA RACE' "$log" | head -n 20 | sed 's/^/  /'
	return 1
}

# skipped says how many tests were, in a log of go test -v.
skipped() {
	local n
	n=$(grep -c '^--- SKIP' "$1" || true)
	[ "$n" -eq 0 ] || printf ', %d tests skipped' "$n"
}

# check_contract runs the check of the public contract where it is: it is no part
# of this repository.
check_contract() {
	[ -x "$contract" ] || return 0
	part "$1" contract "$logs/cluster" -primaries 3 -replicas 1 -- "$contract" || return
	grep -qx 'contract ok' "$logs/$1-contract.log" && return
	echo "$1: the contract did not print 'contract ok'"
	return 1
}

full() {
	local failed=0
	part "$1" 'make test' env -u MAKEFLAGS -u MFLAGS make test TESTFLAGS='-count=1 -v' || failed=1
	part "$1" soak "$logs/soak" -for "${SOAK:-2m}" -seed 7 || failed=1
	check_contract "$1" || failed=1
	return $failed
}

# What differs between servers: commands and their keys, handshakes, texts of
# errors, sessions, redirects, slots that move, failovers, expiry.
short_tests='TestTable|TestKeys|TestTraits|TestPasswordOfRealServer|TestMemberIsAsked'
short_tests+='|TestReshardingAndFailover/laned|TestLinearizable|TestDedicatedComesBack|TestNobodyInherits|TestMigratingSlot'
short_tests+='|TestCanaryInServerErrors|TestActions|TestExpireNX|TestCounters|TestFidelity|TestCommandTable'
short_packages=(./cluster ./internal/command ./internal/faults ./internal/nodepool ./internal/sim/model ./internal/wire ./pipeline)

# prepare_short builds the tests once for all servers.
prepare_short() {
	mkdir -p "$logs/tests"
	go test -c -o "$logs/tests/" "${short_packages[@]}" && go -C internal/tests test -c -o "$logs/tests/" ./linear && check_short_tests
}

# check_short_tests fails if a name of short_tests matches no test, or if a package has none of
# the tests. Running them would not fail then.
check_short_tests() {
	local package tests name all='' names failed=0
	names=$(sed 's,/[^|]*,,g' <<<"$short_tests") # without subtests
	for package in "${short_packages[@]}" ./internal/tests/linear; do
		tests=$("$logs/tests/${package##*/}.test" -test.list "$names") || return
		if [ -z "$tests" ]; then
			echo "matrix: no name in short_tests matches a test of $package" >&2
			failed=1
		fi
		all+=$tests$'\n'
	done
	for name in ${names//|/ }; do
		grep -q "^$name" <<<"$all" && continue
		echo "matrix: no package of short_packages has a test $name of short_tests" >&2
		failed=1
	done
	return $failed
}

run_short_tests() {
	local package failed=0
	for package in "${short_packages[@]}" ./internal/tests/linear; do
		(cd "$package" && "$logs/tests/${package##*/}.test" -test.short -test.v -test.timeout 3m -test.run "$short_tests") || failed=1
	done
	return $failed
}

short() {
	local failed=0
	part "$1" tests run_short_tests || failed=1
	part "$1" soak "$logs/soak" -for 6s -seed 7 -faults reshard,failover,client-kill || failed=1
	check_contract "$1" || failed=1
	return $failed
}

mode=${1:-}
case $mode in
full) servers=(redis-server redis-6.2 redis-8.2 redis-8.10 valkey-8.1 valkey-9.1) ;;
short) servers=(redis-6.2 redis-8.2 redis-8.10 valkey-8.1 valkey-9.1) ;;
*)
	echo 'matrix: usage: scripts/matrix.sh full|short [SERVER...]' >&2
	exit 2
	;;
esac
[ $# -eq 1 ] || servers=("${@:2}")

rm -rf "$logs"
mkdir -p "$logs"
others=()
for server in "${servers[@]}"; do
	[ "$server" = redis-server ] || others+=("$server")
done
[ ${#others[@]} -eq 0 ] || scripts/ensure-servers.sh "${others[@]}" >/dev/null || exit
go build -o "$logs/" ./internal/servers/cmd/soak ./internal/servers/cmd/cluster || exit

failed=0
case $mode in
full)
	for i in "${!servers[@]}"; do
		echo "${servers[i]}: $((i + 1)) of ${#servers[@]} servers"
		full "${servers[i]}" || failed=1
	done
	;;
short) # beside each other: most of the time is waiting
	prepare_short || exit
	jobs=()
	for server in "${servers[@]}"; do
		short "$server" &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do
		wait "$job" || failed=1
	done
	;;
esac
exit $failed
