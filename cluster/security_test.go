package cluster_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// TestTLSServerIsChecked: a server whose certificate comes from another CA, or
// is for another name, is not spoken to.
func TestTLSServerIsChecked(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{TLS: true})
	other := servers.StartServer(t, servers.Options{TLS: true})
	ctx := within(t, 20*time.Second)
	useTLS(t, ctx, open(t, cluster.Config{Dialer: lanes.Dialer{TLS: real.TLSConfig()}}, real.Addrs()))

	misnamed := real.TLSConfig()
	misnamed.ServerName = "redis.example"
	for want, d := range map[string]lanes.Dialer{
		"certificate signed by unknown authority":               {TLS: other.TLSConfig()},
		"certificate is valid for localhost, not redis.example": {TLS: misnamed},
		"handshake": {}, // plain text to a server that speaks TLS
	} {
		_, err := cluster.Config{Dialer: d}.New(ctx, real.Addrs())
		var unreachable *cause.Unreachable
		require.ErrorAs(t, err, &unreachable)
		if d.TLS != nil {
			require.ErrorContains(t, err, "TLS handshake")
			require.ErrorContains(t, err, want)
		}
		for _, addr := range real.Addrs() {
			require.ErrorContains(t, err, addr)
		}
	}
}

// useTLS counts keys of all nodes.
func useTLS(t *testing.T, ctx context.Context, client *cluster.Client) {
	t.Helper()
	p := pipeline.New(client)
	for i := range 60 {
		p.IncrBy("tls"+strconv.Itoa(i), 1)
	}
	require.NoError(t, p.Do(ctx))
	require.Len(t, client.Stats().Nodes, 3)
}

// TestTLSClientCertificates: the servers demand a certificate.
func TestTLSClientCertificates(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{TLS: true, ClientCerts: true})
	other := servers.StartServer(t, servers.Options{TLS: true, ClientCerts: true})
	ctx := within(t, 20*time.Second)
	useTLS(t, ctx, open(t, cluster.Config{Dialer: lanes.Dialer{TLS: real.TLSConfig()}}, real.Addrs()))

	without := real.TLSConfig()
	without.Certificates = nil
	stranger := real.TLSConfig()
	stranger.Certificates = other.TLSConfig().Certificates
	for range 20 { // the server hangs up while the client is talking
		for _, config := range []lanes.Dialer{{TLS: without}, {TLS: stranger}} {
			_, err := cluster.Config{Dialer: config}.New(ctx, real.Addrs()[:1])
			if config.TLS == without {
				require.ErrorContains(t, err, "certificate required")
			} else {
				require.ErrorContains(t, err, "unknown certificate authority")
			}
		}
	}
}

// narrowRights are those of docs/topologies.md, with the commands of the program.
const narrowRights = "~app:* -@all +ping +cluster|slots +readonly +asking +get +mget +incrby +expire +blpop +multi +exec"

// TestNarrowACL: a user without the rights to questions that only make sure of servers can use them.
func TestNarrowACL(t *testing.T) {
	t.Parallel()
	directive := []string{"user narrow on >secret " + narrowRights}
	ctx := within(t, 30*time.Second)
	user := lanes.Dialer{Username: "narrow", Password: "secret"}
	real := servers.StartCluster(t, servers.Options{Primaries: 2, Replicas: 1, Directives: directive})
	client := open(t, cluster.Config{Dialer: user}, real.Addrs())
	require.NoError(t, ordinary(ctx, client))
	require.NoError(t, client.Sync(ctx))

	alone := servers.StartServer(t, servers.Options{Directives: directive})
	client = open(t, cluster.Config{Dialer: user}, alone.Addrs())
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", "app:1", "1")))
}

// ordinary uses a client in the ways that narrowRights allow.
func ordinary(ctx context.Context, client *cluster.Client) error {
	p := pipeline.New(client)
	for i := range 20 {
		key := fmt.Sprint("app:", i)
		p.IncrBy(key, 1)
		p.Expire(key, time.Hour)
		p.Cmd("MGET", key)
	}
	if err := p.Do(ctx); err != nil {
		return err
	}
	if err := client.DoSecondary(ctx, radix.Cmd(nil, "GET", "app:1")); err != nil {
		return err
	}
	if err := client.Do(ctx, radix.Cmd(nil, "BLPOP", "app:none", "0.01")); err != nil {
		return err
	}
	return client.Do(ctx, radix.WithConn("app:1", func(ctx context.Context, conn radix.Conn) error {
		transaction := radixPipeline(radix.Cmd(nil, "MULTI"), radix.Cmd(nil, "INCRBY", "app:1", "1"), radix.Cmd(nil, "EXEC"))
		return conn.Do(ctx, transaction)
	}))
}
