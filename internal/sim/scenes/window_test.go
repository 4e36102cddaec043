package scenes

import (
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pool"
)

func config(p pool.Config) cluster.Config { return cluster.Config{Pool: p} }

// TestWritesRefusedAmongReads: reads that succeed, and a command that was sent before the
// refusals and is answered among them, say nothing of writes, which fail at once when the window
// is over.
func TestWritesRefusedAmongReads(t *testing.T) {
	each(t, setup{}, map[string]func(s *stage) result{
		"command":   func(s *stage) result { return s.incr(2*time.Second, s.key(0, 0)) },
		"dedicated": func(s *stage) result { return s.dedicated(2*time.Second, s.key(0, 0)) },
		"blocking": func(s *stage) result {
			return s.do(2*time.Second, radix.Cmd(&radix.Maybe{}, "BLPOP", s.key(0, 31), "0.01"))
		},
		"hit": func(s *stage) result { return s.hit(2*time.Second, s.key(0, 0)) },
	}, func(s *stage, write func(s *stage) result) {
		s.warm()
		before := together(1, func(int) {
			list := s.key(0, 30)
			_ = s.client.Do(s.Context(), radix.Cmd(&radix.Maybe{}, "BLMOVE", list, list, "LEFT", "RIGHT", "2.5"))
		})
		defer before()
		time.Sleep(soon)
		s.inside(0).NoReplicas(true)
		write(s).failed(window+100*time.Millisecond, redislanes.ErrRefused, redislanes.ErrNotSent)
		s.repeat(3*time.Second, 100*time.Millisecond, func() {
			s.get(2*time.Second, s.key(0, 0)).ok(trip)
			s.alone(2*time.Second, s.key(0, 0), radix.Cmd(nil, "WATCH", s.key(0, 0)), radix.Cmd(&radix.Maybe{}, "GET", s.key(0, 0))).ok(soon)
			s.script(s.key(0, 0)).ok(soon)
			write(s).failed(soon)
		})
		s.inside(0).NoReplicas(false)
		write(s).ok(2 * soon)
	})
}

// script reads a key by a script, of which nobody knows beforehand that it only reads.
func (s *stage) script(key string) result {
	return s.cmd(2*time.Second, "EVAL", "return redis.call('GET', KEYS[1])", 1, key)
}

// TestNobodysSlot: commands for a slot without an owner fail at once behind the window, and
// others succeed.
func TestNobodysSlot(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		lost, other := s.key(0, 20), s.key(0, 1)
		slot := cluster.Slot(lost)
		s.model.Unassign(slot, slot)
		time.Sleep(200 * time.Millisecond) // all nodes have heard of it
		s.incr(2*time.Second, lost).failed(window + 100*time.Millisecond)
		s.repeat(3*time.Second, 100*time.Millisecond, func() {
			s.incr(2*time.Second, lost).failed(soon)
			s.incr(2*time.Second, other).ok(trip)
		})
		s.model.Assign(slot, slot, s.inside(0))
		time.Sleep(16 * time.Second) // a regular refresh
		s.incr(2*time.Second, lost).ok(soon)
	})
}

// TestKeysApart: a command for two keys of a slot that is half on its way is refused, and
// those for one of them are not.
func TestKeysApart(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		here, there := "{"+s.key(0, 20)+"}a", "{"+s.key(0, 20)+"}b"
		both := func() result { return s.cmd(2*time.Second, "MGET", here, there) }
		s.incr(time.Second, here).ok(soon)
		s.incr(time.Second, there).ok(soon)
		require.True(s, s.model.Migrate(cluster.Slot(here), s.inside(1)))
		require.Equal(s, 1, s.model.MoveKeys(cluster.Slot(here), 1))
		both().failed(window+100*time.Millisecond, redislanes.ErrRefused)
		s.repeat(3*time.Second, 50*time.Millisecond, func() {
			s.get(time.Second, here).ok(2 * trip)
			s.get(time.Second, there).ok(2 * trip)
			both().failed(window+100*time.Millisecond, redislanes.ErrRefused)
		})
		s.model.FinishMigration(cluster.Slot(here))
		both().ok(soon)
	})
}

// TestRefusalWithinTheWindow: who has time is served when the refusal ends.
func TestRefusalWithinTheWindow(t *testing.T) {
	for _, text := range []model.Refusal{model.ClusterDown, model.IsLoading, model.NoReplicas, model.IsBusy, model.Misconf} {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			s.inside(0).Refuse(model.Keyed, text, 0)
			time.AfterFunc(700*time.Millisecond, func() { s.inside(0).Refuse(model.Keyed, "", 0) })
			if text == model.Misconf { // does not end by itself
				s.incr(3*time.Second, s.key(0, 0)).failed(soon, redislanes.ErrRefused)
				return
			}
			s.incr(3*time.Second, s.key(0, 0)).ok(960 * time.Millisecond)
		})
	}
}

// TestRefusedAgain: a refusal behind a success is another outage, with a window of its own.
func TestRefusedAgain(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		key := s.key(0, 0)
		s.inside(0).Down(true)
		s.repeat(window+500*time.Millisecond, 50*time.Millisecond, func() { s.incr(soon, key).failed(soon) })
		s.inside(0).Down(false)
		s.repeat(window, 20*time.Millisecond, func() { s.incr(time.Second, key).ok(trip) })
		s.inside(0).Down(true)
		time.AfterFunc(400*time.Millisecond, func() { s.inside(0).Down(false) })
		s.incr(3*time.Second, key).ok(670 * time.Millisecond)
	})
}
