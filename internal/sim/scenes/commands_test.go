package scenes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// TestOutage: while all nodes are away, calls wait for one window.
func TestOutage(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		heal := s.outage()
		time.Sleep(50 * time.Millisecond)
		wait := together(2, func(i int) { s.incr(4*time.Second, s.key(i, 20)).ok(time.Second) })
		time.Sleep(300 * time.Millisecond)
		heal()
		wait()
		time.Sleep(time.Second)
		heal = s.outage()
		s.repeat(4*time.Second, 100*time.Millisecond, func() { s.incr(50*time.Millisecond, s.key(0, 0)) })
		s.incr(5*time.Second, s.key(1, 20)).failed(window+300*time.Millisecond, redislanes.ErrNotSent)
		heal()
	})
}

// outage makes all nodes unreachable.
func (s *stage) outage() (heal func()) {
	for _, n := range s.Nodes() {
		n.RefuseDials()
		n.Cut()
	}
	return s.Heal
}

// TestSmallBesideLarge: small commands do not queue behind a large reply, a slow command or
// many commands on a thin link.
func TestSmallBesideLarge(t *testing.T) {
	const size = 150_000 // three quarters of a second
	const within = 5 * time.Second
	each(t, setup{}, map[string]func(s *stage, key string) result{
		"slow command": func(s *stage, key string) result { return s.cmd(within, "LRANGE", key, 0, -1) },
		"slow command behind a redirect": func(s *stage, key string) result {
			s.Move(key, s.node(1))
			s.Move(key, s.node(0))
			return s.cmd(within, "LRANGE", key, 0, -1)
		},
		"many commands": func(s *stage, key string) result {
			p := pipeline.New(s.client)
			for range 1100 {
				p.Cmd("GET", "{"+key+"}small")
			}
			return s.call(within, p.Do)
		},
		"large reply": func(s *stage, key string) result { return s.get(within, "{"+key+"}large") },
	}, func(s *stage, large func(s *stage, key string) result) {
		s.warm()
		key := s.key(0, 20)
		for range 100 {
			s.cmd(time.Second, "RPUSH", key, strings.Repeat("x", size/100)).ok(time.Second)
		}
		s.cmd(time.Second, "SET", "{"+key+"}small", strings.Repeat("x", size/1100)).ok(time.Second)
		s.cmd(time.Second, "SET", "{"+key+"}large", strings.Repeat("x", size)).ok(time.Second)
		s.net.Impose("", s.node(0).Addr(), simnet.Conditions{EachBandwidth: 200_000})
		wait := together(1, func(int) { large(s, key).ok(2 * time.Second) })
		time.Sleep(30 * time.Millisecond)
		s.repeat(300*time.Millisecond, 10*time.Millisecond, func() { s.get(time.Second, s.key(0, 0)).ok(soon) })
		wait()
	})
}

// TestUpload: a value that takes longer than 10 s for its way is no silence.
func TestUpload(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		s.net.Impose("", s.node(0).Addr(), simnet.Conditions{Bandwidth: 180_000})
		value := strings.Repeat("x", 180_000*23/2)
		s.cmd(14*time.Second, "SET", s.key(0, 0), value).ok(13 * time.Second)
	})
}

// TestWaitingAtNodes: a blocking command of which radix does not know that it blocks, sent to
// each primary as such, holds up nobody.
func TestWaitingAtNodes(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		lists := make(map[string]string)
		for i := range 3 {
			lists[s.node(i).Addr()] = s.key(i, 30)
		}
		wait := together(1, func(int) {
			err := s.client.ForEachPrimary(s.Context(), func(ctx context.Context, node radix.Client) error {
				list := lists[node.Addr().String()]
				return node.Do(ctx, radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "0.7"))
			})
			require.NoError(s, err)
		})
		time.Sleep(soon)
		for i := range 12 {
			s.incr(time.Second, s.key(i%3, i)).ok(trip)
		}
		wait()
	})
}

// TestUsersWait: who blocks a connection, or is held up by a pause of writes, for less than the
// limits allow, keeps it.
func TestUsersWait(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		list := s.key(0, 30)
		s.do(10*time.Second, radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "6.5")).ok(6600 * time.Millisecond)
		s.node(0).PauseWrites(4900 * time.Millisecond)
		together(2, func(i int) { s.incr(10*time.Second, s.key(0, i)).ok(5 * time.Second) })()
	})
}

