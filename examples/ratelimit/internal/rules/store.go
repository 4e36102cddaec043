package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// A Store has the set of rules that is in force. Make it with [Open]. Its methods are
// safe for concurrent use.
type Store struct {
	path    string
	limitOf func(limit.Rule) (*limit.Limit, error)
	current atomic.Pointer[Set]

	mu      sync.Mutex // guards what follows: one load at a time
	sources []Source   // of the last load, also of one with a mistake
	mistake error      // of the last load
}

// Open returns a store with the rules in a file, or in all files of a folder whose
// names end in .yaml or .yml and do not begin with a dot.
func Open(path string, limitOf func(limit.Rule) (*limit.Limit, error)) (*Store, error) {
	s := &Store{path: path, limitOf: limitOf}
	_, err := s.Reload()
	return s, err
}

// Fixed returns a store with the rules of one text, which do not change.
func Fixed(source Source, limitOf func(limit.Rule) (*limit.Limit, error)) (*Store, error) {
	s := new(Store)
	set, err := Parse(limitOf, source)
	s.current.Store(set)
	return s, err
}

// Set returns the rules that are in force.
func (s *Store) Set() *Set { return s.current.Load() }

// Reload reads the files again. If they have changed and are right, their rules
// replace those in force, all at once. If there is a mistake, these stay. It reports
// whether the files have changed.
func (s *Store) Reload() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sources, err := read(s.path)
	if err != nil {
		same := s.mistake != nil && s.mistake.Error() == err.Error()
		s.sources, s.mistake = nil, err
		return !same, err
	}
	if s.sources != nil && slices.EqualFunc(sources, s.sources, same) {
		return false, s.mistake
	}
	set, err := Parse(s.limitOf, sources...)
	s.sources, s.mistake = sources, err
	if err != nil {
		return true, err
	}
	s.current.Store(set)
	return true, nil
}

// lookEvery is how often the files are read. Events of a file system would be sooner, but not all send them.
const lookEvery = time.Second

// Watch reloads the files again and again until the context ends. It calls told each time that they had changed, with
// the mistake if there is one. It returns at once if there are no files.
func (s *Store) Watch(ctx context.Context, told func(error)) {
	if s.path == "" {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if changed, err := s.Reload(); changed {
				told(err)
			}
		}
	}
}

func same(a, b Source) bool { return a.Name == b.Name && bytes.Equal(a.Text, b.Text) }

// read returns the files at the path, at least one.
func read(path string) ([]Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, readError(path, err)
	}
	names := []string{path}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, readError(path, err)
		}
		names = names[:0]
		for _, e := range entries { // sorted
			if isRules(e.Name()) {
				names = append(names, filepath.Join(path, e.Name()))
			}
		}
		if len(names) == 0 {
			return nil, &Error{path, 0, "the folder has no file whose name ends in .yaml or .yml"}
		}
	}
	sources := make([]Source, len(names))
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, readError(name, err)
		}
		sources[i] = Source{name, text}
	}
	return sources, nil
}

// isRules reports whether a file of a folder holds rules. Kubernetes keeps its own
// links in names that begin with two dots, and editors keep copies in hidden files.
func isRules(name string) bool {
	ext := filepath.Ext(name)
	return !strings.HasPrefix(name, ".") && (ext == ".yaml" || ext == ".yml")
}

func readError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Error{path, 0, fmt.Sprintf("it cannot be read: %v", err)}
}
