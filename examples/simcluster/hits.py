"""Counts hits in a Redis Cluster with redis-py: once with a fault, and once right."""

import uuid

from redis.cluster import RedisCluster


def connect(addr):
    host, port = addr.split(":")
    return RedisCluster(host=host, port=int(port), socket_timeout=0.2)


def wrong(redis, key):
    """redis-py sends INCRBY again when its reply is lost. If the first one has run, the hit is counted twice."""
    return redis.incrby(key, 1)


ONCE = """
if redis.call('SET', KEYS[2], 1, 'NX', 'EX', 3600) then
    redis.call('INCRBY', KEYS[1], 1)
end
return redis.call('GET', KEYS[1])
"""


def right(redis, key):
    """Each hit has an id. The script does nothing if it has seen it."""
    return int(redis.eval(ONCE, 2, key, f"{{{key}}}:{uuid.uuid4()}"))
