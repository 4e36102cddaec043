package rawfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

type line struct {
	Start *Start `json:"start,omitempty"`
	Row   int    `json:"row,omitempty"`
	End   string `json:"end,omitempty"`
}

func written(t *testing.T, name string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	w, err := Create(name)
	require.NoError(t, err)
	start := NewStart()
	for _, l := range []line{{Start: &start}, {Row: 1}, {Row: 2}, {End: "now"}} {
		require.NoError(t, w.Write(l))
	}
	require.NoError(t, w.Close())
	return name
}

func rows(name string) (all []int, err error) {
	err = Read(name, func(l line) error {
		if l.Row > 0 {
			all = append(all, l.Row)
		}
		return nil
	})
	return all, err
}

// TestAnEditedFileIsRefused changes, takes out and adds a line, in files of both kinds.
func TestAnEditedFileIsRefused(t *testing.T) {
	for _, kind := range []string{"a.jsonl", "a.jsonl.gz"} {
		name := written(t, kind)
		all, err := rows(name)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, all)
		m, err := Of(name)
		require.NoError(t, err)
		require.NotZero(t, m.CPUs)

		text, err := content(name)
		require.NoError(t, err)
		for _, edited := range []string{"", `{"row":3}` + "\n", `{"row":1}` + "\n" + `{"row":1}` + "\n"} {
			plain := filepath.Join(t.TempDir(), "edited.jsonl")
			require.NoError(t, os.WriteFile(plain, bytes.Replace(text, []byte(`{"row":1}`+"\n"), []byte(edited), 1), 0o600))
			_, err = rows(plain)
			require.ErrorContains(t, err, "edited.jsonl: was edited")
		}
	}
}

func TestMistakes(t *testing.T) {
	const start = `{"start":{"format":1}}`
	for _, c := range []struct {
		want  string
		lines []string
	}{
		{"line 1: ", nil},
		{"has no last line: the measurement did not end", []string{start, `{"row":1}`}},
		{"line 1: want one line of the start", []string{`{"row":1}`}},
		{"line 2: want one line of the start", []string{start, start}},
		{"line 1: has format 9: want 1", []string{`{"start":{"format":9}}`}},
		{"line 2: ", []string{start, `{"row":"one"}`}},
	} {
		name := filepath.Join(t.TempDir(), "a.jsonl")
		w, err := Create(name)
		require.NoError(t, err)
		for _, l := range c.lines {
			require.NoError(t, w.Write(json.RawMessage(l)))
		}
		require.NoError(t, w.Close())
		_, err = rows(name)
		require.ErrorContains(t, err, "a.jsonl: "+c.want)
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, text[:len(text)-5], 0o600))
		_, err = rows(name)
		require.ErrorContains(t, err, "a.jsonl: has no hash in its last line")
	}
	_, err := Create(filepath.Join(t.TempDir(), "none", "a.jsonl"))
	require.ErrorContains(t, err, "-raw: ")
	w, err := Create("")
	require.NoError(t, err)
	require.NoError(t, w.Write(1))
	require.NoError(t, w.Close())
}

func TestErrorsOfWriting(t *testing.T) {
	w, err := Create("/dev/full")
	if err != nil {
		t.Skip("needs /dev/full")
	}
	require.ErrorContains(t, w.Write(1), "-raw: ")
	require.ErrorContains(t, w.Close(), "-raw: ")
}
