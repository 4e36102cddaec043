package servers

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("REDISTEST_DIE"); how != "" {
		die(how)
	}
	VerifyNoLeaks(m)
}

// die starts a cluster in a child process, tells about it and dies.
func die(how string) {
	c, err := LaunchCluster(context.Background(), Options{Primaries: 2})
	if err != nil {
		panic(err)
	}
	words := []string{"started", c.dir}
	for _, n := range c.nodes {
		words = append(words, strconv.Itoa(n.Pid()))
	}
	_ = c.nodes[0].Pause() // a stopped process must go, too
	_, _ = os.Stdout.WriteString(strings.Join(words, " ") + "\n")
	switch how {
	case "panic":
		panic("as asked")
	case "exit":
		os.Exit(3)
	case "kill":
		_ = signalTo(os.Getpid(), os.Kill)
	}
}

func signalTo(pid int, s os.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(s)
}

// TestNothingIsLeft lets a process that has started a cluster die in several
// ways, and waits until its servers and files are gone.
func TestNothingIsLeft(t *testing.T) {
	RequireServer(t)
	for _, how := range []string{"panic", "exit", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "REDISTEST_DIE="+how)
			out, err := cmd.Output()
			require.Error(t, err, "the child must have died")
			words := strings.Fields(string(out))
			require.GreaterOrEqual(t, len(words), 4, "output: %q", out)
			require.Equal(t, "started", words[0])
			for _, word := range words[2:4] {
				pid, err := strconv.Atoi(word)
				require.NoError(t, err)
				require.NoError(t, poll(Within(t, 10*time.Second), "the server is gone", func() (bool, error) {
					return signalTo(pid, syscall.Signal(0)) != nil || zombie(pid), nil
				}))
			}
			require.NoError(t, poll(Within(t, 10*time.Second), "its files are gone", func() (bool, error) {
				_, err := os.Stat(words[1])
				return os.IsNotExist(err), nil
			}))
		})
	}
}

// zombie reports whether the process has ended and its new parent has not
// asked for its status yet.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, Options{Primaries: 3, Replicas: 1})
	ctx := Within(t, 60*time.Second)
	require.Len(t, c.Addrs(), 6)
	for i, n := range c.Nodes() {
		primary, err := n.IsPrimary(ctx)
		require.NoError(t, err)
		require.Equal(t, i < 3, primary)
		require.NotEmpty(t, n.ID())
		require.NoError(t, n.Do(ctx, nil, "DEBUG", "LOG", "the last line"))
		require.Contains(t, n.Log(), "the last line")
	}
	t.Run("migration", func(t *testing.T) { testMigration(t, c) })
	t.Run("failover", func(t *testing.T) {
		replica := c.Nodes()[3]
		require.NoError(t, replica.Failover(ctx, ""))
		require.NoError(t, c.WaitHealthy(ctx))
		owner, err := c.Owner(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, replica.Addr(), owner.Addr())
	})
	t.Run("kill and restart", func(t *testing.T) {
		n := c.Nodes()[0] // a replica now
		require.NoError(t, n.Kill())
		require.Error(t, n.Do(ctx, nil, "PING"))
		require.NoError(t, n.Restart(ctx))
		require.ErrorContains(t, n.Restart(ctx), "is running")
		require.NoError(t, c.WaitHealthy(ctx))
	})
	t.Run("not healthy without an owner", func(t *testing.T) {
		n := c.Nodes()[2]
		require.NoError(t, n.Kill())
		require.NoError(t, c.WaitHealthy(ctx))
		owner, err := c.Owner(ctx, slotCount-1)
		require.NoError(t, err)
		require.NotEqual(t, n, owner, "healthy means that a replica has taken over")
	})
	t.Run("pause", func(t *testing.T) {
		n := c.Nodes()[1]
		require.NoError(t, n.Pause())
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, n.Do(short, nil, "PING"), context.DeadlineExceeded)
		require.NoError(t, n.Resume())
		require.NoError(t, n.Do(ctx, nil, "PING"))
	})
}

func testMigration(t *testing.T, c *Cluster) {
	ctx := Within(t, 20*time.Second)
	key := redistest.KeyInSlot(1234, "k")
	from, err := c.Owner(ctx, 1234)
	require.NoError(t, err)
	to := c.Nodes()[2]
	require.NotEqual(t, from, to)
	require.NoError(t, from.Do(ctx, nil, "SET", key, "v"))
	require.NoError(t, c.MigrateSlotStart(ctx, 1234, to))
	require.ErrorContains(t, from.Do(ctx, new(string), "GET", redistest.KeyInSlot(1234, "absent")), "ASK 1234 "+to.Addr())
	require.NoError(t, c.MigrateSlotFinish(ctx, 1234, to))
	require.ErrorContains(t, from.Do(ctx, new(string), "GET", key), "MOVED 1234 "+to.Addr())
	var got string
	require.NoError(t, to.Do(ctx, &got, "GET", key))
	require.Equal(t, "v", got)
}

func TestTLSAndUsers(t *testing.T) {
	t.Parallel()
	c := StartServer(t, Options{TLS: true, Username: "u", Password: "p", Directives: []string{"maxclients 123"}})
	n := c.Nodes()[0]
	ctx := Within(t, 10*time.Second)
	var got []string
	require.NoError(t, n.Do(ctx, &got, "CONFIG", "GET", "maxclients"))
	require.Equal(t, []string{"maxclients", "123"}, got)
	conn, err := radix.Dialer{AuthUser: "u", AuthPass: "p", NetDialer: tlsDialer{c.TLSConfig()}}.Dial(ctx, "tcp", n.Addr())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	_, err = radix.Dialer{AuthUser: "u", AuthPass: "x", NetDialer: tlsDialer{c.TLSConfig()}}.Dial(ctx, "tcp", n.Addr())
	require.ErrorContains(t, err, "WRONGPASS")
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"Primaries = -1": {Primaries: -1}, "Replicas = -2": {Replicas: -2}, `Username = "u"`: {Username: "u"}, "blank": {Password: "a b"}, "NodeTimeout": {NodeTimeout: -1},
	} {
		_, err := LaunchCluster(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
	_, err := LaunchServer(t.Context(), Options{Primaries: 2})
	require.ErrorContains(t, err, "Primaries = 2")
	if HaveServer() {
		_, err := LaunchServer(Within(t, 10*time.Second), Options{Directives: []string{"no-such-directive 1"}})
		require.ErrorContains(t, err, "ended at its start")
	}
}
