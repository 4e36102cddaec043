package scenes

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

const ttl = time.Hour

// expires fails the test unless the key has a time to live, or is not there.
func (s *stage) expires(key string) {
	s.Helper()
	left, exists := s.TTL(key)
	require.True(s, !exists || left > 0 && left <= ttl, "%s has %v", key, left)
}

// TestPartsOfHitsAreRefused: whichever command of a hit a server refuses, and for how long, a
// hit that succeeded leaves a key with a time to live, and is counted once.
func TestPartsOfHitsAreRefused(t *testing.T) {
	for _, text := range model.PassingRefusals() {
		for _, name := range []string{"set", "incrby", "pttl", "expire", "pexpire"} {
			for _, times := range []int{0, 1} {
				scene(t, setup{}, func(s *stage) {
					s.warm()
					for i := range 3 {
						s.inside(i).Refuse(name, text, times)
					}
					s.counted(5)
					for i := range 3 {
						s.inside(i).Refuse(name, "", 0)
					}
					time.Sleep(10 * time.Second) // for all that is sent later
					s.counted(5)
				})
			}
		}
	}
}

// counted hits keys once each, and looks at what has become of them.
func (s *stage) counted(keys int) {
	s.Helper()
	for i := range keys {
		key := s.key(i%3, 20+i)
		before, _ := s.Value(key)
		r := s.hit(2*time.Second, key)
		after, _ := s.Value(key)
		if r.err == nil {
			require.Equal(s, number(before)+1, number(after))
			s.expires(key)
		}
		require.LessOrEqual(s, number(after), number(before)+1)
	}
}

func number(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

// TestCutWithinTheRepliesOfAHit: connections are reset behind any byte of a hit's replies.
func TestCutWithinTheRepliesOfAHit(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		for after := 1; after < 20; after++ {
			key := s.key(0, 20+after)
			lift := s.net.Impose("", s.node(0).Addr(), simnet.Conditions{CutToClient: after})
			time.AfterFunc(5*time.Millisecond, lift)
			r := s.hit(2*time.Second, key)
			time.Sleep(100 * time.Millisecond)
			value, _ := s.Value(key)
			if r.err == nil {
				require.Equal(s, 1, number(value))
			}
			require.LessOrEqual(s, number(value), 1)
			s.hit(time.Second, key).ok(time.Second)
			s.expires(key)
		}
	})
}

// TestFailoverLosesExpire: a new primary has the keys, and not their times to live. The next
// hits give them again.
func TestFailoverLosesExpire(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		keys := []string{s.key(0, 20), s.key(0, 21), s.key(0, 22)}
		for _, key := range keys {
			s.hits(time.Second, pipeline.Hit{Key: key, By: 1}).ok(soon)
		}
		time.Sleep(time.Second)
		s.model.ReplicationLag(5 * time.Second)
		for _, key := range keys {
			s.hit(time.Second, key).ok(soon)
		}
		s.node(0).FailoverLossy()
		time.Sleep(600 * time.Millisecond)
		for range 2 {
			for _, key := range keys {
				s.hit(time.Second, key).ok(time.Second)
			}
		}
		for _, key := range keys {
			s.expires(key)
		}
	})
}

// TestRefusedRepeat: a write that may run twice has run, and its repeats are refused or meet a
// server that is gone. Nobody is told that it did not run.
func TestRefusedRepeat(t *testing.T) {
	faults := []func(s *stage){
		func(s *stage) { s.node(0).RefuseDials() },
		func(s *stage) { s.inside(0).Loading(time.Minute) },
	}
	for _, text := range model.PassingRefusals() {
		faults = append(faults, func(s *stage) { s.inside(0).Refuse(model.Keyed, text, 0) })
	}
	for _, fault := range faults {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			key := s.key(0, 20)
			p := pipeline.New(s.client)
			set := p.Cmd("SET", key, "v").Idempotent()
			lift := s.net.Impose("", s.node(0).Addr(), simnet.Conditions{Stall: simnet.ToClient})
			wait := together(1, func(int) { s.call(3*time.Second, p.Do) })
			time.Sleep(2 * trip)
			fault(s)
			s.node(0).Cut()
			lift()
			wait()
			value, _ := s.Value(key)
			require.Equal(s, "v", value)
			require.ErrorIs(s, set.Err(), redislanes.ErrUnknownOutcome)
		})
	}
}
