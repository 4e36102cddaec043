package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
)

// files are where the report goes.
type files struct {
	all []output
}

type output struct {
	flag  string
	file  *os.File
	write func(*report.Report, io.Writer) error
}

// create opens all files before anything is measured, so that a name which cannot
// be written to is known at once. What a file holds stays until write.
func (s *settings) create() (*files, error) {
	f := &files{}
	for _, o := range []struct {
		flag, name string
		write      func(*report.Report, io.Writer) error
	}{{"-json", s.json, (*report.Report).WriteJSON}, {"-report", s.page, (*report.Report).WriteHTML}} {
		if o.name == "" {
			continue
		}
		file, err := os.OpenFile(o.name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", o.flag, err), f.close())
		}
		f.all = append(f.all, output{o.flag, file, o.write})
	}
	return f, nil
}

// write replaces what the files hold by the report.
func (f *files) write(r *report.Report) error {
	var errs []error
	for _, o := range f.all {
		if err := errors.Join(empty(o.file), o.write(r, o.file)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.flag, err))
		}
	}
	return errors.Join(append(errs, f.close())...)
}

// empty truncates a file; pipes and devices have nothing to truncate.
func empty(file *os.File) error {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return file.Truncate(0)
}

// close closes the files that are open.
func (f *files) close() error {
	var errs []error
	for _, o := range f.all {
		errs = append(errs, o.file.Close())
	}
	f.all = nil
	return errors.Join(errs...)
}
