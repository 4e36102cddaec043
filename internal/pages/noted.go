package pages

import (
	"bytes"
	"fmt"
	"regexp"
)

var (
	notes = regexp.MustCompile(`(?m)^<!-- (value|ratio|(?:least|most) of [0-9]+) by (\S+) of ([^:\n]+): ([^\n]+?) -->\n`)
	bold  = regexp.MustCompile(`\*\*[^*\n]+\*\*`)
)

// fillNotes replaces the figures whose comments stand on lines above their paragraph.
func fillNotes(text []byte, program string, tables Make) (filled []byte, made int, err error) {
	var open [][][]byte // comments without a figure so far
	for line := range bytes.Lines(text) {
		if note := notes.FindSubmatch(line); note != nil {
			open, filled = append(open, note), append(filled, line...)
			continue
		}
		if err == nil && len(open) > 0 && len(bytes.TrimSpace(line)) == 0 {
			return nil, 0, fmt.Errorf("%q: its paragraph has no figure in bold for it", open[0][0])
		}
		filled = append(filled, bold.ReplaceAllFunc(line, func(figure []byte) []byte {
			if len(open) == 0 || err != nil {
				return figure
			}
			note := open[0]
			if open = open[1:]; string(note[2]) != program {
				return figure
			}
			made++
			text, failed := Figure(string(note[1]), program, string(note[3]), string(note[4]), tables)
			if failed != nil {
				err = fmt.Errorf("%q: %w", note[0], failed)
			}
			return []byte("**" + text + "**")
		})...)
	}
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("%q: its paragraph has no figure in bold for it", open[0][0])
	}
	return filled, made, err
}
