package cluster_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// TestAddrMapHangsOnce: an AddrMap that does not return delays a call once, and not for each of the
// addresses to which commands are redirected.
func TestAddrMapHangsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(_ string, cmd []string) string {
			return fmt.Sprintf("-MOVED %d 127.0.0.1:%d\r\n", cluster.Slot(cmd[1]), 8000+cluster.Slot(cmd[1]))
		}, nodeA)
		release := make(chan struct{})
		defer close(release)
		var asked atomic.Int32
		hangs := false
		client := w.open(t, cluster.Config{RefreshEvery: -1, AddrMap: func(addr string) string {
			if hangs {
				asked.Add(1)
				<-release
			}
			return addr
		}})
		synctest.Wait()
		hangs = true
		p := pipeline.New(client)
		for i := range 5 {
			p.IncrBy(keyOf(i, 8), 1)
		}
		began := time.Now()
		require.Error(t, p.Do(soon(t, 100*time.Millisecond)))
		require.LessOrEqual(t, time.Since(began), 101*time.Millisecond)
		synctest.Wait()
		require.LessOrEqual(t, asked.Load(), int32(2), "for one redirect, and for a map")
	})
}

// TestCloseLeavesATraceBehind: Close does not wait for ever for a function of the program.
func TestCloseLeavesATraceBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA)
		release := make(chan struct{})
		defer close(release)
		hung := make(chan struct{}, 2)
		client := w.open(t, cluster.Config{RefreshEvery: time.Second, Trace: &redislanes.Trace{TopologyChanged: func(redislanes.TopologyChange) {
			if hung <- struct{}{}; len(hung) > 1 { // the first map is New's
				<-release
			}
		}}})
		w.set(func() { w.slots = slotMap(nodeA, nodeB) })
		time.Sleep(3 * time.Second)
		require.Len(t, hung, 2)
		began := time.Now()
		require.NoError(t, client.Close())
		require.LessOrEqual(t, time.Since(began), 3*time.Second)
	})
}

// TestRepeatedExpiryIsInDoubt: the reply of an EXPIRE is lost. The client sends it again with its
// SET, and the server refuses both. The EXPIRE may have run the first time.
func TestRepeatedExpiryIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		var w *world
		w = newWorld(func(addr string, _ []string) string {
			if ran {
				return "-LOADING Redis is loading the dataset in memory\r\n"
			}
			ran = true
			w.set(func() { w.dead[addr] = true })
			w.set(func() { delete(w.dead, addr) })
			return one // which nobody reads
		}, nodeA)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		p := pipeline.New(client)
		set := p.Cmd("SET", "k", "1").Idempotent()
		expire := p.Cmd("EXPIRE", "k", "60")
		require.Error(t, p.Do(soon(t, 5*time.Second)))
		require.ErrorIs(t, set.Err(), redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, expire.Err(), redislanes.ErrUnknownOutcome)
	})
}
