package cluster_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// An ailing server refuses one command, the probe, while it is ill.
type ailing struct {
	*cluster.Client
	text  string // of the refusal
	probe []string
	ill   atomic.Bool
}

// open starts the server, which is well, and its client.
func (a *ailing) open(t *testing.T) *ailing {
	w := newWorld(func(_ string, cmd []string) string {
		if cmd[0] == a.probe[0] && a.ill.Load() {
			return "-" + a.text + "\r\n"
		}
		return one
	}, nodeA)
	a.Client = w.open(t, cluster.Config{RefreshEvery: -1})
	return a
}

func (a *ailing) try(t *testing.T) (took time.Duration, err error) {
	return timed(t, a.Client, radix.Cmd(nil, a.probe[0], a.probe[1:]...))
}

// fail begins an outage: the probe is refused at the end of the retry window.
func (a *ailing) fail(t *testing.T) {
	t.Helper()
	a.ill.Store(true)
	took, err := a.try(t)
	require.ErrorIs(t, err, redislanes.ErrRefused)
	require.InDelta(t, 1, took.Seconds(), 0.1)
}

// requireOutage requires that the outage goes on: the probe is refused at once.
func (a *ailing) requireOutage(t *testing.T) {
	t.Helper()
	took, err := a.try(t)
	require.ErrorIs(t, err, redislanes.ErrRefused)
	require.Less(t, took, 5*time.Millisecond)
}

// heal ends the outage.
func (a *ailing) heal(t *testing.T) {
	t.Helper()
	a.ill.Store(false)
	_, err := a.try(t)
	require.NoError(t, err)
}

const (
	noReplicas = "NOREPLICAS Not enough good replicas to write."
	loading    = "LOADING Redis is loading the dataset in memory"
)

// TestReadsDoNotHideWrites: a node that reads and does not write refuses writes all the time, over shared
// and dedicated connections, whatever else it does.
func TestReadsDoNotHideWrites(t *testing.T) {
	for name, probe := range map[string][]string{"shared": {"INCR", "k"}, "dedicated": {"BLPOP", "k", "1"}} {
		for _, text := range []string{noReplicas, "READONLY You can't write against a read only replica."} {
			t.Run(name+" "+text[:strings.Index(text, " ")], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := (&ailing{text: text, probe: probe}).open(t)
					for range 2 {
						a.fail(t)
						for range 3 {
							for _, other := range []radix.Action{
								radix.Cmd(nil, "GET", "k"), radix.Cmd(nil, "TIME"), dedicatedCmd("k", "GET", "k"),
								radix.Cmd(nil, "EVAL", "return 1", "1", "k"), radix.Cmd(nil, "SPUBLISH", "k", "hello"),
							} {
								require.NoError(t, a.Do(t.Context(), other))
								a.requireOutage(t)
							}
						}
						a.heal(t)
					}
				})
			})
		}
	}
}
