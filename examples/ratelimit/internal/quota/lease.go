package quota

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// leaseScript renews the lease of an instance. KEYS[1] is a hash that has, for each instance, the
// amount of its lease, the amount it wants, its clients, the end of its lease in milliseconds of the
// server's clock, and the number of its last call. ARGV has the instance, the amount that it cannot give
// up, the amount that it wants, its clients, the limit, how long the lease is to last (0 gives it back),
// and the number of the call. The reply has the amount that is leased, the one that the instance should
// come to if it is less, and 1 if there is no other entry. A call that runs after a later one changes nothing. The leases are at most
// the limit together, unless instances hold more, after the limit was lowered or Redis has lost a
// write.
//
// An entry without clients has what was spent. Nobody can lease it until it ends. A call adds to it,
// once if it is repeated with its number.
var leaseScript = pipeline.NewScript(`
local id, held, want, clients = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local limit, ttl, number = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all, others, left, ends, last = redis.call("HGETALL", KEYS[1]), 0, limit, now + ttl, now + ttl
local alone = 1
local own = {id = id, want = want, clients = clients}
local wants, weight = {own}, clients
for i = 1, #all, 2 do
  local amount, wanted, n, till, last_number = string.match(all[i + 1], "^(%d+) (%d+) (%d+) (%d+) (%d+)$")
  local later = last_number and tonumber(last_number) - number
  if all[i] == id and later and (clients > 0 and later > 0 or clients == 0 and later == 0) then
    return {0, 0, 0} -- nobody waits for it, or it was added before
  elseif not till or tonumber(till) <= now then
    redis.call("HDEL", KEYS[1], all[i])
  else
    last = math.max(last, tonumber(till))
    if all[i] ~= id then
      others, alone = others + amount, 0
      if tonumber(n) == 0 then
        left = left - amount
      else
        wants[#wants + 1] = {id = all[i], want = tonumber(wanted), clients = tonumber(n)}
        weight = weight + n
      end
    elseif clients == 0 then
      held, ends = held + amount, math.max(ends, tonumber(till))
    end
  end
end
if ttl == 0 then
  redis.call("HDEL", KEYS[1], id)
  return {0, 0, 0}
end
local target = 0
if clients > 0 then
  -- Max-min fairness among clients. What nobody wants is divided evenly. The parts add up, since each
  -- instance rounds the sums of all parts before its own and with it, in the order of their names.
  table.sort(wants, function(a, b) return a.want * b.clients < b.want * a.clients end)
  local whole, short = weight, nil
  for k, w in ipairs(wants) do
    if w.want * weight > left * w.clients then
      short, whole = k, weight
      break
    end
    left, weight = left - w.want, weight - w.clients
  end
  local before, divides = 0, not short
  for k = short or 1, #wants do
    if wants[k] == own then divides = true end
    if wants[k].id < id then before = before + wants[k].clients end
  end
  target = short and divides and 0 or want
  if divides then
    target = target + math.floor(left * (before + clients) / whole) - math.floor(left * before / whole)
  end
end
local amount = math.max(held, math.min(target, limit - others), 0)
redis.call("HSET", KEYS[1], id, string.format("%d %d %d %d %d", amount, want, clients, ends, number))
redis.call("PEXPIREAT", KEYS[1], last)
return {amount, target, alone}
`)

// A lease is what an instance asks Redis for, and what it gets.
type lease struct {
	key               string
	of                string // the instance, or what it has spent
	held, want, limit int64
	clients           int64         // at least 1; 0 for spent hits
	ttl               time.Duration // 0 gives it back
	ends              time.Time     // of spent hits
	number            int64         // of the call

	amount, target int64
	alone          bool // no other instance has had some in the last window
	err            error
}

// renew asks for the leases in one pipeline. Calls of an instance have rising numbers.
func renew(ctx context.Context, client *cluster.Client, leases []*lease) {
	p := pipeline.New(client)
	replies := make([]pipeline.Reply, len(leases))
	for i, l := range leases {
		// It takes microseconds, and must not queue behind scripts that do not.
		replies[i] = p.Eval(leaseScript, []string{l.key}, l.of,
			number(l.held), number(l.want), number(l.clients), number(l.limit), number(l.ttl.Milliseconds()), number(l.number)).Fast()
	}
	_ = p.Do(ctx) // each reply has its error
	for i, l := range leases {
		var n []int64
		switch l.err = replies[i].Into(&n); {
		case l.err != nil:
		case len(n) != 3:
			l.err = fmt.Errorf("quota: the reply of the script has %d numbers, want 3", len(n))
		default:
			l.amount, l.target, l.alone = n[0], n[1], n[2] == 1
		}
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
