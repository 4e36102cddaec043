package sim

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/pool"
)

// In some worlds, what Credentials returns is a token that ends: servers refuse an old one,
// and close connections on which nobody has authenticated with a later one. In these worlds
// clients replace their connections in time, and lose nothing.

const (
	tokenLife = 30 * time.Second
	tokenAge  = 5 * time.Second // connections are not older
)

// chooseTokens chooses whether passwords end.
func (s *Settings) chooseTokens(r *rand.Rand) {
	if s.Password && !s.Unset && !s.NoCluster && chance(r, 3) {
		s.Tokens, s.Config.Pool = tokenLife, aging(s.Config.Pool)
	}
}

func aging(c pool.Config) pool.Config {
	switch c := c.(type) {
	case pool.Fixed:
		c.MaxAge = tokenAge
		return c
	case pool.Adaptive:
		c.MaxAge = tokenAge
		return c
	case pool.Laned:
		c.MaxAge = tokenAge
		return c
	}
	panic("a kind of pool without an age")
}

// token returns what the user's Credentials return as a password.
func (w *world) token() string {
	password := *w.password.Load()
	if w.settings.Tokens == 0 {
		return password
	}
	return model.Token(password, time.Now())
}
