package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// Scenarios are the names of all scenarios, as package load knows them.
var Scenarios = []string{
	"fixed_key", "variable_key", "mixed", "mixed_2keys", "mixed_10keys", "read_write", "shop", "dashboard", "head_of_line",
}

// tagged scenarios have hash tags to switch on: their requests are of several
// keys, or of one, that may be one user's.
var tagged = []string{"fixed_key", "variable_key", "mixed", "mixed_2keys", "mixed_10keys"}

// most is a bound that only catches slips of the finger.
const most = 100_000

// validate reports every value that cannot be.
func (l *Load) validate() error {
	var errs []error
	want := func(ok bool, key string, value any, text string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s %v: want %s", key, value, text))
		}
	}
	oneOf := func(key, value string, names ...string) {
		want(slices.Contains(names, value), key, value, "one of "+strings.Join(names, ", "))
	}
	between := func(key string, value, least, most float64) {
		want(value >= least && value <= most, key, value, fmt.Sprintf("%v to %v", least, most))
	}
	oneOf("scenario", l.Scenario, Scenarios...)
	oneOf("group", l.Group, byNode, bySlot)
	oneOf("fan_out", l.FanOut, async, sequential, goroutines)
	oneOf("keys.distribution", l.Keys.Distribution, uniform, zipf)
	for _, p := range l.Phases() {
		between("callers", float64(p.Callers), 1, most)
		want(p.For.Duration >= time.Millisecond, "duration", p.For, "1ms or more")
	}
	between("rounds", float64(l.Rounds), 1, 1000)
	between("rate", l.Rate, 0, 1e7)
	between("sla.share", l.SLA.Share, 0.01, 1)
	between("keys", float64(l.Keys.Number), 1, 1e7)
	between("keys.skew", l.Keys.Skew, 1.01, 10)
	want(l.SlowShare <= 1, "slow_share", l.SlowShare, "0 to 1")
	between("slow_size", float64(l.SlowSize), 1000, 1e8)
	between("primaries", float64(l.Primaries), 1, 8)
	want(l.Rate == 0 || len(l.Steps) == 0, "rate", l.Rate, "no steps with it: they are of a closed loop")
	want(l.FanOut != goroutines || slices.Contains(tagged, l.Scenario), "fan_out", l.FanOut, "a scenario of a rate limiter")
	want(!l.HashTags || slices.Contains(tagged, l.Scenario), "hash_tags", true, "a scenario of a rate limiter")
	if l.Scenario == "mixed" {
		between("keys_per_request", float64(l.KeysPerRequest), 2, 1000)
	} else {
		want(l.KeysPerRequest == 0, "keys_per_request", l.KeysPerRequest, "none: it is of the scenario mixed")
	}
	if err := l.Pool.validate(); err != nil {
		errs = append(errs, err)
	} else if err := (cluster.Config{Pool: l.Pool.Config()}).Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
