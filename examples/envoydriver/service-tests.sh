#!/usr/bin/env bash
# Builds Envoy's rate limit service with this driver and runs the service's tests that
# have to do with Redis: single servers, clusters, Sentinels, TLS with and without
# certificates of clients, configuration by xDS. Needs GNU sed, redis-server with TLS,
# redis-cli, openssl, and the ports of those tests, on 127.0.0.1 only.
#
#   ./service-tests.sh [-unit] [FOLDER]
#
# It tests the service twice: as it was in January 2026, and with the signatures of
# mid-2026. With a FOLDER it tests a copy of that checkout instead. With -unit it leaves
# out the integration tests, which take minutes.
set -euo pipefail
what=all
case ${1:-} in -unit) what=$1 && shift ;; esac
[ $# -eq 0 ] || checkout=$(cd "$1" && pwd)
cd "$(dirname "$0")"
export GOWORK=off
version=v1.4.1-0.20260122083618-3fb702589d36
driver=$PWD

# The tests start a server on one port themselves. The other ports are those of the servers below.
own=6383
singles=(6379 6380 6381 6382 6361)
primaries=(6392 6397)
replicas=(6393 6398)
clusters=(6386 6387 6388 6389 6390 6391)
sentinels=(26394 26395 26396 26399 26400 26401)

# free PORT... ends the script if something listens on one of the ports. Servers of others would be
# flushed and shut down.
free() {
	local port
	for port in "$@"; do
		! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || {
			echo "port $port is in use: the tests need it, stop what listens on it" >&2
			exit 1
		}
	done
}
free $own
[ $what != all ] || free "${singles[@]}" 16381 16382 16361 "${clusters[@]/#/1}" "${primaries[@]}" "${replicas[@]}" "${clusters[@]}" "${sentinels[@]}"

tmp=$(mktemp -d)
pids=()
on_exit() {
	redis-cli -p $own shutdown nosave >/dev/null 2>&1 || true # of a test that panicked
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait
	rm -rf "$tmp"
}
trap on_exit EXIT

# tests VERDICT lists the tests with it in the log.
tests() { grep -oE -- "^ *--- $1: [^ ]+" "$tmp/log" | awk '{ print $3 }' || true; }

# leaves VERDICT lists those of them that no other one is a part of.
leaves() {
	tests "$1" | awk '{ all[$0] } END {
		for (t in all) {
			leaf = 1
			for (u in all) if (index(u, t "/") == 1) leaf = 0
			if (leaf) print t
		}
	}' | LC_ALL=C sort
}

go mod download "github.com/envoyproxy/ratelimit@$version"
source=$(go env GOMODCACHE)/github.com/envoyproxy/ratelimit@$version

# copy FROM NAME makes a copy of the service.
copy() { cp -r "$1" "$tmp/$2" && chmod -R u+w "$tmp/$2"; }

services=()
if [ -n "${checkout:-}" ]; then
	copy "$checkout" checkout
	services+=(checkout)
else
	copy "$source" january-2026
	copy "$source" mid-2026
	"$driver/testdata/service/contexts.sh" "$tmp/mid-2026"
	services+=(january-2026 mid-2026)
fi

# These compare the texts of errors, which are others, and nothing else fails.
cat >"$tmp/texts" <<-'END'
	TestDoCmd/connection_broken
	TestNewClientImpl/WithPipelineWindow/auth_fail
	TestNewClientImpl/WithPipelineWindow/auth_user_pass_fail
	TestNewClientImpl/WithoutPipelineWindow/auth_fail
	TestNewClientImpl/WithoutPipelineWindow/auth_user_pass_fail
	TestNewClientImplSentinel/invalid_url_format_-_missing_sentinel_addresses
	TestNewClientImplSentinel/invalid_url_format_-_only_master_name
	TestPipeDo/WithPipelineWindow/connection_broken
	TestPipeDo/WithoutPipelineWindow/connection_broken
	TestPoolOnEmptyBehavior/CREATE_behavior_should_panic
	TestPoolOnEmptyBehavior/ERROR_behavior_should_panic
	TestPoolOnEmptyBehavior/case_insensitive_behavior_-_lowercase_'create'_panics
	TestPoolOnEmptyBehavior/case_insensitive_behavior_-_lowercase_'error'_panics
