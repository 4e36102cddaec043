//go:build !unix

package main

type group struct{}

func ownGroup() group { return group{} }

func (group) apart(start func() error) error { return start() }
