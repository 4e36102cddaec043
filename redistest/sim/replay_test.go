package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// TestReplay: faults begin and end at their times. Those of one node that overlap end together.
func TestReplay(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, c *Cluster) {
		n := c.Owner(here)
		go func() {
			for _, at := range []struct {
				ms    time.Duration
				reply string
			}{{50, ":1"}, {150, "refused"}, {250, "refused"}, {350, "refused"}, {450, ":2"}, {550, ":3"}} {
				time.Sleep(time.Until(c.began.Add(at.ms * ms)))
				require.Contains(t, anew(t, c, n), at.reply, at.ms)
			}
		}()
		require.NoError(t, c.Replay([]Fault{
			{At: 200 * ms, For: 200 * ms, Kind: "Delay", Node: n.Addr(), By: ms},
			{At: 100 * ms, For: 200 * ms, Kind: "RefuseDials", Node: n.Addr()},
			{At: 500 * ms, For: 500 * ms, Kind: "Host.Isolate", Host: "limiter-1"},
			{At: 500 * ms, For: 500 * ms, Kind: "Host.Isolate", Host: "limiter-1", Node: n.Addr()},
		}))
		require.Equal(t, time.Second, time.Since(c.began))
	})
}

func TestReplayRefuses(t *testing.T) {
	c, err := Launch(Config{})
	require.NoError(t, err)
	defer c.Close()
	kinds, nodes := kindNames(), strings.Join(c.Addrs(), ", ")
	for text, f := range map[string]Fault{
		`sim: fault 0, {Kind: "kill"}, has no kind of fault: there are ` + kinds:                              {Kind: "kill"},
		`sim: fault 0, {At: -5, Kind: "Kill"}, has a time that is not 0 to 24h0m0s`:                           {Kind: "Kill", At: -5},
		`sim: fault 0, {Kind: "Move", N: -1}, has an N below 0`:                                               {Kind: "Move", N: -1},
		`sim: fault 0, {For: 1 * time.Millisecond, Kind: "Host.Cut"}, names no host`:                          {Kind: "Host.Cut", For: ms},
		`sim: fault 0, {Kind: "Cut", Node: "x", N: 7}, // y names no node of the cluster: there are ` + nodes: {Kind: "Cut", Node: "x", N: 7, What: "y"},
		`sim: fault 0, {Kind: "Refuse", Node: "10.0.0.1:6379", Text: "a\nb"}, must have one line of text`:     {Kind: "Refuse", Node: c.Addrs()[0], Text: "a\nb"},
	} {
		require.EqualError(t, c.Replay([]Fault{f}), text)
	}
}

// TestShorten finds the faults that fail together, wherever they are in the list.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		of   int
		need []int
	}{{0, nil}, {9, nil}, {1, []int{0}}, {2, []int{1}}, {10, []int{3}}, {17, []int{0, 16}}, {40, []int{4, 5, 31}}, {4, []int{0, 1, 2, 3}}} {
		var all, need []Fault
		for i := range c.of {
			all = append(all, Fault{N: i})
		}
		for _, i := range c.need {
			need = append(need, all[i])
		}
		runs := 0
		short := Shorten(all, func(some []Fault) bool {
			runs++
			return !slices.ContainsFunc(need, func(f Fault) bool { return !slices.Contains(some, f) })
		})
		require.Equal(t, need, short)
		require.Less(t, runs, 60)
	}
}
