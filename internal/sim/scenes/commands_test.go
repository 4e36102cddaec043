package scenes

import (
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// TestUpload: a value that takes longer than 10 s for its way is no silence.
func TestUpload(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		s.warm()
		s.net.Impose("", s.node(0).Addr(), simnet.Conditions{Bandwidth: 180_000})
		value := strings.Repeat("x", 180_000*23/2)
		s.cmd(14*time.Second, "SET", s.key(0, 0), value).ok(13 * time.Second)
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

// TestExpireFollowsItsCounter: of INCRBY and EXPIRE in a pipeline, the one that is refused goes
// again with the other one behind it.
func TestExpireFollowsItsCounter(t *testing.T) {
	for _, every := range []int{3, 5, 7} {
		scene(t, setup{}, func(s *stage) {
			s.warm()
			s.inside(0).Refuse(model.Keyed, model.ClusterDown, -every)
			for i := range 20 {
				key := s.key(0, 20+i)
				p := pipeline.New(s.client)
				p.IncrBy(key, 1)
				p.Expire(key, time.Hour)
				s.call(5*time.Second, p.Do).ok(time.Second)
				value, _ := s.Value(key)
				require.Equal(s, "1", value)
				left, _ := s.TTL(key)
				require.Positive(s, left)
			}
		})
	}
}
