package nodepool

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

// TestOutdatedWhileDialled: a connection that was being dialled when its address may have
// got another meaning is not used.
func TestOutdatedWhileDialled(t *testing.T) {
	for name, readmit := range map[string]bool{"renewal": false, "another map": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				var refuse atomic.Bool
				greeted := make(chan struct{})
				purpose := wire.Purpose{Admits: func(string, []byte, []byte) error {
					if asked.Add(1) == 1 { // in the first handshake
						<-greeted
					} else if refuse.Load() {
						return redislanes.ErrNotMember
					}
					return nil
				}}
				p, err := NewFor(Fixed{Size: 1}.settings(), simulatedServer(t, time.Millisecond), purpose, "simulated:1", nil)
				require.NoError(t, err)
				defer p.Close()
				time.Sleep(time.Second)
				if refuse.Store(readmit); readmit {
					p.Readmit()
				} else {
					p.Renew(time.Time{})
				}
				close(greeted)
				synctest.Wait()
				require.EqualValues(t, 1, p.Stats().Closes[redislanes.CloseRenewed])
			})
		})
	}
}

// TestAdmittedAtOnce: a server that was refused is dialled when it would be admitted, and
// not only after the backoff.
func TestAdmittedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var admitted atomic.Bool
		purpose := wire.Purpose{Admits: func(string, []byte, []byte) error {
			if !admitted.Load() {
				return redislanes.ErrNotMember
			}
			return nil
		}}
		o := Options{MinBackoff: time.Hour, MaxBackoff: time.Hour}
		p, err := NewFor(Fixed{Size: 1, Options: o}.settings(), simulatedServer(t, time.Millisecond), purpose, "simulated:1", nil)
		require.NoError(t, err)
		defer p.Close()
		time.Sleep(time.Second)
		require.ErrorIs(t, p.Down(), redislanes.ErrNotMember)
		p.Readmit()
		time.Sleep(time.Second)
		require.ErrorIs(t, p.Down(), redislanes.ErrNotMember)
		admitted.Store(true)
		p.Readmit()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
	})
}

// TestReadmitSparesOthers: connections that are admitted stay, also those of the other pools.
func TestReadmitSparesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		purpose := wire.Purpose{Admits: func(string, []byte, []byte) error { return nil }}
		p, err := NewFor(Laned{Lanes: 2}.settings(), simulatedServer(t, time.Millisecond), purpose, "simulated:1", nil)
		require.NoError(t, err)
		defer p.Close()
		conn, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		conn.Return()
		p.Readmit()
		time.Sleep(time.Second)
		require.EqualValues(t, 3, p.Stats().Dials)
		require.Empty(t, p.Stats().Closes)
	})
}
