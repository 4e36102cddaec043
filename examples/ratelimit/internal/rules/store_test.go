package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func text(perSecond int) []byte {
	return fmt.Appendf(nil, "domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: second, requests_per_unit: %d}\n", perSecond)
}

func perSecond(s *Store) int {
	rule, _ := s.Set().Match("d", []Entry{{"k", "v"}})
	if rule == nil {
		return -1
	}
	return int(rule.RequestsPerUnit)
}

// watched returns a store that is watched, and what its watcher tells.
func watched(t *testing.T, path string, every ...time.Duration) (*Store, <-chan error) {
	s, err := Open(path, limitOf)
	require.NoError(t, err)
	w, err := s.Watch()
	require.NoError(t, err)
	if len(every) > 0 {
		w.every = every[0]
	}
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan error, 100)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx, func(err error) { told <- err }, func(error) {}) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		require.NoError(t, w.Close())
	})
	return s, told
}

// tells waits until the watcher tells of a mistake, or of new rules if it is "". What
// is written in place may be seen half written before.
func tells(t *testing.T, told <-chan error, want string) {
	t.Helper()
	for late := time.After(10 * time.Second); ; {
		select {
		case err := <-told:
			if err == nil && want == "" || err != nil && err.Error() == want {
				return
			}
		case <-late:
			t.Fatalf("the watcher has not told of %q", want)
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, text(1), 0o600))
	s, told := watched(t, path)
	require.Equal(t, 1, perSecond(s))

	// Replaced, as editors do.
	replace(t, path, text(2))
	tells(t, told, "")
	require.Equal(t, 2, perSecond(s))

	// With a mistake: the rules stay, and the error says where it is.
	replace(t, path, []byte("domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: second}\n"))
	tells(t, told, path+":4: rate_limit has no requests_per_unit: want a number, or unlimited: true")
	require.Equal(t, 2, perSecond(s))

	// Gone, and there again.
	require.NoError(t, os.Remove(path))
	tells(t, told, path+": it cannot be read: no such file or directory")
	require.Equal(t, 2, perSecond(s))
	replace(t, path, text(3))
	tells(t, told, "")
	require.Equal(t, 3, perSecond(s))

	// Written in place.
	require.NoError(t, os.WriteFile(path, text(4), 0o600))
	tells(t, told, "")
	require.Equal(t, 4, perSecond(s))
}

// TestReloadOnlyChanges: what is the same is not read as new, and a mistake is told of
// once.
func TestReloadOnlyChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, text(1), 0o600))
	s, err := Open(path, limitOf)
	require.NoError(t, err)
	before := s.Set()
	for _, c := range []struct {
		text    []byte // nil: there is no file
		changed bool
		wrong   bool
	}{
		{text(1), false, false}, {[]byte("no"), true, true}, {[]byte("no"), false, true}, {[]byte("none"), true, true},
		{nil, true, true}, {nil, false, true}, {[]byte("none"), true, true}, {text(1), true, false}, {text(2), true, false},
	} {
		require.NoError(t, os.RemoveAll(path))
		if c.text != nil {
			require.NoError(t, os.WriteFile(path, c.text, 0o600))
		}
		changed, err := s.Reload()
		require.Equal(t, c.changed, changed, "%s", c.text)
		require.Equal(t, c.wrong, err != nil, "%s: %v", c.text, err)
		if c.wrong {
			require.Same(t, before, s.Set())
		}
	}
	require.Equal(t, 2, perSecond(s))
}

// TestWithout: a domain whose descriptors are all gone is named, whether it is there or not.
func TestWithout(t *testing.T) {
	t.Parallel()
	of := func(texts ...string) *Set {
		var sources []Source
		for i, text := range texts {
			sources = append(sources, Source{Name: fmt.Sprint(i), Text: []byte(text)})
		}
		set, err := Parse(limitOf, sources...)
		require.NoError(t, err)
		return set
	}
	const rule = "\ndescriptors: [{key: k, rate_limit: {unit: second, requests_per_unit: 1}}]\n"
	before := of("domain: b"+rule, "domain: a"+rule, "domain: c"+rule, "domain: empty\n")
	require.Equal(t, []string{"a", "b"}, before.Without(of("domain: a\n", "domain: c"+rule)))
	require.Empty(t, before.Without(before))
}

func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new~", text, 0o600))
	require.NoError(t, os.Rename(path+".new~", path))
}

// TestReloadKubernetes: the files of a ConfigMap are links through another link,
// which is replaced.
func TestReloadKubernetes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := func(name string, perSecond int) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "rules.yaml"), text(perSecond), 0o600))
		require.NoError(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version("..1", 1)
	path := filepath.Join(dir, "rules.yaml")
	require.NoError(t, os.Symlink(filepath.Join("..data", "rules.yaml"), path))
	for _, at := range []string{path, dir} {
		s, told := watched(t, at)
		before := perSecond(s)
		version(fmt.Sprintf("..%d", before+1), before+1)
		tells(t, told, "")
		require.Equal(t, before+1, perSecond(s))
	}
}

// TestFolderReplaced: a folder that was put in the place of another one is watched.
func TestFolderReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "rules")
	path := filepath.Join(dir, "rules.yaml")
	put := func(perSecond int) {
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(path, text(perSecond), 0o600))
	}
	put(1)
	s, told := watched(t, path, 50*time.Millisecond)
	for i := range 3 {
		require.NoError(t, os.Rename(dir, fmt.Sprintf("%s%d", dir, i)))
		tells(t, told, path+": it cannot be read: no such file or directory")
		put(i + 2)
		for perSecond(s) != i+2 { // it may be seen half written
			tells(t, told, "")
		}
	}
}

// TestNoEvents: on a machine that has no events left, changes are seen late.
func TestNoEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, text(1), 0o600))
	s, err := Open(path, limitOf)
	require.NoError(t, err)
	w := &Watcher{store: s, folder: filepath.Dir(path), every: 10 * time.Millisecond, broken: errors.New("too many open files")}
	ctx, cancel := context.WithCancel(t.Context())
	blind, told := make(chan error, 10), make(chan error, 10)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx, func(err error) { told <- err }, func(err error) { blind <- err }) })
	require.ErrorContains(t, <-blind, "too many open files")
	replace(t, path, text(2))
	tells(t, told, "")
	require.Equal(t, 2, perSecond(s))
	cancel()
	running.Wait()
	require.Empty(t, blind, "it is told once")
	require.NoError(t, w.Close())
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(dir, limitOf)
	require.EqualError(t, err, dir+": the folder has no file whose name ends in .yaml or .yml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d.yml"), text(1), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".hidden.yaml"), []byte("no rules"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("no rules"), 0o600))
	s, told := watched(t, dir)
	require.Equal(t, 1, s.Set().Domains())
	replace(t, filepath.Join(dir, "e.yaml"), []byte("domain: e\n"))
	tells(t, told, "")
	require.Equal(t, 2, s.Set().Domains())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	_, err := Open(path, limitOf)
	require.EqualError(t, err, path+": it cannot be read: no such file or directory")
	require.NoError(t, os.WriteFile(path, []byte("domain: d\nno: 1\n"), 0o600))
	_, err = Open(path, limitOf)
	require.ErrorContains(t, err, path+`:2: unknown field "no" of a file`)
}
