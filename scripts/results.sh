#!/usr/bin/env bash
# Measures what the pages of bench rest on, one raw file after the other, and writes
# the pages' tables:
#
#   scripts/results.sh
#
# A raw file that is there is not measured again: remove it for that. So a run that
# was interrupted goes on where it was; no step takes more than ten minutes, and all of
# them take about two hours. Nothing else should run on the machine. ONLY is a
# regular expression that chooses raw files by their names, RAW another folder for them
# (the pages are left alone then), PEERFLAGS flags for all steps of peers.
set -euo pipefail
cd "$(dirname "$0")/.."

raw=${RAW:-bench/raw}
only=${ONLY:-.}
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "results: there are changes that no commit has: commit them first, since raw files name the commit" >&2
	[ "$raw" != bench/raw ] || exit 1
fi
mkdir -p "$raw" bin

# step NAME COMMAND...: COMMAND -raw FILE, unless the raw file is there. With NAMES it prints the name alone.
step() {
	local name=$1
	shift
	[[ $name =~ $only ]] || return 0
	if [ -e "$raw/$name.jsonl.gz" ]; then
		[ -n "${NAMES:-}" ] || echo "results: $name: is there"
		return 0
	fi
	if [ -n "${NAMES:-}" ]; then
		echo "$name"
		return 0
	fi
	echo "results: $name: $(date +%H:%M:%S), $left to measure"
	left=$((left - 1))
	"$@" -raw "bin/$name.jsonl.gz" >"bin/$name.txt" 2>"bin/$name.log" || {
		cat "bin/$name.txt" >&2 # what was measured until then
		tail -n 5 "bin/$name.log" >&2
		echo "results: $name failed; bin/$name.log has what it said" >&2
		return 1
	}
	grep -h 'measure again' "bin/$name.txt" "bin/$name.log" >&2 || true # another program was busy
	mv "bin/$name.jsonl.gz" "$raw/$name.jsonl.gz"
}

if [ -z "${NAMES:-}" ]; then
	left=$(NAMES=yes scripts/results.sh 2>/dev/null | wc -l)
	# Without buildvcs the programs ask git for the commit, which does not count raw files
	# that are new as changes.
	go build -C bench -buildvcs=false -o ../bin/peers ./peers
	go build -C bench -buildvcs=false -o ../bin/compare ./compare
	go build -C bench -buildvcs=false -o ../bin/scale ./scale
	go build -C examples/ratelimit -buildvcs=false -o ../../bin/ratelimit .
	go build -C examples/ratelimit -buildvcs=false -o ../../bin/ladder ./ladder
fi

# The interrupt of a terminal reaches the step, too, which prints what it has and fails.
trap : INT TERM

read -r -a flags <<<"${PEERFLAGS:-}"
for over in tcp tls; do
	for callers in 1 2 4 8 16 100 1000; do
		all=(-callers "$callers" -rounds 5 ${flags[@]+"${flags[@]}"})
		[ "$over" = tcp ] || all+=(-tls)
		[ "$callers" = 100 ] || all+=(-nolimit) # the only goal beside redis-benchmark is of 100
		step "peers-$over-$callers" bin/peers "${all[@]}"
	done
done
step cuts-ours bin/peers -cuts -clients '^ours'
step cuts-others bin/peers -cuts -clients '^(rueidis|go-redis|radix)(-50|-auto|-auto-duplex|-10-parallel)?$'
for trip in 0 5ms 20ms; do
	step "radix-$trip" bin/peers -radix -roundtrip "$trip" -scenarios '^(fixed_key|mixed_10keys)$' -callers 100 -rounds 5
done
step large bin/peers -large -for 500ms -rounds 5 -clients '^(ours|ours-fixed-50|rueidis|go-redis-50)$'
growing=(bin/peers -nolimit -rounds 5 -clients '^(ours|rueidis|rueidis-100us|go-redis-auto)$')
step growth-callers "${growing[@]}" -scenarios mixed_10keys -callers 1,10,100,1000,10000
step growth-keys "${growing[@]}" -callers 100 -keys 1,3,10,30,100,300,1000
for primaries in 1 2 4 8; do
	step "growth-primaries-$primaries" "${growing[@]}" -scenarios mixed_10keys -callers 100 -primaries "$primaries" -replicas 0
done
step parts bin/peers -parts -for 1s -callers 1,4,100,1000 -clients '^(ours|ours-counters-once|rueidis|rueidis-100us|go-redis-auto)$'
step parts-tls bin/peers -parts -tls -for 1s -callers 1,4,100,1000 -clients '^(ours|rueidis|rueidis-100us|go-redis-auto)$'
step parts-limits bin/peers -parts -limits -for 2s -callers 100 -clients '^(ours-fixed-window|rueidis-two-keys|redis_rate)$'
step limits bin/peers -limits -callers 100 -for 5s -rounds 3 ${flags[@]+"${flags[@]}"}
for file in sizing lanes strategies nine-steps keys shop dashboard documents pool-size pool-factor adaptive pool-or-no-pool \
	primaries fanout hash-tags head-of-line head-of-line-full head-of-line-share slow-lanes rising-load; do
	step "$file" bin/compare -f "bench/compare/settings/$file.yaml"
done
step scale bin/scale
step memory bin/scale -memory
step leases bin/peers -leases -for 3s
for keys in 1 10000; do # a whole service, seven minutes for all four
	climbing=(bin/ladder -keys "$keys" -from 5000 -for 5s -warmup 2s -pause 1s)
	step "ladder-$keys" "${climbing[@]}" -service bin/ratelimit
	step "ladder-$keys-no-leases" "${climbing[@]}" -service 'bin/ratelimit -no-leases'
done

[ "$raw" = bench/raw ] && [ -z "${NAMES:-}" ] || exit 0
bin/peers -rewrite bench
bin/compare -rewrite bench
bin/scale -rewrite bench
bin/ladder -rewrite bench
