package nodepool

import (
	"context"
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// TestNil: a nil action or context ends in a sentence, and nothing is sent.
func TestNil(t *testing.T) {
	t.Parallel()
	var none context.Context
	for name, kind := range kinds {
		p, err := New(kind, lanes.Dialer{}, "127.0.0.1:1", nil)
		require.NoError(t, err)
		for want, do := range map[string]func() error{
			"action is nil":      func() error { return p.Do(t.Context(), nil) },
			"context is nil":     func() error { return p.Do(none, radix.Cmd(nil, "PING")) },
			"the context is nil": func() error { _, err := p.Dedicate(none); return err },
		} {
			err := do()
			require.ErrorContains(t, err, want, name)
			require.ErrorIs(t, err, redislanes.ErrNotSent, name)
		}
		require.NoError(t, p.Close())
	}
}
