package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redislanes/redislanes"
)

// A class is what a caller was told of a command.
type class uint8

const (
	acknowledged class = iota
	unknown
	notSent
	refused
	noClass // none of the above, or executed and not executed at once
	classes
)

// classify tells the class of a command by its error.
func classify(err error) class {
	isUnknown, isNotSent, isRefused := errors.Is(err, redislanes.ErrUnknownOutcome), errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused)
	switch {
	case err == nil:
		return acknowledged
	case isUnknown == (isNotSent || isRefused):
		return noClass
	case isUnknown:
		return unknown
	case isRefused:
		return refused
	}
	return notSent
}

// A tally is what the callers were told of the INCRBY 1 of one key.
type tally struct {
	acknowledged, unknown, notExecuted, noClass atomic.Int64
}

func (t *tally) count(c class) {
	switch c {
	case acknowledged:
		t.acknowledged.Add(1)
	case unknown:
		t.unknown.Add(1)
	case notSent, refused:
		t.notExecuted.Add(1)
	default:
		t.noClass.Add(1)
	}
}

// told returns the parts of the invariant. Commands in no class count as unknown
// here: they are a finding of their own.
func (t *tally) told() (acknowledged, unknown int64) {
	return t.acknowledged.Load(), t.unknown.Load() + t.noClass.Load()
}

// violation compares a key's value with what the callers were told; "" if it
// can be.
func violation(key string, value, acknowledged, unknown int64, lossless bool) string {
	switch {
	case value > acknowledged+unknown:
		return fmt.Sprintf("%s = %d, more than acknowledged %d + unknown %d: something was executed twice, or although it was reported as not executed", key, value, acknowledged, unknown)
	case lossless && value < acknowledged:
		return fmt.Sprintf("%s = %d, less than acknowledged %d (unknown %d), although no failover could lose writes", key, value, acknowledged, unknown)
	}
	return ""
}

// findings are texts with how often each was found, in order. The zero value
// is empty.
type findings struct {
	mu     sync.Mutex
	texts  []string
	counts map[string]int
	more   int // found when there was no room for more texts
}

const maxFindings = 50

func (f *findings) addf(format string, args ...any) { f.add(fmt.Sprintf(format, args...), 1) }

func (f *findings) add(text string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = make(map[string]int)
	}
	if f.counts[text] == 0 {
		if len(f.texts) == maxFindings {
			f.more += n
			return
		}
		f.texts = append(f.texts, text)
	}
	f.counts[text] += n
}

// take adds what others holds.
func (f *findings) take(others *findings) {
	others.mu.Lock()
	defer others.mu.Unlock()
	for _, text := range others.texts {
		f.add(text, others.counts[text])
	}
	if others.more > 0 {
		f.add("more of the same", others.more)
	}
}

// list returns the texts with their counts.
func (f *findings) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	texts := slices.Clone(f.texts)
	for i, text := range texts {
		if n := f.counts[text]; n > 1 {
			texts[i] = fmt.Sprintf("%s (%d times)", text, n)
		}
	}
	if f.more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", f.more))
	}
	return texts
}
