package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// A piped is a server at the other end of a pipe, for tests with a clock of
// their own. It answers CLUSTER SLOTS after a while, and notes when it was asked.
type piped struct {
	answersAfter time.Duration
	mu           sync.Mutex // guards what follows
	asked        []time.Time
}

func (p *piped) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go p.serve(server) // the bubble waits for its end
	return client, nil
}

func (p *piped) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		args := 0
		if _, err := fmt.Fscanf(in, "*%d\r\n", &args); err != nil {
			return
		}
		var words []string
		for range args {
			size := 0
			if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
				return
			}
			arg := make([]byte, size+2)
			if _, err := io.ReadFull(in, arg); err != nil {
				return
			}
			words = append(words, string(arg[:size]))
		}
		command := strings.Join(words, " ")
		reply := p.reply(command)
		if command == "CLUSTER SLOTS" {
			time.Sleep(p.answersAfter)
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func (p *piped) reply(command string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if command != "CLUSTER SLOTS" {
		return "+OK\r\n"
	}
	p.asked = append(p.asked, time.Now())
	return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$4\r\nnode\r\n:1\r\n$1\r\nx\r\n"
}

// times returns when it was asked since the last call.
func (p *piped) times() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// TestRefreshesAreSpaced: with hints all the time, the first refreshes follow each
// other fast, and the later ones slowly, until it was calm for a while. Regular
// refreshes do not count as an outage.
func TestRefreshesAreSpaced(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{-1, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := &piped{}
			client := open(t, Config{RefreshEvery: every, Dialer: lanes.Dialer{NetDial: p.dial}}, []string{"node:1"})
			for range 3 {
				time.Sleep(time.Minute + 250*time.Millisecond)
				p.times()
				for range 3500 * time.Millisecond / time.Millisecond { // between two regular ones
					client.refresher.hint()
					time.Sleep(time.Millisecond)
				}
				time.Sleep(200 * time.Millisecond) // not 250 ms: then a regular refresh comes
				asked := p.times()
				for i := 1; i < len(asked); i++ {
					gap := asked[i].Sub(asked[i-1])
					switch {
					case i < quickRefreshes:
						assert.Truef(t, gap >= 50*time.Millisecond && gap <= 105*time.Millisecond, "refresh %d after %v", i, gap)
					case i > quickRefreshes+1: // what was saved meanwhile
						assert.Truef(t, gap >= 500*time.Millisecond && gap <= 555*time.Millisecond, "refresh %d after %v", i, gap)
					}
				}
				assert.InDelta(t, 15, len(asked), 2)
			}
		})
	}
}

// TestQuestionHasTheDialersTimeout: a server that needs three seconds for its
// map is waited for, one that needs longer than the timeout is not.
func TestQuestionHasTheDialersTimeout(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{4 * time.Second, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := &piped{answersAfter: 3 * time.Second}
			began := time.Now()
			client, err := Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: p.dial, Timeout: timeout}}.New(t.Context(), []string{"node:1"})
			if timeout < p.answersAfter {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, timeout, time.Since(began))
				time.Sleep(p.answersAfter) // the bubble must be empty at its end
				return
			}
			require.NoError(t, err)
			require.Equal(t, p.answersAfter, time.Since(began))
			require.NoError(t, client.Close())
		})
	}
}
