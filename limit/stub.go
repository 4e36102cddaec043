package limit

import "context"

type Reservation struct{}

func (l *Limiter) Reserve(ctx context.Context, requests ...Request) (*Reservation, Result) {
	return nil, Result{}
}
func (r *Reservation) Settle(ctx context.Context, actual ...int64) error   { return nil }
func (r *Reservation) Cancel(ctx context.Context) error                    { return nil }
func (l *Limiter) GiveBack(ctx context.Context, requests ...Request) error { return nil }
