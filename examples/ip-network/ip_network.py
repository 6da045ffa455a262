"""Tests of IP through source - filter - router - echo, in the address family of the given addresses.

  ip_network.py echo ADDRESS                answers on TCP and UDP until it is stopped
  ip_network.py filter ADDRESS ECHO         loads rules for ECHO, says on TCP which it has, until it is stopped
  ip_network.py test SOURCE FILTER ROUTER ECHO MTU LARGE
                                            runs the tests on the source, prints TAP
"""

import errno
import random
import signal
import socket
import struct
import subprocess
import sys
import threading

ECHO, WHO, CLOSED, DROPPED, REJECTED, REDIRECTED, RULES = range(7007, 7014)
TABLE = "ip_network_suite"
TIME = 2  # seconds that an answer may take; nothing is further away than some milliseconds
# Hosts limit how many errors they send (RFC 1812, 4.3.2.8): Linux sends six to a host, then one a second (icmp_ratelimit).
ERRORS_TRIED = 3

# Of <linux/in.h> and <linux/in6.h>; Python names few of them.
IP_RECVERR, IP_RECVTTL, IP_TTL, IP_MTU, IP_MTU_DISCOVER = 11, 12, 2, 14, 10
IPV6_RECVERR, IPV6_RECVHOPLIMIT, IPV6_HOPLIMIT, IPV6_MTU, IPV6_MTU_DISCOVER = 25, 51, 52, 24, 23
PMTUDISC_DONT, PMTUDISC_DO = 0, 2
MSG_ERRQUEUE = 0x2000


class Skip(Exception):
    """What a test needs isn't there."""


class Family:
    """What differs between IPv4 and IPv6."""

    def __init__(self, address):
        self.v6 = ":" in address
        self.inet = socket.AF_INET6 if self.v6 else socket.AF_INET
        self.level = socket.IPPROTO_IPV6 if self.v6 else socket.IPPROTO_IP
        self.recverr = IPV6_RECVERR if self.v6 else IP_RECVERR
        self.recvttl = IPV6_RECVHOPLIMIT if self.v6 else IP_RECVTTL
        self.ttl_message = IPV6_HOPLIMIT if self.v6 else IP_TTL
        self.ttl = socket.IPV6_UNICAST_HOPS if self.v6 else IP_TTL
        self.mtu = IPV6_MTU if self.v6 else IP_MTU
        self.discover = IPV6_MTU_DISCOVER if self.v6 else IP_MTU_DISCOVER
        self.headers = 48 if self.v6 else 28
        self.unroutable = "2001:db8::1" if self.v6 else "198.51.100.1"
        self.nft = "ip6" if self.v6 else "ip"

    def udp(self, *peer):
        made = socket.socket(self.inet, socket.SOCK_DGRAM)
        made.settimeout(TIME)
        if peer:
            made.connect(peer)
        return made

    def tcp(self, *peer):
        made = socket.socket(self.inet, socket.SOCK_STREAM)
        made.settimeout(TIME)
        made.connect(peer)
        return made


# The echo host.


def listen(family, address, port, answer):
    """Answers each connection in a thread of its own."""
    server = socket.create_server((address, port), family=family.inet, backlog=16)

    def serve():
        while True:
            client, peer = server.accept()
            threading.Thread(target=answer, args=(client, peer), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def receive(family, address, port, answer):
    """Answers each datagram: with what came, from where, and its TTL."""
    server = socket.socket(family.inet, socket.SOCK_DGRAM)
    server.setsockopt(family.level, family.recvttl, 1)
    server.bind((address, port))

    def serve():
        while True:
            data, ancillary, _, peer = server.recvmsg(65536, 64)
            ttl = [struct.unpack("i", value)[0] for level, kind, value in ancillary
                   if (level, kind) == (family.level, family.ttl_message)]
            server.sendto(answer(data, peer, ttl), peer)

    threading.Thread(target=serve, daemon=True).start()


def echo_stream(client, _):
    with client:
        while data := client.recv(65536):
            client.sendall(data)


def name_stream(client, peer):
    with client:
        client.sendall(peer[0].encode())


def echo(address):
    family = Family(address)
    listen(family, address, ECHO, echo_stream)
    listen(family, address, WHO, name_stream)
    receive(family, address, ECHO, lambda data, _peer, _ttl: data)
    receive(family, address, WHO, lambda _, peer, ttl: f"{peer[0]} {ttl[0]}".encode())
    wait_for_end()


def wait_for_end():
    print("ready", flush=True)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])


# The packet filter.