// TestPipelinesUsedAgain: a pipeline that has left a late reply behind is used
// again, and replies are those of its commands.
func TestPipelinesUsedAgain(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		s.node(0).Delay(120 * time.Millisecond)
		p := pipeline.New(s.client)
		for i := range 10 {
			late, prompt := s.key(0, 30+i), s.key(1, 30+i)
			for _, keys := range [][]string{{late, prompt}, {late, prompt, late}, {prompt, prompt}} {
				p.Reset()
				var replies []pipeline.Reply
				for j, key := range keys {
					replies = append(replies, p.Cmd("ECHO", fmt.Sprint(key, j)), p.IncrBy(key, 1))
				}
				within := 2 * time.Second
				if len(keys) == 2 && keys[0] == late {
					within = 100 * time.Millisecond
				}
				s.call(within, p.Do)
				for j, key := range keys {
					if text, err := replies[2*j].Text(); err == nil {
						require.Equal(s, fmt.Sprint(key, j), text)
					}
				}
			}
			require.Contains(s, []string{"2", "3"}, valueOf(s, late))
			require.Equal(s, "4", valueOf(s, prompt))
		}
	})
}

func valueOf(s *stage, key string) string {
	value, _ := s.Value(key)
	return value
}

// TestScriptsOnEachNode: a script goes where its keys are.
func TestScriptsOnEachNode(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		for i := range 3 {
			s.script(s.key(i, 0)).ok(soon)
			key := s.key(i, 1)
			s.do(time.Second, radix.Cmd(nil, "EVAL", "return redis.call('SET', KEYS[1], 'x')", "1", key)).ok(soon)
			require.Equal(s, "x", valueOf(s, key))
		}
	})
}

// TestReadsAmongRefusals: in pipelines of one slot of which a server refuses every few commands,
// each read that is refused is sent again, whatever else has run.
func TestReadsAmongRefusals(t *testing.T) {
	for every := 2; every < 5; every++ {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			key := s.key(0, 20)
			s.cmd(time.Second, "SET", key, "v").ok(time.Second)
			s.inside(0).Flaky(every, model.IsLoading)
			for range 20 {
				p := pipeline.New(s.client)
				var replies []pipeline.Reply
				for range 6 {
					replies = append(replies, p.Cmd("GET", key))
				}
				s.call(5*time.Second, p.Do).ok(time.Second)
				for _, r := range replies {
					text, err := r.Text()
					require.NoError(s, err)
					require.Equal(s, "v", text)
				}
			}
		})
	}
}

// TestNewScripts: a script that no server knows runs before the command behind it.
func TestNewScripts(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		for i := range 5 {
			key := s.key(i%3, 20+i)
			script := pipeline.NewScript(fmt.Sprintf("local n = %d return redis.call('INCRBY', KEYS[1], ARGV[1])", i))
			p := pipeline.New(s.client)
			ran, total := p.Eval(script, []string{key}, "1"), p.IncrBy(key, 10)
			s.call(5*time.Second, p.Do).ok(soon)
			require.NoError(s, ran.Err())
			n, err := total.Int()
			require.NoError(s, err)
			require.EqualValues(s, 11, n)
		}
	})
}

// TestExpireFollowsItsCounter: of INCRBY and EXPIRE in a pipeline, the one that is refused goes
// again with the other one behind it.
func TestExpireFollowsItsCounter(t *testing.T) {
	for _, every := range []int{3, 5, 7} {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			s.inside(0).Flaky(every, model.ClusterDown)
			for i := range 20 {
				key := s.key(0, 20+i)
				p := pipeline.New(s.client)
				p.IncrBy(key, 1)
				p.Expire(key, time.Hour)
				s.call(5*time.Second, p.Do).ok(time.Second)
				require.Equal(s, "1", valueOf(s, key))
				left, _ := s.TTL(key)
				require.Positive(s, left)
			}
		})
	}
	for times := 1; times < 5; times++ {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			s.inside(0).Refuse(model.Keyed, model.IsLoading, times)
			if times == 1 { // and EXPIRE with what does not end by itself
				s.inside(0).Refuse("expire", model.Misconf, 1)
			}
			key := s.key(0, 20)
			p := pipeline.New(s.client)
			p.IncrBy(key, 1)
			p.Expire(key, time.Hour)
			s.call(5*time.Second, p.Do).ok(time.Second)
			left, _ := s.TTL(key)
			require.Positive(s, left, "%d commands are refused", times)
		})
	}
}
