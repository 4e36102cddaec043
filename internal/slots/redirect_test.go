package slots

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redislanes/redislanes/internal/fate"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const script = " script: b201f910ce1b75088424bf4bff17678eaf744d6d, on @user_script:1."
	for msg, want := range map[string]Redirect{
		"MOVED 3999 127.0.0.1:6381":     {fate.Moved, 3999, "127.0.0.1:6381", false},
		"ASK 0 10.0.0.7:1":              {fate.Ask, 0, "10.0.0.7:1", false},
		"MOVED 16383 h.example:65535":   {fate.Moved, 16383, "h.example:65535", false},
		"MOVED 1 :6379":                 {fate.Moved, 1, "fd00::1:6379", true},
		"MOVED 1 ?:6379":                {fate.Nowhere, 1, "", false},
		"ASK 1 ?:6379":                  {fate.Nowhere, 1, "", false},
		"MOVED 1 b\u00fccher.example:1": {fate.Moved, 1, "b\u00fccher.example:1", false},
		"MOVED 1 a\u00a0b:6381":         {},
		"MOVED 1 /tmp/socket:6381":      {},
		"ASK 1 ::1:6379":                {fate.Ask, 1, "[::1]:6379", false},
		"ASK 1 [fd00::7]:6379":          {fate.Ask, 1, "[fd00::7]:6379", false},
		"MOVED 16384 127.0.0.1:6381":    {},
		"MOVED -1 127.0.0.1:6381":       {},
		"MOVED -0 127.0.0.1:6381":       {},
		"MOVED x 127.0.0.1:6381":        {},
		"MOVED 99999999999 127.0.0.1:1": {},
		"MOVED  1 127.0.0.1:6381":       {},
		"MOVED 1 127.0.0.1:6381 x":      {},
		"MOVED 1 127.0.0.1:6381 ":       {},
		"MOVED 1 127.0.0.1 6381":        {},
		"MOVED 1 127.0.0.1":             {},
		"MOVED 1 127.0.0.1:":            {},
		"MOVED 1 127.0.0.1:0":           {fate.Nowhere, 1, "", false},
		"MOVED 1 127.0.0.1:65536":       {},
		"MOVED 1 127.0.0.1:-1":          {},
		"MOVED 1 127.0.0.1:6x":          {},
		"MOVED 1 a\nb:6381":             {},
		"MOVED 1 [[]]:6381":             {},
		"MOVED 1":                       {},
		"MOVED":                         {},
		"MOVED1 1 a:1":                  {},
		"moved 1 a:1":                   {},
		"MOVED 1 a:1" + script:          {Fate: fate.Perhaps},
		"":                              {},
		" MOVED 1 a:1":                  {},

		"TRYAGAIN Multiple keys request during rehashing of slot":           {Fate: fate.TryAgain},
		"WRONGTYPE Operation against a key holding the wrong kind of value": {Fate: fate.Final},
		"-upstream failure": {},
	} {
		want.Addr = strings.Replace(want.Addr, "fd00::1:", "[fd00::1]:", 1)
		assert.Equal(t, want, ParseRedirect([]byte(msg), "[fd00::1]:7000"), "%q", msg)
	}
}

func TestClassifyAllocatesForRedirectsOnly(t *testing.T) {
	for _, msg := range []string{
		"ERR value is not an integer or out of range", "TRYAGAIN x", "CLUSTERDOWN Hash slot not served", "READONLY x",
	} {
		b := []byte(msg)
		assert.Zero(t, testing.AllocsPerRun(100, func() { ParseRedirect(b, "127.0.0.1:7000") }), msg)
	}
}

func FuzzClassify(f *testing.F) {
	for _, msg := range []string{
		"MOVED 3999 127.0.0.1:6381", "ASK 1 ::1:6379", "MOVED 1 :1", "MOVED 1 ?:1", "TRYAGAIN x", "NOSCRIPT",
		"ERR unknown command 'foo', with args beginning with: 'a'", "ERR unknown subcommand 'it's'. Try X HELP.",
		"ERR can't `x` \"y\" 'z'", "", "ERR \xff\x00\u2028",
	} {
		f.Add([]byte(msg), "10.0.0.1:7000")
	}
	f.Fuzz(func(t *testing.T, msg []byte, asked string) {
		r := ParseRedirect(msg, asked)
		if (r.Fate == fate.Moved || r.Fate == fate.Ask) != (r.Addr != "") || r.Slot >= Count || r.Fate > fate.NoRoom {
			t.Errorf("ParseRedirect(%q) = %+v", msg, r)
		}
	})
}
