package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile begins what the flags ask for; stop writes it.
func (p *peers) profile() (stop func() error, err error) {
	if p.memProfile != "" {
		runtime.MemProfileRate = 1 // every allocation: rates and CPU of such a run mean nothing
	}
	var cpu *os.File
	if p.cpuProfile != "" {
		if cpu, err = os.Create(p.cpuProfile); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(cpu); err != nil {
			return nil, err
		}
	}
	return func() error {
		if cpu != nil {
			pprof.StopCPUProfile()
			if err := cpu.Close(); err != nil {
				return err
			}
		}
		return p.writeHeap()
	}, nil
}

func (p *peers) writeHeap() error {
	if p.memProfile == "" {
		return nil
	}
	file, err := os.Create(p.memProfile)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("heap").WriteTo(file, 0), file.Close())
}
