package redis

import (
	"crypto/tls"
	"strings"
	"time"

	stats "github.com/lyft/gostats"

	"github.com/envoyproxy/ratelimit/src/server"
)

// NewClientImpl has the parameters of the function that it replaces.
func NewClientImpl(scope stats.Scope, useTLS bool, auth, redisSocketType, redisType, url string, poolSize int,
	_ time.Duration, _ int, tlsConfig *tls.Config, healthCheckActiveConnection bool, srv server.Server,
	timeout time.Duration, poolOnEmptyBehavior string, sentinelAuth string,
) Client {
	if b := strings.ToUpper(poolOnEmptyBehavior); b == "CREATE" || b == "ERROR" {
		panic(RedisError("REDIS_POOL_ON_EMPTY_BEHAVIOR = " + b + " is not supported: want WAIT"))
	}
	active, total, closed := scope.NewGauge("cx_active"), scope.NewCounter("cx_total"), scope.NewCounter("cx_local_close")
	o := Options{
		Type: redisType, SocketType: redisSocketType, URL: url, Auth: auth, SentinelAuth: sentinelAuth,
		PoolSize: poolSize, Timeout: timeout,
		Conns: func(open, change int) {
			active.Set(uint64(open))
			if change > 0 {
				total.Inc()
			} else {
				closed.Inc()
			}
		},
	}
	if useTLS {
		if o.TLS = tlsConfig; o.TLS == nil {
			o.TLS = new(tls.Config)
		}
	}
	if healthCheckActiveConnection && srv != nil {
		o.Health = func(healthy bool) {
			if healthy {
				_ = srv.HealthChecker().Ok(server.RedisHealthComponentName)
			} else {
				_ = srv.HealthChecker().Fail(server.RedisHealthComponentName)
			}
		}
	}
	client, err := New(o)
	checkError(err)
	return client
}

func checkError(err error) {
	if err != nil {
		panic(RedisError(err.Error()))
	}
}
