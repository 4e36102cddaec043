#!/usr/bin/env bash
# Puts this driver into a checkout of Envoy's rate limit service:
#
#   ./put.sh FOLDER
#
# It copies files into src/redis, adds a return to the constructor of the service's
# client, and lets the service's go.mod use the library from here. The interface stays
# that of the service: PipeDo with a context or without, the constructor with a context
# and startup settings or without. A second run brings the files up to date.
set -euo pipefail
driver=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
cd "${1:?want the folder of the service}/src/redis"

# The service of mid-2026 has both, and the first calls the second.
constructor=NewClientImpl
! grep -q '^func newClientImpl(' driver_impl.go || constructor=newClientImpl
head=$(sed -n "/^func $constructor(/,/) Client {\$/p" driver_impl.go)
parameters=$(tr -d '\n' <<<"$head" | sed 's/^[^(]*(//; s/) Client {$//' | tr ',' '\n' | awk 'NF { print $1 }')
has() { grep -qx "$1" <<<"$parameters"; }

for parameter in $parameters; do
	case $parameter in
	ctx | scope | useTls | auth | redisSocketType | redisType | url | poolSize | tlsConfig | healthCheckActiveConnection | srv | timeout) ;;
	poolOnEmptyBehavior | sentinelAuth | startupInitialInterval | startupMaxInterval | startupMaxElapsedTime) ;;
	# What these are for, the library does by itself.
	pipelineWindow | pipelineLimit | clusterPipelineParallelism | closeConnectionOnReadOnlyError) ;;
	*)
		echo "$constructor has the parameter $parameter: this driver does not know what becomes of it; see put.sh" >&2
		exit 1
		;;
	esac
done

context='context.Background()'
! has ctx || context=ctx
options='Type: redisType, SocketType: redisSocketType, URL: url, Auth: auth, SentinelAuth: sentinelAuth, PoolSize: poolSize, Timeout: timeout'
! has startupInitialInterval ||
	options+=', Startup: &Startup{InitialInterval: startupInitialInterval, MaxInterval: startupMaxInterval, MaxElapsedTime: startupMaxElapsedTime}'
call="newDriver($context, scope, srv, healthCheckActiveConnection, useTls, tlsConfig, poolOnEmptyBehavior, Options{$options})"
grep -q 'PipeDo(ctx ' driver.go || call="WithoutContext{$call}"
# awk writes a new file because sed -i works differently on macOS.
grep -q useDriver driver_impl.go || {
	awk -v head="func $constructor(" -v call="$call" '
		{ print }
		index($0, head) == 1 { inside = 1 }
		inside && /[)] Client [{]$/ { print "\tif useDriver {\n\t\treturn " call "\n\t}\n"; inside = 0 }
	' driver_impl.go >driver_impl.go.new
	mv driver_impl.go.new driver_impl.go
	grep -q useDriver driver_impl.go || { echo "put.sh: driver_impl.go has no constructor $constructor" >&2 && exit 1; }
}

for file in driver options; do
	sed 's/^package envoydriver$/package redis/' "$driver/$file.go" >"lanes_$file.go"
done
cp "$driver/testdata/service/new.go" lanes_new.go
cd ../..
go mod edit -require github.com/redislanes/redislanes@v0.0.0 -replace "github.com/redislanes/redislanes=$root"
if ! said=$(go mod tidy 2>&1); then
	printf '%s\n' "$said" >&2
	echo "go mod tidy failed in $PWD. The driver's files are in place, but the service does not build yet." >&2
	exit 1
fi
