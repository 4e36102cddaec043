#!/usr/bin/env bash
# Gives the service of January 2026, in the folder $1, the signatures of mid-2026, for
# as long as the Go proxy has nothing newer: a context in PipeDo, and a context,
# startup settings and more in the constructors. What they do does not change. Needs GNU sed.
set -euo pipefail
cd "$1"

# imports PACKAGE FILE... adds an import where it is missing.
imports() {
	local package=$1 file
	shift
	for file in "$@"; do
		grep -q "^	\"$package\"\$" "$file" || sed -i "0,/^import (\$/s//&\n\t\"$package\"/" "$file"
	done
}

cd src/redis
sed -i 's/^import \(".*"\)$/import (\n\t\1\n)/; s/PipeDo(pipeline/PipeDo(ctx context.Context, pipeline/' driver.go
sed -i 's/this\.\(client\|perSecondClient\)\.PipeDo(/&ctx, /' fixed_cache_impl.go
sed -i 's/= NewClientImpl(/= newClientImpl(context.Background(), /
	s/SentinelAuth)$/SentinelAuth, time.Second, 30*time.Second, time.Minute, 1, false)/' cache_impl.go
sed -i '/^func NewClientImpl(/,/^}/ {
	s/^func NewClientImpl(/func newClientImpl(ctx context.Context, /
	s/^) Client {$/\tstartupInitialInterval, startupMaxInterval, startupMaxElapsedTime time.Duration,\n\tclusterPipelineParallelism int,\n\tcloseConnectionOnReadOnlyError bool,\n&/
	/^\tctx := context.Background()$/d
}
/^func (c \*clientImpl) PipeDo(/,/^}/ {
	s/PipeDo(pipeline/PipeDo(ctx context.Context, pipeline/
	/^\tctx := context.Background()$/d
}' driver_impl.go
cat >>driver_impl.go <<'END'

func NewClientImpl(ctx context.Context, scope stats.Scope, useTls bool, auth, redisSocketType, redisType, url string, poolSize int,
	window time.Duration, limit int, tlsConfig *tls.Config, health bool, srv server.Server,
	timeout time.Duration, onEmpty string, sentinelAuth string,
	initial, longest, elapsed time.Duration, closeOnReadOnly bool,
) Client {
	return newClientImpl(ctx, scope, useTls, auth, redisSocketType, redisType, url, poolSize, window, limit, tlsConfig, health, srv,
		timeout, onEmpty, sentinelAuth, initial, longest, elapsed, 1, closeOnReadOnly)
}
END
imports context driver.go cache_impl.go
imports time cache_impl.go

cd ../../test
sed -i '/^func (m \*MockClient) PipeDo(/,/^}/ {
	s/(arg0 redis/(ctx context.Context, arg0 redis/
	s/"PipeDo", /&ctx, /
}
/^func (mr \*MockClientMockRecorder) PipeDo(/,/^}/ {
	s/(arg0 interface/(ctx, arg0 interface/
	s/PipeDo), /&ctx, /
}' mocks/redis/redis.go
sed -i 's/\.PipeDo(gomock\.Any())/.PipeDo(gomock.Any(), gomock.Any())/
	s/\bclient\.PipeDo(/&context.Background(), /
	/redis\.NewClientImpl(/ {
		s//&context.Background(), /
		s/)$/, time.Millisecond, time.Millisecond, time.Millisecond, false)/
	}' redis/*_test.go
imports context mocks/redis/redis.go redis/bench_test.go redis/driver_impl_test.go
cd ..
gofmt -w src/redis test/mocks/redis test/redis
