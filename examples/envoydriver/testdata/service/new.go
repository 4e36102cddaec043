package redis

import (
	"context"
	"crypto/tls"
	"strings"

	stats "github.com/lyft/gostats"

	"github.com/envoyproxy/ratelimit/src/server"
)

const useDriver = true // false brings the service's own driver back

// newDriver is what the service's constructor returns: a Driver that has told the
// service of its connections and its health. It panics as that does.
func newDriver(ctx context.Context, scope stats.Scope, srv server.Server, healthCheckActiveConnection bool,
	useTLS bool, tlsConfig *tls.Config, poolOnEmptyBehavior string, o Options,
) *Driver {
	if b := strings.ToUpper(poolOnEmptyBehavior); b == "CREATE" || b == "ERROR" {
		panic(RedisError("REDIS_POOL_ON_EMPTY_BEHAVIOR = " + b + " is not supported: want WAIT"))
	}
	active, total, closed := scope.NewGauge("cx_active"), scope.NewCounter("cx_total"), scope.NewCounter("cx_local_close")
	o.Conns = func(open, change int) {
		active.Set(uint64(open))
		if change > 0 {
			total.Inc()
		} else {
			closed.Inc()
		}
	}
	if useTLS {
		if o.TLS = tlsConfig; o.TLS == nil {
			o.TLS = new(tls.Config)
		}
	}
	health := func(healthy bool) {
		if healthy {
			_ = srv.HealthChecker().Ok(server.RedisHealthComponentName)
		} else {
			_ = srv.HealthChecker().Fail(server.RedisHealthComponentName)
		}
	}
	if healthCheckActiveConnection && srv != nil {
		o.Health = health
	}
	d, err := New(ctx, o)
	checkError(err)
	if !healthCheckActiveConnection && srv != nil {
		health(true) // since May 2026 the service is unhealthy until it is told
	}
	return d
}