END
for service in "${services[@]}"; do
	echo "== unit tests of the driver and of what counts with it: $service"
	"$driver/put.sh" "$tmp/$service"
	cd "$tmp/$service"
	go vet ./src/redis
	go build -o /dev/null ./...
	go test -count=1 -v ./src/redis ./test/redis >"$tmp/log" 2>&1 || true
	leaves FAIL >"$tmp/failed"
	diff "$tmp/texts" "$tmp/failed" || { grep -v '^Flush' "$tmp/log" && exit 1; }
	echo "passed: $(leaves PASS | wc -l); of the texts of errors: $(wc -l <"$tmp/texts")"
done
[ $what = all ] || exit 0

# serve PORT OPTION... starts a server.
serve() {
	local port=$1
	shift
	mkdir -p "$tmp/$port"
	redis-server --port "$port" --bind 127.0.0.1 --dir "$tmp/$port" --save '' "$@" >"$tmp/$port/log" 2>&1 &
	pids+=($!)
}

# watch PORT PRIMARY starts a Sentinel.
watch() {
	mkdir -p "$tmp/$1"
	printf '%s\n' 'bind 127.0.0.1' "port $1" "sentinel monitor mymaster 127.0.0.1 $2 2" \
		'sentinel auth-pass mymaster password123' >"$tmp/$1/sentinel.conf"
	redis-server "$tmp/$1/sentinel.conf" --sentinel >"$tmp/$1/log" 2>&1 &
	pids+=($!)
}

# answers PORT... waits for servers.
answers() {
	local port
	for port in "$@"; do
		timeout 20 bash -c "until redis-cli -p $port ping 2>/dev/null | grep -q PONG; do sleep 0.05; done"
	done
}

openssl req -new -newkey rsa:2048 -days 2 -nodes -x509 -subj /CN=localhost -addext 'subjectAltName = DNS:localhost' \
	-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
cert=$tmp/cert.pem key=$tmp/key.pem
export REDISCLI_AUTH=password123
password=(--requirepass password123)
tls=(--tls-cert-file "$cert" --tls-key-file "$key" --tls-ca-cert-file "$cert")
serve 6379
serve 6380
serve 6381 "${password[@]}" "${tls[@]}" --tls-port 16381 --tls-auth-clients no
serve 6382 "${password[@]}" "${tls[@]}" --tls-port 16382 --tls-auth-clients no
serve 6361 "${password[@]}" "${tls[@]}" --tls-port 16361 --tls-auth-clients yes
for i in 0 1; do
	serve "${primaries[i]}" "${password[@]}"
	serve "${replicas[i]}" "${password[@]}" --replicaof 127.0.0.1 "${primaries[i]}" --masterauth password123
done
for port in "${clusters[@]}"; do
	serve "$port" "${password[@]}" --cluster-enabled yes
done
answers "${singles[@]}" "${primaries[@]}" "${replicas[@]}" "${clusters[@]}"
for i in "${!sentinels[@]}"; do watch "${sentinels[i]}" "${primaries[i / 3]}"; done
for first in 0 3; do
	redis-cli --cluster create $(printf "127.0.0.1:%s " "${clusters[@]:first:3}") --cluster-replicas 0 --cluster-yes >"$tmp/create" 2>&1 ||
		{ cat "$tmp/create" && exit 1; }
done

# Memcached has nothing to do with it. The tests count within a minute's window, and
# fail when the minute ends: those that do get a second try.
run() { TMPDIR=$tmp/empty SSL_CERT_FILE=$cert go test -count=1 -tags integration "$@" ./test/integration >"$tmp/log" 2>&1; }
mkdir "$tmp/empty"
for service in "${services[@]}"; do
	echo "== integration tests: $service"
	cd "$tmp/$service"
	cp "$cert" "$key" test/integration
	for port in "${singles[@]}" "${primaries[@]}" "${clusters[@]}"; do
		redis-cli -p "$port" flushall >/dev/null 2>&1
	done
	run -v -skip Memcache || true
	grep -qE '^(ok|FAIL)' "$tmp/log" || { tail -50 "$tmp/log" && exit 1; }
	leaves PASS
	passed=$(leaves PASS | wc -l)
	for test in $(tests FAIL | sed 's,/.*,,' | sort -u); do
		echo "once more: $test"
		run -v -run "^$test\$" || { grep -vE '^\{' "$tmp/log" | tail -80 && exit 1; }
		leaves PASS
		passed=$((passed + $(leaves PASS | wc -l)))
	done
	echo "passed: $passed"
done
