package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/internal/rules"
	"github.com/redislanes/redislanes/limit"
)

// page returns the text of README.md, envoy.md or operate.md.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// TestPageHasEverySetting: the help has the variables, and the table of settings is complete.
func TestPageHasEverySetting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, err := parse([]string{"-help"}, &out)
	require.ErrorIs(t, err, flags.ErrHelp)
	for _, want := range []string{"--addrs=HOST:PORT,...", "$RATELIMIT_ADDRS", "$RATELIMIT_MAX_WAITERS", "RATELIMIT_PASSWORD", "--grpc-addr=\":8081\""} {
		require.Contains(t, out.String(), want)
	}
	for word := range strings.FieldsSeq(out.String()) {
		if name, ok := strings.CutPrefix(word, "--"); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "[no-]"), "=")
			require.Contains(t, page(t, "operate.md"), "`-"+strings.Trim(name, ".,;")+"`")
		}
	}
}

// TestPageHasEveryMetric: it has those that there are, and no others.
func TestPageHasEveryMetric(t *testing.T) {
	t.Parallel()
	r := launch(t, "-shed")
	r.check("domain=shop&descriptor=user=42")
	text := r.metrics()
	r.end()
	sorted := func(names []string) []string {
		slices.Sort(names)
		return slices.Compact(names)
	}
	var there []string
	for _, m := range regexp.MustCompile(`# TYPE (ratelimit_\w+)`).FindAllStringSubmatch(text, -1) {
		there = append(there, m[1])
	}
	require.Equal(t, sorted(there), sorted(regexp.MustCompile(`\bratelimit_[a-z_]+`).FindAllString(page(t, "operate.md"), -1)))
}

// TestREADMERules: the example of rules matches what the text below it says.
func TestREADMERules(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page(t, "README.md"))[1]
	set, err := rules.Parse(func(r limit.Rule) (*limit.Limit, error) { return r.New(new(limit.Limiter)) }, rules.Source{Name: "README.md", Text: []byte(text)})
	require.NoError(t, err)
	user, free := rules.Entry{Key: "user", Value: "42"}, rules.Entry{Key: "plan", Value: "free"}
	first, _ := set.Match("shop", []rules.Entry{user})
	require.Equal(t, rules.Unit("second"), first.Unit)
	second, _ := set.Match("shop", []rules.Entry{free, user})
	require.Equal(t, limit.SlidingWindow, second.Limit.Rule().Algorithm)
	none, _ := set.Match("shop", []rules.Entry{free})
	require.Nil(t, none)
}

// TestREADMECommands: what it asks with curl is answered as it shows.
func TestREADMECommands(t *testing.T) {
	t.Parallel()
	r := launch(t)
	urls := regexp.MustCompile(`curl -i 'localhost:8080(/check\S+)'`).FindStringSubmatch(page(t, "README.md"))
	require.Len(t, urls, 2)
	code, text := r.get(r.addrs.HTTP + urls[1])
	require.Equal(t, 200, code, text)
	name := regexp.MustCompile(`shop\.plan_free\.user-[0-9a-f]{12}`).FindString(page(t, "README.md"))
	require.Contains(t, r.metrics(), `{limit="`+name+`",outcome="allowed",shadow="false"} 1`)
	r.end()
}
