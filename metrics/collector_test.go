package metrics_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/redistest"
)

var update = flag.Bool("update", false, "write testdata/busy.txt and the tables of docs/metrics.md")

// exposition returns what a scrape of the collector alone reads.
func exposition(t *testing.T, c prometheus.Collector) string {
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	families, err := reg.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
	}
	return text.String()
}

func TestLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(metrics.NewCollector(busy()))
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestGolden(t *testing.T) {
	const golden = "testdata/busy.txt"
	c := metrics.NewCollector(busy())
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(exposition(t, c)), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.NoError(t, testutil.CollectAndCompare(c, bytes.NewReader(want)))
}

// TestPedantic holds Collect to what Describe promised.
func TestPedantic(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(metrics.NewCollector(busy())))
	_, err := reg.Gather()
	require.NoError(t, err)
}

// TestNoNodes is a client before its first request: what it counts as a whole
// is there, at 0.
func TestNoNodes(t *testing.T) {
	const want = `
# HELP redislanes_redirects_total Redirects that were followed, by kind: moved (the slot has another node) or ask (it is on its way there).
# TYPE redislanes_redirects_total counter
redislanes_redirects_total{kind="ask"} 0
redislanes_redirects_total{kind="moved"} 0
`
	c := metrics.NewCollector(fake{})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(want), "redislanes_redirects_total"))
	require.Equal(t, 8, testutil.CollectAndCount(c))
}

// TestEveryCloseReasonFromTheStart: a rate needs a value to start from.
func TestEveryCloseReasonFromTheStart(t *testing.T) {
	c := metrics.NewCollector(fake{Nodes: []redislanes.NodeStats{{Role: "primary", Pool: redislanes.PoolStats{Addr: "a:1", Kind: "fixed"}}}})
	text := exposition(t, c)
	reasons := []string{"client", "idle", "stalled", "server", "timeout", "protocol", "unclean", "renewed", "aged", "io"}
	for _, reason := range reasons {
		require.Contains(t, text, `redislanes_connections_closed_total{kind="fixed",node="a:1",reason="`+reason+`",role="primary"} 0`)
	}
	require.Equal(t, len(reasons), testutil.CollectAndCount(c, "redislanes_connections_closed_total"))
}

// TestEveryErrorCodeFromTheStart, and none that a server has made up.
func TestEveryErrorCodeFromTheStart(t *testing.T) {
	c := metrics.NewCollector(fake{Nodes: []redislanes.NodeStats{{Role: "primary", Pool: redislanes.PoolStats{
		Addr: "a:1", Kind: "fixed", ErrorReplies: map[string]uint64{"OOM": 2, "CANARY": 1},
	}}}})
	text := exposition(t, c)
	for _, code := range wire.ErrorCodes() {
		want := map[bool]string{false: "0", true: "2"}[code == "OOM"]
		require.Contains(t, text, `redislanes_error_replies_total{code="`+code+`",kind="fixed",node="a:1",role="primary"} `+want+"\n")
	}
	require.NotContains(t, text, "CANARY")
	require.Equal(t, len(wire.ErrorCodes()), testutil.CollectAndCount(c, "redislanes_error_replies_total"))
}

// TestStrangeAddress: servers name the nodes, so a name may be anything, and a
// scrape must survive it.
func TestStrangeAddress(t *testing.T) {
	s := lanedStats()
	s.Addr = "h\xff\"\n:6379"
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(metrics.NewCollector(fake{Nodes: []redislanes.NodeStats{{Role: "primary", Pool: s}}})))
	_, err := reg.Gather()
	require.NoError(t, err)
}

// TestDialsNeverNegative: a source may not be as consistent as a pool.
func TestDialsNeverNegative(t *testing.T) {
	s := redislanes.PoolStats{Addr: "a:1", Kind: "fixed", Dials: 1, DialErrors: 2}
	c := metrics.NewCollector(fake{Nodes: []redislanes.NodeStats{{Role: "primary", Pool: s}}})
	text := exposition(t, c)
	require.Contains(t, text, `redislanes_dials_total{kind="fixed",node="a:1",result="success",role="primary"} 0`)
}

func TestTwoClientsInOneRegistry(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	for _, client := range []string{"limits", "sessions"} {
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{"client": client}, reg)
		require.NoError(t, labelled.Register(metrics.NewCollector(busy())))
		var already prometheus.AlreadyRegisteredError
		require.ErrorAs(t, labelled.Register(metrics.NewCollector(busy())), &already)
	}
	families, err := reg.Gather()
	require.NoError(t, err)
	clients := make(map[string]int)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "client" {
					clients[l.GetValue()]++
				}
			}
		}
	}
	n := testutil.CollectAndCount(metrics.NewCollector(busy()))
	require.Equal(t, map[string]int{"limits": n, "sessions": n}, clients)
}

func TestConcurrentScrapes(t *testing.T) {
	reg := prometheus.NewRegistry()
	require.NoError(t, reg.Register(metrics.NewCollector(busy())))
	var scrapes sync.WaitGroup
	for range 8 {
		scrapes.Go(func() {
			for range 20 {
				if _, err := reg.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	scrapes.Wait()
}

// TestSeries bounds what a node costs: nothing but the lanes may multiply.
func TestSeries(t *testing.T) {
	base := testutil.CollectAndCount(metrics.NewCollector(fake{}))
	s := lanedStats()
	delete(s.Closes, "meteor")
	one := testutil.CollectAndCount(metrics.NewCollector(fake{Nodes: []redislanes.NodeStats{{Role: "primary", Pool: s}}}))
	require.Equal(t, 12+1+len(s.LaneInFlight)+len(s.SlowLaneInFlight)+2+10+len(wire.ErrorCodes()), one-base)
}

// TestZeroValues: a zero value cannot be registered, nor traced with. The error says what to do.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	failed, _ := cluster.New(t.Context(), nil)
	for _, c := range []prometheus.Collector{metrics.NewCollector(nil), metrics.NewCollector(failed)} {
		require.ErrorContains(t, prometheus.NewRegistry().Register(c), "make it with metrics.NewCollector")
		c.Collect(nil)
	}
	m := new(metrics.Metrics)
	require.ErrorContains(t, prometheus.NewRegistry().Register(m), "make them with metrics.New")
	m.Collect(nil)
	_, err := cluster.Config{Trace: m.Trace()}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.ErrorContains(t, err, "make them with metrics.New")
}
