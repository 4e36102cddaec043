package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
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

// rejected returns how often the nodes have refused the command for want of a
// permission, by their own count.
func rejected(t *testing.T, ctx context.Context, real *servers.Cluster, command string) (n int) {
	t.Helper()
	for _, node := range real.Nodes() {
		var info string
		require.NoError(t, node.Do(ctx, &info, "INFO", "commandstats"))
		_, line, _ := strings.Cut(info, "cmdstat_"+command+":")
		line, _, _ = strings.Cut(line, "\r\n")
		_, count, found := strings.Cut(line, "rejected_calls=")
		if found {
			count, _, _ = strings.Cut(count, ",")
			calls, err := strconv.Atoi(count)
			require.NoError(t, err)
			n += calls
		}
	}
	return n
}

// TestACLUser: what a user may not do reaches the caller at once.
func TestACLUser(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Directives: []string{
		"user counting on >canary-password ~app:* +get +incrby +expire +multi +exec +cluster|slots",
		"user blind on >canary-password ~* +@all -cluster",
	}})
	ctx := within(t, 20*time.Second)
	as := func(user string) cluster.Config {
		return cluster.Config{Dialer: lanes.Dialer{Username: user, Password: "canary-password"}}
	}
	client := open(t, as("counting"), real.Addrs())
	key, foreign := "app:canary-key", "foreign:canary-key"
	noPerm := func(err error, command string) {
		t.Helper()
		var said resp3.SimpleError
		require.ErrorAs(t, err, &said)
		require.True(t, strings.HasPrefix(said.S, "NOPERM "), said.S)
		require.NotErrorIs(t, err, redislanes.ErrRefused)
		var failed *redislanes.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, command, failed.Command)
		require.True(t, slices.Contains(real.Addrs(), failed.Addr))
		require.NotContains(t, err.Error(), "canary")
	}
	p := pipeline.New(client)
	allowed := p.IncrBy(key, 2)
	set := p.Cmd("SET", key, "canary-value").Idempotent() // even so
	elsewhere := p.IncrBy(foreign, 1)
	read := p.Cmd("STRLEN", key)
	noPerm(p.Do(ctx), "SET")
	n, err := allowed.Int()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	noPerm(set.Err(), "SET")
	noPerm(elsewhere.Err(), "INCRBY")
	noPerm(read.Err(), "STRLEN")
	noPerm(client.Do(ctx, radix.Cmd(nil, "SET", key, "canary-value")), "SET")
	trip := radix.NewPipeline()
	trip.Append(radix.Cmd(nil, "GET", key))
	trip.Append(radix.Cmd(nil, "APPEND", key, "canary-value"))
	noPerm(client.Do(ctx, trip), "APPEND")

	for command, times := range map[string]int{"set": 2, "incrby": 1, "strlen": 1, "append": 1} {
		require.Equal(t, times, rejected(t, ctx, real, command), command)
	}
	s := client.Stats()
	require.Zero(t, s.Refused+s.NotSent+s.Repeated+s.Moved)

	_, err = as("blind").New(ctx, real.Addrs())
	require.ErrorContains(t, err, "NOPERM")
	require.NotContains(t, err.Error(), "canary")
}

// rotating is credentials that change while they are in use.
type rotating struct {
	password atomic.Value
	admins   []radix.Conn
}

func startRotating(t *testing.T, ctx context.Context, real *servers.Cluster, password string) *rotating {
	t.Helper()
	r := &rotating{}
	r.password.Store(password)
	for _, n := range real.Nodes() {
		admin, err := radix.Dialer{AuthPass: password}.Dial(ctx, "tcp", n.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = admin.Close() })
		r.admins = append(r.admins, admin)
	}
	return r
}

func (r *rotating) credentials(context.Context) (string, string, error) {
	return "", r.password.Load().(string), nil
}

// change sets the password of the servers.
func (r *rotating) change(t *testing.T, ctx context.Context, password string) {
	t.Helper()
	for _, admin := range r.admins {
		require.NoError(t, admin.Do(ctx, radix.Cmd(nil, "CONFIG", "SET", "masterauth", password)))
		require.NoError(t, admin.Do(ctx, radix.Cmd(nil, "CONFIG", "SET", "requirepass", password)))
	}
}

