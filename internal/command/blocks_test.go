package command

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
)

func TestWaits(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"GET k": 0, "XREAD STREAMS a 0": 0, "XREADGROUP GROUP block c STREAMS a >": 0,
		"BLPOP a b 2": 2 * time.Second, "brpop a 0.25": 250 * time.Millisecond, "BZPOPMIN a 1": time.Second,
		"BLMOVE a b LEFT RIGHT 3": 3 * time.Second, "BLMOVEM a b LEFT LEFT 4 COUNT 2 OBO": 4 * time.Second, "BRPOPLPUSH a b 1e1": 10 * time.Second,
		"BLMPOP 1.5 1 a LEFT": 1500 * time.Millisecond, "BZMPOP 1 2 a b MIN COUNT 9": time.Second,
		"WAIT 1 100": 100 * time.Millisecond, "WAITAOF 1 0 100": 100 * time.Millisecond,
		"XREAD COUNT 1 BLOCK 5 STREAMS a 0": 5 * time.Millisecond, "XREADGROUP GROUP g c BLOCK 7 STREAMS a >": 7 * time.Millisecond,
		"BLPOP a 0": Endless, "WAIT 1 0": Endless, "XREAD BLOCK 0 STREAMS a 0": Endless, "BLPOP a 1e300": Endless, "BLPOP a inf": Endless,
		"FOO.BAR a": Endless,
		"BLPOP a x": 0, "BLPOP a -1": 0, "BLPOP a nan": 0, "BLPOP": 0, "XREAD BLOCK": 0,
	} {
		words := strings.Fields(line)
		require.Equal(t, want, Of(resp.AppendCommand(nil, words[0], words[1:]...)).Waits(), line)
	}
}
