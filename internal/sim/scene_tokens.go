package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes"
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

// tokenScenes are about such servers and a client that does not authenticate again.
func tokenScenes() []scene {
	return []scene{{
		kind: kind{name: "tokens end", harmless: true, gentle: true, quiet: true, weight: 5, least: 9 * time.Second, most: 9 * time.Second},
		fits: func(s *Settings) bool {
			return !s.NoCluster && !s.Unset && s.Dialing == wellBehaved && s.Latency <= 5*time.Millisecond && !s.Config.Standalone && !s.Terms.FewCalls && s.Terms.Grace >= time.Second
		},
		play: tokensEnd,
	}}
}

var errNotInFlight = errors.New("a call failed although its token was valid, and was not cut")

// tokensEnd calls servers that close connections when their tokens have ended. That costs
// the calls that are in flight, and no others.
func tokensEnd(p *play) {
	s := p.stand(2)
	defer s.kill()
	const life = 1500 * time.Millisecond
	for _, n := range s.model.Nodes() {
		n.RequirePass("", canary, true)
		n.Tokens(life)
	}
	p.call("tokens", 0, func(a *attempt) {
		a.Sure, a.Own = true, true
		c := p.own()
		c.Dialer.Credentials = func(context.Context) (string, string, error) { return "", model.Token(canary, time.Now()), nil }
		client, err := c.New(a.ctx, []string{s.model.Nodes()[0].Addr(), s.model.Nodes()[1].Addr()})
		if a.Err = err; err != nil {
			return
		}
		defer client.Close()
		var callers sync.WaitGroup
		var failed atomic.Pointer[error]
		for i := range 3 {
			callers.Go(func() {
				for n := 0; p.left() > 1500*time.Millisecond; n++ {
					ctx, cancel := context.WithTimeout(a.ctx, 2*time.Second)
					err := client.Do(ctx, radix.Cmd(nil, "RPUSH", fmt.Sprint("k", i, n%7), "v"))
					cancel()
					if err != nil && !errors.Is(err, redislanes.ErrUnknownOutcome) {
						failed.Store(&err)
					}
					time.Sleep(7 * time.Millisecond)
				}
			})
		}
		callers.Wait()
		if err := failed.Load(); err != nil {
			a.Err = fmt.Errorf("%w: %w", errNotInFlight, *err)
		}
	})
}

// token returns what the user's Credentials return as a password.
func (w *world) token() string {
	password := *w.password.Load()
	if w.settings.Tokens == 0 {
		return password
	}
	return model.Token(password, time.Now())
}
