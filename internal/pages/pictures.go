package pages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Draw returns a picture as SVG.
type Draw func(Table) ([]byte, error)

var pictures = regexp.MustCompile(`(?m)^<!-- drawn by (\S+) of ([^:\n]+): (.+) -->\n!\[[^\]\n]*\]\(([^)\s]+\.svg)\)`)

// Redraw draws the program's pictures again in all pages of the folder. It reports which
// files that changed, and writes them unless they are only to be checked.
func Redraw(folder, program string, check bool, draw Draw) (changed []string, err error) {
	names, err := Of(folder)
	if err != nil {
		return nil, err
	}
	done := make(map[string]bool)
	for _, name := range names {
		page, err := os.ReadFile(name)
		if err != nil {
			return changed, err
		}
		for _, m := range pictures.FindAllSubmatch(bytes.ReplaceAll(page, []byte("\r\n"), []byte("\n")), -1) {
			file := filepath.Join(filepath.Dir(name), filepath.FromSlash(string(m[4])))
			if string(m[1]) != program || done[file] {
				continue
			}
			done[file] = true
			differs, err := redraw(file, check, folder, Table{program, strings.Fields(string(m[2])), string(m[3])}, draw)
			if err != nil {
				return changed, fmt.Errorf("%s: %s: %w", name, m[4], err)
			}
			if differs {
				changed = append(changed, file)
			}
		}
	}
	return changed, nil
}

func redraw(file string, check bool, folder string, t Table, draw Draw) (differs bool, err error) {
	var drawn []byte
	text, err := present(folder, func(t Table) (string, error) {
		drawn, err = draw(t)
		return "", err
	})(t)
	if err != nil {
		return false, err
	}
	if text == NotMeasured {
		return false, errors.New("its raw files are not there")
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if bytes.Equal(before, drawn) {
		return false, nil
	}
	if check {
		return true, nil
	}
	return true, os.WriteFile(file, drawn, 0o644)
}