// disconnect breaks all connections of clients.
func (r *rotating) disconnect(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, admin := range r.admins {
		require.NoError(t, admin.Do(ctx, radix.Cmd(nil, "CLIENT", "KILL", "TYPE", "normal")))
	}
}

// TestPasswordRotation changes the password of a cluster under load, first
// together with the client's, and then alone.
func TestPasswordRotation(t *testing.T) {
	t.Parallel()
	for name, kind := range poolKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real := servers.StartCluster(t, servers.Options{Password: "canary-1"})
			ctx := within(t, 30*time.Second)
			r := startRotating(t, ctx, real, "canary-1")
			config := cluster.Config{Pool: kind, RefreshEvery: -1}
			config.Dialer.Credentials = r.credentials
			client := open(t, config, real.Addrs())
			rotateUnderLoad(t, ctx, client, r)
			forgetToRotate(t, ctx, client, r)
		})
	}
}

func rotateUnderLoad(t *testing.T, ctx context.Context, client *cluster.Client, r *rotating) {
	t.Helper()
	keys := redistest.KeysInSlots(6, "rotate")
	var good, unknown atomic.Int64
	var mu sync.Mutex
	var bad []error
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			p := pipeline.New(client)
			for {
				select {
				case <-stop:
					return
				default:
				}
				p.Reset()
				for _, key := range keys {
					p.IncrBy(key, 1)
				}
				switch err := p.Do(ctx); {
				case err == nil:
					good.Add(1)
				case errors.Is(err, redislanes.ErrUnknownOutcome):
					unknown.Add(1)
				default:
					mu.Lock()
					bad = append(bad, err)
					mu.Unlock()
				}
			}
		})
	}
	more := func() {
		seen := good.Load()
		until(t, ctx, "further calls", func() bool { return good.Load() > seen+50 })
	}
	more()
	r.change(t, ctx, "canary-2")
	more() // connections that are open stay so
	r.password.Store("canary-2")
	// A dial that began before may have had the old password.
	until(t, ctx, "the end of earlier dials", func() bool {
		return !slices.ContainsFunc(client.Stats().Nodes, func(n redislanes.NodeStats) bool { return n.Pool.Dialing > 0 })
	})
	dials, failed := dialled(client)
	r.disconnect(t, ctx)
	more()
	close(stop)
	callers.Wait()
	require.Empty(t, bad)
	after, failedAfter := dialled(client)
	require.Greater(t, after, dials)
	require.Equal(t, failed, failedAfter)
	t.Logf("%d calls, %d with an unknown outcome", good.Load(), unknown.Load())
}

func dialled(client *cluster.Client) (dials, failed uint64) {
	for _, node := range client.Stats().Nodes {
		dials += node.Pool.Dials
		failed += node.Pool.DialErrors
	}
	return dials, failed
}

// forgetToRotate changes the servers' password only.
func forgetToRotate(t *testing.T, ctx context.Context, client *cluster.Client, r *rotating) {
	t.Helper()
	r.change(t, ctx, "canary-3")
	r.disconnect(t, ctx)
	for _, key := range redistest.KeysInSlots(3, "forgotten") {
		until(t, ctx, "the last connection is gone", func() bool { // others are noticed by a call each
			var refused *redislanes.HandshakeError
			return errors.As(client.Do(ctx, radix.Cmd(nil, "GET", key)), &refused)
		})
		for _, action := range []func() radix.Action{
			func() radix.Action { return radix.Cmd(nil, "GET", key) },
			func() radix.Action { return radix.Cmd(nil, "INCR", key) },
			func() radix.Action {
				return radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, radix.Cmd(nil, "GET", key)) })
			},
		} {
			var err error
			until(t, ctx, "the window is over, and calls fail at once", func() bool {
				tries := client.Stats().NotSent
				err = client.Do(ctx, action())
				return client.Stats().NotSent == tries
			})
			var refused *redislanes.HandshakeError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "AUTH", refused.Command)
			require.Contains(t, refused.Reply, "WRONGPASS")
			require.ErrorIs(t, err, redislanes.ErrNotSent)
			require.NotContains(t, err.Error(), "canary")
		}
	}
	r.password.Store("canary-3")
	for _, key := range redistest.KeysInSlots(3, "forgotten") {
		until(t, ctx, "the client is back", func() bool { return client.Do(ctx, radix.Cmd(nil, "GET", key)) == nil })
	}
}
