package sim

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// In some worlds, what Credentials returns is a token that ends: servers refuse an old one,
// and close connections on which nobody has authenticated with a later one. In these worlds
// clients do so in time, and lose nothing.

const (
	tokenLife = 30 * time.Second
	reauths   = 5 * time.Second
)

// chooseTokens chooses whether passwords end.
func (s *Settings) chooseTokens(r *rand.Rand) {
	if s.Password && !s.Unset && !s.NoCluster && chance(r, 3) {
		s.Tokens, s.Config.Dialer.ReauthEvery = tokenLife, reauths
	}
}

// token returns what the user's Credentials return as a password.
func (w *world) token() string {
	password := *w.password.Load()
	if w.settings.Tokens == 0 {
		return password
	}
	return model.Token(password, time.Now())
}
