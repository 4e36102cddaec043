package limit

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit/places"
)

// TestRights: with the rights of the table in docs/limits.md, everything works that it is for.
func TestRights(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/limits.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| rights that the user needs | for |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	require.Len(t, rows, len(needs))
	server := servers.StartServer(t, servers.Options{})
	windows := ""
	for _, row := range rows {
		cells := regexp.MustCompile(`^\| (also )?(.*) \| (.*) \|$`).FindStringSubmatch(row)
		require.NotNil(t, cells, row)
		rights := "+" + strings.ToLower(strings.ReplaceAll(cells[2], ", ", " +"))
		if cells[1] != "" {
			rights += " " + windows
		} else if windows == "" {
			windows = rights
		}
		acl := append([]string{"SETUSER", "limiter", "reset", "on", ">pw", "~limit:*", "+ping", "+cluster|slots"}, strings.Fields(rights)...)
		require.NoError(t, server.Nodes()[0].Do(t.Context(), nil, "ACL", acl...))
		l := limiterAt(t, cluster.Config{Dialer: lanes.Dialer{NoSetInfo: true, Username: "limiter", Password: "pw"}},
			Config{Budget: 10 * time.Second, ServerTime: cells[3] == "`Config.ServerTime`"}, server.Addrs())
		require.NoError(t, needs[cells[3]](t.Context(), l), row)
		if l.cfg.ServerTime {
			require.NotNil(t, l.servers.known.Load())
		}
	}
}

// needs are what the rights of a row are for.
var needs = map[string]func(context.Context, *Limiter) error{
	"windows": func(ctx context.Context, l *Limiter) error {
		return errors.Join(useAll(ctx, l, FixedWindow), useAll(ctx, l, SlidingWindow), settleAndLease(ctx, l, FixedWindow), grantSome(ctx, l))
	},
	"`Config.ServerTime`": func(ctx context.Context, l *Limiter) error { return useAll(ctx, l, FixedWindow) },
	"token buckets": func(ctx context.Context, l *Limiter) error {
		return errors.Join(useAll(ctx, l, TokenBucket), settleAndLease(ctx, l, TokenBucket))
	},
	"`Reset`": func(ctx context.Context, l *Limiter) error {
		of, err := Rule{Name: "reset", Quota: 5, Window: time.Hour}.New(l)
		one := Request{Limit: of, Key: "k"}
		return errors.Join(err, l.Allow(ctx, one).Err, l.Reset(ctx, of, "k"), l.Allow(ctx, one).Err)
	},
	"package places": func(ctx context.Context, l *Limiter) error {
		s, err := places.Config{Name: "held", Max: 1, Budget: l.cfg.Budget}.New(l.client)
		if err != nil {
			return err
		}
		hold, first := s.Acquire(ctx, "k")
		_, second := s.Acquire(ctx, "k")
		hold.Release()
		_, third := s.Acquire(ctx, "k")
		if second.Allowed || !third.Allowed {
			err = errors.New("the place was not taken, or not released")
		}
		return errors.Join(err, first.Err, second.Err, third.Err, s.Close())
	},
}

// settleAndLease settles and gives back hits, and hits until a lease decides.
func settleAndLease(ctx context.Context, l *Limiter, a Algorithm) error {
	of, err := Rule{Name: "settled-" + a.String(), Quota: 1_000_000, Window: mostWindow, Algorithm: a}.New(l)
	one := Request{Limit: of, Key: "k"}
	r, d := l.Reserve(ctx, one)
	err = errors.Join(err, d.Err, r.Settle(ctx, 2), l.GiveBack(ctx, one, one))
	for d := (Result{}); err == nil && !d.Leased; err = d.Err {
		d = l.Allow(ctx, one)
	}
	return err
}

func grantSome(ctx context.Context, l *Limiter) error {
	of, err := Rule{Name: "most", Quota: 5, Window: time.Hour, Algorithm: SlidingWindow}.New(l)
	_, d := l.AllowAtMost(ctx, Request{Limit: of, Key: "k", Cost: 9})
	return errors.Join(err, d.Err)
}

// useAll looks, hits, and is denied.
func useAll(ctx context.Context, l *Limiter, a Algorithm) error {
	of, err := Rule{Name: "all-" + a.String(), Quota: 1, Window: mostWindow, Algorithm: a}.New(l)
	for _, look := range []bool{true, false, false} {
		err = errors.Join(err, l.Allow(ctx, Request{Limit: of, Key: "k", Look: look}).Err)
	}
	return err
}
