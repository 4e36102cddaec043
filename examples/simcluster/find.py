"""Runs hits.wrong or hits.right through random faults of simcluster, one key for each call, and judges the keys.

    python3 find.py http://127.0.0.1:7080 wrong [SEEDS]

It prints the first key that is wrong, and exits with 1. SEEDS is 50 by default.
"""

import concurrent.futures
import itertools
import json
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid

import redis

import hits

CALLERS = 4


class Simcluster:
    """The HTTP interface of simcluster."""

    def __init__(self, url):
        self.url = url

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}/{path}?{urllib.parse.urlencode(query)}") as reply:
            return json.load(reply)

    def make(self, faults):
        """Returns when the last fault has ended."""
        urllib.request.urlopen(f"{self.url}/faults", json.dumps(faults).encode()).close()


def call(client, hit, key):
    """Returns whether the program was told that its hit counted, and when the call began and ended."""
    began = time.monotonic()
    try:
        ok = hit(client, key) is not None
    except redis.RedisError:
        ok = False
    return key, ok, began, time.monotonic()


def run(sim, hit, seed):
    """Makes calls while the faults of the seed last. Returns what is wrong, or None."""
    faults = sim.get("trouble", seed=seed, **{"for": "1s"})
    client = hits.connect(sim.get("nodes")[0]["addr"])
    over = threading.Event()

    def caller(_):
        calls = []
        while not over.is_set():
            calls.append(call(client, hit, str(uuid.uuid4())))
        return calls

    with concurrent.futures.ThreadPoolExecutor(CALLERS) as threads:
        callers = threads.map(caller, range(CALLERS))
        time.sleep(0.2)  # calls are under way when the first fault comes
        began = time.monotonic()
        sim.make(faults)
        over.set()
    client.close()
    for key, ok, start, end in itertools.chain(*callers):
        if wrong := judge(sim.get("key", key=key), ok):
            return f"{key}: {wrong}, from {start - began:.3f}s to {end - began:.3f}s of {json.dumps(faults)}"
    return None


def judge(key, ok):
    value = int(key["value"] or 0)
    if value > 1:
        return f"one call was counted {value} times"
    if ok and value == 0 and not key["lost_writes"]:
        return "a call that ended well was not counted"
    return None


def main(url, name, seeds=50):
    for seed in range(1, int(seeds) + 1):
        if wrong := run(Simcluster(url), getattr(hits, name), seed):
            sys.exit(f"seed {seed}: {wrong}")
    print(f"nothing found in {seeds} seeds")


if __name__ == "__main__":
    main(*sys.argv[1:])
