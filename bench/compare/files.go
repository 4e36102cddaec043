package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redislanes/redislanes/bench/compare/internal/page"
	"github.com/redislanes/redislanes/bench/compare/internal/plot"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// files are where the report goes.
type files struct {
	all    []output
	page   string   // of tables and plots; empty for none
	raw    *os.File // nil: none
	folder string   // of plots; empty for none
	png    bool
}

// An output is one file of the report.
type output struct {
	flag  string
	file  *os.File
	write func(*report.Report, io.Writer) error
}

// create opens what the flags name before anything is measured, so that a name
// which cannot be written to is known at once. What a file holds stays until
// write.
func (o options) create() (*files, error) {
	f := &files{page: o.html, folder: o.plots, png: o.png}
	for _, out := range []struct {
		flag, name string
		write      func(*report.Report, io.Writer) error
	}{{"-json", o.json, (*report.Report).WriteJSON}, {"-html", o.html, page.Write}} {
		if out.name == "" {
			continue
		}
		file, err := os.OpenFile(out.name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", out.flag, err), f.close())
		}
		f.all = append(f.all, output{out.flag, file, out.write})
	}
	if err := tryFolder(f.folder); err != nil {
		return nil, errors.Join(fmt.Errorf("-plots: %w", err), f.close())
	}
	if o.raw != "" {
		file, err := os.Create(o.raw)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("-raw: %w", err), f.close())
		}
		f.raw = file
	}
	return f, nil
}

// tryFolder makes the folder if need be, and a file in it that it takes away
// again.
func tryFolder(name string) error {
	if name == "" {
		return nil
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(name, ".try-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// write replaces what the files hold by the report, and draws the plots.
func (f *files) write(r *report.Report) error {
	var errs []error
	for _, o := range f.all {
		if err := errors.Join(empty(o.file), o.write(r, o.file)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.flag, err))
		}
	}
	if f.folder != "" {
		formats := []string{"svg"}
		if f.png {
			formats = append(formats, "png")
		}
		errs = append(errs, plot.Write(f.folder, formats, r))
	}
	return errors.Join(append(errs, f.close())...)
}

// sayWhere prints where the pictures are.
func (f *files) sayWhere(w io.Writer) {
	if f.page != "" {
		say(w, "tables and plots: %s\n", f.page)
	}
	if f.folder != "" {
		say(w, "plots: %s\n", f.folder)
	}
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
	if f.raw != nil {
		errs = append(errs, f.raw.Close())
	}
	f.all, f.raw = nil, nil
	return errors.Join(errs...)
}
