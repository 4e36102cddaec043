package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"default", nil, []string{"3 nodes emulated", "Request 3: 3 groups sent in parallel", "laned"}},
		{"fixed", []string{"-pool", "fixed", "-size", "2"}, []string{"fixed: 2 connections to each node", "of 2"}},
		{"adaptive", []string{"-pool=adaptive", "-size=5"}, []string{"adaptive: 1 to 5 connections", "of 5"}},
		{"laned", []string{"-pool=laned", "-size=1"}, []string{"laned: 1 connection to each node", "1 of 1"}},
		{"many requests", []string{"-requests", "50"}, []string{"Request 3:", "...", "Request 50:", "What the keys of request 50 got"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			require.NoError(t, run(t.Context(), tt.args, &out, &errOut))
			require.Empty(t, errOut.String())
			for _, want := range tt.want {
				require.Contains(t, out.String(), want)
			}
			require.Equal(t, len(descriptors), len(rowsOf(out.String(), "KEY")))
			require.Equal(t, embeddedNodes, len(rowsOf(out.String(), "NODE")))
		})
	}
}

func TestRunShowsEveryKey(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-addrs", strings.Join(e.Addrs(), ", ")}, &out, io.Discard))
	require.Contains(t, out.String(), "16384 of 16384 slots served")

	rows := rowsOf(out.String(), "KEY")
	for i, key := range keyNames(10) {
		slot := cluster.Slot(key)
		owner := e.Addrs()[e.Owner(slot)]
		require.Regexp(t, regexp.QuoteMeta(key)+` +`+strconv.Itoa(int(slot))+` +`+regexp.QuoteMeta(owner)+` +3$`, rows[i])
	}
}

// TestSteadyUser: a key that is hit all the time is counted anew in each window.
func TestSteadyUser(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	client, err := connect(t.Context(), settings{}, e.Addrs())
	require.NoError(t, err)
	defer client.Close()
	p := pipeline.New(client)
	for i := range 6 {
		hits, err := send(t.Context(), p, keyNames(1))
		require.NoError(t, err)
		require.EqualValues(t, i%2+1, hits[0].total)
		e.Nodes()[0].FastForward(keyTTL / 2)
	}
}

func TestRunOneKey(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-keys", "1", "-requests", "1"}, &out, io.Discard))
	require.Contains(t, out.String(), "for 1 key: 2 commands")
	require.Contains(t, out.String(), "Request 1: 1 group sent, answered")
	require.Len(t, rowsOf(out.String(), "NODE"), 1)
}

func TestRunShowsWhatFailed(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	refused := e.Owner(cluster.Slot("quickstart:global"))
	e.Inject(refused, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			return "NOPERM not for you"
		}
		return ""
	})
	var out bytes.Buffer
	err := run(t.Context(), []string{"-addrs", e.Addrs()[0]}, &out, io.Discard)
	require.ErrorContains(t, err, "request 1: ")
	require.ErrorContains(t, err, "NOPERM")

	for i, key := range keyNames(10) {
		want := ` 1$`
		if e.Owner(cluster.Slot(key)) == refused {
			want = `failed: .*NOPERM`
		}
		require.Regexp(t, want, rowsOf(out.String(), "KEY")[i])
	}
}

func TestRunRefusesFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-pool", "huge"}, `-pool "huge": must be fixed, adaptive or laned`},
		{[]string{"-size", "-1"}, "-size -1: must not be negative"},
		{[]string{"-size", "5000"}, "-size 5000: pool: Laned.Lanes = 5000: must be at most 1024"},
		{[]string{"-keys", "0"}, "-keys 0: must be at least 1"},
		{[]string{"-requests", "0"}, "-requests 0: must be at least 1"},
		{[]string{"-keys", "ten"}, `"ten"`},
		{[]string{"-password", "x"}, "-password"},
		{[]string{"-addrs", "a:1,,b:2"}, "address 2 is empty"},
		{[]string{"-tls"}, "need -addrs"},
		{[]string{"-user", "u"}, "need -addrs"},
		{[]string{"localhost:6379"}, `unexpected argument "localhost:6379"`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var out, errOut bytes.Buffer
			err := run(t.Context(), tt.args, &out, &errOut)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "-help")
			require.Empty(t, out.String()+errOut.String())
		})
	}
}

func TestRunHelp(t *testing.T) {
	var errOut bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-help"}, io.Discard, &errOut), flag.ErrHelp)
	for _, want := range []string{"REDIS_PASSWORD", "-addrs host:port,...", "-pool kind", "-size", "-keys", "-requests", "-user", "-tls"} {
		require.Contains(t, errOut.String(), want)
	}
}

func TestRunUnreachable(t *testing.T) {
	addrs := []string{closedAddr(t), closedAddr(t)}
	err := run(t.Context(), []string{"-addrs", strings.Join(addrs, ",")}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "no node answers")
	for _, addr := range addrs {
		require.ErrorContains(t, err, addr)
	}
	require.Equal(t, 2, strings.Count(err.Error(), "refused"), err)
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	interrupting := writerFunc(func(b []byte) (int, error) {
		if bytes.HasPrefix(b, []byte("Request 2:")) {
			cancel()
		}
		return out.Write(b)
	})
	err := run(ctx, []string{"-requests", "1000000000"}, interrupting, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, out.String(), "failed")
}

func TestRunReportsAFullDisk(t *testing.T) {
	out := writerFunc(func([]byte) (int, error) { return 0, io.ErrShortWrite })
	require.ErrorIs(t, run(t.Context(), nil, out, io.Discard), io.ErrShortWrite)
}

func TestPasswordComesFromTheEnvironment(t *testing.T) {
	t.Setenv("REDIS_PASSWORD", "secret")
	s, err := parse([]string{"-addrs", "a:1", "-user", "limiter", "-tls"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "secret", s.dialer.Password)
	require.Equal(t, "limiter", s.dialer.Username)
	require.NotNil(t, s.dialer.TLS)
}

func TestKeyNamesAreDistinct(t *testing.T) {
	seen := make(map[string]bool)
	for _, key := range keyNames(35) {
		require.False(t, seen[key], key)
		seen[key] = true
	}
}

// closedAddr returns an address that refuses connections.
func closedAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// rowsOf returns the lines of the table whose heading begins with the word.
func rowsOf(out, heading string) []string {
	var rows []string
	inTable := false
	for line := range strings.Lines(out) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, heading+" "):
			inTable = true
		case line == "":
			inTable = false
		case inTable:
			rows = append(rows, line)
		}
	}
	return rows
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
