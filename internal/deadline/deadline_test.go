package deadline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
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
