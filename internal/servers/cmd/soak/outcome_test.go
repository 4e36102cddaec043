package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		err  error
		want class
	}{
		{"no error", nil, acknowledged},
		{"unknown", &redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: context.DeadlineExceeded}, unknown},
		{"unknown, because of a closed lane", &redislanes.Error{Outcome: redislanes.ErrUnknownOutcome, Cause: wire.ErrClosed}, unknown},
		{"not sent", fmt.Errorf("x: %w", redislanes.ErrNotSent), notSent},
		{"closed", redislanes.ErrClosed, notSent},
		{"refused", fmt.Errorf("x: %w", redislanes.ErrRefused), refused},
		{"refused and not sent", errors.Join(redislanes.ErrRefused, redislanes.ErrNotSent), refused},
		{"unknown and not sent", errors.Join(redislanes.ErrUnknownOutcome, redislanes.ErrNotSent), noClass},
		{"unknown and refused", errors.Join(redislanes.ErrUnknownOutcome, redislanes.ErrRefused), noClass},
		{"a bare context error", context.DeadlineExceeded, noClass},
		{"another error of the server", errors.New("ERR value is not an integer"), noClass},
	} {
		if got := classify(test.err); got != test.want {
			t.Errorf("%s: class %d, want %d", test.name, got, test.want)
		}
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value, acknowledged, unknown int64
		lossless                     bool
		want                         string
	}{
		{0, 0, 0, true, ""},
		{10, 10, 0, true, ""},
		{12, 10, 2, true, ""},
		{13, 10, 2, true, "k = 13, more than acknowledged 10 + unknown 2"},
		{13, 10, 2, false, "k = 13, more than acknowledged 10 + unknown 2"},
		{9, 10, 2, true, "k = 9, less than acknowledged 10 (unknown 2)"},
		{9, 10, 2, false, ""},
	} {
		got := violation("k", test.value, test.acknowledged, test.unknown, test.lossless)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	var y tally
	for _, c := range []class{acknowledged, acknowledged, unknown, notSent, refused, noClass} {
		y.count(c)
	}
	got := []int64{y.acknowledged.Load(), y.unknown.Load(), y.notExecuted.Load(), y.noClass.Load()}
	if !slices.Equal(got, []int64{2, 1, 2, 1}) {
		t.Errorf("acknowledged, unknown, not executed, in no class: %v", got)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	var all, some findings
	some.addf("a %d", 1)
	some.addf("a %d", 1)
	all.addf("b")
	all.take(&some)
	if got := all.list(); !slices.Equal(got, []string{"b", "a 1 (2 times)"}) {
		t.Errorf("%q", got)
	}
	for i := range maxFindings {
		some.addf("%d", i)
	}
	if got := some.list(); len(got) != maxFindings+1 || got[maxFindings] != "and 1 more" {
		t.Errorf("%d texts, the last %q", len(got), got[len(got)-1])
	}
}
