package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/pipeline"
)

// A moody server answers a few commands with refusals and redirects, at random,
// and keeps what the others set.
type moody struct {
	mu     sync.Mutex
	random *rand.Rand
	moods  int // how many more
	values map[string]string
}

func (m *moody) answer(addr string, cmd []string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cmd[0] == "ASKING" {
		return "+OK\r\n"
	}
	if m.moods > 0 && m.random.IntN(3) == 0 {
		m.moods--
		slot := cluster.Slot(cmd[1])
		other := map[string]string{nodeA: nodeB, nodeB: nodeA}[addr]
		return "-" + []string{
			"TRYAGAIN later", "LOADING for a moment", "CLUSTERDOWN Hash slot not served",
			fmt.Sprintf("MOVED %d %s", slot, other), fmt.Sprintf("ASK %d %s", slot, other),
		}[m.random.IntN(5)] + "\r\n"
	}
	key := cmd[1]
	switch cmd[0] {
	case "SET":
		m.values[key] = cmd[2]
		return "+OK\r\n"
	case "EXPIRE", "pexpire":
		if m.values[key] == "" {
			return ":0\r\n"
		}
		m.values[key] = strings.Fields(m.values[key])[0] + " with a TTL"
		return ":1\r\n"
	}
	value := m.values[key]
	return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
}

// TestOrderWithinASlot compares random requests for a few keys of two slots with
// a model, while both nodes refuse and redirect: of the commands that are
// acknowledged, each key sees the effects in the order of the request, and what
// is not acknowledged has no effect.
func TestOrderWithinASlot(t *testing.T) {
	overtaken, again := 0, uint64(0)
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			m := &moody{random: random, moods: 1 + random.IntN(6), values: make(map[string]string)}
			w := newWorld(m.answer, nodeA, nodeB)
			client := w.open(t, cluster.Config{RefreshEvery: -1})
			p := pipeline.New(client)
			var replies []pipeline.Reply
			model := make(map[string]string)
			type write struct {
				key, value string
				read       bool
			}
			var commands []write
			keys := []string{"{a}1", "{a}2", "{b}1"}
			for i := range 2 + random.IntN(8) {
				c := write{key: keys[random.IntN(len(keys))], value: strconv.Itoa(i), read: random.IntN(3) == 0}
				commands = append(commands, c)
				if c.read {
					replies = append(replies, p.Cmd("GET", c.key))
				} else {
					replies = append(replies, p.Cmd("SET", c.key, c.value))
				}
			}
			_ = p.Do(soon(t, 5*time.Second))
			for i, c := range commands {
				err := replies[i].Err()
				switch {
				case err != nil:
					require.ErrorIs(t, err, redislanes.ErrRefused, "seed %d", seed)
					require.ErrorIs(t, err, cause.ErrOvertaken, "seed %d", seed)
					require.ErrorContains(t, err, "not sent again, since a later command of its slot has run")
					overtaken++
				case c.read:
					got, err := replies[i].Text()
					require.NoError(t, err)
					require.Equal(t, model[c.key], got, "seed %d, command %d of %v", seed, i, commands)
				default:
					model[c.key] = c.value
				}
			}
			for _, key := range keys {
				require.Equal(t, model[key], m.values[key], "seed %d: %s after %v", seed, key, commands)
			}
			again += client.Stats().Refused + client.Stats().Moved + client.Stats().Ask
			require.NoError(t, client.Close())
		})
	}
	t.Logf("%d commands sent again, %d overtaken", again, overtaken)
	require.NotZero(t, overtaken)
	require.NotZero(t, again)
}
