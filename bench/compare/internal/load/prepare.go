package load

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

const (
	// preparedTTL lets what a run leaves in a cluster of others go away.
	preparedTTL = "3600"
	// preparedAtOnce is how many commands of preparation travel together.
	preparedAtOnce = 500
	// valueSize is the bytes of values that are read or set.
	valueSize = 100
	// slowFieldSize is the bytes of each field of a large hash.
	slowFieldSize = 1000
)

var value = strings.Repeat("v", valueSize)

// prepare sets the keys that the load reads. It goes straight to the cluster,
// past any network between.
func prepare(ctx context.Context, client *cluster.Client, l settings.Load, k *keySet) error {
	p := pipeline.New(client)
	var failed error
	flush := func() {
		if failed == nil && p.Len() > 0 {
			failed = p.Do(ctx)
		}
		p.Reset()
	}
	add := func(name string, args ...any) {
		p.Cmd(name, args...).Idempotent()
		if p.Len() >= preparedAtOnce {
			flush()
		}
	}
	hash := func(key string, pairs []string) {
		add("HSET", anys(append([]string{key}, pairs...))...)
		add("EXPIRE", key, preparedTTL)
	}
	for _, key := range slices.Concat(k.many, slices.Concat(k.group...)) {
		add("SET", key, value, "EX", preparedTTL)
	}
	for _, key := range k.hashes {
		hash(key, fields(hashFields, valueSize))
	}
	if scenarioOf(l).slow > 0 {
		large := largeHash(int(l.SlowSize))
		for _, key := range k.slow {
			hash(key, large)
			flush() // these are large
		}
	}
	flush()
	if failed != nil {
		return fmt.Errorf("setting the keys that are read: %w", failed)
	}
	return nil
}

// largeHash returns fields and values of about so many bytes together.
func largeHash(bytes int) []string {
	return fields(max(1, bytes/(slowFieldSize+len(field(bytes/slowFieldSize)))), slowFieldSize)
}

// fields returns so many fields with values of so many bytes.
func fields(n, size int) (pairs []string) {
	for i := range n {
		pairs = append(pairs, field(i), strings.Repeat("v", size))
	}
	return pairs
}

// field names a field of a hash.
func field(i int) string { return "field-" + strconv.Itoa(i) }

// preparedAs names what a load reads, so that it is prepared once.
func preparedAs(l settings.Load) string {
	s := scenarioOf(l)
	return strconv.FormatBool(s.slow > 0) + fmt.Sprint(l.Scenario, l.Keys.Number, l.SlowSize)
}
