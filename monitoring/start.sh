#!/usr/bin/env bash
# Starts Prometheus with the rules of this folder, redis_exporter and node_exporter
# beside a service and a cluster, and stops all three when it ends:
#
#   monitoring/start.sh SERVICE NODE...
#
# SERVICE is the host:port at which the service serves /metrics, and each NODE that of a
# server of the cluster:
#
#   monitoring/start.sh 127.0.0.1:8080 127.0.0.1:7000 127.0.0.1:7001 127.0.0.1:7002
#
# It listens on 127.0.0.1 alone, on the ports PROMETHEUS_PORT (9090),
# REDIS_EXPORTER_PORT (9121) and NODE_EXPORTER_PORT (9100) of the environment. Servers
# with a password: REDIS_USER and REDIS_PASSWORD, which redis_exporter reads itself. What
# is measured is kept in memory and in a folder that goes when the script ends.
# PROMETHEUS_FLAGS are passed on, such as --enable-feature=native-histograms.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 2 ]; then
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
service=$1
shift

prometheus_port=${PROMETHEUS_PORT:-9090}
redis_exporter_port=${REDIS_EXPORTER_PORT:-9121}
node_exporter_port=${NODE_EXPORTER_PORT:-9100}
"$here/../scripts/ensure-deps.sh" prometheus redis-exporter node-exporter

dir=$(mktemp -d)
stop() {
	local status=$? pids
	trap '' INT TERM
	pids=$(jobs -p)
	# shellcheck disable=SC2086 # they are several words
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	wait
	rm -rf "$dir"
	exit $status
}
trap stop EXIT
trap 'exit 0' INT TERM

# targets writes a list of targets in the form of file_sd_configs.
targets() {
	local target
	echo '- targets:'
	for target in "$@"; do printf '    - "%s"\n' "$target"; done
}

# start runs a program in the background, with its log in the folder.
start() {
	local name=$1
	shift
	"$@" >"$dir/$name.log" 2>&1 &
}

mkdir "$dir/targets"
targets "$service" >"$dir/targets/redislanes.yml"
targets "$@" >"$dir/targets/redis.yml"
cp "$here/alerts.yaml" "$dir/"
sed -e "s/127.0.0.1:9121/127.0.0.1:$redis_exporter_port/" -e "s/127.0.0.1:9100/127.0.0.1:$node_exporter_port/" \
	"$here/prometheus.yml" >"$dir/prometheus.yml"

start redis-exporter prometheus-redis-exporter -redis.addr= -web.listen-address="127.0.0.1:$redis_exporter_port"
start node-exporter prometheus-node-exporter --web.listen-address="127.0.0.1:$node_exporter_port"
# shellcheck disable=SC2086 # flags are several words
start prometheus prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" \
	--web.listen-address="127.0.0.1:$prometheus_port" ${PROMETHEUS_FLAGS:-}

# The path of the page of alerts differs: Debian's package has the classic interface.
echo "Prometheus: http://127.0.0.1:$prometheus_port/ shows the alerts under \"Alerts\" (import $here/dashboard.json in Grafana)"
echo "Press Ctrl-C to stop."

# One that ends by itself, as when its port is taken, ends the others.
status=0
wait -n || status=$?
for log in "$dir"/*.log; do
	echo "== ${log##*/}" >&2
	tail -n 5 "$log" >&2
done
echo "start.sh: one of the programs has ended with status $status" >&2
exit 1
