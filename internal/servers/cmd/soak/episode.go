package main

import (
	"context"
	"fmt"
	"time"
)

// An episode is a time of faults with keys of its own.
type episode struct {
	*soak
	number   int
	plan     *plan
	load     *load
	lossless bool // Redis cannot have lost an acknowledged write so far
	view     view // when it was last looked at
}

func (s *soak) newEpisode(number int) *episode {
	keys := make([]string, s.settings.allKeys())
	for i := range keys {
		keys[i] = fmt.Sprintf("{%s}:%d:%d", s.tags[i%len(s.tags)], number, i/len(s.tags))
	}
	return &episode{
		soak: s, number: number, plan: newPlan(s.settings.seed, number, s.settings), lossless: true,
		load: &load{settings: s.settings, began: s.began, keys: keys, during: &s.during, givenUp: &s.givenUp, findings: &s.findings},
	}
}

// run keeps up the load and injects faults until the time comes, and checks the
// keys. The error says that the run cannot go on.
func (e *episode) run(ctx context.Context, until time.Time) error {
	kind := "lossless"
	if e.plan.lossy {
		kind = "lossy"
	}
	e.logf("episode %d, %s", e.number, kind)
	e.report.Episodes[kind]++
	var err error
	if e.view, err = e.look(); err != nil {
		return err
	}
	e.load.start(e.client, e.settings.seed<<16+uint64(e.number))
	e.served(e.load.keys)
	for err == nil && ctx.Err() == nil && time.Now().Before(until) {
		err = e.disturb(ctx, e.plan.next())
	}
	e.mark("the end of an episode")
	e.load.end()
	e.report.addLoad(e.load)
	if err != nil {
		return err
	}
	if err := e.healthy(); err != nil {
		return err
	}
	if err := e.compare(fault{kind: nothing}, 0); err != nil {
		return err
	}
	return e.check()
}

// disturb injects one fault, waits until the cluster is healthy and the client
// serves it, and lets the load go on for a while.
func (e *episode) disturb(ctx context.Context, f fault) error {
	if err := e.compare(fault{kind: nothing}, 0); err != nil {
		return err
	}
	fit := e.view.fit(f)
	if len(fit) == 0 {
		return fmt.Errorf("%s: no node is fit for it: primaries of the nodes: %v", f, e.view.primary)
	}
	node := fit[f.pick%len(fit)]
	where := fmt.Sprintf("%s, node %d %s (%s)", f, node, e.cluster.Nodes()[node].Addr(), roleOf(e.view, node))
	if f.kind == reshard {
		where = f.String()
	}
	if e.lossless && f.mayLose(e.settings.nodeTimeout) {
		e.lossless = false
		e.strictFindings() // until now
	}
	e.mark(where)
	e.report.Faults[f.kind]++
	began := time.Now()
	failed := e.inject(ctx, f, e.view, node, e.load.keys)
	took := time.Since(began)
	if failed != nil {
		e.logf("%s FAILED: %v", where, failed)
		e.report.FaultErrors = append(e.report.FaultErrors, fmt.Sprintf("%s: %v", where, failed))
	}
	if err := e.healthy(); err != nil {
		return fmt.Errorf("after %s: %w", where, err)
	}
	healthy := time.Since(began) - took
	served := e.served(e.load.keys)
	e.report.recovered(served, where)
	e.logf("%s: took %s, healthy after %s, served after %s", where, short(took), short(healthy), short(served))
	e.mark("the time after " + where)
	if err := e.compare(f, node); err != nil {
		return err
	}
	pass(ctx, f.quiet)
	return nil
}

func roleOf(v view, node int) string {
	if v.primary[node] == node {
		return "primary"
	}
	return "replica"
}

// compare looks at the cluster again, and notices a failover that the fault was
// not meant to cause.
func (e *episode) compare(f fault, node int) error {
	after, err := e.look()
	if err != nil {
		return err
	}
	before := e.view
	e.view = after
	if what := unexpected(before, after, f, node); e.lossless && what != "" {
		e.lossless = false
		what = fmt.Sprintf("episode %d, after %s: %s: acknowledged writes may be lost", e.number, f, what)
		e.logf("UNEXPECTED FAILOVER, %s", what)
		e.report.Unexpected = append(e.report.Unexpected, what)
	}
	return nil
}

// strictFindings reports what was found while nothing could be lost.
func (e *episode) strictFindings() {
	for _, text := range e.load.strict.list() {
		e.logf("FINDING, %s", text)
	}
	e.findings.take(&e.load.strict)
}

func (e *episode) look() (view, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	return look(ctx, e.cluster.Nodes())
}

// check compares what Redis holds with what the callers were told.
func (e *episode) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	found, err := values(ctx, e.cluster.Nodes(), e.load.keys)
	if err != nil {
		return err
	}
	violations := 0
	var lost int64
	for i, key := range e.load.keys {
		acknowledged, unknown := e.load.tallies[i].told()
		lost += max(0, acknowledged-found[i])
		if v := violation(key, found[i], acknowledged, unknown, e.lossless); v != "" {
			violations++
			v = fmt.Sprintf("episode %d: %s", e.number, v)
			e.logf("VIOLATION, %s", v)
			e.report.Violations = append(e.report.Violations, v)
		}
	}
	e.report.KeysChecked += len(found)
	bound := "upper bound"
	if e.lossless {
		bound = "both bounds"
		e.report.KeysBothBounds += len(found)
		e.strictFindings()
	}
	e.logf("episode %d: %d keys checked, %s, %d violations; at least %d acknowledged writes lost by Redis", e.number, len(found), bound, violations, lost)
	e.report.Lost += lost
	return nil
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
