"use strict"

const every = 1000 // milliseconds between snapshots
const kept = 300 // snapshots
const height = 190
const el = id => document.getElementById(id)
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const dark = matchMedia("(prefers-color-scheme: dark)")

// A Chart draws values by name over time. New names become new lines.
class Chart {
	constructor(id) {
		this.box = el(id)
		this.names = []
		this.rows = []
		new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.box)
		dark.addEventListener("change", () => this.make())
	}

	size() { return {width: Math.max(200, this.box.clientWidth), height} }

	push(time, values) {
		this.rows.push([time, values])
		this.rows.splice(0, this.rows.length - kept)
		const fresh = Object.keys(values).filter(name => !this.names.includes(name))
		if (fresh.length > 0) this.names.push(...fresh.sort())
		if (fresh.length > 0 || !this.plot) this.make()
		else this.plot.setData(this.data())
	}

	data() {
		return [this.rows.map(([time]) => time), ...this.names.map(name => this.rows.map(([, values]) => values[name] ?? null))]
	}

	make() {
		this.plot?.destroy()
		const axis = {stroke: css("--quiet"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line"), width: 1}, font: "12px system-ui, sans-serif"}
		this.plot = new uPlot({
			...this.size(),
			series: [{}, ...this.names.map((name, i) => ({
				label: name, stroke: css(`--series-${i % 7}`), width: 2, dash: i < 7 ? undefined : [6, 4], points: {show: false},
				value: (_, v, i, at) => short(at == null ? this.rows.at(-1)[1][this.names[i - 1]] : v) || "–", // the last one without a cursor
			}))],
			axes: [{...axis, space: 90, values: (_, ticks) => ticks.map(clock)}, {...axis, size: 56, values: (_, ticks) => ticks.map(short)}],
			scales: {y: {range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1]}},
			cursor: {points: {size: 6}},
			hooks: {draw: [plot => marks.forEach((mark, i) => drawMark(plot, mark, i))]},
		}, this.data(), this.box)
	}
}

// marks are what has happened to the cluster: times, texts, and whether it is bad.
const marks = []

// Texts of marks one after the other are at different heights.
function drawMark(plot, {time, text, bad}, i) {
	const {ctx, bbox} = plot, x = plot.valToPos(time, "x", true)
	if (x < bbox.left || x > bbox.left + bbox.width) return
	ctx.save()
	ctx.strokeStyle = ctx.fillStyle = css(bad ? "--bad" : "--quiet")
	ctx.setLineDash([4, 4])
	ctx.beginPath()
	ctx.moveTo(x, bbox.top)
	ctx.lineTo(x, bbox.top + bbox.height)
	ctx.stroke()
	ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
	ctx.textAlign = x > bbox.left + bbox.width / 2 ? "right" : "left"
	ctx.fillText(` ${text} `, x, bbox.top + (12 + 14 * (i % 3)) * devicePixelRatio)
	ctx.restore()
}

// mark notes nodes that went down or came back, and slots that moved.
function mark(now, before) {
	const was = new Map(before.pools.map(p => [p.node + p.role, p.state]))
	for (const p of now.pools) {
		const state = was.get(p.node + p.role)
		if (state && state !== p.state) marks.push({time: now.time, text: `${p.node} ${p.state}`, bad: p.state === "down"})
	}
	if (now.moved.slots > before.moved.slots && marks.at(-1)?.text !== "slots moved") marks.push({time: now.time, text: "slots moved"})
	marks.splice(0, marks.length - 20)
}

const clock = seconds => new Date(seconds * 1000).toLocaleTimeString([], {hour12: false})

// short writes a number with about three digits.
function short(v) {
	if (v == null) return ""
	const a = Math.abs(v)
	if (a >= 1e6) return (v / 1e6).toPrecision(3) + "M"
	if (a >= 1e4) return (v / 1e3).toPrecision(3) + "k"
	return String(a >= 100 ? Math.round(v) : Number(v.toPrecision(3)))
}

// parse reads metrics in the text format of Prometheus.
function parse(text) {
	return text.split("\n").filter(line => line && line[0] !== "#").map(line => {
		const [, name, labels, value] = line.match(/^(\w+)(?:\{(.*)\})? (\S+)/)
		const pairs = [...(labels ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text])
		return {name, labels: Object.fromEntries(pairs), value: Number(value)}
	})
}

// sums are what is added up by name: [to, name] of a counter's labels, or nothing.
const sums = {
	redislanes_limit_decisions_total: l => ["decisions", l.outcome],
	redislanes_limit_hits_total: l => ["hits", l.hits],
	redislanes_limit_duration_seconds_bucket: l => ["latency", l.le],
	redislanes_redirects_total: l => l.kind === "moved" && ["moved", "slots"],
	redislanes_error_replies_total: l => ["errors", `reply ${l.code}`],
	redislanes_dials_total: l => l.result === "error" && ["errors", "failed dials"],
	redislanes_pool_exhausted_total: () => ["errors", "pool exhausted"],
	ratelimit_requests_total: l => /^(Unavailable|Internal|Unknown|5.*)$/.test(l.code) && ["errors", `answer ${l.code}`], // no decision, and not the client's mistake
	ratelimit_shed_total: () => ["errors", "shed"],
	ratelimit_quota_lease_failures_total: () => ["errors", "leases not renewed"],
}
const figures = {
	redislanes_pool_open_connections: "open", redislanes_pool_max_connections: "most", redislanes_pool_in_flight_batches: "in_flight",
	redislanes_pool_waiters: "waiters", redislanes_pool_saturation_ratio: "saturation", redislanes_pool_down: "down",
}
const always = ["allowed", "denied", "counted"] // most other outcomes and errors never happen, and have no line until then

