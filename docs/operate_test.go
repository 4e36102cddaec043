package docs_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// shortDeadlines is the client of production.md.
func shortDeadlines(addrs []string) (*cluster.Client, error) {
	m := metrics.New()
	startup, cancel := context.WithTimeout(context.Background(), 10*time.Second) // for New alone
	defer cancel()
	client, err := cluster.Config{
		Pool:        pool.Laned{Options: pool.Options{StallTimeout: time.Second}},
		Dialer:      lanes.Dialer{Timeout: time.Second, ClientName: "limiter"},
		RetryWindow: 100 * time.Millisecond,
		Trace:       m.Trace(),
		Logger:      slog.Default(),
	}.New(startup, addrs)
	if err != nil {
		return nil, err
	}
	prometheus.MustRegister(m)
	return client, nil
}

// encrypted is the client of topologies.md.
func encrypted(ctx context.Context, addrs []string, certificate tls.Certificate) (*cluster.Client, error) {
	return cluster.Config{
		Dialer: lanes.Dialer{
			Username: "limiter", Password: os.Getenv("REDIS_PASSWORD"),
			TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
		},
	}.New(ctx, addrs)
}

var iam interface {
	Credentials(ctx context.Context) (username, password string, err error)
}

func tokens() cluster.Config {
	return cluster.Config{
		Dialer: lanes.Dialer{
			TLS:         &tls.Config{MinVersion: tls.VersionTLS12},
			Credentials: iam.Credentials, // a function of the service's own: user name and token
		},
		Pool: pool.Laned{Options: pool.Options{MaxAge: 6 * time.Hour}},
	}
}

func fromURL(ctx context.Context) (*cluster.Client, error) {
	config, addrs, err := cluster.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return nil, err // names the part that is wrong, and never shows a password
	}
	config.Pool = pool.Laned{}
	return config.New(ctx, addrs)
}

func zones(zones map[string]string) cluster.Config {
	return cluster.Config{Near: func(addr, _ string) bool { return zones[addr] == os.Getenv("ZONE") }}
}

func TestOperate(t *testing.T) {
	servers := redistest.StartEmulated(t, 3)
	client, err := shortDeadlines(servers.Addrs())
	require.NoError(t, err)
	require.NoError(t, client.Close())
	t.Setenv("REDIS_URL", "redis://"+servers.Addrs()[0])
	client, err = fromURL(t.Context())
	require.NoError(t, err)
	require.NoError(t, client.Close())
	t.Setenv("REDIS_PASSWORD", "secret")
	_, err = encrypted(t.Context(), servers.Addrs(), tls.Certificate{})
	require.ErrorContains(t, err, "TLS")
	iam = fixed{}
	require.NoError(t, tokens().Validate())
	t.Setenv("ZONE", "a")
	require.True(t, zones(map[string]string{"10.0.0.1:6379": "a"}).Near("10.0.0.1:6379", ""))
}

type fixed struct{}

func (fixed) Credentials(context.Context) (username, password string, err error) {
	return "limiter", "token", nil
}
