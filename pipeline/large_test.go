package pipeline_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestLargePipelines sends 10,000 commands at once, and asks for 64 MB of
// replies at once, while others send small requests: nobody hangs, and each
// reply is the right one.
func TestLargePipelines(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for name, kind := range map[string]pool.Config{"laned": pool.Laned{}, "fixed": pool.Fixed{Size: 4}} {
		t.Run(name, func(t *testing.T) {
			client := open(t, cluster.Config{Pool: kind}, real.Addrs())
			ctx := within(t, 60*time.Second)
			stop := make(chan struct{})
			var small sync.WaitGroup
			defer small.Wait()
			defer close(stop)
			for caller := range 4 {
				small.Go(func() {
					p := pipeline.New(client)
					for n := int64(1); ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						p.Reset()
						total := p.IncrBy(name+":small:"+strconv.Itoa(caller), 1)
						_ = p.Do(ctx)
						if got, err := total.Int(); err != nil || got != n {
							t.Errorf("got %d, %v, want %d", got, err, n)
							return
						}
					}
				})
			}
			manyCommands(t, client, name)
			largeReplies(t, client, name)
		})
	}
}

func manyCommands(t *testing.T, client *cluster.Client, prefix string) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	p := pipeline.New(client)
	for round := range race.Rounds(3, 2) {
		p.Reset()
		replies := make([]pipeline.Reply, 10_000)
		for i := range replies {
			replies[i] = p.IncrBy(prefix+":many:"+strconv.Itoa(i), int64(i))
		}
		require.NoError(t, p.Do(ctx))
		for i, r := range replies {
			if n, err := r.Int(); err != nil || n != int64(i*(round+1)) {
				t.Fatalf("reply %d of round %d: %d, %v", i, round, n, err)
			}
		}
	}
}

func largeReplies(t *testing.T, client *cluster.Client, prefix string) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	const size, count = 1 << 20, 64
	p := pipeline.New(client)
	value := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), size) }
	for i := range 8 {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", prefix+":large:"+strconv.Itoa(i), value(i))))
	}
	var replies []pipeline.Reply
	for i := range count {
		replies = append(replies, p.Cmd("GET", prefix+":large:"+strconv.Itoa(i%8)))
	}
	require.NoError(t, p.Do(ctx))
	for i, r := range replies {
		text, err := r.Text()
		require.NoError(t, err)
		require.True(t, text == value(i%8), "reply %d", i)
	}
}
