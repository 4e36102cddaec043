package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out, io.Discard))
	require.Equal(t, strings.TrimLeft(`
ann asks for up to  4000 tokens: 500 tokens used, 9500 remain
ann asks for up to  4000 tokens: 3900 tokens used, 5600 remain
bob asks for up to  9000 tokens: 9800 tokens used, 200 remain
ann asks for up to  4000 tokens: the model is overloaded, 5600 remain
bob asks for up to  1000 tokens: 1003 tokens are more than the 200 that remain: try again in 1h56m0s, 200 remain
ann asks for up to  4000 tokens: 4100 tokens used, 1500 remain
ann asks for up to  4000 tokens: 4003 tokens are more than the 1500 that remain: try again in 6h1m0s, 1500 remain
bob asks for up to 20000 tokens: 20003 tokens are more than the limit of 10000, 200 remain
`, "\n"), out.String())
}

func TestRunRefusesFlags(t *testing.T) {
	require.Error(t, run(t.Context(), []string{"-addrs"}, io.Discard, io.Discard))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, run(gone, []string{"-addrs", "127.0.0.1:1"}, io.Discard, io.Discard))
}

// TestWait: nobody is told to try again too early.
func TestWait(t *testing.T) {
	for after, want := range map[time.Duration]string{time.Second: "1m0s", time.Minute: "1m0s", 89 * time.Second: "2m0s"} {
		denied := &limitedError{estimate: 3, decision: limit.Decision{RetryAfter: after, Remaining: 1}}
		require.EqualError(t, denied, "3 tokens are more than the 1 that remain: try again in "+want)
	}
}

// TestMistake: the answer to a mistake does not ask the user to wait.
func TestMistake(t *testing.T) {
	servers := redistest.StartEmulated(t, 1)
	client, err := cluster.Config{}.New(t.Context(), servers.Addrs())
	require.NoError(t, err)
	defer client.Close()
	limiter, err := limit.New(client)
	require.NoError(t, err)
	defer limiter.Close()
	perUser, err := perDay.New(limiter)
	require.NoError(t, err)
	_, err = (&gateway{limiter: limiter, perUser: perUser}).ask(t.Context(), "ann", "a question", -100)
	require.ErrorContains(t, err, "the limit cannot be checked: limit: Request.Cost = -97 of limit tokens")
}
