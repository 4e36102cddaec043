package lanes

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDialerNeverPrintsItsPassword(t *testing.T) {
	const canary = "canary-in-the-coal-mine"
	d := Dialer{Username: "app", Password: canary}
	type holder struct {
		Dialer Dialer
		N      int
	}
	type embedder struct {
		Dialer
		N int
	}
	type pointer struct{ *Dialer }
	var nothing *Dialer
	for _, v := range []any{d, &d, []Dialer{d}, map[string]Dialer{"x": d}, holder{d, 1}, &holder{d, 1}, embedder{d, 1}, pointer{&d}, []any{d, &d}, nothing} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%g", "%10.3v", "%T"} {
			text := fmt.Sprintf(verb, v)
			assert.NotContains(t, text, canary, verb)
			assert.NotContains(t, text, fmt.Sprintf("%x", canary), verb)
			assert.NotContains(t, text, fmt.Sprintf("%X", canary), verb)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		assert.NotContains(t, log.String(), canary)
	}
	assert.Equal(t, `lanes.Dialer{Username: "app", Password: set, TLS: false, Protocol: 2}`, fmt.Sprint(d))
	assert.Contains(t, fmt.Sprint(Dialer{}), "Password: none")
}
