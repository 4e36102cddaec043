package docs_test

import (
	"context"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit"
)

func newPlan(limiter *limit.Limiter) (*limit.Limit, error) {
	plan, err := limit.Rule{
		Name: "plan", Quota: 10_000, Warn: 0.8,
		Calendar: limit.Calendar{Unit: limit.Month, Zone: "Europe/Berlin", StartsOn: 15},
	}.New(limiter)
	return plan, err
}

func use(ctx context.Context, limiter *limit.Limiter, plan *limit.Limit, tenant string, cost int64, remind func(tenant string, remaining int64)) error {
	result := limiter.Allow(ctx, limit.Request{Limit: plan, Key: tenant, Cost: cost})
	switch {
	case !result.Allowed:
		return errLimited // RetryAfter and ResetAfter end on the 15th, at midnight in Berlin
	case result.Warned:
		remind(tenant, result.Remaining) // 80 % are used
	}
	return nil
}

func TestWindowsOfTheCalendar(t *testing.T) {
	limiter, err := limit.Config{Budget: 10 * time.Second}.New(connect(t))
	require.NoError(t, err)
	defer limiter.Close()
	plan, err := newPlan(limiter)
	require.NoError(t, err)
	var reminded []int64
	remind := func(_ string, remaining int64) { reminded = append(reminded, remaining) }
	require.NoError(t, use(t.Context(), limiter, plan, "acme", 7_999, remind))
	require.NoError(t, use(t.Context(), limiter, plan, "acme", 1, remind))
	require.NoError(t, use(t.Context(), limiter, plan, "acme", 2_000, remind))
	require.ErrorIs(t, use(t.Context(), limiter, plan, "acme", 1, remind), errLimited)
	require.Equal(t, []int64{2_000, 0}, reminded)

	ends := time.Now().Add(limiter.Allow(t.Context(), limit.Request{Limit: plan, Key: "acme", Look: true}).ResetAfter)
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, "15 00:00", ends.Round(time.Minute).In(berlin).Format("02 15:04"))
}
