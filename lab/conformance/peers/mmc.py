# M/M/c: arrivals a second, mean service in seconds, servers, requests, seed.
import json
import random
import sys
import time

import simpy

rate, service = float(sys.argv[1]), float(sys.argv[2])
servers, requests, seed = (int(a) for a in sys.argv[3:6])

dispatched = completed = 0
waited = 0.0


def request(env, pool, services):
    global dispatched, completed, waited
    arrival = env.now
    duration = services.expovariate(1 / service)
    with pool.request() as seat:
        yield seat
        dispatched += 1
        waited += env.now - arrival
        yield env.timeout(duration)
    completed += 1


def source(env, pool):
    gaps, services = random.Random(2 * seed), random.Random(2 * seed + 1)
    for _ in range(requests):
        yield env.timeout(gaps.expovariate(rate))
        env.process(request(env, pool, services))


start = time.perf_counter_ns()
env = simpy.Environment()
env.run(until=env.process(source(env, simpy.Resource(env, capacity=servers))))
elapsed = time.perf_counter_ns() - start

peak = 0
try:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) * 1024
except OSError:
    pass
json.dump({
    "arrived": requests, "completed": completed, "rejected": 0,
    "waiting": requests - dispatched, "executing": dispatched - completed,
    "meanWaitNs": waited / max(1, dispatched) * 1e9,
    "simulatedNs": int(env.now * 1e9), "elapsedNs": elapsed, "peakBytes": peak,
}, sys.stdout)
