package cluster_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

// A watcher is a Sentinel.
type watcher struct {
	mu          sync.Mutex // guards what follows
	id, primary string
	epoch       int
	sentinels   map[string]string // addresses of the others by their IDs
}

// tell makes f answer as the Sentinel.
func (s *watcher) tell(f *fake) {
	f.answer = func(w io.Writer, cmd []string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err := io.WriteString(w, s.reply(cmd))
		return err == nil
	}
	f.start()
}

func (s *watcher) reply(cmd []string) string {
	if !strings.EqualFold(cmd[0], "SENTINEL") {
		return "+PONG\r\n"
	}
	switch cmd[1] {
	case "GET-MASTER-ADDR-BY-NAME":
		host, port, _ := net.SplitHostPort(s.primary)
		return "*2\r\n" + bulk(host) + bulk(port)
	case "MASTER":
		return instanceRow(s.primary, "config-epoch", fmt.Sprint(s.epoch))
	case "REPLICAS":
		return "*0\r\n"
	case "SENTINELS":
		reply := fmt.Sprintf("*%d\r\n", len(s.sentinels))
		for id, addr := range s.sentinels {
			reply += instanceRow(addr, "runid", id)
		}
		return reply
	}
	return bulk(s.id)
}

func instanceRow(addr, name, value string) string {
	host, port, _ := net.SplitHostPort(addr)
	return "*6\r\n" + bulk("ip") + bulk(host) + bulk("port") + bulk(port) + bulk(name) + bulk(value)
}

// TestStaleSentinel: the first of three Sentinels was cut off, and names the old primary, which takes writes. New
// waits for most of them.
func TestStaleSentinel(t *testing.T) {
	t.Parallel()
	old, now := newFake(t), newFake(t)
	old.start()
	now.start()
	var sentinels []*fake
	var addrs []string
	for range 3 {
		f := newFake(t)
		sentinels, addrs = append(sentinels, f), append(addrs, f.addr())
	}
	for i, f := range sentinels {
		w := &watcher{id: addrs[i], primary: now.addr(), epoch: 1, sentinels: make(map[string]string)}
		for _, other := range addrs {
			if other != f.addr() {
				w.sentinels[other] = other
			}
		}
		if i == 0 {
			w.primary, w.epoch = old.addr(), 0
		}
		w.tell(f)
	}
	for _, seeds := range [][]string{addrs, addrs[:1]} {
		client := open(t, cluster.Config{Sentinel: "it", RefreshEvery: -1}, seeds)
		require.Equal(t, now.addr(), client.Primary(0))
		require.NoError(t, client.Sync(within(t, 10*time.Second)))
		require.Equal(t, now.addr(), client.Primary(0))
	}
}
