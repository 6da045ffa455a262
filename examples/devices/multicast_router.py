"""Forwards the multicast packets of one sender between two interfaces, IPv4 and IPv6, until it is stopped: what a routing daemon would
ask of the kernel, as fixed entries of its tables.

  multicast_router.py FROM TO SOURCE4 GROUP4 SOURCE6 GROUP6
"""

import signal
import socket
import struct
import sys

# Of <linux/mroute.h> and <linux/mroute6.h>.
INIT, ADD_INTERFACE, ADD_ENTRY = 200, 202, 204
USE_INDEX = 8


def forward4(interfaces, source, group):
    """One entry: from interface 0 to interface 1, whatever the packet's time to live."""
    router = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP)
    router.setsockopt(socket.IPPROTO_IP, INIT, 1)
    for number, index in enumerate(interfaces):
        entry = struct.pack("=HBBIi4x", number, USE_INDEX, 1, 0, index)
        router.setsockopt(socket.IPPROTO_IP, ADD_INTERFACE, entry)
    thresholds = bytes([0, 1]) + bytes(30)
    addresses = socket.inet_aton(source) + socket.inet_aton(group)
    entry = addresses + struct.pack("=H32s2xIIIi", 0, thresholds, 0, 0, 0, 0)
    router.setsockopt(socket.IPPROTO_IP, ADD_ENTRY, entry)
    return router


def forward6(interfaces, source, group):
    """The same for IPv6."""
    router = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    router.setsockopt(socket.IPPROTO_IPV6, INIT, 1)
    for number, index in enumerate(interfaces):
        entry = struct.pack("=HBBHxxI", number, 0, 1, index, 0)
        router.setsockopt(socket.IPPROTO_IPV6, ADD_INTERFACE, entry)
    address = lambda text: struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, socket.inet_pton(socket.AF_INET6, text), 0)
    entry = address(source) + address(group) + struct.pack("=Hxx8I", 0, 1 << 1, *[0] * 7)
    router.setsockopt(socket.IPPROTO_IPV6, ADD_ENTRY, entry)
    return router


interfaces = [socket.if_nametoindex(name) for name in sys.argv[1:3]]
# The kernel forgets the entries with the socket.
routers = forward4(interfaces, *sys.argv[3:5]), forward6(interfaces, *sys.argv[5:7])
print("ready", flush=True)
signal.pause()