def rules(family, address, echo_address):
    """Sets of rules, each of which a kernel may lack."""
    nft, port = family.nft, "meta l4proto { tcp, udp } th dport"
    to_echo = f"{nft} daddr {echo_address} {port}"
    host = f"[{echo_address}]" if family.v6 else echo_address
    return {
        "filter": f"""chain forward {{
            type filter hook forward priority 0
            {to_echo} {DROPPED} drop
            {to_echo} {REJECTED} reject with icmpx admin-prohibited
        }}""",
        "source NAT": f"""chain postrouting {{
            type nat hook postrouting priority 100
            {to_echo} {WHO} masquerade
        }}""",
        "destination NAT": f"""chain prerouting {{
            type nat hook prerouting priority -100
            {nft} daddr {address} {port} {REDIRECTED} dnat {nft} to {host}:{WHO}
        }}""",
    }


def load(text):
    """What the kernel says against it, if it lacks something."""
    table = f"table inet {TABLE} {{\n{text}\n}}"
    try:
        subprocess.run(["nft", "-f", "-"], input=table, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        return "no program nft"
    except subprocess.CalledProcessError as error:
        if "Could not process rule" not in error.stderr:
            sys.exit(f"{error.stderr}\n{table}")
        return error.stderr.splitlines()[0]
    return ""


def packet_filter(address, echo_address):
    family = Family(address)
    lacking = {name: load(text) for name, text in rules(family, address, echo_address).items()}
    said = "".join(f"{name}: {why}\n" for name, why in lacking.items() if why).encode()

    def answer(client, _):
        with client:
            client.sendall(said)

    listen(family, address, RULES, answer)
    wait_for_end()


# The tests.


class Tests:
    def __init__(self, source, filter_, router, echo_, mtu, large):
        self.family = Family(echo_)
        self.source, self.filter, self.router, self.echo = source, filter_, router, echo_
        self.mtu, self.large = int(mtu), int(large)
        self.lacking = dict(line.split(": ", 1) for line in self.ask(filter_, RULES).splitlines())

    def ask(self, address, port):
        with self.family.tcp(address, port) as client:
            return read_all(client).decode()

    def need(self, rules_):
        if why := self.lacking.get(rules_):
            raise Skip(f"the filter has no {rules_}: {why}")

    def ping(self, address, size, *options):
        command = ["ping", "-c", "1", "-W", str(TIME), "-s", str(size), *options, address]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            raise AssertionError(f"`{' '.join(command)}`: {(ran.stdout + ran.stderr).strip()}")

    def echoed(self, size, client):
        data = random.Random(size).randbytes(size)
        client.send(data)
        expect("the datagram", client.recv(65536) == data, True)

    def error_after(self, client):
        """The error that comes back for a datagram, by its name, and who says so."""
        client.setsockopt(self.family.level, self.family.recverr, 1)
        found = next(filter(None, (self.error_of(client) for _ in range(ERRORS_TRIED))), None)
        if found is None:
            raise AssertionError("no error came back")
        _, ancillary, _, _ = client.recvmsg(65536, 512, MSG_ERRQUEUE)
        value = next(value for level, kind, value in ancillary
                     if (level, kind) == (self.family.level, self.family.recverr))
        # struct sock_extended_err of <linux/errqueue.h>, then the address of who sent it.
        offender = value[16:]
        at = socket.inet_ntop(self.family.inet, offender[8:24] if self.family.v6 else offender[4:8])
        return errno.errorcode[found], at

    def error_of(self, client):
        """The number of the error that comes back for a datagram, if one does."""
        client.send(b"x")
        try:
            client.recv(65536)
            raise AssertionError("an answer came")
        except TimeoutError:
            return None
        except OSError as error:
            return error.errno

    def test_icmp_echo_of_each_host(self):
        for address in (self.filter, self.router, self.echo):
            self.ping(address, 56)

    def test_icmp_echo_in_fragments(self):
        # Fragments that are larger than the path takes are lost until the source knows its MTU.
        self.discover()
        self.ping(self.echo, self.large)

    def test_udp_echo(self):
        with self.family.udp(self.echo, ECHO) as client:
            self.echoed(100, client)

    def test_udp_echo_in_fragments(self):
        self.discover()
        with self.family.udp(self.echo, ECHO) as client:
            self.echoed(self.large, client)

    def test_udp_fragmented_by_the_router(self):
        if self.family.v6:
            raise Skip("routers don't fragment IPv6")
        with self.family.udp(self.echo, ECHO) as client:
            client.setsockopt(self.family.level, self.family.discover, PMTUDISC_DONT)
            self.echoed(1500 - self.family.headers, client)

    def test_udp_path_mtu_discovery(self):
        expect("the path's MTU", self.discover(), self.mtu)
        with self.family.udp(self.echo, ECHO) as client:
            client.setsockopt(self.family.level, self.family.discover, PMTUDISC_DO)
            self.echoed(self.mtu - self.family.headers, client)

    def discover(self):
        """The path's MTU, after a datagram that is too large for it."""
        with self.family.udp(self.echo, ECHO) as client:
            client.setsockopt(self.family.level, self.family.discover, PMTUDISC_DO)
            try:
                client.send(bytes(1500 - self.family.headers))
                client.recv(65536)
            except OSError as error:
                expect("the error", errno.errorcode.get(error.errno, "no error came back"), "EMSGSIZE")
            return client.getsockopt(self.family.level, self.family.mtu)

    def test_tcp_echo(self):
        data = random.Random(1).randbytes(1 << 20)
        with self.family.tcp(self.echo, ECHO) as client:
            sender = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)))
            sender.start()
            expect("the stream", read_all(client) == data, True)
            sender.join()

    def test_tcp_path_mtu_discovery(self):
        with self.family.tcp(self.echo, ECHO) as client:
            client.sendall(bytes(100_000))
            client.shutdown(socket.SHUT_WR)
            expect("the bytes", len(read_all(client)), 100_000)
            expect("the path's MTU", client.getsockopt(self.family.level, self.family.mtu), self.mtu)

    def test_hop_limit_is_lowered_by_each_hop(self):
        with self.family.udp(self.echo, WHO) as client:
            client.setsockopt(self.family.level, self.family.ttl, 10)
            client.send(b"x")
            expect("the hop limit at echo", client.recv(100).decode().split()[1], "8")

    def test_time_exceeded_at_the_filter(self):
        self.expires(1, self.filter)

    def test_time_exceeded_at_the_router(self):
        self.expires(2, self.router)

    def expires(self, hops, at):
        with self.family.udp(self.echo, ECHO) as client:
            client.setsockopt(self.family.level, self.family.ttl, hops)
            expect("the error", self.error_after(client), ("EHOSTUNREACH", at))

    def test_udp_port_unreachable(self):
        with self.family.udp(self.echo, CLOSED) as client:
            expect("the error", self.error_after(client), ("ECONNREFUSED", self.echo))

    def test_tcp_connection_refused(self):
        try:
            self.family.tcp(self.echo, CLOSED).close()
            raise AssertionError("a closed port took a connection")
        except ConnectionRefusedError:
            pass

    def test_network_unreachable(self):
        with self.family.udp(self.family.unroutable, ECHO) as client:
            expect("the error", self.error_after(client), ("ENETUNREACH", self.filter))

    def test_filter_drops(self):
        self.need("filter")
        with self.family.udp(self.echo, DROPPED) as client:
            client.settimeout(0.3)
            client.send(b"x")
            try:
                client.recv(100)
                raise AssertionError("an answer came")
            except TimeoutError:
                pass

    def test_filter_rejects(self):
        self.need("filter")
        with self.family.udp(self.echo, REJECTED) as client:
            # ICMP's "administratively prohibited" (RFC 1812), ICMPv6's (RFC 4443).
            expected = "EACCES" if self.family.v6 else "EHOSTUNREACH"
            expect("the error", self.error_after(client), (expected, self.filter))

    def test_udp_source_nat(self):
        self.need("source NAT")
        with self.family.udp(self.echo, WHO) as client:
            client.send(b"x")
            self.is_translated(client.recv(100).decode().split()[0])

    def test_tcp_source_nat(self):
        self.need("source NAT")
        self.is_translated(self.ask(self.echo, WHO))

    def test_source_nat_of_fragments(self):
        self.need("source NAT")
        self.discover()
        with self.family.udp(self.echo, WHO) as client:
            client.send(bytes(self.large))
            self.is_translated(client.recv(100).decode().split()[0])

    def is_translated(self, seen):
        if seen == self.source:
            raise AssertionError(f"echo saw the source's own address, {seen}")

    def test_udp_destination_nat(self):
        self.need("destination NAT")
        with self.family.udp(self.filter, REDIRECTED) as client:
            client.send(b"x")
            client.recv(100)

    def test_tcp_destination_nat(self):
        self.need("destination NAT")
        self.ask(self.filter, REDIRECTED)


def read_all(client):
    pieces = []
    while piece := client.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: {found}, expected {expected}")


def test(*arguments):
    names = [name for name in vars(Tests) if name.startswith("test_")]
    print(f"TAP version 14\n1..{len(names)}", flush=True)
    tests = Tests(*arguments)
    failed = False
    for number, name in enumerate(names, 1):
        word, directive, why = "ok", "", ""
        try:
            getattr(tests, name)()
        except Skip as reason:
            directive = f" # SKIP {reason}"
        except (AssertionError, OSError) as error:
            word, why, failed = "not ok", f"{type(error).__name__}: {error}", True
        shown = name.removeprefix("test_").replace("_", " ")
        print(f"{word} {number} - {shown}{directive}")
        if why:
            print("  ---\n  message: |")
            print("\n".join(f"    {line}" for line in why.splitlines()))
            print("  ...")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
    doing = {"echo": echo, "filter": packet_filter, "test": test}[sys.argv[1]]
    sys.exit(doing(*sys.argv[2:]))
