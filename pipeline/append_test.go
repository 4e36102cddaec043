package pipeline_test

import (
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestAppendAllocations: a request of 20 commands of radix.Cmd allocates
// its arguments, and little else: 40 times. It allocated 580 times, since
// radix's options were made for each command and each reply. Not parallel: it
// counts allocations.
func TestAppendAllocations(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{}, real.Addrs())
	ctx := within(t, 30*time.Second)
	p := pipeline.New(client)
	keys := redistest.KeysInSlots(20, "append")
	var got [20]int64
	request := func() {
		p.Reset()
		for i, key := range keys {
			p.Append(radix.Cmd(&got[i], "INCRBY", key, "1"))
		}
		if err := p.Do(ctx); err != nil {
			t.Error(err)
		}
	}
	request()
	allocs := testing.AllocsPerRun(200, request)
	t.Logf("%.0f allocations for a request of 20 commands", allocs)
	most := 60.0
	if race.Enabled {
		most = 400 // sync.Pool loses what it is given
	}
	require.LessOrEqual(t, allocs, most)
	require.EqualValues(t, 202, got[19])
}

// TestManyCountsAllocateOnce: a pipeline that is used again for as many counts has the memory.
func TestManyCountsAllocateOnce(t *testing.T) {
	client := open(t, cluster.Config{}, redistest.StartEmulated(t, 1).Addrs())
	p := pipeline.New(client)
	allocs := testing.AllocsPerRun(20, func() {
		p.Reset()
		for range 5000 {
			p.Count("key", 1, time.Minute)
		}
	})
	require.Zero(t, allocs)
}

// TestAppendIsLinear: ten times the commands allocate ten times as much.
func TestAppendIsLinear(t *testing.T) {
	client := open(t, cluster.Config{}, redistest.StartEmulated(t, 1).Addrs())
	appended := func(n int) float64 {
		into := make([]string, n)
		return testing.AllocsPerRun(1, func() {
			p := pipeline.New(client)
			for i := range into {
				p.Append(radix.Cmd(&into[i], "ECHO", "text"))
			}
		})
	}
	require.Less(t, appended(40_000), 12*appended(4000))
}
