package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pool"

	"github.com/redislanes/redislanes/bench/internal/closed"
	"github.com/redislanes/redislanes/bench/internal/keys"
	"github.com/redislanes/redislanes/bench/table"
)

// A carried is what one client carried in one round, beside servers without work.
type carried struct {
	Procs   int `json:"procs"` // GOMAXPROCS
	Nodes   int `json:"nodes"`
	Lanes   int `json:"lanes"`
	Keys    int `json:"keys"` // of a request
	Callers int `json:"callers"`
	Round   int `json:"round"`
	used
}

// A clientPlan has what is measured: all combinations, in rounds.
type clientPlan struct {
	procs   []int
	shapes  [][2]int // nodes, lanes to each
	keys    []int
	callers []int
	warmUp  time.Duration
	during  time.Duration
	rounds  int
}

var wholeClientPlan = clientPlan{
	procs: []int{1, 2}, shapes: [][2]int{{1, 1}, {1, 4}, {3, 1}, {3, 4}}, keys: []int{1, 10}, callers: []int{1, 100, 1000},
	warmUp: 100 * time.Millisecond, during: 300 * time.Millisecond, rounds: 7,
}

// measure gives each cell its turn in each round.
func (p clientPlan) measure(ctx context.Context, write func(line) error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, shape := range p.shapes {
		err := withServers(ctx, shape[0], func(addrs []string) error {
			client, err := cluster.Config{Pool: pool.Laned{Lanes: shape[1]}}.New(ctx, addrs[:1])
			if err != nil {
				return err
			}
			defer client.Close()
			for round := range p.rounds {
				table.Print(os.Stderr, "%d nodes, %d lanes, round %d of %d\n", shape[0], shape[1], round+1, p.rounds)
				if err := p.round(ctx, client, carried{Nodes: shape[0], Lanes: shape[1], Round: round}, write); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d nodes with %d lanes: %w", shape[0], shape[1], err)
		}
	}
	return nil
}

func (p clientPlan) round(ctx context.Context, client *cluster.Client, c carried, write func(line) error) (err error) {
	for _, c.Keys = range p.keys {
		for _, c.Callers = range p.callers {
			for _, c.Procs = range p.procs {
				runtime.GOMAXPROCS(c.Procs)
				if _, err = run(ctx, client, c.Callers, c.Keys, p.warmUp); err != nil {
					return err
				}
				if c.used, err = run(ctx, client, c.Callers, c.Keys, p.during); err != nil {
					return err
				}
				if err = write(line{Client: &c}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// names are those of all keys.
var names = keys.NewSet("limit:")

// A used is what a load did and took.
type used struct {
	Requests int64         `json:"requests"`
	Took     time.Duration `json:"took"`
	CPU      time.Duration `json:"cpu"`       // of this process, which is the client's
	LockWait time.Duration `json:"lock_wait"` // of all goroutines, in sync.Mutex and its like
	Mallocs  uint64        `json:"mallocs"`
}

func (u used) rate() float64 { return float64(u.Requests) / u.Took.Seconds() }

func (u used) perRequest(d time.Duration) time.Duration {
	return time.Duration(float64(d) / float64(u.Requests))
}

// run lets n callers send requests of so many keys each, for so long.
func run(ctx context.Context, client *cluster.Client, n, keysEach int, during time.Duration) (used, error) {
	waited := lockWait()
	r, err := closed.Run(ctx, callers(client, n, keysEach), during)
	return used{r.Requests, r.Took, r.CPU, lockWait() - waited, r.Mallocs}, err
}

// callers returns n callers. Each of their requests has keysEach keys.
func callers(client *cluster.Client, n, keysEach int) []func(context.Context) error {
	return keys.Scenario{Variable: keysEach}.Callers(client, names, n)
}

// lockWait returns how long goroutines have waited for locks so far.
func lockWait() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
