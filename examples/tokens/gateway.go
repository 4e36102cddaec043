package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// A model answers a prompt with at most so many tokens, and says how many tokens the prompt and
// the answer were.
type model func(ctx context.Context, prompt string, most int64) (answer string, used int64, err error)

// A gateway lets each user of a model have so many tokens.
type gateway struct {
	limiter *limit.Limiter
	perUser *limit.Limit
	model   model
}

// A limitedError says that a user has to wait.
type limitedError struct {
	estimate int64
	decision limit.Decision
}

func (e *limitedError) Error() string {
	if e.decision.RetryAfter == limit.Never {
		return fmt.Sprintf("%d tokens are more than the limit of %d", e.estimate, e.decision.Quota)
	}
	wait := (e.decision.RetryAfter + time.Minute - 1).Truncate(time.Minute) // never too early
	return fmt.Sprintf("%d tokens are more than the %d that remain: try again in %v", e.estimate, e.decision.Remaining, wait)
}

// ask asks the model for a user. It reserves as many tokens as the answer can cost and, once it
// is there, settles for those that were used. A reservation that is not settled, such as that of
// a process that ends, counts with its estimate.
func (g *gateway) ask(ctx context.Context, user, prompt string, most int64) (answer string, err error) {
	estimate := tokensOf(prompt) + most
	reservation, result := g.limiter.Reserve(ctx, limit.Request{Limit: g.perUser, Key: user, Cost: estimate})
	switch {
	case result.Allowed:
	case result.Err != nil: // a limit that fails closed, or a mistake
		return "", fmt.Errorf("the limit cannot be checked: %w", result.Err)
	default:
		return "", &limitedError{estimate, result.Decision}
	}
	// If the model fails, the user pays nothing. After Settle, Cancel does nothing. Both also run if the user has
	// gone. If Redis is away, the estimate stays counted: their errors need no action here.
	settling := context.WithoutCancel(ctx)
	defer func() { _ = reservation.Cancel(settling) }()
	answer, used, err := g.model(ctx, prompt, most)
	if err != nil {
		return "", err
	}
	_ = reservation.Settle(settling, used)
	return answer, nil
}

// remaining returns how many tokens the user has left.
func (g *gateway) remaining(ctx context.Context, user string) int64 {
	return g.limiter.Allow(ctx, limit.Request{Limit: g.perUser, Key: user, Look: true}).Remaining
}

// tokensOf estimates how many tokens a text is.
func tokensOf(text string) int64 { return int64(len(text)+3) / 4 }
