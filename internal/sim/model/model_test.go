package model

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

// do runs a command, whose words are separated by spaces.
func do(s *Session, text string) string {
	var args [][]byte
	for word := range strings.FieldsSeq(text) {
		args = append(args, []byte(word))
	}
	reply, _ := s.Do(args)
	return string(reply)
}

func TestSlotIsThatOfTheLibrary(t *testing.T) {
	require.EqualValues(t, 0x31C3, Slot([]byte("123456789")), "the specification's example")
	r := rand.New(rand.NewPCG(1, 1))
	const letters = "ab{}\x00\xff0"
	for range 20000 {
		key := make([]byte, r.IntN(12))
		for i := range key {
			key[i] = letters[r.IntN(len(letters))]
		}
		require.Equal(t, cluster.Slot(string(key)), Slot(key), "%q", key)
	}
}

func TestMigrationAndFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Primaries: 2, Replicas: 1})
		c.ReplicationLag(100 * time.Millisecond)
		c.GossipLag(time.Second)
		a, b, ra := c.Nodes()[0], c.Nodes()[1], c.Nodes()[2]
		sa, sra := a.NewSession(nil), ra.NewSession(nil)
		slot := Slot([]byte("{bar}x"))
		require.True(t, c.Migrate(slot, b))
		c.FinishMigration(slot)
		require.Contains(t, do(sra, "GET {bar}x"), a.Addr(), "has not heard of it")
		time.Sleep(time.Second)
		require.Contains(t, do(sra, "GET {bar}x"), b.Addr())

		key := keyAt(c, a)
		require.Equal(t, ":5\r\n", do(sa, "INCRBY "+key+" 5"))
		time.Sleep(time.Second)
		require.Equal(t, ":7\r\n", do(sa, "INCRBY "+key+" 2"))
		require.Equal(t, "+OK\r\n", do(sra, "READONLY"))
		require.Equal(t, "$1\r\n5\r\n", do(sra, "GET "+key))
		require.True(t, c.Failover(ra, true))
		require.Equal(t, ":6\r\n", do(sra, "INCRBY "+key+" 1"))
		require.Equal(t, ":8\r\n", do(sa, "INCRBY "+key+" 1"), "it has not heard of it")
		time.Sleep(time.Second)

		require.True(t, c.FailoverGracefully(a, 2*time.Second))
		start := time.Now()
		require.Contains(t, do(sra, "INCRBY "+key+" 1"), "-MOVED")
		require.Equal(t, 2*time.Second, time.Since(start))
		require.Equal(t, ":7\r\n", do(sa, "INCRBY "+key+" 1"))
	})
}
