package load

import (
	"context"
	"fmt"
	"strconv"

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

// prepare sets the keys that the load reads. It goes straight to the cluster,
// past any network between.
func prepare(ctx context.Context, client *cluster.Client, l settings.Load, k *keySet) error {
	w := &writer{ctx: ctx, p: pipeline.New(client)}
	value := text(valueSize)
	for _, key := range k.many {
		w.set(key, value)
	}
	for _, group := range k.group {
		for _, key := range group {
			w.set(key, value)
		}
	}
	small := make([]string, 0, 2*hashFields)
	for i := range hashFields {
		small = append(small, field(i), value)
	}
	for _, key := range k.hashes {
		w.hash(key, small)
	}
	if scenarioOf(l).slow > 0 {
		large := largeHash(int(l.SlowSize))
		for _, key := range k.slow {
			w.hash(key, large)
			w.flush() // these are large
		}
	}
	w.flush()
	if w.err != nil {
		return fmt.Errorf("setting the keys that are read: %w", w.err)
	}
	return nil
}

// largeHash returns fields and values of about so many bytes together.
func largeHash(bytes int) (pairs []string) {
	value := text(slowFieldSize)
	for i := range max(1, bytes/(slowFieldSize+len(field(bytes/slowFieldSize)))) {
		pairs = append(pairs, field(i), value)
	}
	return pairs
}

// A writer sends many commands, some at a time, until the first error.
type writer struct {
	ctx context.Context
	p   *pipeline.Pipeline
	err error
}

func (w *writer) set(key, value string) { w.add("SET", key, value, "EX", preparedTTL) }

func (w *writer) hash(key string, pairs []string) {
	w.add("HSET", anys(append([]string{key}, pairs...))...)
	w.add("EXPIRE", key, preparedTTL)
}

func (w *writer) add(name string, args ...any) {
	w.p.Cmd(name, args...).Idempotent()
	if w.p.Len() >= preparedAtOnce {
		w.flush()
	}
}

func (w *writer) flush() {
	if w.err == nil && w.p.Len() > 0 {
		w.err = w.p.Do(w.ctx)
	}
	w.p.Reset()
}

// preparedAs names what a load reads, so that it is prepared once.
func preparedAs(l settings.Load) string {
	s := scenarioOf(l)
	return strconv.FormatBool(s.slow > 0) + fmt.Sprint(l.Scenario, l.Keys.Number, l.SlowSize)
}
