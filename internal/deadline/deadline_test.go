package deadline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/race"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestEndsAtItsDeadline: exactly then, as one that is new and as one that is used
// again.
func TestEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Contexts
		for range 3 {
			at := time.Now().Add(time.Second)
			c := all.Begin(t.Context(), at)
			end, ok := c.Deadline()
			require.True(t, ok)
			require.Equal(t, at, end)
			require.NoError(t, c.Err())
			all.End(c)

			time.Sleep(time.Minute) // the one before does not end this one
			began := time.Now()
			c = all.Begin(t.Context(), began.Add(time.Second))
			<-c.Done()
			require.Equal(t, time.Second, time.Since(began))
			require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
			all.End(c)

			c = all.Begin(t.Context(), time.Now().Add(time.Hour))
			require.NoError(t, c.Err(), "one that has ended is not used again")
			all.End(c)
		}
	})
}

// TestPastDeadline: a context whose deadline has passed ends at once.
func TestPastDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Contexts
		c := all.Begin(t.Context(), time.Now().Add(-time.Second))
		require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
		<-c.Done()
		all.End(c)
	})
}

// TestEarlierDeadline: the deadline is the outer context's if that is earlier.
func TestEarlierDeadline(t *testing.T) {
	var all Contexts
	outer, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want, _ := outer.Deadline()
	c := all.Begin(outer, time.Now().Add(time.Hour))
	end, _ := c.Deadline()
	require.Equal(t, want, end)
	all.End(c)
}

type key struct{}

// TestValues: a context has the values of its parent, and none once it is given
// back.
func TestValues(t *testing.T) {
	var all Contexts
	c := all.Begin(context.WithValue(t.Context(), key{}, "v"), time.Now().Add(time.Hour))
	require.Equal(t, "v", c.Value(key{}))
	all.End(c)
	require.Nil(t, c.Value(key{}))
}

// TestOuter: what the program is given is its own context, however often one was made from it.
func TestOuter(t *testing.T) {
	var all Contexts
	own := context.WithValue(t.Context(), key{}, "v")
	c := all.Begin(own, time.Now().Add(time.Hour))
	inner := all.Begin(c, time.Now().Add(time.Hour))
	for _, ctx := range []context.Context{own, c, inner} {
		require.Equal(t, own, Outer(ctx))
	}
	all.End(inner)
	all.End(c)
}

// TestChildren: a context that is made from one ends with it.
func TestChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Contexts
		c := all.Begin(t.Context(), time.Now().Add(time.Second))
		child, cancel := context.WithTimeout(c, time.Hour)
		defer cancel()
		<-child.Done()
		require.ErrorIs(t, child.Err(), context.DeadlineExceeded)
		all.End(c)
	})
}

// TestEndsWithItsOuterContext: at once, whether Err is asked, both channels are
// waited for, or Done alone; and it is not used again.
func TestEndsWithItsOuterContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Contexts
		for _, linked := range []bool{false, true} {
			outer, cancel := context.WithCancelCause(t.Context())
			c := all.Begin(outer, time.Now().Add(time.Hour))
			if linked {
				select {
				case <-c.Done():
					t.Fatal("it has not ended")
				default:
				}
			}
			own, its := Channels(c)
			cancel(nil)
			select {
			case <-own:
			case <-its:
			}
			require.ErrorIs(t, c.Err(), context.Canceled)
			<-c.Done()
			time.Sleep(2 * time.Hour)
			require.ErrorIs(t, c.Err(), context.Canceled, "it stays what it was")
			all.End(c)
			require.NotSame(t, c, all.Begin(t.Context(), time.Now().Add(time.Second)))
		}
	})
}

// TestUsedAgain: the outer context of the last use does not end this one, whether
// anybody waited for Done alone or not.
func TestUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Contexts
		for _, linked := range []bool{false, true, false} {
			outer, cancel := context.WithCancel(t.Context())
			c := all.Begin(outer, time.Now().Add(time.Minute))
			if linked {
				c.Done()
			}
			all.End(c)
			next := all.Begin(t.Context(), time.Now().Add(time.Minute))
			cancel()
			synctest.Wait()
			require.NoError(t, next.Err())
			all.End(next)
		}
	})
}

// TestNoRegistration: waiting for both channels allocates nothing.
func TestNoRegistration(t *testing.T) {
	outer, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all Contexts
	ready := make(chan struct{}, 1)
	once := func() {
		c := all.Begin(outer, time.Now().Add(time.Hour))
		own, its := Channels(c)
		ready <- struct{}{}
		select {
		case <-ready:
		case <-own:
		case <-its:
		}
		all.End(c)
	}
	once()
	most := 0.0
	if race.Enabled {
		most = 10
	}
	require.LessOrEqual(t, testing.AllocsPerRun(1000, once), most)
}
