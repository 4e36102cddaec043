package cluster_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A guarded world refuses credentials for a while.
type guarded struct {
	*world
	text    string
	refuses atomic.Bool
	asked   atomic.Int64 // for how many handshakes
}

func newGuarded(text string) *guarded {
	g := &guarded{text: text}
	g.world = newWorld(func(_ string, cmd []string) string {
		switch cmd[0] {
		case "AUTH", "HELLO":
			g.asked.Add(1)
			switch {
			case g.refuses.Load():
				return "-" + g.text + "\r\n"
			case cmd[0] == "HELLO":
				return "%1\r\n$4\r\nmode\r\n$7\r\ncluster\r\n"
			}
			return "+OK\r\n"
		}
		return one
	}, nodeA, nodeB)
	return g
}

// refuse makes the world refuse credentials for some time, and cuts connections, as servers do
// when a token has expired.
func (g *guarded) refuse(lasts time.Duration) {
	time.Sleep(2 * time.Second) // idle connections notice their end then
	g.refuses.Store(true)
	g.set(func() { g.dead[nodeA], g.dead[nodeB] = true, true })
	synctest.Wait()
	g.set(func() { clear(g.dead) })
	time.AfterFunc(lasts, func() { g.refuses.Store(false) })
}

// TestLoginThatHasEnded: the server replies NOAUTH over connections with an expired token, and
// does not close them. They are replaced.
func TestLoginThatHasEnded(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]pool.Config{"laned": pool.Laned{}, "fixed": pool.Fixed{Size: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			var mu sync.Mutex // guards what follows
			in := make(map[io.Writer]bool)
			f.hijack, f.answer = "AUTH", func(w io.Writer, cmd []string) bool {
				mu.Lock()
				defer mu.Unlock()
				reply := ":1\r\n"
				switch {
				case cmd[0] == "AUTH":
					in[w], reply = true, "+OK\r\n"
				case !in[w]:
					reply = "-NOAUTH Authentication required.\r\n"
				}
				_, err := io.WriteString(w, reply)
				return err == nil
			}
			f.start()
			client := open(t, cluster.Config{Dialer: lanes.Dialer{Credentials: token}, Pool: kind}, []string{f.addr()})
			ctx := within(t, 10*time.Second)
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")))
			mu.Lock()
			clear(in)
			mu.Unlock()
			require.ErrorContains(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")), "NOAUTH")
			for range 10 {
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")))
			}
		})
	}
}

func token(context.Context) (username, password string, err error) { return "app", "token", nil }

// refusedCredentials are what servers say to credentials that another call of
// Dialer.Credentials may put right.
var refusedCredentials = []string{
	"WRONGPASS invalid username-password pair or user is disabled.",
	"NOAUTH Authentication required.",
	"ERR invalid password",
	"ERR invalid username-password pair",
	"ERR the token has expired",
	"SOMETHING nobody has heard of",
}

// TestRefusedCredentialsAreAskedForAgain: a server that refuses what Dialer.Credentials
// has returned fails no call that has the time.
func TestRefusedCredentialsAreAskedForAgain(t *testing.T) {
	for _, text := range refusedCredentials {
		for name, c := range map[string]cluster.Config{
			"laned": {}, "fixed": {Pool: pool.Fixed{Size: 2}}, "RESP3": {Dialer: lanes.Dialer{Protocol: 3}},
		} {
			t.Run(name+", "+text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGuarded(text)
					c.Dialer.NetDial, c.Dialer.Credentials = g.dial, token
					client := open(t, c, []string{nodeA, nodeB})
					require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
					g.refuse(400 * time.Millisecond)
					for _, action := range []radix.Action{
						radix.Cmd(nil, "INCR", "k"), radix.Cmd(nil, "BLPOP", "k", "1"),
						dedicatedCmd("k", "INCR", "k"),
					} {
						require.NoError(t, client.Do(soon(t, 3*time.Second), action))
					}
					require.Less(t, g.asked.Load(), int64(100))
				})
			})
		}
	}
}

// TestNewAsksForCredentialsAgain: until its context ends.
func TestNewAsksForCredentialsAgain(t *testing.T) {
	for _, text := range refusedCredentials {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(text)
				g.refuse(3 * time.Second)
				c := cluster.Config{Dialer: lanes.Dialer{NetDial: g.dial, Credentials: token}}
				_, err := c.New(soon(t, time.Second), []string{nodeA})
				var refused *redislanes.HandshakeError
				require.ErrorAs(t, err, &refused)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				client, err := c.New(soon(t, 10*time.Second), []string{nodeA})
				require.NoError(t, err)
				require.NoError(t, client.Close())
			})
		})
	}
}

// TestPasswordThatIsWrongIsFinal: nothing makes a Dialer.Password right, nor a server
// know HELLO. Neither New nor calls wait, and the server is asked slowly.
func TestPasswordThatIsWrongIsFinal(t *testing.T) {
	password, resp3 := lanes.Dialer{Username: "app", Password: "wrong"}, lanes.Dialer{Credentials: token, Protocol: 3}
	for text, d := range map[string]lanes.Dialer{
		"WRONGPASS invalid username-password pair or user is disabled.": password,
		"ERR invalid password":                                              password,
		"NOPROTO unsupported protocol version":                              resp3,
		"ERR unknown command `HELLO`, with args beginning with: `3` `AUTH`": resp3,
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(text)
				d.NetDial = g.dial
				client := open(t, cluster.Config{Dialer: d, RefreshEvery: -1}, []string{nodeA, nodeB})
				require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
				g.refuse(time.Hour)
				time.Sleep(time.Millisecond)
				var refused *redislanes.HandshakeError
				for range 2 {
					began := time.Now()
					require.ErrorAs(t, client.Do(soon(t, 3*time.Second), radix.Cmd(nil, "INCR", "k")), &refused)
					require.Less(t, time.Since(began), 200*time.Millisecond, "far from the window")
				}
				_, err := cluster.Config{Dialer: d}.New(t.Context(), []string{nodeA})
				require.ErrorAs(t, err, &refused)
				before := g.asked.Load()
				time.Sleep(10 * time.Second)
				require.Less(t, g.asked.Load()-before, int64(45), "one dial of each node in half a second at most")
			})
		})
	}
}

// rotating is credentials that change while they are in use.
type rotating struct {
	password atomic.Value
	admins   []radix.Conn
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
		return !slices.ContainsFunc(client.Stats().Nodes, func(n redislanes.NodeStats) bool { return n.Pool.Kind != "adaptive" && n.Pool.Open < n.Pool.Size })
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
				return dedicatedCmd(key, "GET", key)
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
