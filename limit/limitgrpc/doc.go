// Package limitgrpc has interceptors that ask a limit.Limiter, or take a place of a
// places.Semaphore, before a gRPC server calls its handlers.
//
// It is a module of its own, whose versions are tagged limit/limitgrpc/vX.Y.Z, so that
// programs which use package limit without gRPC do not depend on it.
package limitgrpc
