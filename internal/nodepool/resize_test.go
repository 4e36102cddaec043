package nodepool

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// TestResizingLosesNothing lets the load of a real server rise and fall, and
// counts: connections come and go under traffic, and no command fails.
func TestResizingLosesNothing(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	for name, c := range map[string]Config{
		"adaptive": Adaptive{Min: 1, Max: 12, IdleTimeout: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, c, server)
			var done atomic.Int64
			var wg sync.WaitGroup
			callers := newTurnstile()
			for i := range 40 {
				wg.Go(func() {
					for callers.admits(i) {
						if err := p.Do(t.Context(), radix.Cmd(nil, "INCR", name)); err != nil {
							t.Error(err)
							return
						}
						done.Add(1)
					}
				})
			}
			for range 3 {
				callers.open(40)
				until(t, "it has grown", func() bool { s := p.figures(); return s.Target == s.Size && s.Open == s.Size })
				callers.open(2)
				until(t, "it has shrunk", func() bool {
					s := p.figures()
					return s.Target < s.Size/2 && s.Open == s.Target
				})
			}
			callers.close()
			wg.Wait()
			require.Equal(t, strconv.Itoa(int(done.Load())), get(t, p, name))
			s := p.figures()
			require.Equal(t, []string{"idle"}, keys(s.Closes))
		})
	}
}

// A turnstile lets so many callers pass; the others wait.
type turnstile struct {
	changed sync.Cond
	callers int // guarded by changed.L; negative when it is closed
}

func newTurnstile() *turnstile { return &turnstile{changed: sync.Cond{L: new(sync.Mutex)}} }

// admits waits until the i-th caller may pass. It returns false when the turnstile is
// closed.
func (g *turnstile) admits(i int) bool {
	g.changed.L.Lock()
	defer g.changed.L.Unlock()
	for g.callers >= 0 && i >= g.callers {
		g.changed.Wait()
	}
	return g.callers >= 0
}

func (g *turnstile) open(callers int) {
	g.changed.L.Lock()
	g.callers = callers
	g.changed.L.Unlock()
	g.changed.Broadcast()
}

func (g *turnstile) close() { g.open(-1) }

func keys(m map[string]uint64) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// TestLoadIsWhatIsInFlight: a caller that has its reply, and makes its next
// request before the connection is free again, is one caller and not two.
func TestLoadIsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := open(t, Adaptive{Min: 1, Max: 2}, servers.StartServer(t, servers.Options{}))
	_ = get(t, p, "k")
	until(t, "the connection is idle", func() bool { return p.figures().Idle == 1 })
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	m := p.main.members[0]
	m.state = busy // as long as its lane has not told the pool
	require.Zero(t, p.main.loadLocked())
	m.state = dedicated
	require.Equal(t, 1, p.main.loadLocked())
	m.state = isIdle
}
