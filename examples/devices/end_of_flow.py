"""Tells the sink again and again that a multicast flow of iperf 2 has ended: iperf itself says so in one datagram, which is lost when
the sink's buffer is full.

  iperf -u … -c GROUP | end_of_flow.py

Reads what iperf prints of its flow, prints it again, and sends from the same address and port.
"""

import re
import socket
import struct
import sys
import time

# A sink with a full buffer takes in less than this what waits there.
EACH, TIMES = 0.01, 100

printed = sys.stdin.read()
print(printed, end="")
flow = re.search(r"local (\S+) port (\d+) connected with ([^\s%]+)\S* port (\d+)", printed)
sent = re.search(r"Sent (\d+) datagrams", printed)
if not flow or not sent:
    sys.exit("iperf didn't say what it sent")
family = socket.AF_INET6 if ":" in flow[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as source:
    source.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
    if family == socket.AF_INET6:
        source.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 8)
    source.bind((flow[1], int(flow[2])))
    source.connect((flow[3], int(flow[4])))
    for _ in range(TIMES):
        # The number of the last datagram, negative: the end. Numbers have 64 bits, their upper half comes last.
        number = 1 - int(sent[1])
        micros = time.time_ns() // 1000
        lower, upper = number & 0xFFFFFFFF, (number >> 32) & 0xFFFFFFFF
        source.send(struct.pack("!IIII", lower, micros // 1_000_000, micros % 1_000_000, upper) + bytes(112))
        time.sleep(EACH)
