package nodepool

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/lanes"
)

// TestQuitIsTheUsersDoing: connections that users end say nothing of the server.
func TestQuitIsTheUsersDoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &brief{commands: 1}
		p, err := New(Fixed{Size: 1}, lanes.Dialer{NetDial: server.dial}, "brief:1", nil)
		require.NoError(t, err)
		for range 3 * health.SparedYoung {
			c, err := p.Dedicate(t.Context())
			require.NoError(t, err)
			_, err = say(t.Context(), c, "QUIT")
			require.NoError(t, err)
			c.Return()
		}
		time.Sleep(time.Second)
		p.main.mu.Lock()
		require.False(t, p.main.health.MustProve(time.Now()))
		p.main.mu.Unlock()
		require.EqualValues(t, 3*health.SparedYoung, p.Stats().Closes[redislanes.CloseUnclean])
		require.NoError(t, p.Close())
		server.tasks.Wait()
	})
}

// TestDownErrorKeepsItsText: its time is that of the error, not of the look at it.
func TestDownErrorKeepsItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{server: &server{addr: "h:1"}, health: health.New(health.Limits{}, time.Now(), 0)}
		p.health.Failed(time.Now(), health.Failure{Err: errNoAnswer}, 0, 0)
		time.Sleep(time.Second)
		err := p.downErrorLocked()
		require.EqualError(t, err, "server down for 1.0 s: no answer within the stall timeout")
		text := err.Error()
		time.Sleep(time.Minute)
		require.EqualError(t, err, text)
	})
}
