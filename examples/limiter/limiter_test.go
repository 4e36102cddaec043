package limiter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest/sim"
)

var (
	seed  = flag.Uint64("seed", 1, "the first seed")
	seeds = flag.Int("seeds", 20, "how many seeds are run")
	fault = flag.Bool("fault", false, "fail with the report of the limiter that has the fault")
)

// TestFailover: a failover of half a second refuses no call with a deadline of a second.
func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := sim.Start(t, sim.Config{})
		client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		l := &Limiter{Client: client, Limit: 10, Window: time.Hour}
		if ok, err := l.Allow(t.Context(), "user:42"); !ok {
			t.Fatal(err)
		}

		primary := redis.Owner("user:42")
		primary.Kill()
		time.AfterFunc(500*time.Millisecond, func() { primary.Failover() })
		time.Sleep(time.Millisecond) // until the client has seen its connections end

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if ok, err := l.Allow(ctx, "user:42"); !ok {
			t.Fatal(err)
		}
	})
}

// TestHosts: a limiter gets no replies from a node. Its hit is counted, and a limiter on another host counts its own.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := sim.Start(t, sim.Config{})
		one, two := redis.Host("limiter-1"), redis.Host("limiter-2")
		l, other := limiterOn(t, redis, one), limiterOn(t, redis, two)
		if ok, err := l.Allow(t.Context(), "user:42"); !ok {
			t.Fatal(err)
		}
		one.HoldReplies(redis.Owner("user:42"))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Allow(ctx, "user:42"); !errors.Is(err, redislanes.ErrUnknownOutcome) {
			t.Fatal(err)
		}
		if ok, err := other.Allow(t.Context(), "user:42"); !ok {
			t.Fatal(err)
		}
		if counted, _ := redis.Value("user:42"); counted != "3" {
			t.Fatal(counted)
		}
	})
}

// limiterOn returns a limiter that runs on the host.
func limiterOn(t *testing.T, redis *sim.Cluster, host *sim.Host) *Limiter {
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: host.Dial}}.New(t.Context(), redis.Addrs())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &Limiter{Client: client, Limit: 10, Window: time.Hour}
}

// TestLimiter fails in no world without the fault.
func TestLimiter(t *testing.T) {
	if report, _ := firstFailure(t, *fault); report != "" {
		t.Fatal(report)
	}
}

// TestFaultIsFound: the fault shows within 20 worlds.
func TestFaultIsFound(t *testing.T) {
	began := time.Now()
	report, worlds := firstFailure(t, true)
	if !strings.Contains(report, "was counted") {
		t.Fatalf("the fault was not found in %d worlds: %s", worlds, report)
	}
	t.Logf("found in world %d, after %v:\n%s", worlds, time.Since(began).Round(time.Millisecond), report)
}

// firstFailure runs worlds until one fails, and returns its report.
func firstFailure(t *testing.T, resend bool) (report string, worlds int) {
	for i := range *seeds {
		s := *seed + uint64(i)
		synctest.Test(t, func(t *testing.T) { report = world(t, s, resend) })
		if report != "" {
			return fmt.Sprintf("seed %d: %s", s, report), i + 1
		}
	}
	return "", *seeds
}

// world lets four callers use a limiter for 15 seconds of faults, and says what is wrong then.
func world(t *testing.T, seed uint64, resend bool) (report string) {
	redis := sim.Start(t, sim.Config{Seed: seed})
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
	if err != nil {
		return err.Error()
	}
	defer client.Close()
	l := &Limiter{Client: client, Limit: 1000, Window: time.Hour, Resend: resend}

	var all sync.WaitGroup
	var mu sync.Mutex // guards calls and allowed
	calls, allowed := make(map[string]int64), make(map[string]int64)
	over := time.Now().Add(15 * time.Second)
	for n := range 4 {
		all.Go(func() {
			for i := n; time.Now().Before(over); i++ {
				key := fmt.Sprint("user:", i%20)
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				ok, _ := l.Allow(ctx, key)
				cancel()
				mu.Lock()
				calls[key]++
				if ok {
					allowed[key]++
				}
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	faults := redis.Trouble(15 * time.Second)
	all.Wait()

	time.Sleep(5 * time.Second) // all is well again
	if _, err := l.Allow(t.Context(), "later"); err != nil {
		return fmt.Sprintf("5 s after the last fault: %v", err)
	}
	for _, key := range slices.Sorted(maps.Keys(calls)) {
		value, _ := redis.Value(key)
		counted, _ := strconv.ParseInt(value, 10, 64)
		switch {
		case counted > calls[key]:
			report = fmt.Sprintf("%s was counted %d times in %d calls", key, counted, calls[key])
		case counted < allowed[key] && !redis.LostWrites(key):
			report = fmt.Sprintf("%s was counted %d times, and %d calls were allowed", key, counted, allowed[key])
		default:
			continue
		}
		for _, f := range faults {
			report += "\n  " + f.String()
		}
		return report
	}
	return ""
}
