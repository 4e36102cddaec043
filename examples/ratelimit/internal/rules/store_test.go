package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
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

// changes requires that the files have changed, without a mistake.
func changes(t *testing.T, s *Store) {
	t.Helper()
	changed, err := s.Reload()
	require.NoError(t, err)
	require.True(t, changed)
}

// TestWatch: a change is seen within a second or so, and told once.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		require.NoError(t, os.WriteFile(path, text(1), 0o600))
		s, err := Open(path, limitOf)
		require.NoError(t, err)
		told := 0
		go s.Watch(t.Context(), func(err error) {
			require.NoError(t, err)
			told++
		})
		time.Sleep(time.Minute)
		replace(t, path, text(2))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, told)
		require.Equal(t, 2, perSecond(s))
	})
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
		s, err := Open(at, limitOf)
		require.NoError(t, err)
		before := perSecond(s)
		version(fmt.Sprintf("..%d", before+1), before+1)
		changes(t, s)
		require.Equal(t, before+1, perSecond(s))
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(dir, limitOf)
	require.EqualError(t, err, dir+": the folder has no file whose name ends in .yaml or .yml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d.yml"), text(1), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".hidden.yaml"), []byte("no rules"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("no rules"), 0o600))
	s, err := Open(dir, limitOf)
	require.NoError(t, err)
	require.Equal(t, 1, s.Set().Domains())
	replace(t, filepath.Join(dir, "e.yaml"), []byte("domain: e\n"))
	changes(t, s)
	require.Equal(t, 2, s.Set().Domains())
}
