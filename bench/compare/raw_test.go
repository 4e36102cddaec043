package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/rawfile"
)

func TestRawFilesThatAreNoneAreRefused(t *testing.T) {
	const first, last = `{"start": {"format": 1, "file": "f.yaml", "settings": "{}"}}` + "\n", `{"end": {}}` + "\n"
	for want, text := range map[string]string{
		"line 1: f.yaml: line 1: unknown key bogus":          strings.Replace(first, "{}", "bogus: 1", 1),
		"line 2: is of no kind":                              first + "{}\n" + last,
		"line 2: ":                                           first + `{"turn": {"phases": [{"Reads": "nonsense"}]}}` + "\n" + last,
		`line 2: the settings have no run "x"`:               first + `{"turn": {"run": "x"}}` + "\n" + last,
		`line 2: the run "mixed_10keys" has no endpoint "x"`: first + `{"turn": {"run": "mixed_10keys", "endpoint": "x"}}` + "\n" + last,
	} {
		name := filepath.Join(t.TempDir(), "test.jsonl")
		w, err := rawfile.Create(name)
		require.NoError(t, err)
		for l := range strings.Lines(text) {
			require.NoError(t, w.Write(json.RawMessage(l)))
		}
		require.NoError(t, w.Close())
		_, err = readRaw(name)
		require.ErrorContains(t, err, "test.jsonl: "+want)
	}
}
