package limiter

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
	if s, report, story := firstFailure(t, *fault); report != "" {
		t.Fatalf("seed %d: %s\nThe faults that are enough:\n%s", s, report, lines(shorten(t, s, *fault, story)))
	}
}

// TestFaultIsFound: the fault shows within 20 worlds. Three faults or fewer are enough, and fail each time.
func TestFaultIsFound(t *testing.T) {
	began := time.Now()
	s, report, story := firstFailure(t, true)
	if !strings.Contains(report, "2 hits were counted in 1 calls") {
		t.Fatalf("the fault was not found: %s", report)
	}
	short := shorten(t, s, true, story)
	t.Logf("seed %d, after %v: %s\n%s", s, time.Since(began).Round(time.Millisecond), report, lines(short))
	if len(short) > 3 {
		t.Errorf("%d faults", len(short))
	}
	for range 20 {
		if report, _ := run(t, s, true, short); report == "" {
			t.Error("the shortened list did not fail")
		}
	}
}

// firstFailure runs worlds until one fails, and returns its seed, its report and its faults.
func firstFailure(t *testing.T, resend bool) (s uint64, report string, story []sim.Fault) {
	for s = *seed; s < *seed+uint64(*seeds); s++ {
		if report, story = run(t, s, resend, nil); report != "" {
			break
		}
	}
	return s, report, story
}

// shorten leaves out faults as long as the world fails three times of three.
func shorten(t *testing.T, seed uint64, resend bool, story []sim.Fault) []sim.Fault {
	return sim.Shorten(story, func(some []sim.Fault) bool {
		for range 3 {
			if report, _ := run(t, seed, resend, append([]sim.Fault{}, some...)); report == "" {
				return false
			}
		}
		return true
	})
}

func lines(story []sim.Fault) string {
	var b strings.Builder
	for _, f := range story {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// run runs a world in virtual time.
func run(t *testing.T, seed uint64, resend bool, story []sim.Fault) (report string, faults []sim.Fault) {
	synctest.Test(t, func(t *testing.T) { report, faults = world(t, seed, resend, story) })
	return report, faults
}

// world lets four callers use a limiter for 15 seconds of faults, those of the story or else those of the seed. It
// says what is wrong then.
func world(t *testing.T, seed uint64, resend bool, story []sim.Fault) (report string, faults []sim.Fault) {
	redis := sim.Start(t, sim.Config{Seed: seed})
	client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
	if err != nil {
		return err.Error(), nil
	}
	defer client.Close()
	l := &Limiter{Client: client, Limit: 1000, Window: time.Hour, Resend: resend}

	calls := sim.NewCalls(redis)
	var all sync.WaitGroup
	over := time.Now().Add(15 * time.Second)
	for range 4 {
		all.Go(func() {
			for time.Now().Before(over) {
				call := calls.Once("user:") // a key for each call
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				ok, _ := l.Allow(ctx, call.Key)
				cancel()
				call.End(ok)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	if story == nil {
		faults = redis.Trouble(15 * time.Second)
	} else if err := redis.Replay(story); err != nil {
		return err.Error(), nil
	}
	all.Wait()

	time.Sleep(5 * time.Second) // all is well again
	if _, err := l.Allow(t.Context(), "later"); err != nil {
		return fmt.Sprintf("5 s after the last fault: %v", err), faults
	}
	if err := calls.Counters(); err != nil {
		return err.Error(), faults
	}
	return "", faults
}