// snapshot picks what the page draws. Counters count from the start of the process.
function snapshot(text) {
	const s = {time: Date.now() / 1000, decisions: {}, hits: {}, latency: {}, moved: {slots: 0}, errors: {}}
	const pools = {}
	for (const {name, labels, value} of parse(text)) {
		const sum = sums[name]?.(labels)
		if (sum && (value > 0 || sum[0] === "latency" || always.includes(sum[1]))) s[sum[0]][sum[1]] = (s[sum[0]][sum[1]] ?? 0) + value
		if (figures[name]) (pools[`${labels.role} ${labels.node}`] ??= {node: labels.node, role: labels.role})[figures[name]] = value
	}
	s.pools = Object.keys(pools).sort().map(key => ({...pools[key], state: pools[key].down > 0 ? "down" : "up"}))
	s.latency = Object.entries(s.latency).map(([le, count]) => ({seconds: Number(le) || 0, count})).sort((a, b) => (a.seconds || Infinity) - (b.seconds || Infinity))
	return s
}

// rates are the differences of counters by second. A process that has restarted counts
// from 0 again.
function rates(now, before, seconds) {
	const all = {}
	for (const [name, count] of Object.entries(now)) all[name] = Math.max(0, count - (before[name] ?? 0)) / seconds
	return all
}

// percentile estimates a latency in milliseconds from what the buckets have gained. The last
// bucket has no bound (0): its figure is the bound of the one before.
function percentile(now, before, share) {
	const gained = now.map((b, i) => b.count - (before[i]?.count ?? 0))
	const all = gained.at(-1)
	if (!(all > 0)) return null
	const wanted = share * all
	const i = gained.findIndex(count => count >= wanted)
	const low = i > 0 ? now[i - 1].seconds : 0, below = i > 0 ? gained[i - 1] : 0
	const high = now[i].seconds || low
	return 1000 * (low + (high - low) * (wanted - below) / Math.max(1e-9, gained[i] - below))
}

const charts = Object.fromEntries(["decisions", "latency", "flight", "hits", "errors"].map(id => [id, new Chart(id)]))
const sum = values => Object.values(values).reduce((a, b) => a + b, 0)

function draw(now, before) {
	const seconds = now.time - before.time
	if (seconds <= 0) return
	const decisions = rates(now.decisions, before.decisions, seconds)
	const errors = rates(now.errors, before.errors, seconds)
	const p99 = percentile(now.latency, before.latency, 0.99)
	mark(now, before)
	charts.decisions.push(now.time, decisions)
	charts.latency.push(now.time, {P50: percentile(now.latency, before.latency, 0.5), P99: p99})
	charts.flight.push(now.time, Object.fromEntries(now.pools.map(p => [`${p.node} ${p.role}`, p.in_flight])))
	charts.hits.push(now.time, rates(now.hits, before.hits, seconds))
	charts.errors.push(now.time, errors)
	const all = sum(decisions)
	const share = of => all > 0 ? short(100 * sum(Object.fromEntries(Object.entries(decisions).filter(([outcome]) => outcome.startsWith(of)))) / all) + " %" : "–"
	el("rate").textContent = short(all)
	el("denied").textContent = share("denied")
	el("without").textContent = share("failed")
	el("without").className = ["0 %", "–"].includes(share("failed")) ? "" : "bad"
	el("p99").textContent = p99 == null ? "–" : short(p99) + " ms"
	el("failing").textContent = short(sum(errors))
}

function pools(all) {
	el("pools").tBodies[0].replaceChildren(...all.map(p => {
		const row = document.createElement("tr")
		row.className = p.state === "up" ? "" : "bad"
		for (const text of [p.node, p.role, p.state, `${p.open} of ${p.most}`, p.in_flight, p.waiters, short(100 * p.saturation) + " %"])
			row.insertCell().textContent = text
		return row
	}))
}

let before = null

async function step() {
	try {
		const reply = await fetch("../metrics")
		if (!reply.ok) throw new Error(`${reply.status}: ${await reply.text()}`)
		const now = snapshot(await reply.text())
		pools(now.pools)
		if (before) draw(now, before)
		before = now
		el("state").className = ""
		el("state").textContent = clock(now.time)
	} catch (err) {
		el("state").className = "bad"
		el("state").textContent = `no data: ${err.message}`
	}
	setTimeout(step, every)
}
step()
