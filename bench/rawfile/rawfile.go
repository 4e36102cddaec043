// Package rawfile writes and reads raw files: what was measured, as lines of JSON.
//
// The first line says where and with what, under "start". A line with "end" says that the
// measurement has ended. The last line has the hash of all lines before it, so that a file
// that was edited is found. A file whose name ends with .gz is compressed.
package rawfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/machine"
)

// Format is the version of the lines.
const Format = 1

// A Start is what each first line has. Programs add what they need.
type Start struct {
	Format  int             `json:"format"`
	Machine machine.Machine `json:"machine"`
}

// NewStart describes this machine. Call it before a raw file is written: a file that is
// written again is a change to the commit.
func NewStart() Start { return Start{Format, machine.This()} }

// Source says where figures are from.
func Source(m machine.Machine) string {
	return fmt.Sprintf("%s, commit %s, %s/%s, %d CPUs (%s), %s", m.Date.UTC().Format(time.DateTime), m.Commit, m.OS, m.Arch, m.CPUs, m.CPU, m.Go)
}

// A Writer writes lines. A nil one does nothing.
type Writer struct {
	file *os.File
	zip  *gzip.Writer // nil: as it is
	to   io.Writer
	sum  hash.Hash
	err  error // the first one
}

// Create opens a file before anything is measured, so that a name which cannot be written to
// is known at once. Without a name there is no writer.
func Create(name string) (*Writer, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("-raw: %w", err)
	}
	w := &Writer{file: file, to: file, sum: sha256.New()}
	if strings.HasSuffix(name, ".gz") {
		w.zip, _ = gzip.NewWriterLevel(file, gzip.BestCompression) // the level exists
		w.to = w.zip
	}
	return w, nil
}

// Write adds a line. It returns the first error of all.
func (w *Writer) Write(line any) error {
	if w == nil || w.err != nil {
		return w.failed()
	}
	w.err = json.NewEncoder(io.MultiWriter(w.to, w.sum)).Encode(line)
	return w.failed()
}

func (w *Writer) failed() error {
	if w == nil || w.err == nil {
		return nil
	}
	return fmt.Errorf("-raw: %w", w.err)
}

// A seal is the last line.
type seal struct {
	SHA256 string `json:"sha256"`
}

// Close adds the line with the hash and closes the file. It returns the first error of all.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	_ = w.Write(seal{hex.EncodeToString(w.sum.Sum(nil))}) // kept in w.err
	if w.zip != nil {
		w.err = errors.Join(w.err, w.zip.Close())
	}
	w.err = errors.Join(w.err, w.file.Close())
	return w.failed()
}

// content returns what a file holds, uncompressed.
func content(name string) (text []byte, err error) {
	err = with(name, func(from io.Reader) error {
		text, err = io.ReadAll(from)
		return err
	})
	return text, err
}

// with reads a file, uncompressed.
func with(name string, read func(io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	from := io.Reader(file)
	if strings.HasSuffix(name, ".gz") {
		if from, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := read(from); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// unseal returns what a file holds without the last line. It is an error if that has not the hash of all lines before it.
func unseal(text []byte) ([]byte, error) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	var last seal
	if json.Unmarshal(text[at:], &last) != nil || last.SHA256 == "" {
		return nil, errors.New("has no hash in its last line: it is no raw file, or the measurement did not end; measure again")
	}
	if sum := sha256.Sum256(text[:at]); hex.EncodeToString(sum[:]) != last.SHA256 {
		return nil, errors.New("was edited: its last line has the hash of another text")
	}
	return text[:at], nil
}

// A frame is what the lines of all programs have.
type frame struct {
	Start *Start
	End   json.RawMessage
}

// Read decodes each line of a file but the one with the hash. It refuses a file that was
// edited, and one that has not ended.
func Read[Line any](name string, each func(Line) error) error {
	text, err := content(name)
	if err != nil {
		return err
	}
	text, err = unseal(text)
	if err == nil {
		err = decode(text, each)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func decode[Line any](text []byte, each func(Line) error) error {
	ended := false
	for i, encoded := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var f frame
		var l Line
		err := errors.Join(json.Unmarshal(encoded, &f), json.Unmarshal(encoded, &l))
		switch {
		case err != nil:
		case (i == 0) != (f.Start != nil):
			err = errors.New("want one line of the start, before all others")
		case i == 0 && f.Start.Format != Format:
			err = fmt.Errorf("has format %d: want %d", f.Start.Format, Format)
		default:
			err = each(l)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
		ended = f.End != nil
	}
	if !ended {
		return errors.New("has no last line: the measurement did not end; measure again")
	}
	return nil
}

// Of returns where a file was measured. It reads the first line only.
func Of(name string) (machine.Machine, error) {
	var f frame
	err := with(name, func(from io.Reader) error { return json.NewDecoder(from).Decode(&f) })
	if err == nil && f.Start == nil {
		err = fmt.Errorf("%s: has no line of the start", name)
	}
	if err != nil {
		return machine.Machine{}, err
	}
	return f.Start.Machine, nil
}
